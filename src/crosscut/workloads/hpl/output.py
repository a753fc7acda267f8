"""Parses hpccoutf.txt: HPL's solutions with their residual checks, and b_eff's ping-pongs and rings.

The file comes from another program, possibly from another machine, and may be incomplete. Errors about what
is missing or inconsistent name the file and line.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from crosscut.base import bounded_file
from crosscut.base.errors import UsageError
from crosscut.workloads.hpl.input import BROADCASTS

LARGEST_FILE_BYTES = 16 << 20
# HPL_pdtest.c: W, order of ranks, look-ahead, broadcast, recursion (panels), panel (columns).
_ROW = re.compile(
    r"W([RC])(\d{1,3})([0-5])([LCR])(\d{1,3})([LCR])(\d{1,3})\s+(\d{1,9})\s+(\d{1,9})\s+(\d{1,9})\s+(\d{1,9})"
    r"\s+(\S{1,40})\s+(\S{1,40})"
)
_RESIDUAL = re.compile(r"\|\|Ax-b\|\|_oo/.*=\s*(\S{1,40}) \.{6} (PASSED|FAILED)")
_SUMMARY = re.compile(r"([A-Za-z]\w{0,79})=(.{0,200})")
_BANNER = "This is the DARPA/DOE HPC Challenge"
_ENDED = "End of HPC Challenge tests."
MICROSECOND = 1e-6
GIGABYTE = 1e9
"""hpcc's unit for rates is decimal: `1 MB/s = 10**6 byte/sec`."""


@dataclass(frozen=True)
class Solution:
    """One solution of a system."""

    order: int
    block: int
    grid: tuple[int, int]
    """Rows and columns of the grid of ranks."""
    broadcast: str
    seconds: float
    """Computed from the rate, which has four digits; the printed time is rounded to 0.01 s."""
    flops_per_second: float
    residual: float
    """Scaled: ||Ax-b|| / (eps (||A|| ||x|| + ||b||) N), in infinity norms."""
    verified: bool


@dataclass(frozen=True)
class Spread:
    """A figure over pairs of ranks."""

    minimum: float
    mean: float
    maximum: float


@dataclass(frozen=True)
class Ring:
    """A ring in which all ranks send at once, in both directions."""

    seconds: float
    bytes_per_second: float


@dataclass(frozen=True)
class Rings:
    """b_eff's latencies (8 B) and rates per process (2 MB)."""

    ping_pong_seconds: Spread
    ping_pong_bytes_per_second: Spread
    natural: Ring
    """Neighbours in the ring have neighbouring ranks."""
    random: Ring
    """Mean over rings in random order."""


@dataclass(frozen=True)
class Output:
    ranks: int
    solutions: tuple[Solution, ...]
    rings: Rings | None
    """None for a single rank, which has no peer."""
    product_flops_per_second: float
    """Rate at which a rank multiplies matrices by itself while all do (StarDGEMM, mean); uses no network."""

    @property
    def verified(self) -> bool:
        return all(one.verified for one in self.solutions)


def operations(order: int) -> float:
    """Floating-point operations of one solution, as HPL counts them (HPL_pdtest.c)."""
    return order**2 * (2 / 3 * order + 3 / 2)


class _Lines:
    """The file's lines, and its name for error messages."""

    def __init__(self, text: str, name: str) -> None:
        self.lines = text.splitlines()
        self.name = name

    def wrong(self, index: int, what: str) -> UsageError:
        return UsageError(f"{self.name}:{index + 1}: {what}")

    def number(self, index: int, text: str, what: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value) or value < 0:
            raise self.wrong(index, f"{what} is {text[:40]!r}, not a number of 0 or more")
        return value


def load(file: Path) -> Output:
    content = bounded_file.read(file, LARGEST_FILE_BYTES, "an output of hpcc")
    return parse(content.decode("utf-8", "replace"), str(file))


def parse(text: str, name: str) -> Output:
    """Parses the last run in the file, as hpcc appends to an existing one.

    Raises UsageError if that run is incomplete or solved nothing. `name` is for error messages.
    """
    lines = _Lines(text, name)
    begin = _begin(lines)
    solutions = _solutions(lines, begin)
    summary = _summary(lines, begin)
    if not any(line.startswith(_ENDED) for line in lines.lines[begin:]):
        raise lines.wrong(len(lines.lines) - 1, "it ends before hpcc's last line: the run was cut off")
    ranks = summary.whole("CommWorldProcs")
    return Output(
        ranks=ranks,
        solutions=solutions,
        rings=_rings(summary) if ranks > 1 else None,
        product_flops_per_second=summary.number("StarDGEMM_Gflops") * 1e9,
    )


