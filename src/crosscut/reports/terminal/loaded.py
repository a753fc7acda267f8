"""Reports of messages under load: the ping-pong scatter plot of Salmon, Stein and Sterling (SC98) with its
tail, and the slowdown of victims beside congestors relative to idle."""

from __future__ import annotations

import numpy as np

from crosscut.analysis.figures import summary
from crosscut.analysis.figures.loggp import line
from crosscut.analysis.figures.samples import Samples, by_class, messages
from crosscut.analysis.figures.slowdown import Slowdown, conditions, slowdowns, victims
from crosscut.analysis.stats.intervals import Floats, medians
from crosscut.base import units
from crosscut.reports.terminal.dense import slowest
from crosscut.reports.terminal.plot import scatter_plot
from crosscut.reports.terminal.screen import Rows, Screen
from crosscut.reports.view import View, text
from crosscut.reports.words import figures

PLOT_HEIGHT = 14
_FEW = "fewer than 100 messages"


def render(screen: Screen, view: View, measured: list[Samples], detailed: Samples) -> None:
    sizes, seconds = messages(measured)
    if len(seconds) == 0:
        screen.line("No message was measured.")
        return
    screen.title(f"Half round trip under load: {units.count(len(seconds), 'message')}")
    lines = scatter_plot(
        sizes, seconds, width=screen.width, height=PLOT_HEIGHT, glyphs=screen.glyphs,
        x_text=units.about_size, y_text=lambda value: units.seconds(value, 1),
        x_label="message size (a denser mark: more messages)",
    )  # fmt: skip
    screen.show(screen.drawing([screen.glyphs.plain(line) for line in lines]))
    _by_size(screen, sizes, seconds)
    _model(screen, sizes, seconds)
    screen.line("The tail is what a program waits for: compare with a ping-pong on the idle network.", "dim")
    slowest(screen, view, summary.routes(detailed, timed=True))


def _model(screen: Screen, sizes: Floats, seconds: Floats) -> None:
    """Prints how far single messages are from t = α + m/β, a model that Salmon et al. find inadequate."""
    found = line(sizes, seconds)
    if found is None:
        return
    beta = units.rate(1 / found.seconds_per_byte) if found.seconds_per_byte > 0 else "none"
    verdict = (
        "it describes these messages" if found.adequate else "it does not describe single messages under load"
    )
    screen.field(
        "t = α + m/β",
        f"α {units.seconds(found.alpha_seconds)}, β {beta}: half of the messages are off by more than "
        f"{units.percent(found.misfit_median)}, one by {units.percent(found.misfit_largest)} "
        f"({units.size(found.misfit_bytes)}); {verdict}",
    )


def _by_size(screen: Screen, sizes: Floats, seconds: Floats) -> None:
    screen.console.print()
    table = Rows("size", "messages", "median", "?95 % interval", "99th percentile", "longest", dash=_FEW)
    for low, high, chosen in by_class(sizes, seconds):
        table.add(
            units.size(low) if low == high else f"{units.size(low)} and up",
            f"{len(chosen):,}",
            *figures.cells(figures.at(medians(chosen[:, None]), 0), units.time_unit),
            # Below 100 samples, the 99th percentile is the longest.
            units.seconds(float(np.percentile(chosen, 99))) if len(chosen) >= 100 else "–",
            units.seconds(float(chosen.max())),
        )
    screen.table(table)


def render_victims(screen: Screen, view: View, measured: list[Samples], _detailed: Samples) -> None:
    measure = text(view.attributes, "pattern", "parameters", "measure")
    what = "messages" if measure in ("", "pairs") else f"{measure} operations"
    for samples in measured:
        found = slowdowns(conditions(samples, view.labels(samples)))
        screen.title(f"Victims' {what} at {units.size(samples.size_bytes)}, and their slowdown against idle")
        if not found:
            screen.line("No victim was measured.")
            continue
        _slowdowns(screen, found)
        measuring = int(victims(samples, view.labels(samples)).sum())
        screen.line(f"Victims are {measuring} of {view.ranks} ranks; the others congest.", "dim")


def _slowdowns(screen: Screen, found: list[Slowdown]) -> None:
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
        dash=_FEW,
    )
    for entry in found:
        condition = entry.condition
        many = condition.many
        table.add(
            condition.label,
            units.size(condition.bytes),
            f"{len(condition.seconds):,}",
            units.seconds(condition.median),
            units.seconds(condition.p99) if many else "–",
            units.rate(condition.bytes / condition.median) if condition.bytes else "",
            f"{entry.median:.2f}",
            f"{entry.p99:.2f}" if many else "–",
            f"{entry.longest:.2f}",
            style="yellow" if entry.median >= 2 else "",
        )
    screen.table(table)
