"""Spread and tail of repeated measurements: how steady each phase, route and rank is.

The spread is the interquartile range over the median. The tail is the 99th percentile over the median; with
fewer than 100 repetitions, the maximum over the median. Hoefler and Belli (SC15, rules 5 to 8) ask for both
beside the median, because network times are skewed: mean and standard deviation do not describe them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crosscut.analysis.stats.intervals import FEWEST_FOR_INTERVAL, Floats

_TAIL = 0.99
FEWEST_FOR_PERCENTILE = 100


@dataclass(frozen=True)
class Variation:
    """[subject] spread and tail; NaN with too few repetitions."""

    spread: Floats
    tail: Floats

    def widest(self) -> int | None:
        """Returns the subject with the longest tail; None if none is known."""
        return int(np.nanargmax(self.tail)) if np.isfinite(self.tail).any() else None


def variation(seconds: Floats) -> Variation:
    """Returns the variation of [repetition, subject] times in seconds; NaN or 0: not measured."""
    usable = np.where(np.isfinite(seconds) & (seconds > 0), seconds, np.nan)
    ordered = np.sort(usable, axis=0)  # NaN goes last
    counts = np.isfinite(usable).sum(axis=0)
    enough = counts >= FEWEST_FOR_INTERVAL
    middle, low, high = (_quantile(ordered, counts, share) for share in (0.5, 0.25, 0.75))
    tail = np.where(
        counts >= FEWEST_FOR_PERCENTILE, _quantile(ordered, counts, _TAIL), _quantile(ordered, counts, 1.0)
    )
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        spread, longest = (high - low) / middle, tail / middle
    return Variation(*(np.where(enough & np.isfinite(one), one, np.nan) for one in (spread, longest)))


def _quantile(ordered: Floats, counts: np.ndarray[tuple[int], np.dtype[np.int64]], share: float) -> Floats:
    """Interpolates between the two nearest order statistics of each column; NaN if it is empty."""
    if not len(ordered):
        return np.full(ordered.shape[1:], np.nan)
    at = share * np.maximum(counts - 1, 0)
    low = np.floor(at).astype(np.int64)
    high = np.minimum(low + 1, np.maximum(counts - 1, 0))
    columns = np.arange(ordered.shape[1])
    weight = at - low
    return np.asarray(ordered[low, columns] * (1 - weight) + ordered[high, columns] * weight)
