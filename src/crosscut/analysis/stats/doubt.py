"""Probabilities of false alarms when many tests are made at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crosscut.analysis.stats.intervals import Floats

# Probability that a healthy network raises any alarm of one kind.
FALSE_ALARMS = 0.01
# No smaller probability is claimed: benchmarks/truth counts alarms on hundreds of healthy networks, which is
# too few to demonstrate less.
SMALLEST_CLAIMED = FALSE_ALARMS
# Logarithms of rates that differ by less count as equal.
_ROUNDING = 1e-9


def normal_tail(deviations: Floats) -> Floats:
    """Returns P(Z > z) for a standard normal Z."""
    from scipy.special import ndtr

    return np.asarray(ndtr(-np.asarray(deviations, np.float64)), np.float64)


def holm(p_values: Floats) -> Floats:
    """Adjusts p-values for the number of tests (Holm, Scandinavian Journal of Statistics 6, 1979).

    Rejecting those up to a level keeps the probability of any false alarm at that level, however the tests
    depend on each other.
    """
    count = len(p_values)
    order = np.argsort(p_values, kind="stable")
    stepped = np.maximum.accumulate((count - np.arange(count)) * p_values[order])
    adjusted = np.empty(count)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


def tail_factor(residuals: Floats, noise: float) -> float:
    """Estimates how much heavier than normal the tails of the noise are; 2 if fewer than 10 values exceed 0.

    This is the largest residual over the expected largest of as many normal ones. Only positive residuals
    count: they are noise alone, because contention and faults only slow.
    """
    above = residuals[residuals > 0]
    if len(above) < 10:
        return 2.0
    from scipy.special import ndtri

    # The median of the largest of m values is the upper quantile at 1 - (1/2)^(1/m).
    expected = float(ndtri(1 - (1 - 0.5 ** (1 / len(above))) / 2))
    return max(1.0, float(above.max()) / max(noise * expected, _ROUNDING))


def deviation_of(residuals: Floats) -> float:
    """Returns the standard deviation of normal residuals, robust against outliers."""
    return 1.4826 * float(np.median(np.abs(residuals), overwrite_input=True))


def outliers_below(values: Floats, noise: float) -> NDArray[np.float64]:
    """Returns [value] the adjusted probability that noise alone puts it this far below the median.

    NaN values stay NaN; with fewer than three finite values all are NaN.
    """
    there = np.isfinite(values)
    found = np.full(len(values), np.nan)
    if there.sum() < 3:
        return found
    middle = float(np.median(values[there]))
    # The values' own spread, but at least that of the noise.
    spread = max(noise, deviation_of(values[there] - middle), _ROUNDING)
    factor = tail_factor(values[there] - middle, spread)
    with np.errstate(over="ignore"):  # overflow to infinity is as good as a large deviation
        found[there] = holm(normal_tail((middle - values[there]) / (spread * factor)))
    return found
