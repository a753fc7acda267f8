"""Slurm's daemons in a lab: munged and slurmctld on `login`, a slurmd on every node.

They run in the lab's namespaces, where `down` finds them even if their record is lost.
"""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from crosscut.base.errors import CrosscutError, UsageError
from crosscut.lab import enter, holder, state
from crosscut.lab.plan.management import LOGIN
from crosscut.lab.plan.plan import LabPlan
from crosscut.lab.slurm import configuration

PROGRAMS = ("munged", "slurmctld", "slurmd", "sinfo", "srun")
START_SECONDS = 60.0
_POLL_SECONDS, _ASK_SECONDS = 0.1, 15.0
# Debian keeps daemons where the PATH of many users does not lead.
_SYSTEM_PATH = "/usr/sbin:/sbin"
_KEY_BYTES = 128
_WORDS_KEPT_BYTES = 2000


def unavailable() -> str:
    """Returns why no Slurm can run in a lab here; empty if it can."""
    if holder.needed():
        return "slurmctld and slurmd run as root alone, and a lab without root has no other users"
    missing = [name for name in PROGRAMS if shutil.which(name, path=_path()) is None]
    return f"no {', '.join(missing)} here; apt-get install slurm-wlm munge" if missing else ""


def refuse(made: LabPlan, folder: Path) -> None:
    """Raises UsageError or CrosscutError if this lab can have no Slurm."""
    if reason := unavailable():
        raise UsageError(f"--slurm: {reason}")
    configuration.refuse(made.hosts, folder)


def environment(folder: Path, outside: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Returns the environment for programs that use the Slurm of a lab, without that of another Slurm."""
    kept = {name: value for name, value in outside.items() if not name.startswith(("SLURM_", "SBATCH_"))}
    return {**kept, "PATH": _path(outside), "SLURM_CONF": str(configuration.file_of(folder))}


def _path(outside: Mapping[str, str] = os.environ) -> str:
    return f"{outside.get('PATH', '/usr/bin:/bin')}:{_SYSTEM_PATH}"


def start(record: state.Record, folder: Path, made: LabPlan, cpus: Sequence[int]) -> state.Record:
    """Starts everything, and waits until all nodes are idle; returns the record with the processes."""
    from crosscut.lab.kernel import management  # imports pyroute2

    own = configuration.folder_of(folder)
    (own / "state").mkdir(parents=True)
    configuration.file_of(folder).write_text(configuration.text(made.hosts, cpus, folder), encoding="ascii")
    (own / "cgroup.conf").write_text(configuration.CGROUPS, encoding="ascii")
    (folder / f"hosts.{LOGIN}").write_text(
        enter.hosts_file(configuration.on_login(made.hosts)), encoding="ascii"
    )
    holder.inside(record, partial(management.build, made, folder))
    started: dict[str, state.Process] = {}
    try:
        for name, node, words in _commands(made.hosts, folder):
            started[name] = _spawn(record, folder, name, node, words)
            if name == "munged":
                _await(folder, started, configuration.socket_of(folder).exists)
        _await(folder, started, lambda: _idle(record, folder) == len(made.hosts))
    except BaseException:
        for process in started.values():
            process.end()
        raise
    return replace(record, slurm=started)


def _commands(hosts: Sequence[str], folder: Path) -> list[tuple[str, str, list[str]]]:
    """(name, node, words) of each daemon, in the order in which they start."""
    munged = munge(configuration.folder_of(folder))
    nodes = [(f"slurmd of {host}", host, ["slurmd", "-D", "-N", host]) for host in hosts]
    return [("munged", LOGIN, munged), ("slurmctld", LOGIN, ["slurmctld", "-D"]), *nodes]


def munge(folder: Path) -> list[str]:
    """Makes a key in this folder; returns the words that start a munged that keeps everything there."""
    key = folder / "munge.key"
    key.touch(0o400)
    key.write_bytes(secrets.token_bytes(_KEY_BYTES))
    files = {"key-file": key, "socket": folder / configuration.SOCKET}
    files |= {f"{what}-file": folder / f"munge.{what}" for what in ("pid", "log", "seed")}
    return ["munged", "--foreground", "--force", *(f"--{name}={path}" for name, path in files.items())]


def _spawn(record: state.Record, folder: Path, name: str, node: str, words: Sequence[str]) -> state.Process:
    errors = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    return state.spawn(enter.command(record, folder, node, words), environment(folder), [
        (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
        (os.POSIX_SPAWN_OPEN, 2, str(_errors(folder, name)), errors, 0o600),
    ])  # fmt: skip


def _errors(folder: Path, name: str) -> Path:
    return configuration.folder_of(folder) / f"{name.replace(' of ', '-')}.errors"


def _await(folder: Path, started: Mapping[str, state.Process], holds: Callable[[], bool]) -> None:
    until = time.monotonic() + START_SECONDS
    while not holds():
        for name in ended(started):
            raise CrosscutError(f"--slurm: {name} has ended: {_last_words(_errors(folder, name))}")
        if time.monotonic() > until:
            last = [*started][-1]
            raise CrosscutError(
                f"--slurm: the cluster is not up after {START_SECONDS:g} s; {last} says: "
                f"{_last_words(_errors(folder, last))}"
            )
        time.sleep(_POLL_SECONDS)


def ended(processes: Mapping[str, state.Process]) -> list[str]:
    """Names of daemons that run no more."""
    return [name for name, process in processes.items() if not process.alive()]


def _idle(record: state.Record, folder: Path) -> int:
    """Number of idle nodes; 0 while slurmctld does not answer."""
    words = enter.command(record, folder, LOGIN, ["sinfo", "--noheader", "--Node", "--format=%T"])
    try:
        done = subprocess.run(
            words, env=environment(folder), capture_output=True, text=True, timeout=_ASK_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return 0
    return done.stdout.split().count("idle")


def _last_words(path: Path) -> str:
    try:
        said = path.read_bytes()[-_WORDS_KEPT_BYTES:].decode("utf-8", "replace").strip()
    except OSError:
        said = ""
    return said.splitlines()[-1] if said else "nothing"
