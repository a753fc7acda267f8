"""What the Slurm of a lab is told: names, addresses, and the text of slurm.conf (slurm.conf(5)).

Slurm's own traffic uses the management network (plan/management.py). On a node, names of nodes mean the lab's
links; on `login` they mean the management network, which is all that it is connected to.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from crosscut.base.errors import CrosscutError, UsageError
from crosscut.lab.plan.management import LOGIN, address, login_address

SOCKET = "munge.socket"
_SPOOL = "spool-%n"
MOST_NODES = 16
"""Slurm was tried in labs of up to this many nodes."""
# sockaddr_un of unix(7), with its terminating zero.
_MOST_PATH_BYTES = 107
# A step's socket is NODE_JOB.STEP, in the node's spool folder.
_LONGEST_STEP = "_4294967295.4294967295"
CGROUPS = "CgroupPlugin=cgroup/v1\n"
"""Text of cgroup.conf: names a plugin, so that slurmd does not look for the machine's control groups. It uses
none (`ProctrackType`)."""


def folder_of(lab: Path) -> Path:
    """Everything of Slurm in a lab's folder."""
    return lab / "slurm"


def file_of(lab: Path) -> Path:
    return folder_of(lab) / "slurm.conf"


def socket_of(lab: Path) -> Path:
    """The socket of munged, which all hosts share, as it is a file."""
    return folder_of(lab) / SOCKET


def refuse(hosts: Sequence[str], lab: Path) -> None:
    """Raises UsageError or CrosscutError if a lab with these hosts, in this folder, can have no Slurm."""
    if len(hosts) > MOST_NODES:
        raise UsageError(
            f"--slurm: the network has {len(hosts)} hosts; Slurm was tried in labs of at most {MOST_NODES}"
        )
    if LOGIN in hosts:
        raise UsageError(f"--slurm: a host of the network is called {LOGIN}, as the host of slurmctld is")
    longest = max(hosts, key=len)
    path = f"{folder_of(lab) / _SPOOL.replace('%n', longest)}/{longest}{_LONGEST_STEP}"
    if len(path.encode()) > _MOST_PATH_BYTES:
        raise CrosscutError(
            f"--slurm: {path} has {len(path.encode())} bytes, but the path of a socket has at most "
            f"{_MOST_PATH_BYTES}; choose a shorter --name, or a folder with a shorter path in CROSSCUT_LABS"
        )


def on_login(hosts: Sequence[str]) -> list[tuple[str, str]]:
    """(address, name) of every host as `login` sees them."""
    return [(login_address(), LOGIN), *((address(host), name) for host, name in enumerate(hosts))]


def within(folder: Path) -> list[str]:
    """Lines of slurm.conf for a Slurm that keeps everything in this folder."""
    return [
        f"AuthInfo=socket={folder}/{SOCKET}",
        "SlurmUser=root",
        f"StateSaveLocation={folder}/state",
        f"SlurmdSpoolDir={folder}/{_SPOOL}",
        f"SlurmctldPidFile={folder}/slurmctld.pid",
        f"SlurmdPidFile={folder}/slurmd-%n.pid",
        f"SlurmctldLogFile={folder}/slurmctld.log",
        f"SlurmdLogFile={folder}/slurmd-%n.log",
        "ProctrackType=proctrack/linuxproc",
        "TaskPlugin=task/none",
        "SelectType=select/cons_tres",
        "SelectTypeParameters=CR_Core",
        "MpiDefault=none",
        "ReturnToService=2",
    ]


def text(hosts: Sequence[str], cpus: Sequence[int], lab: Path) -> str:
    """Text of slurm.conf. `cpus`: by host."""
    lines = [
        "ClusterName=lab",
        f"SlurmctldHost={LOGIN}({login_address()})",
        *within(folder_of(lab)),
        "AccountingStorageType=accounting_storage/none",
        # Every node has this machine's cores, and may have more ranks than these.
        "SlurmdParameters=config_overrides",
    ]
    lines += [
        f"NodeName={name} NodeAddr={address(host)} CPUs={cpus[host]} State=UNKNOWN"
        for host, name in enumerate(hosts)
    ]
    return "\n".join([*lines, "PartitionName=lab Nodes=ALL Default=YES MaxTime=INFINITE State=UP", ""])


def lab_of(file: str, labs: Path) -> str:
    """Name of the lab whose slurm.conf this is (SLURM_CONF); empty if it is none. `labs`: their folder."""
    path = Path(file)
    return path.parts[-3] if len(path.parts) > 2 and path == file_of(labs / path.parts[-3]) else ""
