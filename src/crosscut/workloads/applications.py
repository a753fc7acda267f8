"""Workloads: crosscut's own applications (workloads/), which are run, timed and verified on a place.

Each is an MPI program whose last line of output is a JSON object. This module names them, finds their
executables and sources, and parses their results with the caution due to another process's output.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import statistics
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from crosscut.base import core, records, units
from crosscut.base.errors import CrosscutError, UsageError

VARIABLE = "CROSSCUT_WORKLOADS"
CLASSES = ("S", "W", "A", "B", "C")
POWER_OF_TWO = "a power of two"
SQUARE = "a square number"
GRID = "a grid, at most 2 : 1"
EVEN = "an even number"
SEVERAL = "2 or more"
ANY = "any number"
MOST_RANKS = 1 << 16


@dataclass(frozen=True)
class Workload:
    name: str
    summary: str
    messages: str
    """The kinds of messages that it sends."""
    ranks: str
    """The numbers of ranks that it takes: a constant above. Only the program knows the limits of a class."""
    shares: tuple[str, ...] = ()
    """Further folders of workloads/npb with its sources, besides the common ones and its own."""
    suite: str = "npb"
    """Empty: it belongs to no suite, and its folder is workloads/NAME."""

    @property
    def executable(self) -> str:
        return "-".join(filter(None, ("crosscut", self.suite, self.name)))

    @property
    def folders(self) -> tuple[str, ...]:
        """Folders of workloads/ with its sources and headers."""
        shared = ("npb/common", "program")
        if not self.suite:
            return (*shared, self.name)
        return (*shared, *(f"{self.suite}/{one}" for one in ("program", *self.shares, self.name)))

    def takes(self, ranks: int) -> bool:
        if self.ranks == SQUARE:
            return math.isqrt(ranks) ** 2 == ranks
        if self.ranks == GRID:
            shorter = next(side for side in range(math.isqrt(ranks), 0, -1) if ranks % side == 0)
            return ranks <= 2 * shorter**2
        if self.ranks == EVEN:
            return ranks % 2 == 0
        if self.ranks == SEVERAL:
            return ranks > 1
        return self.ranks == ANY or ranks & (ranks - 1) == 0


NPB_SOURCE = "Bailey et al., The NAS Parallel Benchmarks, RNR-94-007; NPB 3.3 and 3.4 (MPI)"
_CELLS = ("multipartition",)
_alone = partial(Workload, suite="")
# Each has a folder of its own in workloads/npb or workloads/.
WORKLOADS = (
    Workload("bt", "flow of a gas: block-tridiagonal", "faces of cells; pipelines, large", SQUARE, _CELLS),
    Workload(
        "cg", "conjugate gradients on a sparse matrix", "vectors in a grid of ranks; sums", POWER_OF_TWO
    ),
    Workload("ep", "pairs of normal deviates", "three sums at the end", ANY),
    Workload("ft", "Fourier transforms in three dimensions", "transpositions: all to all", POWER_OF_TWO),
    Workload("is", "sorting of integer keys", "bucket sums; keys, all to all", POWER_OF_TWO),
    Workload("lu", "flow of a gas: lower-upper sweeps", "edges of planes: many, small", GRID),
    Workload("mg", "multigrid solver", "faces to neighbours, large and small", POWER_OF_TWO),
    Workload("sp", "flow of a gas: pentadiagonal", "faces of cells; pipelines", SQUARE, _CELLS),
    _alone("data-server", "an array held by servers, as in GAMESS", "requests for blocks, and blocks", EVEN),
    _alone("overlap", "computing while messages are under way", "to neighbours, of several sizes", SEVERAL),
    _alone("traffic", "vehicles on the roads of a region", "to neighbours, every step: tiny", ANY),
)


class WorkloadError(CrosscutError):
    """A workload is missing, failed, or printed no valid result."""


@dataclass(frozen=True)
class WorkloadFigure:
    """A quantity that a workload measures besides its time."""

    name: str
    value: float
    unit: str
    """`s`, `B/s`, `1/s`, `share` (of 1), or any other word; empty if it has no unit."""
    at: str = ""
    """The message size, if there are several figures of one name."""


@dataclass(frozen=True)
class Result:
    """The result that one run of a workload printed."""

    name: str
    problem_class: str
    ranks: int
    size: str
    layout: str
    iterations: int
    seconds: float
    mops: float
    verified: bool
    communication_seconds: tuple[float, float, float]
    """Minimum, median and maximum over the ranks."""
    figures: tuple[WorkloadFigure, ...] = ()


class Timed(Protocol):
    """A result with a time and a verdict."""

    @property
    def seconds(self) -> float: ...

    @property
    def verified(self) -> bool: ...


TimedResult = TypeVar("TimedResult", bound=Timed)


@dataclass(frozen=True)
class Repeated(Generic[TimedResult]):
    """Repetitions of one measurement."""

    results: tuple[TimedResult, ...]

    @property
    def first(self) -> TimedResult:
        return self.results[0]

    @property
    def seconds(self) -> float:
        return statistics.median(one.seconds for one in self.results)

    @property
    def deviation_seconds(self) -> float | None:
        """Standard deviation of the sample; None for a single run."""
        return statistics.stdev(one.seconds for one in self.results) if len(self.results) > 1 else None

    @property
    def deviation_share(self) -> float | None:
        """Standard deviation relative to the median; None for a single run, or if no time passed."""
        deviation = self.deviation_seconds
        return None if deviation is None or self.seconds <= 0 else deviation / self.seconds

    @property
    def verified(self) -> bool:
        return all(one.verified for one in self.results)


class ScalingRow(Repeated[Result]):
    """Runs of one workload and class on one number of ranks."""

    @property
    def mops(self) -> float:
        return statistics.median(result.mops for result in self.results)

    @property
    def communication_share(self) -> float:
        return statistics.median(
            result.communication_seconds[1] / result.seconds if result.seconds > 0 else 0.0
            for result in self.results
        )

    @property
    def figures(self) -> tuple[WorkloadFigure, ...]:
        """Medians over the runs."""
        by_kind: dict[tuple[str, str, str], list[float]] = {}
        for one in (figure for result in self.results for figure in result.figures):
            by_kind.setdefault((one.name, one.unit, one.at), []).append(one.value)
        return tuple(
            WorkloadFigure(name, statistics.median(values), unit, at)
            for (name, unit, at), values in by_kind.items()
        )


@dataclass(frozen=True)
class ScalingCurve:
    """Runs of one workload and class over numbers of ranks, as far as they succeeded."""

    workload: Workload
    problem_class: str
    rows: tuple[ScalingRow, ...]
    failed: tuple[int, ...] = ()
    """Numbers of ranks on which a run ended without a result."""

    @property
    def runs(self) -> int:
        return sum(len(row.results) for row in self.rows) + len(self.failed)

    @property
    def verified_runs(self) -> int:
        return sum(result.verified for row in self.rows for result in row.results)

    @property
    def verified(self) -> bool:
        return 0 < self.runs == self.verified_runs

    @property
    def rank_counts(self) -> tuple[int, ...]:
        return tuple(sorted({*(row.first.ranks for row in self.rows), *self.failed}))


def speed_up(row: ScalingRow, base: ScalingRow) -> float:
    """Speed-up relative to the smallest run, whose own speed-up is taken to be its number of ranks."""
    return base.first.ranks * base.seconds / row.seconds if row.seconds > 0 else math.nan


def find(names: Sequence[str]) -> list[Workload]:
    """Finds workloads by name, `all`, or those of a suite (`npb`). Raises UsageError."""
    known = {workload.name: workload for workload in WORKLOADS}
    if list(names) == ["all"]:
        return list(WORKLOADS)
    if list(names) == ["npb"]:
        return [workload for workload in WORKLOADS if workload.suite == "npb"]
    for name in names:
        if name not in known:
            raise UsageError(f"there is no workload '{name}'; there is {', '.join(known)}, or all")
    return [known[name] for name in dict.fromkeys(names)]


def parse_classes(text: str) -> tuple[str, ...]:
    """Parses classes such as `S,W`. Raises UsageError."""
    found = tuple(dict.fromkeys(text.split(",")))
    for one in found:
        if one not in CLASSES:
            raise UsageError(f"there is no class '{one}'; there is {', '.join(CLASSES)}")
    return found


def parse_rank_counts(text: str) -> tuple[int, ...]:
    """Parses `4`, `1,2,4` or `1-16`. Raises UsageError."""
    counts: list[int] = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        ends = [first, last] if dash else [first, first]
        if not all(units.whole(end, 1, MOST_RANKS) for end in ends):
            raise UsageError(
                f"'{part}': give numbers of ranks from 1 to {MOST_RANKS:,}, such as 4 or 1,2,4 or 1-16"
            )
        low, high = map(int, ends)
        if low > high:
            raise UsageError(f"'{part}': {high} is below {low}")
        counts += range(low, high + 1)
    return tuple(sorted(set(counts)))


def _candidates(name: str) -> Iterator[Path]:
    yield Path(sys.executable).parent / name
    yield Path(sys.argv[0]).resolve().parent / name
    if (mpi := core.find_executable(core.CORE_MPI)) is not None:
        yield mpi.parent / name
        yield mpi.parent.parent / "workloads" / name  # a build folder
    if (on_path := shutil.which(name)) is not None:
        yield Path(on_path)


def find_executable(workload: Workload) -> Path:
    """Finds the program. Raises WorkloadError if it was not built."""
    if named := os.environ.get(VARIABLE):
        path = Path(named) / workload.executable
        if not core.is_program(path):
            raise WorkloadError(f"{VARIABLE}={named}: no {workload.executable} there; unset it or correct it")
        return path.absolute()
    for path in _candidates(workload.executable):
        if core.is_program(path):
            return path.absolute()
    raise WorkloadError(
        f"{workload.executable} was not found: it is built only where there is an MPI; run "
        f"`pip install 'mpich>=5'` and build crosscut again, or set {VARIABLE} to its folder"
    )


def source_folder() -> Path:
    """The folder workloads/ of this installation or working tree. Raises WorkloadError if it is missing."""
    package = Path(__file__).resolve().parents[1]
    for folder in (package / "source" / "workloads", package.parents[1] / "workloads"):
        if (folder / "npb" / "common").is_dir():
            return folder
    raise WorkloadError("the sources of the workloads are not part of this installation")


def sources(workload: Workload) -> tuple[list[Path], list[Path]]:
    """Returns the workload's source files, and the folders of sources and headers."""
    folders = [source_folder() / name for name in workload.folders]
    files = [file for folder in folders for file in sorted(folder.glob("*.cpp"))]
    return files, folders


def parse_result(text: str) -> Result:
    """Parses the last line of a workload's standard output. Raises WorkloadError."""
    lines = text.strip().splitlines()
    try:
        value = json.loads(lines[-1] if lines else "")
        return _result(value)
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        said = lines[-1][:200] if lines else "nothing"
        raise WorkloadError(
            f"a workload did not end with its result: it printed {said!r} ({error})"
        ) from error


def _result(value: Mapping[str, Any]) -> Result:
    spread = [value["communication_seconds"][key] for key in ("minimum", "median", "maximum")]
    named = {**value, "problem_class": value["class"], "communication_seconds": spread}
    found = records.parse(named, Result)
    for name in ("ranks", "iterations", "seconds", "mops", "communication_seconds"):
        amount = getattr(found, name)
        if not all(each >= 0 for each in (amount if isinstance(amount, tuple) else (amount,))):
            raise ValueError(f"{name} is {amount!r:.80}, not 0 or more")
    return found
