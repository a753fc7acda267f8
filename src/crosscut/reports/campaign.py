"""Summary of several runs in one directory: a line of figures for each, where to look further."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from rich.text import Text

from crosscut import units
from crosscut.analysis import summary
from crosscut.analysis.samples import Samples
from crosscut.campaign import StepResult
from crosscut.reports import about, figures, headline
from crosscut.reports.screen import Rows, Screen, screen_for
from crosscut.reports.sentences import figures_of
from crosscut.reports.view import View, open_view


def render(directory: Path, results: Sequence[StepResult], stream: TextIO) -> None:
    """Draws the summary on a stream."""
    screen = screen_for(stream)
    views = {result.step.name: open_view(result.out) for result in results if result.measured}
    if views:
        first = next(iter(views.values()))
        screen.line(f"{units.count(first.ranks, 'rank')}, {about.where(first)}", "bold")
        screen.line("; ".join(about.how(first)), "dim")
    _figures(screen, results, views)
    _by_size(screen, views)
    cautions = {caution.text: caution for view in views.values() for caution in about.beware(view, [])}
    for caution in cautions.values():
        screen.line(f"{screen.glyphs.warning} {caution.text}", "yellow")
    screen.line()
    screen.line(f"One run further: crosscut show {directory}/NAME.zarr", "dim")


def _figures(screen: Screen, results: Sequence[StepResult], views: dict[str, View]) -> None:
    """A paragraph a step."""
    screen.title("Figures")
    table = Rows("<", "<")
    for result in results:
        lines = figures_of(views[result.step.name]) if result.measured else [f"not measured: {result.reason}"]
        if result.measured and result.state != "complete":
            lines.append(f"({result.state}) {result.reason}".rstrip())
        table.add(
            Text(result.step.name, style="bold cyan"),
            Text(screen.glyphs.plain("\n".join(lines)), style="" if result.state == "complete" else "yellow"),
        )
    screen.table(table)


def _rates_by_size(views: dict[str, View]) -> dict[str, dict[int, float]]:
    """Median phase's rate of each run that has several sizes, but for the sweep, whose sizes are its own."""
    rates: dict[str, dict[int, float]] = {}
    for name, view in views.items():
        measured = view.measured_sizes()
        if len(measured) > 1 and view.pattern not in ("pingpong", "loaded-pingpong"):
            rates[name] = {view.sizes[index]: _middle(view.samples(index)) for index in measured}
    return rates


def _middle(samples: Samples) -> float:
    return figures.middle(summary.phase_rates(samples))


def _by_size(screen: Screen, views: dict[str, View]) -> None:
    rates = _rates_by_size(views)
    sizes = sorted({size for row in rates.values() for size in row})
    if not sizes:
        return
    screen.title("Median phase, MB/s per rank and direction, by message size")
    table = Rows("<pattern", *map(units.size, sizes))
    for name, row in rates.items():
        cells = [
            units.number(row[size], (1e6, "MB/s")) if math.isfinite(row.get(size, math.nan)) else "–"
            for size in sizes
        ]
        table.add(name, *cells)
    screen.table(table)


def as_json(directory: Path, results: Sequence[StepResult]) -> dict[str, object]:
    """The summary for scripts."""
    return {
        "out": str(directory),
        "steps": [
            {"name": result.step.name, "state": result.state, "reason": result.reason}
            | (headline.as_json(result.out) if result.measured else {})
            for result in results
        ],
    }
