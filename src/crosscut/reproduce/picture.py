"""The experiment's picture in the paper's own form: SVG, and PNG beside it where resvg-py is installed."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import compress
from pathlib import Path

import numpy as np

from crosscut.base import units
from crosscut.reports.svg.chart import ChartAxis, Mark, svg
from crosscut.reproduce.comparing import ComparisonRow, SeriesCurve
from crosscut.reproduce.experiment import Experiment
from crosscut.reproduce.report import NAMES
from crosscut.run.realm import Realm

BINS = 40
SUBTITLE_CHARACTERS = 150
MOST_CROSSES = 6
"""More simulated or reckoned figures of a series than this are a line."""
LIMITED = "emulated, machine was the limit"


def write(
    experiment: Experiment, rows: Sequence[ComparisonRow], curves: Sequence[SeriesCurve], folder: Path
) -> list[Path]:
    """`picture.svg`, `picture-2.svg` and so on."""
    return [
        _written(
            _FORMS[one.form](replace(experiment, pictures=(one,)), rows, curves),
            folder / ("picture.svg" if number == 1 else f"picture-{number}.svg"),
        )
        for number, one in enumerate(experiment.pictures, 1)
    ]


def _written(text: str, path: Path) -> Path:
    path.write_text(text, encoding="utf-8")
    try:
        import resvg_py
    except ImportError:
        return path
    png = path.with_suffix(".png")
    png.write_bytes(bytes(resvg_py.svg_to_bytes(svg_string=text, zoom=1.5)))
    return png


def _subtitle(experiment: Experiment, also: str) -> list[str]:
    lines = textwrap.wrap(experiment.source, SUBTITLE_CHARACTERS)
    return [*lines[:1], also] if also else lines[:2]


def _points(experiment: Experiment, rows: Sequence[ComparisonRow], _curves: Sequence[SeriesCurve]) -> str:
    """Published rings, emulated dots in them, simulated crosses (many: a line) on top, over the row's x."""
    marks = []
    for colour, series in enumerate(dict.fromkeys(row.series for row in rows)):
        own = [row for row in rows if row.series == series]
        published = _held(own, [row.published for row in own])
        reckoned = _held(own, [row.reckoned for row in own])
        emulated = _held(own, [None if row.emulated_limited else row.emulated for row in own])
        limited = _held(own, [row.emulated if row.emulated_limited else None for row in own])
        simulated = _held(own, [row.simulated for row in own])
        drawn = [
            Mark("", *published, colour, "rings"),
            Mark("", *emulated, colour, "dots"),
            *(Mark("", *_held(own, [row.here for row in own]), colour, look) for look in ("line", "dots")),
            Mark("", *limited, colour, "pale"),
            Mark("", *simulated, colour, "dashed" if len(simulated[0]) > MOST_CROSSES else "crosses"),
            Mark("", *reckoned, colour, "dotted" if len(reckoned[0]) > MOST_CROSSES else "saltires"),
        ]
        marks += [*drawn, Mark(series, (), (), colour, "colour")] if any(mark.x for mark in drawn) else []
    looks = {
        "rings": "published", "dotted": "reckoned", "saltires": "reckoned", "dots": "emulated",
        "pale": LIMITED, "crosses": "simulated", "dashed": "simulated",
    }  # fmt: skip
    if any(row.here is not None for row in rows):
        looks["dots"] = NAMES[Realm.HERE] + (", emulated" if any(row.emulated for row in rows) else "")
    used = [look for look in looks if any(mark.look == look and mark.x for mark in marks)]
    marks += [Mark(looks[look], (), (), -1, look) for look in used]
    return _drawn(experiment, marks, _by_powers(experiment), experiment.picture.y_scale == "log")


