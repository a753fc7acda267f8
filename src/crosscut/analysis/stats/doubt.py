"""Probabilities of false alarms, under many tests at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crosscut.analysis.stats.intervals import Floats

# Probability that a healthy network raises any alarm of one kind.
FALSE_ALARMS = 0.01
# Smaller ones are not claimed: benchmarks/truth counts the alarms of healthy networks, and its hundreds of
# networks show no less.
SMALLEST_CLAIMED = FALSE_ALARMS
# Logarithms of rates that differ by less are equal.
_ROUNDING = 1e-9


def normal_tail(deviations: Floats) -> Floats:
    """P(Z > z)."""
    from scipy.special import ndtr

    return np.asarray(ndtr(-np.asarray(deviations, np.float64)), np.float64)


def holm(p_values: Floats) -> Floats:
    """Probabilities adjusted for all tests made: Holm, Scandinavian Journal of Statistics 6, 1979. Those up
    to a level keep the probability of any false alarm at that level, however the tests depend on each
    other."""
    count = len(p_values)
    order = np.argsort(p_values, kind="stable")
    stepped = np.maximum.accumulate((count - np.arange(count)) * p_values[order])
    adjusted = np.empty(count)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


def tail_factor(residuals: Floats, noise: float) -> float:
    """By how much the noise's tails exceed the normal's, from the side on which nothing but noise acts: the
    largest of so many above, over what the largest of as many normal ones would be. Contention and faults
    only slow."""
    above = residuals[residuals > 0]
    if len(above) < 10:
        return 2.0
    from scipy.special import ndtri

    # The median of the largest of m: the upper quantile at 1 - (1/2)^(1/m).
    expected = float(ndtri(1 - (1 - 0.5 ** (1 / len(above))) / 2))
    return max(1.0, float(above.max()) / max(noise * expected, _ROUNDING))


def outliers_below(values: Floats, noise: float) -> NDArray[np.float64]:
    """[value] adjusted probability that noise alone puts it so far below the middle of all; NaN stays NaN."""
    there = np.isfinite(values)
    found = np.full(len(values), np.nan)
    if there.sum() < 3:
        return found
    middle = float(np.median(values[there]))
    # The values' own spread, but no less than what noise alone gives.
    spread = max(noise, 1.4826 * float(np.median(np.abs(values[there] - middle))), _ROUNDING)
    factor = tail_factor(values[there] - middle, spread)
    with np.errstate(over="ignore"):  # infinitely far off is far off
        found[there] = holm(normal_tail((middle - values[there]) / (spread * factor)))
    return found
