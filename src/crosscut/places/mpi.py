"""Ranks as tasks of an MPI job, started by mpiexec or srun.

The launcher passes its standard input to task 0, which reads the session's first line there and broadcasts it
through MPI (core: `mpi-rank`). The core checks that the job has the ranks that were asked for: an executable
of one MPI under the launcher of another becomes n jobs of one rank each.
"""

from __future__ import annotations

import atexit
import math
import os
import re
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from crosscut.base import bounded_file, host_list, shared_memory
from crosscut.base.core import is_program
from crosscut.base.errors import PlaceError, UsageError
from crosscut.base.host_list import HostEntry, share_out
from crosscut.places import base, room
from crosscut.places.launchers import (
    Launcher,
    environment_for,
    find_launcher,
    mpi_start_seconds,
    no_launcher,
    stays_here,
    waiting_for_slurm,
)

# `-hosts a,b:2` (MPICH), `--host a,b` and `-H a,b` (Open MPI).
_LISTS = re.compile(r"(--?hosts?|-H)")
_FILES = re.compile(r"(-f|--?hostfile|--?machinefile|--?machine)")


@dataclass(frozen=True)
class LauncherSite(base.MpiSite):
    """A site for MPI programs other than crosscut's: here, on the hosts of a file, or in an allocation."""

    launch: base.MpiLaunch
    hosts: tuple[HostEntry, ...] = ()
    """Empty: the launcher chooses."""
    default_launcher: str = ""
    is_here: bool = True
    """False if ranks may be on other machines, which share the current folder with this one, but not /tmp."""

    @property
    def folder(self) -> Path:
        return super().folder if self.is_here else Path.cwd()

    def find_launcher(self, named: str, program: Path | None) -> Launcher:
        """Returns the launcher named, else that of the workloads' MPI, else one on PATH."""
        named = named or self.default_launcher
        # Workloads are installed beside PyPI's mpich, in a Python environment; crosscut-core-mpi may not be.
        beside = Path(sys.executable).parent / "mpiexec"
        if not named and is_program(beside):
            return Launcher(str(beside))
        found = find_launcher(named, program)
        if found is None and named:
            raise UsageError(f"{named}: there is no such program; name another with --launcher")
        if found is None:
            raise no_launcher(program)
        return found

    def command(
        self, launcher: Launcher, ranks: int, program: Sequence[str], folder: Path | None = None
    ) -> base.MpiCommand:
        shares = share_out(ranks, self.hosts) if self.hosts else []
        words = [*(launcher.on_hosts(shares) if shares else ()), *self.launch.launcher_arguments]
        count = [f"--ntasks={ranks}", "--kill-on-bad-exit=1"] if launcher.is_srun else ["-n", str(ranks)]
        here = stays_here(launcher, words)
        environment = environment_for(here and ranks > base.cores(), os.environ, folder)
        return base.MpiCommand(
            (launcher.program, *count, *words, *program),
            environment,
            len(shares) or (1 if here else 0),
        )


