"""MPI programs of others, started by mpiexec or srun: here, on the hosts of a file, in an allocation."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from crosscut.base.errors import PlaceError, UsageError
from crosscut.base.host_list import HostEntry, share_out
from crosscut.places.base import MpiCommand, MpiLaunch, MpiSite, cores
from crosscut.places.launchers import Launcher, environment_for, find_launcher, open_mpi_settings, stays_here


@dataclass(frozen=True)
class LauncherSite(MpiSite):
    launch: MpiLaunch
    hosts: tuple[HostEntry, ...] = ()
    """Empty: wherever the launcher puts ranks."""
    default_launcher: str = ""
    is_here: bool = True
    """False: ranks may be on machines that share the current folder with this one, but not its /tmp."""

    @property
    def folder(self) -> Path:
        return super().folder if self.is_here else Path.cwd()

    def find_launcher(self, named: str, program: Path | None) -> Launcher:
        """The one that was named, or that of the MPI which the workloads are built with, or one on PATH."""
        named = named or self.default_launcher
        # Workloads are installed where the PyPI mpich is, in a Python environment; crosscut-core-mpi may be
        # another's.
        beside = Path(sys.executable).parent / "mpiexec"
        if not named and os.access(beside, os.X_OK):
            return Launcher(str(beside))
        found = find_launcher(named, program)
        if found is None and named:
            raise UsageError(f"{named}: there is no such program; name another with --launcher")
        if found is None:
            raise PlaceError(
                "there is no mpiexec, mpirun or srun; load the MPI's module, name one with --launcher, or "
                "`pip install 'crosscut[mpich]'`"
            )
        return found

    def command(
        self, launcher: Launcher, ranks: int, program: Sequence[str], folder: Path | None = None
    ) -> MpiCommand:
        shares = share_out(ranks, self.hosts) if self.hosts else []
        words = [*(launcher.on_hosts(shares) if shares else ()), *self.launch.launcher_arguments]
        count = [f"--ntasks={ranks}", "--kill-on-bad-exit=1"] if launcher.is_srun else ["-n", str(ranks)]
        here = stays_here(launcher, words)
        environment = environment_for(here and ranks > cores(), os.environ)
        return MpiCommand(
            (launcher.program, *count, *words, *program),
            {**open_mpi_settings(folder), **environment},
            len(shares) or (1 if here else 0),
        )
