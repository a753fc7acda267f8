"""The median and its non-parametric 95 % confidence interval.

The interval is bounded by two order statistics whose ranks come from the binomial distribution; it
assumes independent samples of one distribution, and nothing of that distribution's shape. (J.-Y. Le
Boudec, Performance Evaluation of Computer and Communication Systems, EPFL Press 2010, theorem 2.1;
recommended for measurements of networks by Hoefler and Belli, SC15, section 3.1.3.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from types import EllipsisType

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

CONFIDENCE = 0.95
# Below this no pair of order statistics reaches 95 %: 1 - 2 * 0.5^5 is 93.75 %.
FEWEST_FOR_INTERVAL = 6


@dataclass(frozen=True)
class Medians:
    """Medians along an axis; `low` and `high` are NaN where there are too few samples for an interval."""

    median: Floats
    low: Floats
    high: Floats
    count: NDArray[np.int64]

    def relative_width(self) -> Floats:
        """Width of the interval as a share of the median."""
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            return np.asarray((self.high - self.low) / self.median, dtype=np.float64)


@lru_cache(maxsize=4096)
def interval_ranks(count: int) -> tuple[int, int] | None:
    """Ranks (from 0) of the order statistics that bound the interval; None where there are too few."""
    if count < FEWEST_FOR_INTERVAL:
        return None
    from scipy.special import bdtr  # not before it is needed: commands without statistics start sooner

    # How many k have P(at most k of the samples lie below the median) <= tail.
    # Ten standard deviations off the middle all of them have.
    first = max(0, count // 2 - 5 * math.isqrt(count))
    below = first + int((bdtr(np.arange(first, count // 2), count, 0.5) <= (1 - CONFIDENCE) / 2).sum())
    return below - 1, count - below


def medians(values: Floats) -> Medians:
    """Medians along the first axis, NaN cells left out."""
    there = np.isfinite(values)
    ordered = np.sort(values if there.all() else np.where(there, values, np.nan), axis=0)  # NaN goes last
    counts = there.sum(axis=0, dtype=np.int64)
    low = np.full(counts.shape, np.nan)
    high, middle = low.copy(), low.copy()
    there_are = np.unique(counts)
    for count in there_are:
        cells: NDArray[np.bool_] | EllipsisType = counts == count if len(there_are) > 1 else ...
        if count == 0:
            continue
        column = ordered[(slice(None), cells)]
        middle[cells] = (column[(count - 1) // 2] + column[count // 2]) / 2
        if (ranks := interval_ranks(int(count))) is not None:
            low[cells], high[cells] = column[ranks[0]], column[ranks[1]]
    return Medians(middle, low, high, counts)


def inverted(times: Medians, numerator: Floats) -> Medians:
    """Rates from times: the median is numerator / median, and the interval's bounds change places."""
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        return Medians(numerator / times.median, numerator / times.high, numerator / times.low, times.count)
