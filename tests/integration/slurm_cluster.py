"""A real Slurm on this machine: munged, slurmctld and two slurmd with their own ports and folders."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from crosscut.lab.slurm.configuration import within
from crosscut.lab.slurm.daemons import munge

PROGRAMS = ("munged", "slurmctld", "slurmd", "srun", "salloc", "sbatch", "sinfo", "scontrol", "squeue")
_PATH = "/usr/sbin:/usr/local/sbin:" + os.environ.get("PATH", "/usr/bin")
START_SECONDS = 30
NODES = ("c1", "c2")


def why_not() -> str | None:
    """Returns why no Slurm can be started here, or None."""
    missing = [program for program in PROGRAMS if shutil.which(program, path=_PATH) is None]
    if missing:
        return f"no {', '.join(missing)}: apt-get install slurm-wlm munge"
    if os.geteuid() != 0:
        return "slurmd and slurmctld of Debian run as root alone"
    return None


@dataclass(frozen=True)
class Slurm:
    environment: Mapping[str, str]
    folder: Path

    def output(self, *words: str) -> str:
        return subprocess.run(
            words, env=dict(self.environment), check=True, capture_output=True, text=True, timeout=60
        ).stdout


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as held:
        probes = [held.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [int(probe.getsockname()[1]) for probe in probes]


def _configuration(folder: Path) -> str:
    control, *nodes = _free_ports(1 + len(NODES))
    host = socket.gethostname()
    lines = [
        "ClusterName=crosscut-test",
        f"SlurmctldHost={host}(127.0.0.1)",
        f"SlurmctldPort={control}",
        *within(folder),
        "KillWait=2",
        "PartitionName=test Nodes=ALL Default=YES MaxTime=10 State=UP OverSubscribe=YES",
    ]
    # CPUs are declared, not real: the tests start more ranks than a small machine has cores.
    lines += [
        f"NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=4 State=UNKNOWN"
        for name, port in zip(NODES, nodes, strict=True)
    ]
    return "\n".join([*lines, "SlurmdParameters=config_overrides", ""])


def _await_nodes(slurm: Slurm, daemons: list[subprocess.Popen[bytes]]) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        with contextlib.suppress(subprocess.CalledProcessError):
            states = slurm.output("sinfo", "-h", "-N", "-o", "%T").split()
            if states == ["idle"] * len(NODES):
                return
        if any(daemon.poll() is not None for daemon in daemons):
            break
        time.sleep(0.1)
    logs = "\n".join(f"{log.name}: {log.read_text()[-2000:]}" for log in sorted(slurm.folder.glob("*.log")))
    raise RuntimeError(f"Slurm does not come up:\n{logs}")


@contextlib.contextmanager
def running_slurm() -> Iterator[Slurm]:
    """Runs a Slurm. Its folder has a short path, since a socket's path holds at most 107 bytes."""
    with tempfile.TemporaryDirectory(prefix="slurm-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "state").mkdir()
        (folder / "slurm.conf").write_text(_configuration(folder))
        environment = {**os.environ, "SLURM_CONF": str(folder / "slurm.conf"), "PATH": _PATH}
        for inherited in [key for key in environment if key.startswith("SLURM_") and key != "SLURM_CONF"]:
            del environment[inherited]
        commands = [munge(folder), ["slurmctld", "-D"], *(["slurmd", "-D", "-N", node] for node in NODES)]
        daemons: list[subprocess.Popen[bytes]] = []
        try:
            for command in commands:
                daemons.append(_start(command, environment))
                if command[0] == "munged":
                    _await_file(folder / "munge.socket")
            slurm = Slurm(environment, folder)
            _await_nodes(slurm, daemons)
            yield slurm
        finally:
            for daemon in reversed(daemons):
                daemon.terminate()
            for daemon in daemons:
                try:
                    daemon.wait(10)
                except subprocess.TimeoutExpired:
                    daemon.kill()
                    daemon.wait()


def _start(command: list[str], environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    program = shutil.which(command[0], path=_PATH)
    assert program is not None
    return subprocess.Popen(
        [program, *command[1:]], env=dict(environment), stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip


def _await_file(path: Path) -> None:
    end = time.monotonic() + START_SECONDS
    while not path.exists() and time.monotonic() < end:
        time.sleep(0.02)
