"""Ranks as tasks of an MPI job, started by mpiexec or srun.

The launcher gives its standard input to task 0, which reads the session's first line there and broadcasts it
through MPI (core: `mpi-rank`). The core checks that the job has the ranks that were asked for: an executable
of one MPI under the launcher of another becomes n jobs of one rank each.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

from crosscut.base.errors import PlaceError, UsageError
from crosscut.places import base
from crosscut.places.launchers import environment_for, find_launcher, stays_here
from crosscut.places.mpi_programs import LauncherSite
from crosscut.places.mpi_without import without


class MpiPlace(base.Place):
    name = "mpi"
    help = "tasks of an MPI job, started by mpiexec or srun, found or named with --launcher"
    default_backend = "mpi"
    starts_mpi = True

    def default_ranks(self, argument: str, own: Mapping[str, object]) -> int:  # noqa: ARG002
        """The tasks of the Slurm allocation we are in; else as on this machine."""
        tasks = os.environ.get("SLURM_NTASKS", "")
        if tasks.isascii() and tasks.isdigit():
            return max(2, int(tasks))
        return base.ranks_here()

    def without(self, options: base.PlaceOptions, nodes: Sequence[str]) -> base.PlaceOptions:
        """The same ranks on the nodes that are left; UsageError where there are none."""
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
                "crosscut-core-mpi is not here; install it with `pip install 'crosscut[mpich]'`, or build "
                "one for this site's MPI with `crosscut build-mpi --mpicxx PATH`"
            )
        launcher = find_launcher(options.launcher, options.mpi_executable)
        if launcher is None and options.launcher:
            raise UsageError(f"--launcher {options.launcher}: there is no such program")
        if launcher is None:
            raise PlaceError(
                "there is no mpiexec, mpirun or srun; load the MPI's module, name one with --launcher, or "
                "`pip install 'crosscut[mpich]'`"
            )
        executable = options.mpi_executable.absolute()
        here = stays_here(launcher, options.launcher_arguments)
        crowded = here and options.ranks > base.cores()
        line = base.configuration(options, self.name, "127.0.0.1" if here else "auto")
        if crowded:
            line["oversubscribed"] = True  # the cores are one node's, which no rank under MPI knows
        bound = ["--bind-to", "core"] if here and options.pin and not crowded else []
        return base.spawn(
            [*launcher.command(options.ranks), *bound, *options.launcher_arguments, executable, "mpi-rank"],
            line,
            environment=environment_for(crowded, os.environ),
        )

    @contextmanager
    def mpi_site(self, launch: base.MpiLaunch) -> Iterator[base.MpiSite]:
        yield LauncherSite(launch)


PLACE = MpiPlace()
