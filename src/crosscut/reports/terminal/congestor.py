"""Report of victims beside congestors: how much slower than idle."""

from __future__ import annotations

from crosscut.analysis.figures.samples import Samples
from crosscut.analysis.figures.slowdown import Slowdown, conditions, slowdowns
from crosscut.base import units
from crosscut.reports.terminal.screen import Rows, Screen
from crosscut.reports.view import View


def render(screen: Screen, view: View, measured: list[Samples], _detailed: Samples) -> None:
    for samples in measured:
        found = slowdowns(conditions(samples, view.labels(samples)))
        screen.title(
            f"Victims' messages at {units.size(samples.size_bytes)}, and their slowdown against idle"
        )
        if not found:
            screen.line("No victim was measured.")
            continue
        _table(screen, found)


def _table(screen: Screen, found: list[Slowdown]) -> None:
    table = Rows(
        "<condition",
        "message",
        "?samples",
        "median",
        "?99th pct.",
        "?rate",
        "median ×",
        "99th ×",
        "longest ×",
    )
    for entry in found:
        condition = entry.condition
        many = len(condition.seconds) >= 100  # else the 99th percentile is the longest
        table.add(
            condition.label,
            units.size(condition.bytes),
            f"{len(condition.seconds):,}",
            units.seconds(condition.median),
            units.seconds(condition.p99) if many else "–",
            units.rate(condition.bytes / condition.median) if condition.bytes else "–",
            f"{entry.median:.2f}",
            f"{entry.p99:.2f}" if many else "–",
            f"{entry.longest:.2f}",
            style="yellow" if entry.median >= 2 else "",
        )
    screen.table(table)
