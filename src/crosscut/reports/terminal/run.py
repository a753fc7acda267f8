"""What `crosscut show` draws: what was measured and how, what to beware of, then the figures."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from crosscut.analysis.figures.samples import Samples
from crosscut.reports.terminal import congestor, costs, dense, loaded, sweep
from crosscut.reports.terminal.screen import Screen
from crosscut.reports.view import View, chosen, text
from crosscut.reports.words import about
from crosscut.run.shape import Shape

# Body of the report: all measured sizes, and the one whose details are asked for.
Body = Callable[[Screen, View, list[Samples], Samples], None]

_BODIES: dict[Shape, Body] = {
    Shape.DENSE: dense.render,
    Shape.STREAMS: dense.render,
    Shape.SWEEP: sweep.render,
    Shape.LOADED: loaded.render,
    Shape.VICTIMS: congestor.render,
}


def render(screen: Screen, view: View, size_bytes: int | None = None) -> None:
    """Draws the whole report."""
    measured = view.measured()
    header(screen, view)
    detailed = chosen(view.path, measured, size_bytes)
    warn(screen, view, measured)
    if detailed is None:
        screen.line("Nothing is measured yet.")
        return
    body = dense.render if detailed.of_phases else _BODIES[view.shape]
    body(screen, view, measured, detailed)
    costs.render(screen, view)


def header(screen: Screen, view: View) -> None:
    """What, where, when, how."""
    style = {"complete": "bold green", "running": "bold yellow", "stopped": "bold yellow"}.get(
        view.state, "bold red"
    )
    screen.line(about.what(view), "bold")
    if summary := text(view.attributes, "pattern", "summary"):
        screen.line(summary, "italic")
    screen.field("run", _shown(view.path))
    if view.state != "complete":
        screen.line(f"state         {view.state}", style)
    screen.field("where", about.where(view))
    screen.field("when", about.when(view))
    screen.field("how", "; ".join(about.how(view)))
    if faults := about.planted(view):
        screen.field("planted", "; ".join(faults))


def _shown(path: Path) -> str:
    try:
        return str(path.absolute().relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def warn(screen: Screen, view: View, shown: list[Samples]) -> None:
    """Cautions, each with its advice."""
    for caution in about.beware(view, shown):
        screen.warn(str(caution))
