"""Histograms with round bin edges, which leave out the few values too far out to draw to scale."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crosscut.analysis.stats.intervals import Floats

# A larger share of the values does not count as outliers.
LARGEST_SHARE_FAR_OUT = 0.05
# Values that span a smaller share of the largest are equal: a histogram would show rounding.
_EQUAL = 1e-3
# Powers of ten are not exact for smaller spans.
_SMALLEST_SPAN = 1e-290


@dataclass(frozen=True)
class Histogram:
    edges: Floats
    counts: NDArray[np.int64]
    below: Floats
    """Outliers left of the first edge, sorted; `above` holds those right of the last."""
    above: Floats


def nice_step(span: float, most: int) -> float:
    """Returns the smallest step (1, 2, 2.5 or 5 times a power of ten) that covers `span` in `most` steps."""
    if span < _SMALLEST_SPAN or most < 1:
        return 1.0
    power = 10.0 ** np.floor(np.log10(span / most))
    return float(next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power * most >= span))


def histogram(values: Floats, most_bins: int = 12, *, whole: bool = False) -> Histogram:
    """Counts the finite values in bins with round edges; outliers go to `below` and `above`.

    `whole`: no value is an outlier.
    """
    none: Floats = np.zeros(0)
    there = values[np.isfinite(values)]
    there.sort()
    if len(there) == 0:
        return Histogram(np.zeros(1), np.zeros(0, dtype=np.int64), none, none)
    first_kept, end_kept = (0, len(there)) if whole else body(there)
    finite = there[first_kept:end_kept]
    low, high = float(finite[0]), float(finite[-1])
    # The bins span at least 0.1 % of the value; otherwise nearly equal values show twelve bins of rounding.
    step = nice_step(max(high - low, abs(high) * _EQUAL), most_bins - 1)
    bins = finite / step
    np.floor(bins, out=bins)  # by number, not by edge, so that rounding cannot lose a value
    numbers = bins[0] + np.arange(bins[-1] - bins[0] + 2)
    counts = np.diff(np.searchsorted(bins, numbers))
    return Histogram(numbers * step, counts, there[:first_kept], there[end_kept:])


def equal(values: Floats) -> bool:
    """Returns True if there are finite values, and all are equal but for rounding."""
    there = values[np.isfinite(values)]
    return len(there) > 0 and float(np.ptp(there)) <= _EQUAL * float(np.abs(there).max())


def body(ordered: Floats) -> tuple[int, int]:
    """Returns the slice (first, end) of sorted values to draw to scale.

    It holds all values, unless a few outliers would take three quarters of the axis. Outliers lie more than
    three interquartile ranges from the quartiles (Tukey, Exploratory Data Analysis, 1977, section 2D). A
    second cluster is not an outlier, however far away.
    """
    count = len(ordered)
    low, high = (_quantile(ordered, share) for share in (0.25, 0.75))
    # If most values are nearly equal, the next one must not become an outlier.
    reach = 3 * max(high - low, 0.01 * abs(high))
    first = int(np.searchsorted(ordered, low - reach, side="left"))
    end = int(np.searchsorted(ordered, high + reach, side="right"))
    few = count - (end - first) <= max(1, count * LARGEST_SHARE_FAR_OUT)
    crushed = ordered[end - 1] - ordered[first] < (ordered[-1] - ordered[0]) / 4
    return (first, end) if few and crushed else (0, count)


def _quantile(ordered: Floats, share: float) -> float:
    """Returns a quantile of sorted values, interpolated, without sorting millions again."""
    place = share * (len(ordered) - 1)
    below = int(place)
    low, high = float(ordered[below]), float(ordered[min(below + 1, len(ordered) - 1)])
    return low + (place - below) * (high - low)
