"""Draws a bar for each network, divided into the parts of its time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from crosscut.base import units
from crosscut.prediction.predicting import PARTS, Predicted
from crosscut.reports import charts

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Grey for computing and waiting, which no network changes; distinct colours for the network's parts.
_FILLS = dict(zip(PARTS, ("#8a949e", "#c9d0d6", *(charts.COLOURS[at] for at in (0, 2, 1))), strict=True))
_LONGEST_NAME = 30


def chart(predicted: Predicted) -> Figure:
    networks, trace = predicted.networks, predicted.trace
    widths = np.maximum([[one.parts[part] for part in PARTS] for one in networks], 0.0)
    factor, unit = units.time_unit(float(widths.sum(axis=1).max()))
    title = f"{trace.index.parent.name}: {units.count(trace.ranks, 'rank')}, predicted"
    figure, axes = charts.new(title, height=1.9 + 0.45 * len(networks))
    places = range(len(networks))
    starts = (widths.cumsum(axis=1) - widths) / factor
    for at, (part, colour) in enumerate(_FILLS.items()):
        bars = axes.barh(places, widths[:, at] / factor, 0.62, left=starts[:, at], color=colour, label=part)
    first = networks[0].seconds
    ratios = ["", *(f"  ×{one.seconds / first:.2f}" if first > 0 else "" for one in networks[1:])]
    ends = [units.seconds(one.seconds) + ratio for one, ratio in zip(networks, ratios, strict=True)]
    axes.bar_label(bars, ends, padding=6)
    names = (charts.plain(Path(one.network).stem) for one in networks)
    axes.set_yticks(
        places,
        [name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…" for name in names],
        color=charts.INK,
        fontsize=11,
    )
    axes.invert_yaxis()
    axes.set_xlim(left=0)
    axes.grid(axis="x")
    axes.grid(visible=False, axis="y")
    axes.set_xlabel(f"time, {unit}")
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=len(PARTS), borderaxespad=0.2)
    return figure
