"""Half round trips under load, one point per message: the scatter of Salmon, Stein and Sterling (SC98)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from crosscut.analysis.figures.samples import by_class
from crosscut.analysis.stats.intervals import Floats
from crosscut.base import units
from crosscut.reports.html.pictures.picture import Axis, Picture, captions, laid_over, time_axis

MOST_POINTS = 4000
CELLS = (96, 64)  # of the grid of counts: (across, up)


def picture(sizes: Floats, seconds: Floats, name: str) -> Picture | None:
    """Draws points, or counts in a log-log grid beyond `MOST_POINTS`. None if nothing was measured."""
    sizes, seconds = _measured(sizes, seconds)
    if len(seconds) == 0:
        return None
    parts = np.median(seconds), np.percentile(seconds, 99), seconds.max()
    half, nearly_all, longest = (units.seconds(float(part)) for part in parts)
    said = f"half of them within {half}, 99 % within {nearly_all}, the longest {longest}."
    caption = f"{units.count(len(seconds), 'message')}: {said}"
    columns: dict[str, np.ndarray[tuple[int], np.dtype[np.float64]]]
    if len(seconds) <= MOST_POINTS:
        columns = {"size_bytes": sizes, "seconds": seconds}
    else:
        columns = _counted(sizes, seconds)
        caption += " Darker cells hold more messages."
    return Picture(
        kind="cloud",
        name=name,
        title="Half round trip under load, message by message",
        caption=caption,
        columns=columns,
        x=Axis("message size, bytes", log=True),
        y=time_axis("half round trip", float(np.median(seconds)), log=True),
    )


def several(named: Sequence[tuple[str, Floats, Floats]], name: str) -> Picture | None:
    """Draws several runs by size, from median to 99th percentile, since points would hide each other."""
    shown = [(label, *found) for label, *given in named if len((found := _measured(*given))[1])]
    if len(shown) < 2:
        return None
    runs = [(label, _by_class(sizes, seconds)) for label, sizes, seconds in shown]
    said = captions([(label, _caption(seconds)) for label, _, seconds in shown])
    return Picture(
        kind="sweep",
        name=name,
        title="Half round trip under load, by message size",
        caption=f"{said}\nShaded: from the median to the 99th percentile of messages of a size.",
        columns=laid_over(runs),
        x=Axis("message size, bytes", log=True),
        y=time_axis("half round trip, median", min(min(columns["seconds"]) for _, columns in runs), log=True),
        more={"value": "seconds"},
    )


def _measured(sizes: Floats, seconds: Floats) -> tuple[Floats, Floats]:
    there = np.isfinite(seconds) & (seconds > 0)
    return np.maximum(sizes[there], 1.0), seconds[there]


def _caption(seconds: Floats) -> str:
    half, nearly_all = (units.seconds(float(value)) for value in np.percentile(seconds, (50, 99)))
    return f"{units.count(len(seconds), 'message')}, half of them within {half}, 99 % within {nearly_all}."


def _by_class(sizes: Floats, seconds: Floats) -> dict[str, tuple[float, ...]]:
    rows = []
    for low, high, mine in by_class(sizes, seconds):
        size, middle = math.sqrt(low * high), float(np.median(mine))
        rows.append((len(mine), size, middle, middle, float(np.percentile(mine, 99)), size / middle))
    keys = ("messages", "size_bytes", "seconds", "seconds_low", "seconds_high", "rate")
    return dict(zip(keys, zip(*rows, strict=True), strict=True))


def _counted(sizes: Floats, seconds: Floats) -> dict[str, np.ndarray[tuple[int], np.dtype[np.float64]]]:
    edges = [_edges(sizes, CELLS[0]), _edges(seconds, CELLS[1])]
    counts, _, _ = np.histogram2d(sizes, seconds, bins=edges)
    column, row = np.nonzero(counts)
    return {
        "size_from": edges[0][column], "size_to": edges[0][column + 1],
        "seconds_from": edges[1][row], "seconds_to": edges[1][row + 1],
        "count": counts[column, row],
    }  # fmt: skip


def _edges(values: Floats, cells: int) -> Floats:
    low, high = np.log10(values.min()), np.log10(values.max())
    pad = max(1e-3, 0.01 * (high - low))
    return np.asarray(10 ** np.linspace(low - pad, high + pad, cells + 1), dtype=np.float64)
