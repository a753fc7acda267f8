"""Draws an experiment's pictures in the paper's form, as SVG and PNG."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from crosscut.base import units, whole_file
from crosscut.reports import charts
from crosscut.reproduce.comparing import ComparisonRow, SeriesCurve
from crosscut.reproduce.experiment import Experiment
from crosscut.reproduce.report import NAMES
from crosscut.run.realm import Realm

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BINS = 40
SUBTITLE_CHARACTERS = 140
MOST_CROSSES = 6
"""Simulated or calculated figures of a series beyond this number are drawn as a line."""
_MOST_OWN_TICKS = 10
LIMITED = "emulated, machine was the limit"
_LOOKS = {Realm.EMULATED: "line", Realm.HERE: "line", Realm.SIMULATED: "dashed"}
_NO_SERIES = -1
_Entries = list[tuple[str, int, str]]
"""Legend entries: (label, colour, look)."""


def write(
    experiment: Experiment, rows: Sequence[ComparisonRow], curves: Sequence[SeriesCurve], folder: Path
) -> list[Path]:
    """Writes `picture.svg` and `.png`, `picture-2.svg` and so on. Raises UsageError without matplotlib."""
    files = []
    for number, one in enumerate(experiment.pictures, 1):
        source = textwrap.wrap(experiment.source, SUBTITLE_CHARACTERS)
        limited = _limited_said(curves) if one.form in ("histogram", "phase histogram", "scatter") else ""
        said = [*source[:1], limited] if limited else source[:2]
        figure, axes = charts.new(one.title, "\n".join(said))
        axes.set(xlabel=one.x, ylabel=one.y)
        entries = _FORMS[one.form](axes, experiment, rows, curves)
        if one.form == "scatter" or (one.y_scale == "log" and one.form in ("points", "phases")):
            charts.by_powers(axes, "y")
        else:
            axes.set_ylim(bottom=min(0.0, axes.dataLim.y0))
        charts.legend(axes, entries)
        name = "picture" if number == 1 else f"picture-{number}"
        files += [folder / f"{name}{form}" for form in (".svg", ".png")]
        for file in files[-2:]:
            whole_file.write_output(file, charts.drawn(figure, file.suffix))
    return files


def _points(
    axes: Axes, experiment: Experiment, rows: Sequence[ComparisonRow], _curves: Sequence[SeriesCurve]
) -> _Entries:
    """Draws figures over x: published rings, emulated dots in them, simulated crosses (if many, a line)."""
    colours: _Entries = []
    looks: dict[str, str] = {}
    for colour, series in enumerate(dict.fromkeys(row.series for row in rows)):
        own = [row for row in rows if row.series == series]
        for label, look, look_of_many, values in (
            ("published", "rings", "rings", [row.published for row in own]),
            ("emulated", "dots", "dots", [None if row.emulated_limited else row.emulated for row in own]),
            (NAMES[Realm.HERE], "joined", "joined", [row.here for row in own]),
            (LIMITED, "pale", "pale", [row.emulated if row.emulated_limited else None for row in own]),
            ("simulated", "crosses", "dashed", [row.simulated for row in own]),
            ("calculated", "saltires", "dotted", [row.calculated for row in own]),
        ):
            held = [(row.x or 0.0, y) for row, y in zip(own, values, strict=True) if y is not None]
            if held:
                shown = look if len(held) <= MOST_CROSSES else look_of_many
                charts.plot(axes, colour, shown, *zip(*held, strict=True))
                looks[shown] = label
                colours = list(dict.fromkeys([*colours, (series, colour, "colour")]))
    own_numbers = {row.x for row in rows if row.x}
    if own_numbers and any(series.by_size or series.rank_counts for series in experiment.series):
        few = 2 <= len(own_numbers) <= _MOST_OWN_TICKS
        charts.by_powers(axes, "x", own=own_numbers if few else ())
    return [*colours, *((label, _NO_SERIES, look) for look, label in looks.items())]


def _phases(
    axes: Axes, experiment: Experiment, _rows: Sequence[ComparisonRow], curves: Sequence[SeriesCurve]
) -> _Entries:
    """Draws each phase's rate over its number, one line for each series."""
    names = [series.name for series in experiment.series]
    drawn = [one for one in curves if one.phase_x]
    for one in drawn:
        charts.plot(axes, names.index(one.series), _LOOKS[one.place], one.phase_x, one.phase_rates)
        limited = [list(compress(values, one.phase_limited)) for values in (one.phase_x, one.phase_rates)]
        charts.plot(axes, names.index(one.series), "pale", *limited)
    entries = [(one.series, names.index(one.series), "colour") for one in drawn]
    entries += [(NAMES[one.place], _NO_SERIES, _LOOKS[one.place]) for one in drawn]
    if any(any(one.phase_limited) for one in drawn):
        entries.append((LIMITED, _NO_SERIES, "pale"))
    return list(dict.fromkeys(entries))


def _histogram(
    axes: Axes, curves: Sequence[SeriesCurve], rates: Callable[[SeriesCurve], Sequence[float]]
) -> _Entries:
    """Draws a histogram of the rates of routes or phases."""
    held = [one for one in curves if rates(one)]
    edges = np.linspace(0, 1.02 * max((max(rates(one)) for one in held), default=1.0), BINS + 1).tolist()
    for colour, one in enumerate(held):
        shade = charts.COLOURS[colour % len(charts.COLOURS)]
        axes.hist(rates(one), edges, color=shade, alpha=0.55, rwidth=0.92)
    return _entries(held, "bars")


def _scatter(axes: Axes, curves: Sequence[SeriesCurve]) -> _Entries:
    """Draws every message's time over its size, on logarithmic axes."""
    held = [one for one in curves if one.routes]
    for colour, one in enumerate(held):
        charts.plot(axes, colour, "specks", one.route_bytes, one.routes)
    charts.by_powers(axes, "x")
    return _entries(held, "dots")


def _entries(held: Sequence[SeriesCurve], look: str) -> _Entries:
    return [(f"{one.series}, {NAMES[one.place]}", colour, look) for colour, one in enumerate(held)]


def _limited_said(curves: Sequence[SeriesCurve]) -> str:
    """Says how many phases the machine limited, for forms whose marks cannot show it; empty if none."""
    limited = [one for one in curves if any(one.phase_limited)]
    counts = ", ".join(
        f"{sum(one.phase_limited)} of {units.count(len(one.phase_limited), 'phase')} of {one.series}"
        for one in limited
    )
    return f"the machine, not the network, was the limit of {counts}" if counts else ""


_FORMS: dict[str, Callable[[Axes, Experiment, Sequence[ComparisonRow], Sequence[SeriesCurve]], _Entries]] = {
    "points": _points,
    "phases": _phases,
    "histogram": lambda axes, _, __, curves: _histogram(axes, curves, lambda one: one.routes),
    "phase histogram": lambda axes, _, __, curves: _histogram(axes, curves, lambda one: one.phase_rates),
    "scatter": lambda axes, _, __, curves: _scatter(axes, curves),
}
