"""Expected figures on a terminal, and how close a run comes to them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from crosscut.analysis.figures.expectation import Expected
from crosscut.base import units
from crosscut.reports.terminal.screen import Rows, Screen


@dataclass(frozen=True)
class MeasuredValue:
    what: str
    value: float
    expected: float
    seconds: bool = False

    @property
    def share(self) -> float:
        """Ratio of measured to expected."""
        return self.value / self.expected


def render(screen: Screen, adapter: str, found: Expected, measured: Sequence[MeasuredValue]) -> None:
    bisection = found.bisection_bytes_per_second
    half = f"; half to half {units.rate(bisection)} per host" if math.isfinite(bisection) else ""
    screen.line(
        f"{adapter}: {units.rate(found.route_bytes_per_second)} per route and direction, limited by "
        f"{found.limit}{half}; latency at least {units.seconds(found.latency_seconds)}.", "bold",
    )  # fmt: skip
    rows = Rows("<what", "<arithmetic", "result", "?<source")
    for line in found.lines:
        rows.add(line.what, line.arithmetic, line.value, line.source)
    screen.console.print()
    screen.table(rows)
    for one in measured:
        shown = units.seconds if one.seconds else units.rate
        if one.seconds:
            times, poor = f"{one.share:.1f} times", one.share > 2
        else:
            times, poor = f"{100 * one.share:.0f} % of", one.share < 0.9
        screen.line(
            f"{one.what}: {shown(one.value)}, {times} what was expected ({shown(one.expected)})",
            "bold yellow" if poor else "bold green",
        )