def _begin(lines: _Lines) -> int:
    """The line where the last run's section of HPL begins."""
    last_run = max((i for i, line in enumerate(lines.lines) if line.startswith(_BANNER)), default=0)
    for index, line in enumerate(lines.lines[last_run:], last_run):
        if line.startswith("Begin of HPL section"):
            return index
        if "HPL ERROR" in line:
            said = " ".join(lines.lines[index : index + 2])
            raise lines.wrong(index, f"hpcc did not run: {said[:200]!r}")
    raise lines.wrong(
        max(0, len(lines.lines) - 1), "no section of HPL: not hpcc's output, or only part of it"
    )


def _solutions(lines: _Lines, begin: int) -> tuple[Solution, ...]:
    found: list[Solution] = []
    row: tuple[int, re.Match[str]] | None = None
    for index, line in enumerate(lines.lines[begin:], begin):
        if (match := _ROW.fullmatch(line.strip())) is not None:
            if row is not None:
                raise lines.wrong(row[0], "a solution without its residual")
            row = index, match
        elif (match := _RESIDUAL.match(line)) is not None:
            if row is None:
                raise lines.wrong(index, "a residual without its solution")
            found.append(_solution(lines, *row, index, match))
            row = None
        elif line.startswith("End of HPL section"):
            if row is not None:
                raise lines.wrong(row[0], "a solution without its residual")
            if not found:
                raise lines.wrong(index, "HPL solved nothing: see its messages above in the file")
            return tuple(found)
    raise lines.wrong(len(lines.lines) - 1, "it ends within HPL: the run was cut off")


def _solution(
    lines: _Lines, index: int, row: re.Match[str], residual_index: int, residual: re.Match[str]
) -> Solution:
    order, block, rows, columns = (int(row[field]) for field in (8, 9, 10, 11))
    rate = lines.number(index, row[13], "the rate") * 1e9
    if min(order, block, rows, columns, rate) <= 0:
        raise lines.wrong(index, "order, block, grid and rate must be above 0")
    seconds = operations(order) / rate
    if abs(seconds - lines.number(index, row[12], "the time")) > 0.01 + seconds * 0.001:
        raise lines.wrong(
            index, f"the time {row[12]!r} s and the rate {row[13]!r} GFlop/s do not belong to one solution"
        )
    # A residual that is not finite counts as failed, whatever hpcc's verdict.
    try:
        value = float(residual[1])
    except ValueError:
        raise lines.wrong(residual_index, f"the residual is {residual[1]!r}, not a number") from None
    return Solution(
        order=order,
        block=block,
        grid=(rows, columns),
        broadcast=BROADCASTS[int(row[3])],
        seconds=seconds,
        flops_per_second=rate,
        residual=value,
        verified=residual[2] == "PASSED" and math.isfinite(value),
    )


@dataclass(frozen=True)
class _Summary:
    lines: _Lines
    values: Mapping[str, tuple[int, str]]
    end: int

    def number(self, key: str) -> float:
        if key not in self.values:
            raise self.lines.wrong(self.end, f"the summary has no {key}")
        index, text = self.values[key]
        return self.lines.number(index, text, key)

    def whole(self, key: str) -> int:
        value = self.number(key)
        if not value.is_integer() or value < 1:
            raise self.lines.wrong(
                self.values[key][0], f"{key} is {value:g}, not a whole number of 1 or more"
            )
        return int(value)

    def positive(self, key: str) -> float:
        value = self.number(key)
        if value == 0:
            raise self.lines.wrong(self.values[key][0], f"{key} is 0")
        return value


def _summary(lines: _Lines, begin: int) -> _Summary:
    values: dict[str, tuple[int, str]] = {}
    inside = False
    for index, line in enumerate(lines.lines[begin:], begin):
        if line.startswith("Begin of Summary section"):
            inside = True
        elif line.startswith("End of Summary section"):
            return _Summary(lines, values, index)
        elif inside and (match := _SUMMARY.fullmatch(line.strip())) is not None:
            values[match[1]] = index, match[2]
    raise lines.wrong(len(lines.lines) - 1, "it ends before its summary does: the run was cut off")


def _rings(summary: _Summary) -> Rings:
    def spread(middle: str, unit: float, end: str) -> Spread:
        return Spread(
            *(summary.positive(f"{which}PingPong{middle}_{end}") * unit for which in ("Min", "Avg", "Max"))
        )

    def ring(name: str) -> Ring:
        return Ring(
            summary.positive(f"{name}OrderedRingLatency_usec") * MICROSECOND,
            summary.positive(f"{name}OrderedRingBandwidth_GBytes") * GIGABYTE,
        )

    return Rings(
        ping_pong_seconds=spread("Latency", MICROSECOND, "usec"),
        ping_pong_bytes_per_second=spread("Bandwidth", GIGABYTE, "GBytes"),
        natural=ring("Naturally"),
        random=ring("Randomly"),
    )
