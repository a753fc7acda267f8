"""What workloads measure besides their time, as tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from crosscut.base import units
from crosscut.reports.terminal.screen import Rows, Screen
from crosscut.workloads.applications import ScalingRow, WorkloadFigure

_SHOWN: dict[str, Callable[[float], str]] = {
    "s": units.seconds,
    "B/s": units.rate,
    "share": units.percent,
    "1/s": lambda value: f"{value:,.0f} /s" if value >= 1000 else f"{value:.3g} /s",
}

# Between two columns of a table.
_GAP = 3


def show(screen: Screen, rows: Sequence[ScalingRow]) -> None:
    """A column for each number of ranks, and as many tables as it takes; figures that have several places get
    a table for each number."""
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
    """Neighbours together as long as they fit; one alone always does."""
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
