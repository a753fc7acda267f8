"""Half round trips under load, every message: the scatter of Salmon, Stein and Sterling (SC98)."""

from __future__ import annotations

import numpy as np

from crosscut import units
from crosscut.analysis.intervals import Floats
from crosscut.reports.html.picture import Axis, Picture, time_axis

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
