"""Workloads on a terminal: which there are, runs over numbers of ranks, and what of many verified."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from crosscut.base import units
from crosscut.reports.terminal.plot import PlotColumns, column_plot
from crosscut.reports.terminal.screen import Rows, Screen
from crosscut.workloads import figures
from crosscut.workloads.applications import CLASSES, NPB_SOURCE, ScalingCurve, ScalingRow, Workload, speed_up

# Size of a drawn curve: columns and lines.
FEWEST_POINTS, HEIGHT = 3, 8


def listing(screen: Screen, known: Sequence[Workload]) -> None:
    """NPB's eight, then those that stand alone: each group with the words that run it."""
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
            deviation = row.deviation_seconds
            known = deviation is not None and row.seconds > 0
            cells.append(units.percent((deviation or 0) / row.seconds) if known else "")
        cells.append(f"{row.mops:,.4g}" if row.mops < 1e4 else f"{row.mops:,.0f}")
        if len(rows) > 1:
            cells.append(f"{speed_up(row, rows[0]):.2f}")
        cells += [units.percent(row.communication_share), "yes" if row.verified else "NO", row.first.layout]
        table.add(*cells, style="" if row.verified else "red")
    screen.table(table)
    if repeated and len(rows) >= FEWEST_POINTS:
        _plot(screen, rows)
    figures.show(screen, rows)


def _plot(screen: Screen, rows: Sequence[ScalingRow]) -> None:
    """The relative deviation of a time is, to first order, that of the speed-up."""
    median = np.array([speed_up(row, rows[0]) for row in rows])
    spread = np.array([(row.deviation_seconds or 0) / row.seconds if row.seconds > 0 else 0 for row in rows])
    columns = PlotColumns([row.first.ranks for row in rows], median * (1 - spread), median * (1 + spread))
    lines = column_plot(
        columns, unit=(1.0, ""), width=screen.half, height=HEIGHT, glyphs=screen.glyphs, x_label="ranks"
    )
    screen.title("speed-up; shaded from one deviation below to one above")
    screen.show(screen.drawing(lines))


def summary(screen: Screen, curves: Sequence[ScalingCurve], elapsed_seconds: float) -> None:
    """What ran, and whether all of it came to the right result."""
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
    """`1, 2, 4`; of three and more in a row the first and the last: `1 to 16`."""
    groups: list[list[int]] = []
    for count in counts:
        if groups and count == groups[-1][-1] + 1:
            groups[-1].append(count)
        else:
            groups.append([count])
    return ", ".join(
        f"{group[0]} to {group[-1]}" if len(group) > 2 else ", ".join(map(str, group)) for group in groups
    )
