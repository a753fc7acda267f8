"""A row a message size: what `run` ends with and `show` begins with, of a dense pattern in several sizes."""

from __future__ import annotations

from collections.abc import Sequence

from crosscut.analysis.figures import summary
from crosscut.analysis.figures.cautions import skewed_phases
from crosscut.analysis.figures.samples import Samples
from crosscut.base import units
from crosscut.reports.terminal.screen import Rows, Screen
from crosscut.reports.words import figures


def draw(screen: Screen, measured: Sequence[Samples], skew_seconds: float) -> None:
    """The phase in the middle and the slowest, each with the interval of its own median."""
    phases = ("median phase", "?95 % interval", "slowest phase", "?95 % interval")
    table = Rows("size", *phases, "?slowest route", "?formula", "?<")
    for samples in measured:
        rates, routes = summary.phase_rates(samples), summary.routes(samples)
        middle = figures.in_the_middle(summary.formula_rates(samples))
        table.add(
            units.size(samples.size_bytes),
            *figures.of_size(rates, routes.rates),
            units.rate(middle.median) if middle else "–",
            "skew > 5 %" if skewed_phases(samples, skew_seconds) else "",
        )
    screen.table(table)
