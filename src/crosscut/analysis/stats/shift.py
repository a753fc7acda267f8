"""Shift between two samples: the median of all pairwise differences, and its 95 % interval.

The estimate is by J. L. Hodges and E. L. Lehmann, Annals of Mathematical Statistics 34, 1963. The interval
inverts the test of Mann and Whitney (ibid. 18, 1947), exactly up to 50 values on each side. No shape of the
distributions is assumed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from crosscut.analysis.stats.intervals import Floats

_LARGEST_EXACT = 50


@dataclass(frozen=True)
class Shift:
    """Difference of logarithms, second minus first; `low` and `high` are NaN with too few values for 95 %."""

    middle: float
    low: float
    high: float

    @property
    def ratio(self) -> float:
        return math.exp(self.middle)


def shift(first: Floats, second: Floats) -> Shift:
    """Estimates the shift from `first` to `second`, which are logarithms."""
    differences = np.sort((second[None, :] - first[:, None]).ravel())
    cut = _cut(len(first), len(second))
    middle = float(np.median(differences))
    if cut is None:
        return Shift(middle, math.nan, math.nan)
    return Shift(middle, float(differences[cut]), float(differences[-1 - cut]))


@lru_cache(maxsize=1024)
def _cut(first: int, second: int) -> int | None:
    """Returns how many ordered differences lie outside the interval on each side; None if it is unbounded."""
    if max(first, second) > _LARGEST_EXACT:
        middle = first * second / 2
        cut = math.floor(middle - 1.96 * math.sqrt(middle * (first + second + 1) / 6))
        return cut if cut >= 0 else None
    ways = math.comb(first + second, first)
    tail, cut = 0, -1
    for number in _counts(first, second):
        tail += number
        if tail > 0.025 * ways:
            break
        cut += 1
    return cut if cut >= 0 else None


def _counts(first: int, second: int) -> list[int]:
    """Returns [u] the number of orders whose Mann-Whitney statistic is u: Gaussian binomial coefficients."""
    counts = [1] + [0] * (first * second)
    for i in range(1, second + 1):  # multiply by 1 - q^(first + i), divide by 1 - q^i
        for u in range(first * second, first + i - 1, -1):
            counts[u] -= counts[u - first - i]
        for u in range(i, first * second + 1):
            counts[u] += counts[u - i]
    return counts
