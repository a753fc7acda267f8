"""Report of `crosscut show`: what was measured and how, cautions, figures, and processor time."""

from __future__ import annotations

from collections.abc import Callable

from crosscut.analysis.figures.samples import Samples
from crosscut.base import units
from crosscut.base.spelling import as_typed, capital
from crosscut.reports.terminal import algorithms, dense, findings, loaded, sweep
from crosscut.reports.terminal.screen import Rows, Screen
from crosscut.reports.view import View, chosen, text
from crosscut.reports.words import about, costs
from crosscut.run.shape import Shape

SIZES_SHOWN = 6  # in the table of processor time
# Draws the body of a report, given all measured sizes and the one to detail.
Body = Callable[[Screen, View, list[Samples], Samples], None]

_BODIES: dict[Shape, Body] = {
    Shape.DENSE: dense.render,
    Shape.STREAMS: dense.render,
    Shape.SWEEP: sweep.render,
    Shape.LOADED: loaded.render,
    Shape.VICTIMS: loaded.render_victims,
    Shape.ALGORITHMS: algorithms.render,
}


def render(screen: Screen, view: View, size_bytes: int | None = None) -> None:
    """Draws the whole report."""
    measured = view.measured()
    detailed = chosen(view.path, measured, size_bytes)
    header(screen, view)
    warn(screen, view, measured)
    if detailed is None:
        screen.line("Nothing is measured yet.")
        return
    body = dense.render if detailed.of_phases else _BODIES[view.shape]
    body(screen, view, measured, detailed)
    _hops(screen, view)
    _effort(screen, view)
    if view.state == "complete":
        findings.first(screen, view, as_typed(view.path), apart=True)


def header(screen: Screen, view: View) -> None:
    """Prints what was measured, where, when and how."""
    screen.line(about.what(view), "bold")
    if summary := text(view.attributes, "pattern", "summary"):
        screen.line(summary, "italic")
    screen.field("run", as_typed(view.path))
    if view.state != "complete":
        style = "bold yellow" if view.state in ("running", "stopped") else "bold red"
        screen.line(f"state         {view.state}", style)
    screen.field("where", about.where(view))
    screen.field("when", about.when(view))
    screen.field("how", "; ".join(about.how(view)))
    if faults := about.planted(view):
        screen.field("planted", "; ".join(faults))


def warn(screen: Screen, view: View, shown: list[Samples]) -> None:
    """Prints cautions, each with its advice."""
    for caution in about.beware(view, shown):
        screen.warn(str(caution))


def _hops(screen: Screen, view: View) -> None:
    found = costs.latency_by_hops(view)
    if found is None:
        return
    screen.title(f"Latency by path, {units.size(found.size_bytes)} ({costs.timed(view)})")
    screen.line(capital(costs.hops_sentence(found)) + ".")
    unit = units.time_unit(found.classes[0].median_seconds)
    rows = Rows("<path through", f"median, {unit[1]}", "routes")
    for one in found.classes:
        rows.add(
            costs.way(one.switches, one.hosts), units.number(one.median_seconds, unit), f"{one.routes:,}"
        )
    screen.table(rows)


def _effort(screen: Screen, view: View) -> None:
    found = costs.effort_of(view)
    if not found:
        return
    screen.title("Processor time for moving bytes")
    if costs.polls(view):
        screen.line("Unknown: the ranks poll, so their processors are always busy (--wait block).")
        return
    rows = Rows("size", *costs.EFFORT_HEAD)
    for one in costs.some(found, SIZES_SHOWN):
        rows.add(*costs.effort_row(one))
    screen.table(rows)