class MpiPlace(base.Place):
    name = "mpi"
    help = "ranks of an MPI job, started by mpiexec or srun (from PATH, or named with --launcher)"
    default_backend = "mpi"
    ranks_over_mpi = True
    starts_mpi = True

    def default_ranks(self, argument: str, own: Mapping[str, object]) -> int:  # noqa: ARG002
        """Returns the number of tasks of our Slurm allocation; outside one, the default for this machine."""
        tasks = os.environ.get("SLURM_NTASKS", "")
        if tasks.isascii() and tasks.isdigit():
            return max(2, int(tasks))
        return base.ranks_here()

    def without(self, options: base.PlaceOptions, nodes: Sequence[str]) -> base.PlaceOptions:
        """Returns options for the same ranks on the remaining nodes. Raises UsageError if there are none."""
        launcher = find_launcher(options.launcher, options.mpi_executable)
        is_srun = launcher is not None and launcher.is_srun
        return replace(
            options,
            launcher_arguments=without(options.launcher_arguments, nodes, is_srun),
            secret=base.new_secret(),
        )

    def start(self, options: base.PlaceOptions) -> base.Launched:
        if options.mpi_executable is None:
            raise PlaceError(
                "crosscut-core-mpi is missing; install it with `pip install 'crosscut[mpich]'`, or build "
                "one for this site's MPI with `crosscut build-mpi --mpicxx PATH`"
            )
        launcher = find_launcher(options.launcher, options.mpi_executable)
        if launcher is None and options.launcher:
            raise UsageError(f"--launcher {options.launcher}: there is no such program")
        if launcher is None:
            raise no_launcher(options.mpi_executable)
        executable = options.mpi_executable.absolute()
        here = stays_here(launcher, options.launcher_arguments)
        if here:
            room.refuse_more(options.ranks)
        crowded = here and options.ranks > base.cores()
        line = base.configuration(options, self.name, "127.0.0.1" if here else "auto")
        if crowded:
            line["oversubscribed"] = True  # under MPI no rank knows that all share these cores
        bound = ["--bind-to", "core"] if here and options.pin and not crowded else []
        return base.spawn(
            [*launcher.command(options.ranks), *bound, *options.launcher_arguments, executable, "mpi-rank"],
            line,
            base.Hooks(
                release=partial(shared_memory.remove_orphans, time.time()) if here else lambda: None,
                launcher=launcher.name,
                start_seconds=math.inf
                if launcher.is_srun
                else mpi_start_seconds(options.ranks, options.timeout_seconds),
                waiting=waiting_for_slurm(options.ranks) if launcher.is_srun else "",
            ),
            environment=environment_for(crowded, os.environ),
        )

    def mpi_site(self, launch: base.MpiLaunch) -> AbstractContextManager[base.MpiSite]:
        return nullcontext(LauncherSite(launch))


def without(words: Sequence[str], nodes: Sequence[str], is_srun: bool) -> tuple[str, ...]:
    """Returns the arguments of an MPI launcher, changed to leave out these nodes. UsageError if none is left.

    Arguments that name no hosts stay as they are: then all ranks are on one machine, the only one.
    """
    if not nodes:  # the launcher ended without saying which node it lost
        return tuple(words)
    lost = {_short(node) for node in nodes}
    if is_srun:
        return (*words, f"--exclude={','.join(sorted(set(nodes)))}")
    found: list[str] = []
    rest = iter(words)
    for word in rest:
        flag, equals, value = word.partition("=")
        if not (_LISTS.fullmatch(flag) or _FILES.fullmatch(flag)):
            found.append(word)
            continue
        value = value if equals else next(rest, "")
        kept = _kept_list(value, lost) if _LISTS.fullmatch(flag) else _kept_file(value, lost)
        found += [f"{flag}={kept}"] if equals else [flag, kept]
    return tuple(found)


def _short(host: str) -> str:
    """Returns the first part of a host's name, because nodes report either that or the full name. What a
    launcher adds to a name (`n1:4`, `n1 slots=4`) is left out."""
    return host_list.short(re.split(r"[:\s]", host.strip(), maxsplit=1)[0])


def _kept_list(value: str, lost: set[str]) -> str:
    kept = [host for host in value.split(",") if _short(host) not in lost]
    if not kept:
        raise UsageError(f"without {', '.join(sorted(lost))} no host is left of {value}")
    return ",".join(kept)


def _kept_file(value: str, lost: set[str]) -> str:
    """Writes a host file without these hosts; returns its path. It is removed when this program ends."""
    content = bounded_file.read(Path(value), host_list.LARGEST_FILE_BYTES, "a host file")
    lines = content.decode("utf-8", "surrogateescape").splitlines()
    kept = [line for line in lines if _short(line) not in lost]
    if not any(line.split("#")[0].strip() for line in kept):
        raise UsageError(f"without {', '.join(sorted(lost))} no host is left in {value}")
    descriptor, name = tempfile.mkstemp(prefix="crosscut-hosts-")
    atexit.register(Path(name).unlink, missing_ok=True)
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="surrogateescape") as file:
        file.write("\n".join(kept) + "\n")
    return name


PLACE = MpiPlace()
