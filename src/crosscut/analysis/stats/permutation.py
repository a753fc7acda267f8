"""Permutation tests: many at once on few repetitions, which are reassigned to the runs.

The method is the step-down maximum of P. H. Westfall and S. S. Young, Resampling-Based Multiple Testing,
Wiley 1993, algorithm 2.8. The probability of any false alarm among all tests stays below the level, for any
distribution of the noise and any dependence between the tests. Unlike a correction by the number of tests, it
costs no power when thousands of routes have six repetitions each. It assumes that the repetitions of a run
are exchangeable.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations, permutations

import numpy as np
from numpy.typing import NDArray

from crosscut.analysis.stats.intervals import Floats

Columns = NDArray[np.int64]
Sides = NDArray[np.bool_]

# If there are no more ways than this to divide the repetitions, all are tried; otherwise this many are drawn.
MOST_EXACT = 4000
_CELLS_AT_ONCE = 1 << 21
# Smaller differences of logarithms are rounding errors.
_ROUNDING = 1e-9


def smallest_doubt(first: int, second: int) -> float:
    """Returns the smallest two-sided p-value that this many repetitions on each side can reach."""
    ways = math.comb(first + second, first)
    alike = 2 if first == second else 1  # exchanging the sides gives the same statistic
    return alike / ways if ways <= MOST_EXACT else 1 / (MOST_EXACT + 1)


def doubts(first: Floats, second: Floats) -> Floats:
    """Returns [test] adjusted p-values of the difference; `first`, `second`: [repetition, test], no NaN."""
    values = np.concatenate([first, second])
    values = values - values.mean(axis=0)  # keeps the sums of squares precise
    assignments = _assignments(len(first), len(second))
    observed = np.zeros((1, len(values)), bool)
    observed[0, : len(first)] = True
    floor = _floor(values, observed)
    return _step_down(
        _statistic(values, observed, floor)[0],
        lambda columns: _statistic(values[:, columns], assignments, floor),
        drawn=math.comb(len(values), len(first)) > MOST_EXACT,
    )


def orders(count: int) -> tuple[Columns, bool]:
    """Returns [way, position] orders of `count` runs, and whether they are only a sample."""
    if math.factorial(count) <= MOST_EXACT:
        return np.array(list(permutations(range(count))), np.int64), False
    return _drawn(count), True


def _drawn(count: int) -> Columns:
    """Returns [way, position] MOST_EXACT random orders, the same on every call."""
    return np.argsort(np.random.default_rng(1).random((MOST_EXACT, count)), axis=1)


def step_down(observed: Floats, permuted: Floats, *, drawn: bool) -> Floats:
    """Returns [test] adjusted p-values from statistics: observed [test], permuted [way, test]."""
    return _step_down(observed, lambda columns: permuted[:, columns], drawn=drawn)


def _assignments(first: int, second: int) -> Sides:
    """Returns [way, repetition] True if the repetition is assigned to the first run."""
    count = first + second
    if math.comb(count, first) <= MOST_EXACT:
        chosen = np.array(list(combinations(range(count), first)))
    else:
        chosen = _drawn(count)[:, :first]
    made = np.zeros((len(chosen), count), bool)
    np.put_along_axis(made, chosen, values=True, axis=1)
    return made


def _spread(values: Floats, of_first: Sides) -> tuple[Floats, Floats]:
    """Returns [way, test] the difference of means, second minus first, and its Welch standard error."""
    one = of_first.astype(np.float64)
    other = 1 - one
    n1, n2 = one.sum(axis=1)[:, None], other.sum(axis=1)[:, None]
    squares = values**2
    mean1, mean2 = one @ values / n1, other @ values / n2
    variance1 = np.maximum(one @ squares / n1 - mean1**2, 0) * n1 / np.maximum(n1 - 1, 1)
    variance2 = np.maximum(other @ squares / n2 - mean2**2, 0) * n2 / np.maximum(n2 - 1, 1)
    return mean2 - mean1, np.sqrt(variance1 / n1 + variance2 / n2)


def _floor(values: Floats, observed: Sides) -> float:
    """Returns the median standard error, which is added to every standard error.

    Without it, a test whose few repetitions agree by chance would dominate (the `fudge factor` of Tusher,
    Tibshirani, Chu, PNAS 98, 2001).
    """
    return max(float(np.median(_spread(values, observed)[1])) if values.shape[1] else 0.0, _ROUNDING)


def _statistic(values: Floats, of_first: Sides, floor: float) -> Floats:
    difference, error = _spread(values, of_first)
    difference = np.where(np.abs(difference) < _ROUNDING, 0.0, np.abs(difference))
    return np.asarray(difference / (error + floor), np.float64)


def _step_down(seen: Floats, permute: Callable[[Columns], Floats], *, drawn: bool) -> Floats:
    rising = np.argsort(seen, kind="stable")
    adjusted = np.ones(len(seen))
    highest: Floats = np.zeros(0)
    step = max(1, _CELLS_AT_ONCE // MOST_EXACT)
    for start in range(0, len(seen), step):
        part = rising[start : start + step]
        block = permute(part)
        if not len(highest):
            highest = np.zeros(len(block))
        running = np.maximum.accumulate(np.concatenate([highest[:, None], block], axis=1), axis=1)
        highest = running[:, -1]
        reached = (running[:, 1:] >= seen[part] * (1 - 1e-9)).sum(axis=0)
        # A drawn sample lacks the observed division, which is added (Phipson and Smyth,
        # Statistical Applications in Genetics and Molecular Biology 9, 2010).
        adjusted[part] = (reached + drawn) / (len(block) + drawn)
    falling = rising[::-1]
    adjusted[falling] = np.minimum(np.maximum.accumulate(adjusted[falling]), 1.0)
    adjusted[seen == 0] = 1.0
    return adjusted
