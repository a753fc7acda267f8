"""Small text plots as pure functions from numbers to lines. A column's axis starts at zero, and every axis of
values states its unit."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from crosscut.analysis.stats.binning import Histogram, nice_step
from crosscut.analysis.stats.intervals import Floats
from crosscut.reports.terminal.glyphs import Glyphs


@dataclass(frozen=True)
class PlotColumns:
    """Data of a column plot: one column per `x`, filled up to `low` and shaded from there to `high`."""

    x: Sequence[int]
    low: Floats
    high: Floats


def binned(columns: PlotColumns, most: int) -> PlotColumns:
    """Merges neighbours into at most `most` columns, from their least `low` to their greatest `high`."""
    if len(columns.x) <= most:
        return columns
    edges = np.linspace(0, len(columns.x), most + 1).astype(int)
    spans = list(itertools.pairwise(edges))
    return PlotColumns(
        x=[columns.x[first] for first, _ in spans],
        low=np.array([_finite(columns.low[first:last]).min(initial=np.inf) for first, last in spans]),
        high=np.array([_finite(columns.high[first:last]).max(initial=-np.inf) for first, last in spans]),
    )


def _finite(values: Floats) -> Floats:
    return values[np.isfinite(values)]


def _column(low: float, high: float, top: float, height: int, glyphs: Glyphs) -> list[str]:
    """Returns the cells of one column, lowest first."""
    if not (math.isfinite(low) and math.isfinite(high)):
        return [" "] * height
    steps = len(glyphs.eighths) - 1
    solid = round(float(max(low, 0)) / top * height * steps)
    shaded = round(float(max(high, 0)) / top * height)
    cells = []
    for row in range(height):
        filled = min(max(solid - row * steps, 0), steps)
        cells.append(glyphs.eighths[filled] if filled or row >= shaded else glyphs.shade)
    if solid == 0 and high > 0:  # a positive rate is never drawn as empty
        cells[0] = glyphs.eighths[1] if glyphs.eighths[1] != " " else glyphs.shade
    return cells


def column_plot(
    columns: PlotColumns, *, unit: tuple[float, str], width: int, height: int, glyphs: Glyphs, x_label: str
) -> list[str]:
    """Draws columns over a labelled axis, within `width` unless it is tiny. Empty if none is positive."""
    finite = _finite(columns.high)
    if len(finite) == 0 or finite.max() <= 0:
        return []
    step = nice_step(float(finite.max()) / unit[0], 4) * unit[0]
    top = math.ceil(float(finite.max()) / step - 1e-9) * step if step > 0 else 0
    if top <= 0:  # too close to zero to compute a step
        return []
    labels = [f"{value / unit[0]:g}" for value in np.arange(0, top + step / 2, step)]
    margin = max(map(len, labels)) + 1
    room = max(width - margin - 3 - len(x_label), 8)  # the axis name goes at its end
    shown = binned(columns, room)
    each = max(1, min(6, room // len(shown.x)))
    body = max(1, each - 1) if each > 1 else 1
    cells = [_column(low, high, top, height, glyphs) for low, high in zip(shown.low, shown.high, strict=True)]
    tick_rows = {
        round(value / top * height): label
        for value, label in zip(np.arange(0, top + step / 2, step), labels, strict=True)
    }
    lines = [f"{unit[1]:>{margin}}"]
    if height in tick_rows:
        lines = [f"{tick_rows[height]:>{margin - 1}} {glyphs.tick} {unit[1]}"]
    for row in range(height - 1, -1, -1):
        label = tick_rows.get(row, "") if row else ""
        edge = glyphs.tick if label else glyphs.vertical
        drawn = (" " * (each - body)).join(column[row] * body for column in cells)
        lines.append(f"{label:>{margin - 1}} {edge}{drawn}".rstrip())
    length = each * len(shown.x) - (each - body)
    lines.append(f"{'0':>{margin - 1}} {glyphs.corner}{glyphs.horizontal * length}")
    lines.append(" " * (margin + 1) + _x_labels(shown.x, columns.x[-1], each, body, length, x_label))
    return lines


def _x_labels(x: Sequence[int], last: int, each: int, body: int, length: int, name: str) -> str:
    """Returns the numbers under their columns, as many as fit, followed by the axis name."""
    widest = len(str(last)) + 1
    stride = max(1, math.ceil(widest / each))
    if stride > 1:
        stride = max(stride, math.ceil(nice_step(len(x), 8)))
    line = [" "] * (length + widest)
    for index in range(0, len(x), stride):
        text = str(x[index])
        start = index * each + max(0, (body - len(text)) // 2)
        line[start : start + len(text)] = text
    return "".join(line).rstrip() + f"  {name}"


def bar(share: float, width: int, glyphs: Glyphs) -> str:
    """Returns a horizontal bar of `share` × `width` cells. A positive share is always visible."""
    steps = len(glyphs.bar) - 1
    filled = round(max(0.0, min(share, 1.0)) * width * steps)
    full, part = divmod(filled, steps)
    text = glyphs.bar[-1] * full + (glyphs.bar[part] if part else "")
    return text.rstrip() or (glyphs.vertical if share > 0 else "")


def histogram_plot(histogram: Histogram, *, unit: tuple[float, str], width: int, glyphs: Glyphs) -> list[str]:
    """Draws one row per bin: edges, bar and count. Outliers share one row at either end."""
    if len(histogram.counts) == 0:
        return []
    edges = histogram.edges / unit[0]
    step = float(edges[1] - edges[0])
    decimals = max(0, -math.floor(math.log10(step) + 1e-9)) if step > 0 else 0
    decimals += 0 if math.isclose(round(step, decimals), step, rel_tol=1e-6) else 1
    texts = [f"{edge:.{decimals}f}" for edge in edges]
    labels = [f"{low} {glyphs.dash} {high}" for low, high in itertools.pairwise(texts)]
    rows = [(label, count, "") for label, count in zip(labels, histogram.counts.tolist(), strict=True)]
    if far := len(histogram.below):
        rows.insert(0, (f"< {texts[0]}", far, f"  least {histogram.below[0] / unit[0]:.{decimals}f}"))
    if far := len(histogram.above):
        rows.append((f"> {texts[-1]}", far, f"  most {histogram.above[-1] / unit[0]:.{decimals}f}"))
    margin = max(len(label) for label, _, _ in rows)
    most = max(count for _, count, _ in rows)
    room = max(4, width - margin - 3 - max(len(f"{most:,}{note}") for _, _, note in rows) - 1)
    lines = [f"{unit[1]:>{margin}}"]
    for label, count, note in rows:
        drawn = f"{bar(count / most, room, glyphs)} {count:,}{note}" if count else ""
        lines.append(f"{label:>{margin}} {glyphs.vertical}{drawn}")
    return lines


def scatter_plot(
    x: Floats, y: Floats, *, width: int, height: int, glyphs: Glyphs,
    x_text: Callable[[float], str], y_text: Callable[[float], str], x_label: str,
) -> list[str]:  # fmt: skip
    """Plots points on logarithmic axes. The more points a cell holds, the denser its character."""
    good = np.isfinite(x) & np.isfinite(y) & (x > 0) & (y > 0)
    if not good.any():
        return []
    log_x, log_y = np.log10(x[good]), np.log10(y[good])
    low_x, high_x = float(log_x.min()), max(float(log_x.max()), float(log_x.min()) + 1e-9)
    low_y, high_y = math.floor(log_y.min()), max(math.ceil(log_y.max()), math.floor(log_y.min()) + 1)
    labels = {
        min(height - 1, round((power - low_y) / (high_y - low_y) * (height - 1))): y_text(10.0**power)
        for power in range(low_y, high_y + 1)
    }
    margin = max(map(len, labels.values())) + 1
    room = max(width - margin - 1, 8)
    grid, _, _ = np.histogram2d(log_y, log_x, bins=(height, room), range=((low_y, high_y), (low_x, high_x)))
    levels = len(glyphs.density) - 1
    most = float(grid.max())
    # Density is logarithmic, so that single messages in the tail stay visible next to the bulk.
    level = np.where(grid > 0, 1 + np.floor(np.log(np.maximum(grid, 1)) / math.log(most + 1) * levels), 0)
    lines = []
    for row in range(height - 1, -1, -1):
        label = labels.get(row, "")
        cells = "".join(glyphs.density[int(min(value, levels))] for value in level[row])
        lines.append(f"{label:>{margin - 1}} {glyphs.tick if label else glyphs.vertical}{cells}".rstrip())
    first, last = x_text(10**low_x), x_text(10**high_x)
    lines.append(" " * margin + glyphs.corner + glyphs.horizontal * room)
    if room - len(first) - len(last) - len(x_label) < 4:
        x_label = ""
    gap = max(1, room - len(first) - len(last) - len(x_label)) / 2
    lines.append(" " * (margin + 1) + first + " " * math.floor(gap) + x_label + " " * math.ceil(gap) + last)
    return lines
