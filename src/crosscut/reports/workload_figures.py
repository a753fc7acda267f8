"""What workloads measure besides their time, as tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from crosscut import units
from crosscut.reports.screen import Rows, Screen
from crosscut.workloads import Figure, Row

_SHOWN: dict[str, Callable[[float], str]] = {
    "s": units.seconds,
    "B/s": units.rate,
    "share": units.percent,
    "1/s": lambda value: f"{value:,.0f} /s" if value >= 1000 else f"{value:.3g} /s",
}


def show(screen: Screen, rows: Sequence[Row]) -> None:
    """A column for each number of ranks; figures that have several places get a table for each number."""
    single = [one for row in rows for one in row.figures if not one.at]
    names = tuple(dict.fromkeys(one.name for one in single))
    if names:
        table = Rows("<", *(units.count(row.first.ranks, "rank") for row in rows))
        for name in names:
            table.add(name, *(_find(row, name, "") for row in rows))
        screen.table(table)
    for row in rows:
        _show_places(screen, row, many=len(rows) > 1)


def _show_places(screen: Screen, row: Row, *, many: bool) -> None:
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


def _find(row: Row, name: str, at: str) -> str:
    return next((_shown(one) for one in row.figures if (one.name, one.at) == (name, at)), "")


def _shown(figure: Figure) -> str:
    shown = _SHOWN.get(figure.unit)
    if shown:
        return shown(figure.value)
    whole = figure.value == round(figure.value) or abs(figure.value) >= 1000
    digits = ",.0f" if whole else ",.4g"
    return f"{figure.value:{digits}} {figure.unit}".rstrip()
