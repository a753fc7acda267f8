"""The median and its non-parametric 95 % confidence interval.

The interval is bounded by two order statistics whose ranks come from the binomial distribution, which
assumes nothing about the samples' distribution (J.-Y. Le Boudec, Performance Evaluation of Computer and
Communication Systems, EPFL Press 2010, theorem 2.1; recommended for measurements of networks by Hoefler and
Belli, SC15, section 3.1.3). From 20 samples on, correlation between consecutive samples moves the ranks
farther apart (`stretch`). docs/coverage.py shows how often the interval contains the median.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache
from types import EllipsisType
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

CONFIDENCE = 0.95
# With fewer samples no pair of order statistics reaches 95 %: 1 - 2 * 0.5^5 is 93.75 %.
FEWEST_FOR_INTERVAL = 6
# With fewer samples, the correlation between consecutive ones cannot be estimated.
FEWEST_FOR_CORRELATION = 20
_MOST_CORRELATION = 0.99
# Cells whose samples are ranked at once, to bound memory.
_CELLS_AT_ONCE = 1 << 18
# With at most so many samples a cell, comparing whole rows beats sorting each cell; cells that stay in cache.
_MOST_ROWS_COMPARED, _CELLS_IN_CACHE = 8, 1 << 13


@dataclass(frozen=True)
class Medians:
    """Medians along an axis; `low` and `high` are NaN if samples are too few for an interval."""

    median: Floats
    low: Floats
    high: Floats
    count: NDArray[np.int64]

    @classmethod
    def joined(cls, parts: Sequence[Medians]) -> Medians:
        """Concatenates along the first axis. A column with one value throughout takes no memory."""
        columns = ([getattr(part, one.name) for part in parts] for one in fields(cls))
        return cls(*map(_joined, columns))

    def compact(self) -> Medians:
        """Returns a copy in which a column with one value throughout takes no memory."""
        return Medians.joined([self])

    @cached_property
    def middle(self) -> float:
        """The median of the finite medians, or NaN if there is none."""
        there = self.median[np.isfinite(self.median)]
        return float(np.median(there, overwrite_input=True)) if len(there) else math.nan

    def where(self, kept: NDArray[Any]) -> Medians:
        """Returns those that a mask keeps or indices choose."""
        return Medians(self.median[kept], self.low[kept], self.high[kept], self.count[kept])

    def relative_width(self) -> Floats:
        """Returns the width of the interval as a share of the median."""
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            return np.asarray((self.high - self.low) / self.median, dtype=np.float64)


def _joined(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    total = sum(map(len, parts))
    if total and parts[0].ndim == 1:
        value = next(part[0] for part in parts if len(part))
        same = np.broadcast_to(value, total)
        if all(np.array_equal(part, same[: len(part)], equal_nan=True) for part in parts):
            return same
    return np.concatenate(parts)


@lru_cache(maxsize=4096)
def interval_ranks(count: int) -> tuple[int, int] | None:
    """Returns the ranks (from 0) of the order statistics that bound the interval; None if too few samples."""
    if count < FEWEST_FOR_INTERVAL:
        return None
    from scipy.special import bdtr  # imported late, so that commands without statistics start faster

    # Counts the k for which P(at most k samples lie below the median) <= tail. All k more than ten standard
    # deviations below the middle qualify.
    first = max(0, count // 2 - 5 * math.isqrt(count))
    below = first + int((bdtr(np.arange(first, count // 2), count, 0.5) <= (1 - CONFIDENCE) / 2).sum())
    return below - 1, count - below


def stretch(in_time_order: Floats) -> Floats:
    """Returns [cell] how many times farther from the middle the ranks lie than for independent samples.

    `in_time_order` is [sample, cell]. The factor is the square root of the variance inflation of the number
    of samples below the median. The rank correlation at lag one, corrected for bias (Kendall, Biometrika 41,
    1954) and raised by three quarters of its standard error, is taken for that of a first-order Gaussian
    process, whose signs correlate by the arcsine law. The core's median_interval.cpp computes the same.
    """
    from scipy.stats import rankdata

    count, cells = in_time_order.shape
    factor = np.ones(cells)
    if count < FEWEST_FOR_CORRELATION:
        return factor
    inflation = _inflation(count)
    for first in range(0, cells, _CELLS_AT_ONCE):
        some = slice(first, first + _CELLS_AT_ONCE)
        ranks = rankdata(in_time_order[:, some], axis=0) - (count + 1) / 2
        squares = (ranks**2).sum(axis=0)
        alike = (ranks[1:] * ranks[:-1]).sum(axis=0) / np.where(squares > 0, squares, 1)
        alike += (1 + 3 * alike.clip(0)) / count
        alike += 0.75 * np.sqrt((1 - alike**2).clip(0) / count)
        factor[some] = np.sqrt(inflation(alike.clip(0, _MOST_CORRELATION)))
    return factor


@lru_cache(maxsize=64)
def _inflation(count: int) -> Callable[[Floats], Floats]:
    """Returns a function from the correlation at lag one to the variance inflation (see `stretch`)."""
    lags = np.arange(1, min(count, 2100))  # longer lags add nothing, even at the highest correlation
    known = np.linspace(0, _MOST_CORRELATION, 500)[:, np.newaxis]
    sums = (4 / math.pi * (1 - lags / count) * np.arcsin(known**lags)).sum(axis=1)
    return lambda alike: np.asarray(1 + np.interp(alike, known[:, 0], sums), dtype=np.float64)


def medians(values: Floats, *, in_time_order: bool = True, exact: bool = False) -> Medians:
    """Returns medians along the first axis, ignoring NaN.

    Not `in_time_order`: samples are independent. `exact`: they have no error, so there is no interval.
    """
    there = np.isfinite(values)
    if there.all():
        ordered, timed = _ordered(values), values
        counts = np.full(values.shape[1:], len(values))
        there_are = [len(values)]
    else:
        ordered, timed = _ordered(np.where(there, values, np.nan)), None
        counts = there.sum(axis=0, dtype=np.int64)
        there_are = np.unique(counts).tolist()
    low = np.full(counts.shape, np.nan)
    high, middle = low.copy(), low.copy()
    for count in there_are:
        cells: NDArray[np.bool_] | EllipsisType = counts == count if len(there_are) > 1 else ...
        if count == 0:
            continue
        column = ordered[(slice(None), cells)]
        middle[cells] = (column[(count - 1) // 2] + column[count // 2]) / 2
        if exact or (ranks := interval_ranks(count)) is None:
            continue
        low[cells], high[cells] = column[ranks[0]], column[ranks[1]]
        if in_time_order and count >= FEWEST_FOR_CORRELATION:
            if timed is None:
                timed = np.take_along_axis(values, np.argsort(~there, axis=0, kind="stable"), axis=0)
            samples = column[:count].reshape(count, -1)
            factor = stretch(timed[(slice(None), cells)][:count].reshape(count, -1))
            upper = np.ceil((count - 1) / 2 * (1 - factor) + factor * ranks[1] - 1e-9)
            upper = upper.clip(max=count - 1).astype(np.int64)[np.newaxis]
            for bound, places in ((low, count - 1 - upper), (high, upper)):
                bound[cells] = np.take_along_axis(samples, places, axis=0).reshape(column.shape[1:])
    return Medians(middle, low, high, counts)


def _ordered(values: Floats) -> Floats:
    """Returns a copy that is sorted along the first axis, NaN last."""
    count = len(values)
    if count > _MOST_ROWS_COMPARED:
        return np.sort(values, axis=0)
    cells: Floats = values.reshape(count, math.prod(values.shape[1:])).copy()
    for first in range(0, cells.shape[1], _CELLS_IN_CACHE):
        rows = cells[:, first : first + _CELLS_IN_CACHE]
        for turn in range(count):  # odd-even transposition sort (Knuth, volume 3, section 5.3.4)
            for at in range(turn % 2, count - 1, 2):
                smaller = np.fmin(rows[at], rows[at + 1])
                np.maximum(rows[at], rows[at + 1], out=rows[at + 1])
                rows[at] = smaller
    return cells.reshape(values.shape)


def inverted(times: Medians, numerator: Floats) -> Medians:
    """Converts times to rates: divides `numerator` by the median and by the bounds, which swap places."""
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        return Medians(numerator / times.median, numerator / times.high, numerator / times.low, times.count)
