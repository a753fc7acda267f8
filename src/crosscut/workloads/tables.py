"""Shows workloads on a terminal: the list of them, scaling curves, other figures, and which runs verified."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from crosscut.base import spelling, units
from crosscut.reports.terminal.plot import PlotColumns, column_plot
from crosscut.reports.terminal.screen import Rows, Screen
from crosscut.workloads.applications import (
    CLASSES,
    NPB_SOURCE,
    ScalingCurve,
    ScalingRow,
    Workload,
    WorkloadFigure,
    speed_up,
)

# The fewest points for which a curve is drawn, and its height in lines.
FEWEST_POINTS, HEIGHT = 3, 8
_SHOWN: dict[str, Callable[[float], str]] = {
    "s": units.seconds,
    "B/s": units.rate,
    "share": units.percent,
    "1/s": lambda value: f"{value:,.0f} /s" if value >= 1000 else f"{value:.3g} /s",
}

# Blanks between two columns of a table.
_GAP = 3


def listing(screen: Screen, known: Sequence[Workload]) -> None:
    """Lists NPB's workloads and the others, with the command that runs them."""
    _group(screen, "NAS Parallel Benchmarks", [one for one in known if one.suite == "npb"])
    screen.line(NPB_SOURCE, "dim")
    _group(screen, "Programs with options of their own (--options)", [one for one in known if not one.suite])
    screen.title("Run one, several, npb (the first eight) or all")
    screen.command(f"crosscut workload run NAME … -n RANKS --class {'|'.join(CLASSES)} --on PLACE --repeat 5")


def _group(screen: Screen, title: str, members: Sequence[Workload]) -> None:
    screen.title(title)
    rows = Rows("<name", "<what it computes", "<what it sends", "<ranks")
    for one in members:
        rows.add(one.name, one.summary, one.messages, one.ranks)
    screen.table(rows)


def curve(screen: Screen, workload: Workload, problem_class: str, rows: Sequence[ScalingRow]) -> None:
    first = rows[0].first
    screen.title(f"{workload.name.upper()}, class {problem_class}: {first.size}")
    repeated = any(row.deviation_seconds is not None for row in rows)
    headings = ["ranks", "time", *(["deviation"] if repeated else []), "Mop/s"]
    headings += [*(["speed-up"] if len(rows) > 1 else []), "communicating", "<verified", "?<layout"]
    table = Rows(*headings)
    for row in rows:
        cells = [str(row.first.ranks), units.seconds(row.seconds)]
        if repeated:
            share = row.deviation_share
            cells.append("" if share is None else units.percent(share))
        cells.append(f"{row.mops:,.4g}" if row.mops < 1e4 else f"{row.mops:,.0f}")
        if len(rows) > 1:
            cells.append(f"{speed_up(row, rows[0]):.2f}")
        cells += [units.percent(row.communication_share), "yes" if row.verified else "NO", row.first.layout]
        table.add(*cells, style="" if row.verified else "red")
    screen.table(table)
    if repeated and len(rows) >= FEWEST_POINTS:
        _plot(screen, rows)
    show_figures(screen, rows)


def _plot(screen: Screen, rows: Sequence[ScalingRow]) -> None:
    """Plots the speed-up, whose relative deviation is to first order that of the time."""
    median = np.array([speed_up(row, rows[0]) for row in rows])
    spread = np.array([row.deviation_share or 0 for row in rows])
    columns = PlotColumns([row.first.ranks for row in rows], median * (1 - spread), median * (1 + spread))
    lines = column_plot(
        columns, unit=(1.0, ""), width=screen.half, height=HEIGHT, glyphs=screen.glyphs, x_label="ranks"
    )
    screen.title("speed-up; shaded from one deviation below to one above")
    screen.show(screen.drawing(lines))


def summary(screen: Screen, curves: Sequence[ScalingCurve], elapsed_seconds: float) -> None:
    """Shows what ran, and how many of the runs verified."""
    screen.title("What ran")
    table = Rows("<workload", "<class", "<ranks", "runs", "<verified")
    for one in curves:
        verdict = "yes" if one.verified else f"NO: {one.verified_runs} of {one.runs}"
        style = "" if one.verified else "red"
        name = one.workload.name
        table.add(name, one.problem_class, spans(one.rank_counts), str(one.runs), verdict, style=style)
    screen.table(table)
    runs, verified = sum(one.runs for one in curves), sum(one.verified_runs for one in curves)
    names = units.count(len({one.workload.name for one in curves}), "workload")
    screen.line()
    total = f"{verified:,} of {units.count(runs, 'run')} verified, of {names}"
    style = "bold" if runs == verified else "bold red"
    screen.line(f"{total}, in {units.duration(elapsed_seconds)}", style)


def spans(counts: Sequence[int]) -> str:
    """Formats counts such as `1, 2, 4`; three or more in a row as `1 to 16`."""
    return ", ".join(
        f"{first} to {last}" if last > first + 1 else ", ".join(map(str, range(first, last + 1)))
        for first, last in spelling.spans(counts)
    )


def show_figures(screen: Screen, rows: Sequence[ScalingRow]) -> None:
    """Shows figures with a column for each number of ranks, in as many tables as the width requires.

    Figures that depend on the message size get a table for each number of ranks.
    """
    single = [one for row in rows for one in row.figures if not one.at]
    names = tuple(dict.fromkeys(one.name for one in single))
    columns = [
        [units.count(row.first.ranks, "rank"), *(_find(row, one, "") for one in names)] for row in rows
    ]
    for some in _fitting(columns if names else [], screen.width - max(map(len, names), default=0)):
        table = Rows("<", *(column[0] for column in some))
        for index, name in enumerate(names, start=1):
            table.add(name, *(column[index] for column in some))
        screen.table(table)
    for row in rows:
        _show_places(screen, row, many=len(rows) > 1)


def _fitting(columns: Sequence[list[str]], width: int) -> list[list[list[str]]]:
    """Groups neighbouring columns that fit the width together; a column too wide stands alone."""
    groups: list[list[list[str]]] = []
    room = 0
    for column in columns:
        needed = max(map(len, column)) + _GAP
        if not groups or needed > room:
            groups.append([])
            room = width
        groups[-1].append(column)
        room -= needed
    return groups


def _show_places(screen: Screen, row: ScalingRow, *, many: bool) -> None:
    placed = [one for one in row.figures if one.at]
    if not placed:
        return
    if many:
        screen.title(units.count(row.first.ranks, "rank"))
    names = tuple(dict.fromkeys(one.name for one in placed))
    table = Rows("", *names)
    for at in dict.fromkeys(one.at for one in placed):
        table.add(at, *(_find(row, name, at) for name in names))
    screen.table(table)


def _find(row: ScalingRow, name: str, at: str) -> str:
    return next((_shown(one) for one in row.figures if (one.name, one.at) == (name, at)), "")


def _shown(figure: WorkloadFigure) -> str:
    shown = _SHOWN.get(figure.unit)
    if shown:
        return shown(figure.value)
    whole = figure.value == round(figure.value) or abs(figure.value) >= 1000
    digits = ",.0f" if whole else ",.4g"
    return f"{figure.value:{digits}} {figure.unit}".rstrip()
