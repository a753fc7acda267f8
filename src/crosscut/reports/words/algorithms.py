"""Which algorithm of a collective operation is the fastest, in words."""

from __future__ import annotations

from collections.abc import Sequence

from crosscut.analysis.figures.algorithms import AlgorithmTimes
from crosscut.base import units
from crosscut.reports.view import View, text
from crosscut.reports.words import figures


def sentences(found: AlgorithmTimes, view: View, names: Sequence[str]) -> list[str]:
    """`fastest all-reduce: recursive doubling up to 4 KB; ring from 8 KB on`, and the highest rate."""
    ranges = found.ranges()
    if not ranges:
        return ["nothing was measured"]
    parts = []
    for at, one in enumerate(ranges):
        who = " or ".join(names[algorithm] for algorithm in one.algorithms)
        parts.append(who + _sizes(at, len(ranges), one.first_bytes, one.last_bytes))
    lines = [f"fastest {text(view.attributes, 'pattern', 'parameters', 'operation')}: {'; '.join(parts)}"]
    if len(found.size_bytes) == 1:
        lines = [f"{units.size(found.size_bytes[0])}: {lines[0]}"]
    last = len(found.size_bytes) - 1
    if (fastest := found.fastest(last)) and found.size_bytes[last] > 0:
        rate = figures.at(found.rates[last], fastest[0]).rate()
        lines.append(f"bus bandwidth at {units.size(found.size_bytes[last])}: {rate} ({names[fastest[0]]})")
    return lines


def _sizes(at: int, ranges: int, first: int, last: int) -> str:
    if ranges == 1:
        return ""
    if at == 0:
        return f" up to {units.size(last)}"
    if at == ranges - 1:
        return f" from {units.size(first)} on"
    return f" from {units.size(first)} to {units.size(last)}" if first != last else f" at {units.size(first)}"


def rows(found: AlgorithmTimes, at: int) -> tuple[str, ...]:
    """Returns the size and each algorithm's time, `*` beside the fastest ones."""
    fastest, seconds = found.fastest(at), found.seconds[at]
    times = (
        figures.at(seconds, number).seconds().partition(" [")[0] + (" *" if number in fastest else "")
        for number in range(len(seconds.median))
    )
    return units.size(found.size_bytes[at]), *times


FASTEST = "*: the fastest; several if their 95 % intervals overlap"
