"""Runs workloads on a place: as MPI programs, or under SimGrid's SMPI on a simulated network."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from crosscut.base import core, process_group
from crosscut.base.errors import CrosscutError, PlaceError, UsageError
from crosscut.places import all_places, ready_place, smpi, typed_as
from crosscut.places.base import STDERR_LINES_KEPT, MpiCommand, MpiLaunch, MpiSite, Place
from crosscut.run.realm import Realm
from crosscut.workloads.applications import (
    Result,
    Workload,
    WorkloadError,
    find_executable,
    parse_result,
    source_folder,
    sources,
)


def runs_workloads(place: Place) -> bool:
    """True if workloads run there; this includes the simulator, for which they are compiled."""
    return place.starts_mpi or place.realm is Realm.SIMULATED


def places() -> list[str]:
    """Places that run workloads, as typed after `--on`."""
    return [typed_as(place) for place in all_places() if runs_workloads(place)]


@dataclass(frozen=True)
class MpiWhere:
    """Place and parameters of a run of an MPI program."""

    on: str = "local"
    launcher: str = ""
    launcher_arguments: tuple[str, ...] = ()
    ranks_per_host: int = 0
    time_limit_seconds: float = 3600


@dataclass(frozen=True)
class Where(MpiWhere):
    """Place and parameters of a run of a workload."""

    compute: str = "host"
    """How long computing takes on a simulated network (see `smpi.SimulationSettings`)."""
    options: tuple[str, ...] = ()
    """Further words for the workload."""


# The workloads' MPI_Test takes about 1 us. SimGrid's default of 0.1 ms, which grows with every unsuccessful
# call (smpi/test, smpi/grow-injected-times), would dominate the time of workloads that poll.
_ASKING = ("smpi/test:1e-6", "smpi/grow-injected-times:no")

Runner = Callable[[Workload, str, int], Result]
"""Runs a workload; takes it, its class and its number of ranks."""


@contextmanager
def opened(where: Where) -> Iterator[Runner]:
    """Prepares a place to run workloads one after another; removes what was built for it at the end."""
    place, argument = ready_place(where.on, runs_workloads, "workloads run")
    if place.realm is Realm.SIMULATED:
        with tempfile.TemporaryDirectory(prefix="crosscut-workload-") as folder:
            yield _simulated(where, argument, Path(folder))
        return
    with place.mpi_site(MpiLaunch(argument, where.launcher_arguments, where.ranks_per_host)) as site:
        yield _started(where, site)


def _started(where: Where, site: MpiSite) -> Runner:
    launcher = site.find_launcher(where.launcher, core.find_executable(core.CORE_MPI))

    def run(workload: Workload, problem_class: str, ranks: int) -> Result:
        program = [str(find_executable(workload)), "--class", problem_class, "--json", *where.options]
        return _run(site.command(launcher, ranks, program), where, workload, ranks)

    return run


def _simulated(where: Where, network: str, folder: Path) -> Runner:
    if (reason := smpi.unavailable()) is not None:
        raise PlaceError(f"--on {where.on}: {reason}")
    smpi.compute_options(where.compute)

    def run(workload: Workload, problem_class: str, ranks: int) -> Result:
        settings = smpi.SimulationSettings(network, ranks, where.ranks_per_host, where.compute, _ASKING)
        program = smpi.SimulatedProgram(
            _compiled(workload), ("--class", problem_class, "--json", *where.options)
        )
        printed = folder / "printed"
        with printed.open("wb") as output:
            done = smpi.simulate(program, settings, folder, output)
        text = printed.read_text(encoding="utf-8", errors="replace")
        if done.stuck:
            raise WorkloadError(f"{workload.name}: a deadlock in the simulation: {'; '.join(done.stuck[:8])}")
        return _checked(text, done.status, "", workload, ranks)

    return run


def _compiled(workload: Workload) -> Path:
    """Compiles a workload with SMPI instead of MPI. Caches the program, since compiling takes a while."""
    compiler = "smpicxx"
    files, folders = sources(workload)
    options = ["-std=c++20", "-O2"]
    digest = hashlib.sha256(" ".join([smpi.version(), *options]).encode())
    for file in sorted(file for folder in folders for file in folder.iterdir()):
        digest.update(file.name.encode() + file.read_bytes())
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "crosscut"
    target = cache / f"{workload.executable}-{digest.hexdigest()[:16]}"
    if target.exists():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".compiling-", dir=target.parent) as folder:
        made = Path(folder) / workload.executable
        command = [compiler, *options, f"-I{source_folder()}", *map(str, files), "-o", str(made)]
        if (complaint := smpi.compile_errors(command)) is not None:
            said = "\n".join(complaint.splitlines()[-STDERR_LINES_KEPT:])
            raise CrosscutError(f"{workload.name}: {compiler} cannot compile it:\n{said}")
        made.rename(target)
    return target


def _run(command: MpiCommand, where: Where, workload: Workload, ranks: int) -> Result:
    try:
        done = process_group.run(command.words, command.environment, where.time_limit_seconds)
    except process_group.Overran as error:
        raise WorkloadError(
            f"{workload.name} on {ranks} ranks was ended after {where.time_limit_seconds:g} s; raise "
            "--time-limit, or give a smaller --class"
        ) from error
    return _checked(done.printed, done.status, done.complained, workload, ranks)


def _checked(text: str, status: int, trouble: str, workload: Workload, ranks: int) -> Result:
    """Parses a result, even one that failed its verification, which is the caller's concern.

    Raises UsageError if the program refused its arguments, WorkloadError if there is no valid result.
    """
    if '"verified"' not in text:
        said = trouble.strip().splitlines()
        refused = next((line for line in said if f"{workload.executable}: error: " in line), "")
        if refused:
            raise UsageError(f"{workload.name}: " + refused.split(": error: ", 1)[1])
        tail = "\n".join(said[-STDERR_LINES_KEPT:])
        raise WorkloadError(
            f"{workload.name} on {ranks} ranks ended with status {status} and without a result"
            + (f":\n{tail}" if tail else "")
        )
    result = parse_result(text)
    if result.ranks != ranks:
        raise WorkloadError(
            f"{workload.name} ran with {result.ranks} ranks, not {ranks}: it was built with another MPI than "
            "the launcher's. Name the launcher of its MPI with --launcher"
        )
    return result
