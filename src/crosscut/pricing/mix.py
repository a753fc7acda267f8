"""A mix of work: what is to be fast, and how much each part of it counts (docs/reference/price-book.md)."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from crosscut.analysis.compare.spec import parse_rate
from crosscut.base import toml_fields, units
from crosscut.base.errors import UsageError
from crosscut.base.toml_fields import Table
from crosscut.pricing import words
from crosscut.pricing.amounts import Interval

MOST_RANKS = 1 << 20
# Error of the ratio of two simulated times. Against published figures of two switches it is 4.2 %
# in the mean and 11 % at worst (docs/howto-reproduce.md, Kurmann's tables 3 and 5).
SIMULATION_ERROR = "5%"
WITHIN = "10%"
_TOP = ("title", "ranks", "within", "simulation_error", "work")
_WORK = (
    "name", "weight", "note", "pattern", "size", "parameters", "seconds", "rates", "runs", "trace",
    "hpl", "workload", "operations_per_second", "traced_on",
)  # fmt: skip
_SOURCES = ("pattern", "seconds", "rates", "runs", "trace", "hpl", "workload")
_BETWEEN = re.compile(r"\s*([^\s-][^-]*?)\s*-\s*([0-9].*)")


@dataclass(frozen=True)
class Work:
    """One part of the mix, whose time comes from one source."""

    name: str
    weight: float
    pattern: str = ""
    """Simulated on each candidate."""
    parameters: Mapping[str, str] = field(default_factory=dict)
    size_bytes: int = 0
    seconds: Mapping[str, Interval] = field(default_factory=dict)
    """Given by hand, by network. A rate is the inverse of one."""
    runs: Mapping[str, Path] = field(default_factory=dict)
    """Measured, by network."""
    hpl: Mapping[str, Path] = field(default_factory=dict)
    """Measured, by network: what `crosscut workload hpl --json` wrote."""
    workload: Mapping[str, Path] = field(default_factory=dict)
    """Measured, by network: what `crosscut workload run --json` wrote."""
    trace: Path | None = None
    """Replayed on each candidate."""
    traced_on: str = ""
    """Where the trace was made: the noise of its processors is fitted there."""
    operations_per_second: float | None = None
    """The trace's rate of computing, if its profile does not say."""
    where: str = ""
    """File and line, for complaints."""


@dataclass(frozen=True)
class Mix:
    path: Path
    title: str
    ranks: int
    """0: as many as the smallest candidate has."""
    within: float
    simulation_error: float
    works: tuple[Work, ...]


def load(path: Path) -> Mix:
    top = toml_fields.document(path)
    top.only(_TOP)
    entries = top.tables("work")
    if not entries:
        top.fail("", "there is no work in it; write a table [[work]] for each")
    works = tuple(_work(entry, path.parent) for entry in entries)
    names = [work.name for work in works]
    for entry, name in zip(entries, names, strict=True):
        if names.count(name) > 1:
            entry.fail("name", f"several are called '{name}'; name each apart")
    return Mix(
        path=path,
        title=words.line(top, "title", path.stem),
        ranks=top.whole("ranks", 0, 2, MOST_RANKS) if "ranks" in top else 0,
        within=_share(top, "within", WITHIN),
        simulation_error=_share(top, "simulation_error", SIMULATION_ERROR),
        works=works,
    )


def _share(table: Table, key: str, default: str) -> float:
    try:
        value = units.parse_fraction(table.text(key, default))
    except UsageError as error:
        table.fail(key, str(error))
    if value >= 1:
        table.fail(key, "less than 100%")
    return value


def _work(entry: Table, folder: Path) -> Work:
    entry.only(_WORK)
    entry.text("note", "")
    given = [key for key in _SOURCES if key in entry]
    if len(given) != 1:
        there = " and ".join(given) or "none"
        entry.fail(
            given[-1] if given else "", f"its time comes from one of {', '.join(_SOURCES)}; here is {there}"
        )
    if given != ["pattern"]:
        for key in ("size", "parameters"):
            if key in entry:
                entry.fail(key, "only a pattern has one")
    if given != ["trace"]:
        for key in ("operations_per_second", "traced_on"):
            if key in entry:
                entry.fail(key, "only a trace has it")
    runs, hpl, workload = (
        {name: folder / Path(text).expanduser() for name, text in entry.table(key).texts().items()}
        for key in ("runs", "hpl", "workload")
    )
    trace = folder / Path(entry.text("trace")).expanduser() if "trace" in entry else None
    flops = entry.number("operations_per_second", None, 1, 1e18) if "operations_per_second" in entry else None
    return Work(
        name=words.line(entry, "name"),
        weight=entry.number("weight", 1.0, 1e-6, 1e6),
        pattern=entry.text("pattern", ""),
        parameters=entry.table("parameters").texts(),
        size_bytes=entry.quantity("size", units.parse_bytes, "1MB"),
        seconds=_times(entry, "seconds", units.parse_seconds)
        or _inverted(_times(entry, "rates", parse_rate)),
        runs=runs,
        hpl=hpl,
        workload=workload,
        trace=trace,
        traced_on=_network(entry, folder) if "traced_on" in entry else "",
        operations_per_second=flops,
        where=f"{entry.file}:{entry.line()}",
    )  # fmt: skip


def _network(entry: Table, folder: Path) -> str:
    """A file from where the mix is, or a name of the catalogue."""
    name = words.line(entry, "traced_on")
    file = folder / Path(name).expanduser()
    return str(file) if file.exists() else name


def _inverted(rates: Mapping[str, Interval]) -> dict[str, Interval]:
    """A gigabyte takes so long: rates of one work are compared with each other only."""
    return {name: Interval(1e9 / rate.high, 1e9 / rate.low) for name, rate in rates.items()}


def _times(entry: Table, key: str, parse: Callable[[str], float]) -> dict[str, Interval]:
    """`{ network = "610 s" }`, or `"600 s - 620 s"`, or `["600 s", "620 s"]`: between both."""
    table = entry.table(key)
    found = {}
    for name, value in table.values.items():
        given = value if isinstance(value, list) else _ends(value)
        ends = [end for end in given if isinstance(end, str)]
        if not 1 <= len(ends) == len(given) <= 2:
            table.fail(name, 'write one value with its unit, or from and to: ["600 s", "620 s"]')
        try:
            low, high = parse(ends[0]), parse(ends[-1])
        except UsageError as error:
            table.fail(name, str(error))
        if not 0 < low <= high or not math.isfinite(high):
            table.fail(name, f"from {ends[0]} to {ends[-1]}: more than nothing, and the smaller first")
        found[name] = Interval(low, high)
    return found


def _ends(value: object) -> list[object]:
    match = _BETWEEN.fullmatch(value) if isinstance(value, str) else None
    return [match[1], match[2]] if match else [value]
