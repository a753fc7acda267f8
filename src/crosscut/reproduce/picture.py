"""The experiment's picture in the paper's own form: SVG, and PNG beside it where resvg-py is installed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from crosscut.reproduce.chart import Axis, Mark, svg
from crosscut.reproduce.comparing import Curve, Row
from crosscut.reproduce.experiment import Experiment

BINS = 40
MOST_CROSSES = 6
"""More simulated figures of a series than this are a line."""
_PLACES = {"lab": "emulated", "sim": "simulated"}


def write(experiment: Experiment, rows: Sequence[Row], curves: Sequence[Curve], folder: Path) -> Path:
    path = folder / "picture.svg"
    text = _FORMS[experiment.picture.form](experiment, rows, curves)
    path.write_text(text, encoding="utf-8")
    try:
        import resvg_py
    except ImportError:
        return path
    png = path.with_suffix(".png")
    png.write_bytes(bytes(resvg_py.svg_to_bytes(svg_string=text, zoom=1.5)))
    return png


def _subtitle(experiment: Experiment) -> list[str]:
    return [experiment.source[:120]]


def _points(experiment: Experiment, rows: Sequence[Row], _curves: Sequence[Curve]) -> str:
    """Published rings, emulated dots, simulated dashed lines, over the row's x."""
    marks = []
    for colour, series in enumerate(dict.fromkeys(row.series for row in rows)):
        own = [row for row in rows if row.series == series]
        published = _held(own, [row.published for row in own])
        emulated = _held(own, [row.emulated for row in own])
        simulated = _held(own, [row.simulated for row in own])
        marks += [
            Mark("", *simulated, colour, "dashed" if len(simulated[0]) > MOST_CROSSES else "crosses"),
            Mark("", *emulated, colour, "dots"),
            Mark("", *published, colour, "rings"),
            Mark(series, (), (), colour, "line"),
        ]
    looks = {"rings": "published", "dots": "emulated", "crosses": "simulated", "dashed": "simulated"}
    used = [look for look in looks if any(mark.look == look and mark.x for mark in marks)]
    marks += [Mark(looks[look], (), (), -1, look) for look in used]
    return _drawn(experiment, marks, logs=_by_size(experiment))


def _held(rows: Sequence[Row], values: Sequence[float | None]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    there = [(row.x or 0.0, value) for row, value in zip(rows, values, strict=True) if value is not None]
    return tuple(x for x, _ in there), tuple(value for _, value in there)


def _by_size(experiment: Experiment) -> bool:
    return any(series.by_size for series in experiment.series)


def _drawn(experiment: Experiment, marks: Sequence[Mark], logs: bool = False, log_y: bool = False) -> str:
    picture = experiment.picture
    return svg(
        picture.title, _subtitle(experiment), marks, Axis(picture.x, logs), Axis(picture.y, log_y, 0.0)
    )


def _phases(experiment: Experiment, _rows: Sequence[Row], curves: Sequence[Curve]) -> str:
    """Each phase's rate over its number, a line for each series."""
    names = [series.name for series in experiment.series]
    drawn = [one for one in curves if one.phase_x]
    looks = {"lab": "line", "sim": "dashed"}
    marks = [
        Mark("", one.phase_x, one.phase_rates, names.index(one.series), looks[one.place]) for one in drawn
    ]
    used = dict.fromkeys(one.series for one in drawn)
    marks += [Mark(name, (), (), names.index(name), "dots") for name in used]
    places = dict.fromkeys(one.place for one in drawn)
    marks += [Mark(_PLACES[place], (), (), -1, looks[place]) for place in places]
    return _drawn(experiment, marks)


def _histogram(experiment: Experiment, _rows: Sequence[Row], curves: Sequence[Curve]) -> str:
    """How many routes have which rate."""
    held = [one for one in curves if one.routes]
    top = max((max(one.routes) for one in held), default=1.0)
    edges = np.linspace(0, top * 1.02, BINS + 1)
    marks = []
    for colour, one in enumerate(held):
        counts, _ = np.histogram(one.routes, bins=edges)
        marks.append(Mark(f"{one.series}, {_PLACES[one.place]}", tuple(edges[:-1].tolist()),
                          tuple(float(c) for c in counts), colour, "bars", float(edges[1])))  # fmt: skip
    return _drawn(experiment, marks)


def _scatter(experiment: Experiment, _rows: Sequence[Row], curves: Sequence[Curve]) -> str:
    """Every message's time over its size, both by powers."""
    marks = [
        Mark(f"{one.series}, {_PLACES[one.place]}", tuple(float(b) for b in one.route_bytes), one.routes,
             colour, "specks")
        for colour, one in enumerate(curves)
        if one.routes
    ]  # fmt: skip
    return _drawn(experiment, marks, logs=True, log_y=True)


_FORMS: dict[str, Callable[[Experiment, Sequence[Row], Sequence[Curve]], str]] = {
    "points": _points,
    "phases": _phases,
    "histogram": _histogram,
    "scatter": _scatter,
}
