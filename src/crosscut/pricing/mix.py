"""A mix of work: the works that should be fast, and their weights (docs/reference/price-book.md)."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from crosscut.analysis.compare.spec import parse_rate
from crosscut.base import toml_fields, units
from crosscut.base.errors import UsageError
from crosscut.base.toml_fields import NO_TABLE, Between, Filled, FilledLine, Key, Line, Raw, Scalars, Table
from crosscut.pricing.amounts import Interval
from crosscut.pricing.routing import Routing

MOST_RANKS = 1 << 20
# Error of the ratio of two simulated times. Against the published figures of two switches its mean is 4.2 %
# and its maximum 11 % (docs/howto-reproduce.md, Kurmann's tables 3 and 5).
SIMULATION_ERROR = 0.05
_SOURCES = ("pattern", "seconds", "rates", "runs", "trace", "hpl", "workload")
_ONLY_OF = {
    "size": "pattern", "parameters": "pattern", "operations_per_second": "trace", "traced_on": "trace",
}  # fmt: skip
# The minus sign of an exponent (1e-3 s) does not separate two values.
_BETWEEN = re.compile(r"\s*([^\s-].*?)\s*(?<![0-9][eE])-\s*([0-9].*)")


def _share(text: str) -> float:
    if (value := units.parse_fraction(text)) >= 1:
        raise UsageError("must be less than 100%")
    return value


def _between(parse: Callable[[str], float], value: Any) -> Interval:
    """Parses `"610 s"`, or a range: `"600 s - 620 s"` or `["600 s", "620 s"]`."""
    match = _BETWEEN.fullmatch(value) if isinstance(value, str) else None
    ends = [match[1], match[2]] if match else value if isinstance(value, list) else [value]
    if not 1 <= len(ends) <= 2 or not all(isinstance(end, str) for end in ends):
        raise UsageError('write one value with its unit, or a range: ["600 s", "620 s"]')
    low, high = parse(ends[0]), parse(ends[-1])
    if not 0 < low <= high or not math.isfinite(high):
        raise UsageError(
            f"from {ends[0]} to {ends[-1]}: both must be above zero and finite, and the smaller must come "
            "first"
        )
    return Interval(low, high)


def _inverted(value: Any) -> Interval:
    """Turns a rate into seconds per gigabyte; only ratios within one work matter."""
    rate = _between(parse_rate, value)
    return Interval(1e9 / rate.high, 1e9 / rate.low)


def _routings(value: Any) -> tuple[Routing, ...]:
    words = value if isinstance(value, list) else [value]
    known = {one.value: one for one in Routing}
    if not words or not all(isinstance(word, str) and word in known for word in words):
        raise UsageError(f"write one or more of {', '.join(map(repr, known))}")
    return tuple(dict.fromkeys(known[word] for word in words))


@dataclass(frozen=True, kw_only=True)
class Work:
    """One part of the mix, whose time comes from one source."""

    name: FilledLine
    weight: Annotated[float, Between(1e-6, 1e6)] = 1.0
    note: str = ""
    pattern: Filled = ""
    """Simulated on each candidate."""
    parameters: Scalars = field(default_factory=dict)
    size_bytes: Annotated[int, Key("size"), units.parse_bytes] = 1_000_000
    seconds: Mapping[str, Annotated[Interval, Raw(partial(_between, units.parse_seconds))]] = field(
        default_factory=dict
    )
    """Given by hand, for each network."""
    rates: Mapping[str, Annotated[Interval, Raw(_inverted)]] = field(default_factory=dict)
    """Given in place of `seconds`; converted to seconds per gigabyte."""
    runs: Mapping[str, Path] = field(default_factory=dict)
    """Measured, for each network."""
    hpl: Mapping[str, Path] = field(default_factory=dict)
    """Measured, for each network: files from `crosscut workload hpl --json`."""
    workload: Mapping[str, Path] = field(default_factory=dict)
    """Measured, for each network: files from `crosscut workload run --json`."""
    trace: Path | None = None
    """Replayed on each candidate."""
    traced_on: Line = ""
    """Network on which the program was traced, to fit the noise of its processors: a file, or a name in the
    catalogue."""
    traced_on_file: Annotated[Path | None, Key("traced_on")] = None
    operations_per_second: Annotated[float, Between(1, 1e18)] | None = None
    """Operations in the trace for each second of computing, if its profile does not say."""
    where: Annotated[str, toml_fields.DERIVED] = ""
    """File and line, for error messages."""
    at: Table = NO_TABLE


@dataclass(frozen=True, kw_only=True)
class Mix:
    path: Annotated[Path, toml_fields.DERIVED] = Path()
    title: Line = ""
    ranks: Annotated[int, Between(2, MOST_RANKS)] = 0
    """0: as many as the smallest candidate has."""
    within: Annotated[float, _share] = 0.1
    simulation_error: Annotated[float, _share] = SIMULATION_ERROR
    routing: Annotated[tuple[Routing, ...], Raw(_routings)] = tuple(Routing)
    """Considered where a network's file leaves it open."""
    works: Annotated[tuple[Work, ...], Key("work")] = ()

    @property
    def is_simulated(self) -> bool:
        """True if the time of any work is simulated."""
        return any(work.pattern or work.trace for work in self.works)


def load(path: Path) -> Mix:
    top = toml_fields.document(path, "a mix of work")
    mix = top.read(Mix)
    if not mix.works:
        top.fail("", "it has no work; write a table [[work]] for each")
    works = tuple(_work(work) for work in mix.works)
    toml_fields.check_apart(works)
    return replace(mix, path=path, title=mix.title or path.stem, works=works)


def _work(work: Work) -> Work:
    given = [key for key in _SOURCES if key in work.at]
    if len(given) != 1:
        there = " and ".join(given) or "none"
        work.at.fail(
            given[-1] if given else "",
            f"give exactly one source of its time: {', '.join(_SOURCES)}; found: {there}",
        )
    for key, source in _ONLY_OF.items():
        if key in work.at and given != [source]:
            work.at.fail(key, f"goes only with '{source}'")
    file = work.traced_on_file
    return replace(
        work,
        seconds=work.seconds or work.rates,
        traced_on=str(file) if file is not None and file.exists() else work.traced_on,
        where=f"{work.at.file}:{work.at.line()}",
    )