def _held(
    rows: Sequence[ComparisonRow], values: Sequence[float | None]
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    there = [(row.x or 0.0, value) for row, value in zip(rows, values, strict=True) if value is not None]
    return tuple(x for x, _ in there), tuple(value for _, value in there)


def _by_powers(experiment: Experiment) -> bool:
    return any(series.by_size or series.rank_counts for series in experiment.series)


def _drawn(
    experiment: Experiment, marks: Sequence[Mark], logs: bool = False, log_y: bool = False, also: str = ""
) -> str:
    picture = experiment.picture
    subtitle = _subtitle(experiment, also)
    return svg(picture.title, subtitle, marks, ChartAxis(picture.x, logs), ChartAxis(picture.y, log_y, 0.0))


def _phases(experiment: Experiment, _rows: Sequence[ComparisonRow], curves: Sequence[SeriesCurve]) -> str:
    """Each phase's rate over its number, a line for each series."""
    names = [series.name for series in experiment.series]
    drawn = [one for one in curves if one.phase_x]
    looks = {Realm.EMULATED: "line", Realm.HERE: "line", Realm.SIMULATED: "dashed"}
    marks = [
        Mark("", one.phase_x, one.phase_rates, names.index(one.series), looks[one.place]) for one in drawn
    ]
    marks += [Mark("", *_limited_phases(one), names.index(one.series), "pale") for one in drawn]
    used = dict.fromkeys(one.series for one in drawn)
    marks += [Mark(name, (), (), names.index(name), "colour") for name in used]
    places = dict.fromkeys(one.place for one in drawn)
    marks += [Mark(NAMES[place], (), (), -1, looks[place]) for place in places]
    if any(mark.look == "pale" and mark.x for mark in marks):
        marks.append(Mark(LIMITED, (), (), -1, "pale"))
    return _drawn(experiment, marks, log_y=experiment.picture.y_scale == "log")


def _limited_phases(one: SeriesCurve) -> tuple[tuple[float, ...], tuple[float, ...]]:
    return (
        tuple(compress(one.phase_x, one.phase_limited)),
        tuple(compress(one.phase_rates, one.phase_limited)),
    )


def _histogram(experiment: Experiment, _rows: Sequence[ComparisonRow], curves: Sequence[SeriesCurve]) -> str:
    """How many routes have which rate."""
    held = [one for one in curves if one.routes]
    return _counted(experiment, held, [one.routes for one in held])


def _phase_histogram(
    experiment: Experiment, _rows: Sequence[ComparisonRow], curves: Sequence[SeriesCurve]
) -> str:
    """How many phases have which rate, of the slowest rank in each."""
    held = [one for one in curves if one.phase_rates]
    return _counted(experiment, held, [one.phase_rates for one in held])


def _counted(experiment: Experiment, held: Sequence[SeriesCurve], rates: Sequence[Sequence[float]]) -> str:
    top = max((max(one) for one in rates), default=1.0)
    edges = np.linspace(0, top * 1.02, BINS + 1)
    marks = []
    for colour, (one, values) in enumerate(zip(held, rates, strict=True)):
        counts, _ = np.histogram(values, bins=edges)
        marks.append(Mark(f"{one.series}, {NAMES[one.place]}", tuple(edges[:-1].tolist()),
                          tuple(float(c) for c in counts), colour, "bars", float(edges[1])))  # fmt: skip
    return _drawn(experiment, marks, also=_limited_said(held))


def _scatter(experiment: Experiment, _rows: Sequence[ComparisonRow], curves: Sequence[SeriesCurve]) -> str:
    """Every message's time over its size, both by powers."""
    marks = [
        Mark(f"{one.series}, {NAMES[one.place]}", tuple(float(b) for b in one.route_bytes), one.routes,
             colour, "specks")
        for colour, one in enumerate(curves)
        if one.routes
    ]  # fmt: skip
    return _drawn(experiment, marks, logs=True, log_y=True, also=_limited_said(curves))


def _limited_said(curves: Sequence[SeriesCurve]) -> str:
    """Where marks are of many phases each, and cannot show which of them the machine limited."""
    limited = [one for one in curves if any(one.phase_limited)]
    counts = ", ".join(
        f"{sum(one.phase_limited)} of {units.count(len(one.phase_limited), 'phase')} of {one.series}"
        for one in limited
    )
    return f"the machine, not the network, was the limit of {counts}" if counts else ""


_FORMS: dict[str, Callable[[Experiment, Sequence[ComparisonRow], Sequence[SeriesCurve]], str]] = {
    "points": _points,
    "phases": _phases,
    "histogram": _histogram,
    "phase histogram": _phase_histogram,
    "scatter": _scatter,
}
