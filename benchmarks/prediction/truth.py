"""Runs a program in a lab under the profiler and takes the time that it spends in communication."""

from __future__ import annotations

import contextlib
import shutil
import statistics
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.processes import BenchmarkError, output_of
from crosscut.base import core
from crosscut.base.errors import PlaceError
from crosscut.places import lab, smpi
from crosscut.prediction.source import ENDS
from crosscut.profile import profiler, tit
from crosscut.profile import program as profile
from crosscut.workloads import applications

LIMIT_SECONDS = 600.0


@dataclass(frozen=True)
class Program:
    name: str
    words: tuple[str, ...]
    is_workload: bool = True
    """crosscut's own, which verifies what it computes."""


def workload(name: str, problem_class: str) -> Program:
    (one,) = applications.find([name])
    return Program(name, (str(applications.find_executable(one)), "--class", problem_class, "--json"))


@dataclass(frozen=True)
class Run:
    folder: Path
    communication_seconds: float
    """In MPI calls, from the end of MPI_Init to the start of MPI_Finalize; mean over ranks."""
    computing_seconds: float
    """Between these calls; mean over ranks."""


@contextlib.contextmanager
def site(file: Path, switch: str) -> Iterator[lab.SessionLab]:
    """Opens a lab and releases it at the end."""
    opened = lab.open_site(str(file), switch)
    try:
        yield opened
    finally:
        if opened.release is not None:
            opened.release()


def run(
    place: lab.SessionLab,
    program: Program,
    ranks: int,
    folder: Path,
    *,
    trace: bool,
) -> Run:
    """Runs once, in a new folder. Raises BenchmarkError if the run fails or does not verify."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    words, inner = _command(place, ranks, program.words)
    variables = {**inner, **profiler.environment(profiler.find_library(), folder, trace=trace)}
    printed = folder / "printed"
    with printed.open("wb") as output:
        ran = profiler.run(words, variables, LIMIT_SECONDS, output)
    profiler.complain(ran, f"{program.name} in the lab {place.name}", "its profile is not whole")
    text = printed.read_text(encoding="utf-8", errors="replace")
    if program.is_workload and not applications.parse_result(text).verified:
        raise BenchmarkError(f"{program.name} did not verify in the lab {place.name}")
    found = profile.load(folder)
    about: dict[str, object] = {}
    if trace:
        written = tit.write(found, smpi.HOST_FLOPS)
        about = {"file": written.file.name, "flops_per_second": written.flops_per_second}
    profiler.write_about(folder, words, ran, about)
    return _taken(folder, found)


def _taken(folder: Path, found: profile.Profile) -> Run:
    inside = np.zeros(len(found.found))
    ends = np.zeros(len(found.found))
    for call in found.calls:
        if call.name in ENDS:
            ends += call.seconds
        else:
            inside += call.seconds
    computing = found.seconds - ends - inside
    return Run(folder, float(inside.mean()), float(computing.mean()))


def median(runs: list[Run]) -> Run:
    """Returns the run with the median communication time."""
    return sorted(runs, key=lambda one: one.communication_seconds)[len(runs) // 2]


def spread(runs: list[Run]) -> float:
    """Returns the standard deviation of the communication time, as a share of its median."""
    seconds = [one.communication_seconds for one in runs]
    return statistics.stdev(seconds) / statistics.median(seconds) if len(seconds) > 1 else 0.0


@dataclass(frozen=True)
class MessageCost:
    """What 8 bytes cost between the first two hosts, over MPI: message_cost.c."""

    one_way_seconds: float
    send_seconds: float
    receive_seconds: float
    """MPI_Recv, when the message has arrived."""


def message_cost(place: lab.SessionLab, folder: Path) -> MessageCost:
    target = folder / "message-cost"
    beside = Path(sys.executable).parent
    source = Path(__file__).with_name("message_cost.c")
    output_of([beside / "mpicc_abi", "-O2", source, "-o", target, f"-Wl,-rpath,{beside.parent / 'lib'}"])
    words, inner = _command(place, 2, [str(target)])
    output = output_of(words, variables=inner)
    try:
        return MessageCost(*map(float, output.split()))
    except (TypeError, ValueError) as error:
        raise BenchmarkError(f"{target.name} in the lab {place.name} printed: {output[:400]}") from error


def _command(
    place: lab.SessionLab, ranks: int, program: Sequence[str]
) -> tuple[list[str], Mapping[str, str]]:
    """Returns the command that runs the program in the lab, and its environment."""
    try:
        launcher = lab.launcher_of("", core.find_executable(core.CORE_MPI))
    except PlaceError as error:
        raise BenchmarkError(str(error)) from error
    start = [launcher.program, "-n", str(ranks)]
    shares = lab.spread(ranks, place.hosts, 0)
    words, inner = lab.mpi_command(place.enter, launcher, start, shares, program)
    return [str(word) for word in words], inner
