"""What `crosscut show` says beside rates: latency by the length of the way, processor time of bytes."""

from __future__ import annotations

from crosscut.base import units
from crosscut.base.spelling import capital
from crosscut.reports.terminal.screen import Rows, Screen
from crosscut.reports.view import View
from crosscut.reports.words import costs

SIZES_SHOWN = 6


def render(screen: Screen, view: View) -> None:
    _hops(screen, view)
    _effort(screen, view)


def _hops(screen: Screen, view: View) -> None:
    found = costs.latency_by_hops(view)
    if found is None:
        return
    screen.title(f"Time of {costs.timed(view)} by way, {units.size(found.size_bytes)}")
    screen.line(capital(costs.hops_sentence(found)) + ".")
    unit = units.time_unit(found.classes[0].median_seconds)
    rows = Rows("<way through", f"median, {unit[1]}", "routes")
    for one in found.classes:
        rows.add(
            costs.way(one.switches, one.hosts), units.number(one.median_seconds, unit), f"{one.routes:,}"
        )
    screen.table(rows)


def _effort(screen: Screen, view: View) -> None:
    found = costs.effort_of(view)
    if not found:
        return
    screen.title("Processor time of moving bytes")
    if costs.polls(view):
        screen.line("Not told: the ranks poll, so their processors work all the time (--wait block).")
        return
    rows = Rows("size", *costs.EFFORT_HEAD)
    for one in costs.some(found, SIZES_SHOWN):
        rows.add(*costs.effort_row(one))
    screen.table(rows)
