"""Spread and tail of repeated measurements: how steady each phase, route and rank is.

Spread: the interquartile range over the median. Tail: the time that one in a hundred exceeds, over the
median; of fewer than a hundred, the longest. Hoefler and Belli (SC15, rules 5 to 8) ask for both beside the
median, as networks' times are skewed: a mean and a standard deviation describe none of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crosscut.analysis.stats.intervals import FEWEST_FOR_INTERVAL, Floats

_TAIL = 0.99
FEWEST_FOR_PERCENTILE = 100


@dataclass(frozen=True)
class Variation:
    """[subject] each; NaN where there are too few repetitions."""

    spread: Floats
    tail: Floats

    def widest(self) -> int | None:
        """The subject with the longest tail; None where nothing is known."""
        return int(np.nanargmax(self.tail)) if np.isfinite(self.tail).any() else None


def variation(seconds: Floats) -> Variation:
    """Variation of [repetition, subject] times; NaN where nothing was measured."""
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
    """Between the two nearest order statistics; NaN where there is none."""
    if not len(ordered):
        return np.full(ordered.shape[1:], np.nan)
    at = share * np.maximum(counts - 1, 0)
    low = np.floor(at).astype(np.int64)
    high = np.minimum(low + 1, np.maximum(counts - 1, 0))
    columns = np.arange(ordered.shape[1])
    weight = at - low
    return np.asarray(ordered[low, columns] * (1 - weight) + ordered[high, columns] * weight)
