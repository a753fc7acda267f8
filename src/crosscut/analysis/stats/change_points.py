"""Steps in many series of noisy values, such as a host's rate night after night.

Successive nights resemble each other, which rank tests do not allow for. So each series is first freed of its
correlation: y(t) = x(t) - rho x(t-1). Like that of S. Chakar, E. Lebarbier, C. Levy-Leduc and S. Robin
(Bernoulli 23, 2017), the estimate of rho compares differences of neighbours with those of values two apart,
which steps hardly disturb; trimmed means take the place of their medians.

The test for a step is the rank sum of the values before it (F. Wilcoxon, Biometrics Bulletin 1, 1945), at
the split where it is least probable (R. Miller and D. Siegmund, Biometrics 38, 1982). Steps are sought in
intervals of many lengths (S. Kovacs, P. Buhlmann, H. Li and A. Munk, Biometrika 110, 2023), the shortest
significant one first (R. Baranowski, Y. Chen and P. Fryzlewicz, JRSS B 81, 2019), so that a dip that is over
is found, too.

Probabilities are upper bounds: one split's, times all splits of all intervals of all series.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from crosscut.analysis.stats.intervals import Floats

# Values on each side of a step, at least: a step is no single bad night.
FEWEST_ASIDE = 4
# With so few values on one side, or in all, the normal approximation of the rank sum is far too cautious;
# their distribution is computed exactly.
_EXACT, _LONG = 12, 100
# Intervals of one length begin this often in their length: an interval that begins or ends with a dip of some
# weeks sees it best.
_OVERLAPPING = 4
_MOST_CORRELATION = 0.95
_UNSURE = 1.5
_KEPT = 0.9
_SERIES_AT_ONCE = 500
_MOST_AFTER = 366
# A split is as likely as the best one if it is less likely by no more than this, in the logarithm of the
# likelihood of values with Laplace's distribution about two levels; benchmarks/history.py calibrates it.
_LIKELY = 4.0
_Interval = tuple[int, int]


@dataclass(frozen=True)
class StepFound:
    series: int
    at: int
    """Index of the first value after the step; `earliest` to `latest` bound it."""
    earliest: int
    latest: int
    effect: float
    """Median after the step minus the median before it, up to the neighbouring steps."""
    doubt: float
    """Probability of such a step anywhere in `tests` series without one, at most."""


def steps(values: Floats, *, level: float, tests: int = 0) -> list[StepFound]:
    """Returns the steps in [time, series] values that are significant at the family-wise `level`.

    NaN: not measured. `tests`: the number of series tested altogether, if more than these.
    """
    there = np.isfinite(values)
    counts = there.sum(axis=0)
    tests = max(tests, values.shape[1])
    # [place, series] times of the values; series with equally many values are tested together
    times = np.argsort(~there, axis=0, kind="stable")
    parts = [(np.nonzero(counts == count)[0], int(count)) for count in np.unique(counts)]
    dense = [np.take_along_axis(values[:, part], times[:count, part], axis=0) for part, count in parts]
    rho = np.zeros(values.shape[1])
    for (part, _), known in zip(parts, dense, strict=True):
        rho[part] = correlations(known)
    if there.any():
        # Few series of few values do not show their correlation well, so it is taken for more.
        rho = np.maximum(rho, np.median(rho)) + _UNSURE / math.sqrt(there.sum())
    found: list[StepFound] = []
    for (part, _), known in zip(parts, dense, strict=True):
        for one in _dense(known, rho[part].clip(max=_MOST_CORRELATION), level, tests):
            series = int(part[one.series])
            at, earliest, latest = (int(times[index, series]) for index in (one.at, one.earliest, one.latest))
            found.append(StepFound(series, at, earliest, latest, one.effect, one.doubt))
    return sorted(found, key=lambda one: (one.series, one.at))


def correlations(values: Floats) -> Floats:
    """Returns [series] the correlation of successive values of [time, series], from 0; 0: unknown."""
    if len(values) < 2 * FEWEST_ASIDE:
        return np.zeros(values.shape[1])
    near, far = (_spread(values[lag:] - values[:-lag]) for lag in (1, 2))
    with np.errstate(invalid="ignore", divide="ignore"):
        rho = far / near - 1
    return np.where(np.isfinite(rho), rho, 0.0).clip(0, _MOST_CORRELATION)


def _spread(differences: Floats) -> Floats:
    """Returns [series] the mean square without the largest tenth, to which steps and single nights belong."""
    squares = np.sort(differences**2, axis=0)
    return np.asarray(squares[: math.ceil(_KEPT * len(squares))].mean(axis=0))


def _dense(values: Floats, rho: Floats, level: float, tests: int) -> list[StepFound]:
    """As `steps`, for series without NaN. `rho`: [series] correlation of successive values."""
    if len(values) <= 2 * FEWEST_ASIDE:
        return []
    innovations = np.ascontiguousarray((values[1:] - rho * values[:-1]).T)
    seeded = _useful(len(values) - 1, level / tests)
    splits = _splits(seeded)
    found: list[StepFound] = []
    for first in range(0, len(innovations), _SERIES_AT_ONCE):
        block = innovations[first : first + _SERIES_AT_ONCE]
        ordered = np.sort(block, axis=1)
        ties = bool((ordered[:, 1:] == ordered[:, :-1]).any())
        least = [
            _least_probable(block[:, begin:end], level / (splits * tests), ties=ties) for begin, end in seeded
        ]
        doubts = np.array([chance for chance, _ in least]).reshape(len(seeded), len(block)) * splits * tests
        for series in np.nonzero((doubts <= level).any(axis=0))[0].tolist():
            # Innovation i belongs to value i + 1.
            places = [
                begin + int(place[series]) + 1 for (begin, _), (_, place) in zip(seeded, least, strict=True)
            ]
            chosen = _narrowest(seeded, doubts[:, series], places, level)
            at = first + series
            found += _described(values[:, at], float(rho[at]), at, chosen)
    return found


def _useful(count: int, level: float) -> list[_Interval]:
    """Returns overlapping intervals of `count` values: all, halves, quarters, … without those too short to
    reach the level."""
    found: list[_Interval] = []
    length = count
    while length >= 2 * FEWEST_ASIDE and 2 / math.comb(length, length // 2) <= level:
        last = count - length
        pieces = math.ceil(_OVERLAPPING * last / length) + 1
        begins = sorted({round(last * at / max(pieces - 1, 1)) for at in range(pieces)})
        found += [(begin, begin + length) for begin in begins]
        length = math.ceil(length / 2)
    return found


def _splits(seeded: Sequence[_Interval]) -> int:
    return sum(end - begin - 2 * FEWEST_ASIDE + 1 for begin, end in seeded)


def fewest_after(before: int, *, level: float, tests: int) -> int | None:
    """Returns how many values must follow a step for it to be significant, with `before` values before it and
    all values after it beyond all of those; None if more than `_MOST_AFTER` would be needed."""
    for after in range(FEWEST_ASIDE, _MOST_AFTER + 1):
        count = before - 1 + after
        seeded = _useful(count, level / tests) if before > FEWEST_ASIDE else []
        if seeded and 2 / math.comb(count, after) * _splits(seeded) * tests <= level:
            return after
    return None


def _least_probable(values: Floats, level: float, *, ties: bool) -> tuple[Floats, NDArray[np.int64]]:
    """Returns [series] the probability of the rank sum at the least probable split of [series, time] values,
    and the number of values before that split; 1 and 0 for series without a split below the level. `ties`:
    some values of a series may be equal."""
    count = values.shape[1]
    before = np.arange(FEWEST_ASIDE, count - FEWEST_ASIDE + 1)
    sums = np.cumsum(_ranks(values, ties=ties), axis=1)[:, before - 1]
    excess = sums - before * (before + 1) / 2
    most = (before * (count - before)).astype(np.float64)
    below = np.minimum(excess, most - excess)
    aside = np.minimum(before, count - before)
    exact = _EXACT if count > _LONG else count
    chances, places = np.ones(len(values)), np.zeros(len(values), np.int64)
    rows = np.nonzero((below <= _rarest(count, exact, level)).any(axis=1))[0]
    if len(rows):
        chances[rows], places[rows] = _at_least_probable(below[rows], most, before, aside, exact)
    return chances, places


@lru_cache(maxsize=4096)
def _rarest(count: int, exact: int, level: float) -> Floats:
    """Returns [split] the rank sum beyond its least at and below which a split may be below the level."""
    normal = -NormalDist().inv_cdf(min(level, 1.0) / 2)
    found: list[float] = []
    for before in range(FEWEST_ASIDE, count - FEWEST_ASIDE + 1):
        aside, most = min(before, count - before), before * (count - before)
        if aside <= exact:
            found.append(float(np.searchsorted(2 * _tail(count, aside), level, side="right")) - 0.5)
        else:
            found.append(most / 2 - 0.5 - normal * math.sqrt(most * (count + 1) / 12) + 1e-6)
    return np.array(found)


def _at_least_probable(
    below: Floats, most: Floats, before: NDArray[np.int64], aside: NDArray[np.int64], exact: int
) -> tuple[Floats, NDArray[np.int64]]:
    """As `_least_probable`. `below`: [series, split] rank sum beyond its least, of the lesser side."""
    count = int(before[0] + before[-1])
    few = np.nonzero(aside <= exact)[0]
    chance = np.ones((len(below), len(few) + 1))
    for at, split in enumerate(few):
        index = np.ceil(below[:, split] - 1e-9).astype(np.int64)
        chance[:, at] = 2 * _tail(count, int(aside[split]))[index]
    places = np.tile(np.append(before[few], 0), (len(below), 1))
    if len(many := np.nonzero(aside > exact)[0]):
        deviations = (most[many] / 2 - 0.5 - below[:, many]) / np.sqrt(most[many] * (count + 1) / 12)
        farthest = deviations.argmax(axis=1)
        chance[:, -1] = _two_sided(deviations.max(axis=1).clip(0))
        places[:, -1] = before[many][farthest]
    best = chance.argmin(axis=1)
    rows = np.arange(len(below))
    return np.minimum(chance[rows, best], 1.0), places[rows, best]


def _two_sided(deviations: Floats) -> Floats:
    return np.array([math.erfc(deviation) for deviation in (deviations / math.sqrt(2)).tolist()])


def _ranks(values: Floats, *, ties: bool = True) -> Floats:
    """Returns ranks along the second axis, from 1; equal values share the mean of their ranks. Not `ties`: no
    values of a series are equal."""
    order = np.argsort(values, axis=1)
    rows = np.arange(len(values))[:, None]
    ranks = np.empty(values.shape)
    ranks[rows, order] = np.arange(1.0, values.shape[1] + 1)
    if not ties:
        return ranks
    ordered = values[rows, order]
    for row in np.nonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))[0]:
        below, above = (np.searchsorted(ordered[row], values[row], side) for side in ("left", "right"))
        ranks[row] = (below + above + 1) / 2
    return ranks


@lru_cache(maxsize=4096)
def _tail(count: int, size: int) -> Floats:
    """Returns [u] the probability that `size` of `count` ranks, drawn at random, exceed their least sum by at
    most u."""
    return np.asarray(np.minimum(_counts(count)[size].cumsum() / math.comb(count, size), 1.0))


@lru_cache(maxsize=256)
def _counts(count: int) -> list[Floats]:
    """Returns [size][u] the number of ways to draw `size` of `count` ranks with that excess."""
    most = min(_EXACT if count > _LONG else count // 2, count)
    ways = [np.zeros(size * (count - size) + 1) for size in range(most + 1)]
    ways[0][0] = 1
    for rank in range(1, count + 1):
        for size in range(min(rank, most), 0, -1):  # the new rank is the largest of `size`
            excess = rank - size
            fewer = ways[size - 1][: (size - 1) * excess + 1]
            ways[size][excess : excess + len(fewer)] += fewer
    return ways


def _narrowest(
    seeded: Sequence[_Interval], doubts: Floats, places: Sequence[int], level: float
) -> list[tuple[int, float, _Interval]]:
    """Returns (place, doubt, interval) of each step, found in the shortest significant interval without
    another step."""
    chosen: list[tuple[int, float, _Interval]] = []
    order = sorted(
        np.nonzero(doubts <= level)[0].tolist(), key=lambda at: (seeded[at][1] - seeded[at][0], doubts[at])
    )
    for at in order:
        begin, end = seeded[at]
        if not any(begin < place <= end for place, _, _ in chosen):
            chosen.append((places[at], float(doubts[at]), seeded[at]))
    return sorted(chosen)


def _described(
    values: Floats, rho: float, series: int, chosen: list[tuple[int, float, _Interval]]
) -> Iterator[StepFound]:
    """Places each step between its neighbours, and measures it."""
    ends = [0, *(place for place, _, _ in chosen), len(values)]
    for (place, doubt, _), before, after in zip(chosen, ends, ends[2:], strict=False):
        part = values[before:after]
        old, new = float(np.median(values[before:place])), float(np.median(values[place:after]))
        # [split] the sum of the deviations from both levels, if that many values come before the step
        from_old, from_new = np.abs(part - old), np.abs(part - new)
        cost = (
            np.concatenate([[0.0], from_old.cumsum()])
            + from_new.sum()
            - np.concatenate([[0.0], from_new.cumsum()])
        )
        inner = cost[1:-1]
        best = int(inner.argmin()) + 1
        margin = _LIKELY * (1 + rho) / (1 - rho) * inner.min() / len(part)
        likely = np.nonzero(inner <= inner.min() + margin)[0] + 1
        yield StepFound(
            series, before + best, before + int(likely.min()), before + int(likely.max()), new - old, doubt
        )


def is_gradual(values: Floats, places: Sequence[int]) -> bool:
    """True if a straight line fits values better than levels between steps at `places`."""
    times = np.nonzero(np.isfinite(values))[0]
    known = values[times]
    level = np.searchsorted(places, times, side="right")
    flat = sum(float(np.abs(part - np.median(part)).sum()) for number in np.unique(level)
               if len(part := known[level == number]))  # fmt: skip
    third = max(1, len(times) // 3)  # the line through the medians of the first and last third (Tukey, 1977)
    (t0, y0), (t1, y1) = (
        (float(np.median(times[part])), float(np.median(known[part])))
        for part in (slice(None, third), slice(-third, None))
    )
    slope = (y1 - y0) / (t1 - t0) if t1 > t0 else 0.0
    rest = known - slope * times
    return float(np.abs(rest - np.median(rest)).sum()) < flat
