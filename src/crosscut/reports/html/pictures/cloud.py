"""Half round trips under load, every message: the scatter of Salmon, Stein and Sterling (SC98)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from crosscut.analysis.figures.samples import classes
from crosscut.analysis.stats.intervals import Floats
from crosscut.base import units
from crosscut.reports.html.pictures.picture import Axis, Picture, time_axis

MOST_POINTS = 4000
CELLS = (96, 64)  # of the counted picture: across, up


def picture(sizes: Floats, seconds: Floats, name: str) -> Picture | None:
    """Points; where they are very many, counts of cells of a grid that is even on both logarithmic axes."""
    there = np.isfinite(seconds) & (seconds > 0)
    sizes, seconds = np.maximum(sizes[there], 1.0), seconds[there]
    if len(seconds) == 0:
        return None
    p99 = float(np.percentile(seconds, 99))
    caption = (
        f"{units.count(len(seconds), 'message')}: half of them within "
        f"{units.seconds(float(np.median(seconds)))}, "
        f"99 % within {units.seconds(p99)}, the longest {units.seconds(float(seconds.max()))}."
    )
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


def laid_over(named: Sequence[tuple[str, Floats, Floats]], name: str) -> Picture | None:
    """Several runs: the median by size, shaded to the 99th percentile; points would hide each other."""
    columns: dict[str, list[float | int | str | None]] = {
        key: [] for key in ("run", "messages", "size_bytes", "seconds", "seconds_low", "seconds_high", "rate")
    }
    captions = []
    for label, sizes, seconds in named:
        there = np.isfinite(seconds) & (seconds > 0)
        if not there.any():
            continue
        whole, times = np.maximum(sizes[there], 1.0), seconds[there]
        for low, high in classes(whole):
            mine = times[(whole >= low) & (whole <= high)]
            if not len(mine):
                continue
            size, middle = math.sqrt(low * high), float(np.median(mine))
            most = float(np.percentile(mine, 99))
            row: list[float | int | str | None] = [
                label,
                len(mine),
                size,
                middle,
                middle,
                most,
                size / middle,
            ]
            for key, value in zip(columns, row, strict=True):
                columns[key].append(value)
        half, nearly_all = (units.seconds(float(value)) for value in np.percentile(times, (50, 99)))
        count = units.count(len(times), "message")
        captions.append(f"{label}: {count}, half of them within {half}, 99 % within {nearly_all}.")
    if len(captions) < 2:
        return None
    middles = [value for value in columns["seconds"] if isinstance(value, float)]
    return Picture(
        kind="sweep",
        name=name,
        title="Half round trip under load, by message size",
        caption="\n".join(
            [*captions, "Shaded: from the median to the 99th percentile of messages of a size."]
        ),
        columns=columns,
        x=Axis("message size, bytes", log=True),
        y=time_axis("half round trip, median", min(middles), log=True),
        more={"value": "seconds"},
    )


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
