"""Report of a ping-pong sweep: half round trip and rate by message size."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from crosscut.analysis.figures import summary
from crosscut.analysis.figures.pingpong import Sweep, sweep
from crosscut.analysis.figures.samples import Samples
from crosscut.base import units
from crosscut.base.spelling import capital
from crosscut.reports.terminal.dense import slowest
from crosscut.reports.terminal.plot import bar, scatter_plot
from crosscut.reports.terminal.screen import Rows, Screen
from crosscut.reports.view import View, text
from crosscut.reports.words import costs, figures, loggp
from crosscut.run.imported import imported

MOST_ROWS = 24
PLOT_HEIGHT = 10


def render(screen: Screen, view: View, measured: list[Samples], detailed: Samples) -> None:
    found = sweep(measured)
    if not np.isfinite(found.rates.median).any():
        screen.line("No size has a rate: no bytes moved.")
        return
    mode = text(view.attributes, "pattern", "parameters", "mode")
    timed = figures.timed(mode)
    _headline(screen, found, timed)
    _model(screen, view, found, mode)
    _table(screen, found, timed)
    if len(found.size_bytes) > 2:
        _plots(screen, found, timed)
    if len(summary.routes(detailed).source) > 1:
        slowest(screen, view, summary.routes(detailed), f" at {units.size(detailed.size_bytes)}")


def _headline(screen: Screen, found: Sweep, timed: str) -> None:
    screen.title(f"{capital(timed)} and rate, by message size")
    if len(found.size_bytes) == 1:
        screen.field("time", figures.latency(found))
        screen.field("rate", figures.peak(found))
        return
    screen.field("latency" if timed == figures.timed("") else "first size", figures.latency(found))
    screen.field("peak rate", figures.peak(found))
    if not found.timeless():
        screen.field("half peak", f"from {units.size(found.half_rate_bytes())} on")


def _model(screen: Screen, view: View, found: Sweep, mode: str) -> None:
    """Prints the LogGP parameters that this mode determines; LogGP does not cover bidirectional traffic."""
    stream = mode == "stream"
    model = loggp.of_sweep(found, mode)
    if model is None:
        return
    short = "g (or o, the longer)" if stream else "L + 2 o"
    screen.field(
        "LogGP",
        f"{short} {units.seconds(model.short_seconds)}, G {units.seconds(model.seconds_per_byte)} a byte "
        f"({units.rate(1 / model.seconds_per_byte)})",
    )
    screen.field("", _apart(view, model.short_seconds, stream=stream))
    line = model.line
    beta = f"{units.rate(1 / line.seconds_per_byte)}" if line.seconds_per_byte > 0 else "none"
    screen.field(
        "t = α + m/β",
        f"α {units.seconds(line.alpha_seconds)}, β {beta}: median misfit {100 * line.misfit_median:.1f} %, "
        f"largest {100 * line.misfit_largest:.0f} % at {units.size(line.misfit_bytes)}"
        + ("" if line.adequate else "; it does not describe this sweep"),
    )


def _apart(view: View, short_seconds: float, *, stream: bool) -> str:
    """Returns o, if processor time is known, and how to measure the remaining parameters."""
    send, receive = loggp.overhead(view)
    if not math.isfinite(send + receive):
        rest = "" if stream or imported(view.attributes) else "; for g, measure --mode stream"
        why = "the ranks poll" if costs.polls(view) else "no processor time was recorded"
        return f"o and L cannot be separated: {why}{rest}"
    if stream:
        return (
            f"o {units.seconds(send)} to send, {units.seconds(receive)} to receive (processor time); for g "
            "and L, show this run together with one of --mode pingpong"
        )
    latency = short_seconds - send - receive
    rest = f", hence L {units.seconds(latency)}" if latency > 0 else "; L unknown, since 2 o exceeds the sum"
    return f"o {units.seconds(send)} (processor time, mean of both ends){rest}; for g, measure --mode stream"


def _rows(found: Sweep) -> list[int]:
    """Returns indices of the sizes to list: all, or evenly spaced ones with the first, last and peak."""
    count = len(found.size_bytes)
    if count <= MOST_ROWS:
        return list(range(count))
    spaced = np.linspace(0, count - 1, MOST_ROWS - 1).round().astype(int).tolist()
    # Prefer the roundest of three neighbours: the sweep's own sizes rather than perturbations of them.
    chosen = {
        min(range(max(0, at - 1), min(count, at + 2)), key=lambda i: _ugliness(found, i)) for at in spaced
    }
    return sorted({0, *chosen, count - 1, found.peak_index()})


def _ugliness(found: Sweep, index: int) -> int:
    return len(units.size(found.size_bytes[index]).removesuffix("iB").removesuffix("B"))


def _table(screen: Screen, found: Sweep, timed: str) -> None:
    rows = _rows(found)
    wide = screen.width >= 76
    table = Rows("size", timed, "?95 % interval", "rate", "<")
    peak = float(np.nanmax(found.rates.median))
    for index in rows:
        table.add(
            *figures.of_sweep(found, index),
            bar(float(found.rates.median[index]) / peak if peak > 0 else 0, 16 if wide else 8, screen.glyphs),
        )
    screen.console.print()
    screen.table(table)
    if len(rows) < len(found.size_bytes):
        screen.line(f"{len(rows)} of {len(found.size_bytes)} sizes; all: crosscut export", "dim")


def _plots(screen: Screen, found: Sweep, timed: str) -> None:
    sizes = np.asarray(found.size_bytes, dtype=np.float64)
    plots = []
    rate, time = (
        ("Rate", found.rates.median, units.rate),
        (capital(timed), found.seconds.median, units.seconds),
    )
    for name, values, words in (rate, time):
        lines = scatter_plot(
            sizes, values, width=screen.half, height=PLOT_HEIGHT, glyphs=screen.glyphs,
            x_text=units.about_size, y_text=partial(words, significant=1),
            x_label="size, both axes logarithmic",
        )  # fmt: skip
        plots.append((f"{name} by size", [screen.glyphs.plain(line) for line in lines]))
    screen.beside(plots[0], plots[1])
