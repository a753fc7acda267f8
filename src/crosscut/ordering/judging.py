"""Replays a program in several orders of its ranks, and decides whether one is better than the present one.

Orders are compared on the same draws of noise. The draws that choose an order are not those that predict its
gain, so that the choice does not flatter the prediction.

The fitted noise is the time that the replay does not explain. Nobody knows whether another order shortens
it: as noise it stays, without noise it shrinks like the rest. So both are replayed, and the interval spans
both.
"""

from __future__ import annotations

import dataclasses
import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.stats import t as students

from crosscut.ordering.candidates import TriedOrder
from crosscut.prediction import predicting, variants
from crosscut.prediction.predicting import PredictionRequest
from crosscut.prediction.trace import Trace

# Gains below this are less than any prediction is worth.
LEAST_GAIN = 0.01
_CONFIDENCE = 0.95
_CHOOSING, _PREDICTING, _RANDOM_ORDERS = 2, 8, 3
"""Draws of noise, and random orders."""
_MOST_REPLAYED = 8
# A program that takes no time at all still has a ratio.
_INSTANT = 1e-12
BY_CHANCE = "at random"
QUIET = -1


@dataclass(frozen=True)
class Gain:
    """Time in an order over the time in the present one."""

    ratio: float
    """Geometric mean of the ratios with and without noise."""
    low: float
    """The lower of the ratio without noise and the lower end of its mean's 95 % interval over draws of noise.
    Equal to `ratio` if the replay has no noise."""
    high: float

    @property
    def has_interval(self) -> bool:
        return self.high > self.low * (1 + 1e-9)

    @property
    def is_better(self) -> bool:
        return self.high < 1 and self.ratio <= 1 - LEAST_GAIN


@dataclass(frozen=True)
class Judged:
    present_seconds: float
    """Means over draws of noise."""
    random_seconds: tuple[float, ...]
    """Times of some random orders."""
    best: TriedOrder
    """The fastest of the orders that were tried."""
    best_seconds: float
    gain: Gain
    replayed: int
    """Orders tried, besides the present one and the random ones for comparison."""

    @property
    def helps(self) -> bool:
        return self.gain.is_better


Told = Callable[[str], None]


class Clock:
    """Replays the program in an order, with a draw of noise."""

    def __init__(self, trace: Trace, asked: PredictionRequest, index: Path) -> None:
        """`index`: as written by `lowering`."""
        self._trace, self._asked, self._index = trace, asked, index
        self._known: dict[tuple[tuple[int, ...], int], float] = {}

    @property
    def is_noisy(self) -> bool:
        return self._asked.transport.noise_seconds > 0

    def seconds(self, order: tuple[int, ...], seed: int) -> float:
        """`seed`: QUIET for no noise. Raises CrosscutError."""
        if (order, seed) not in self._known:
            asked = dataclasses.replace(self._asked, order=order, noise_seed=max(seed, 0))
            if seed == QUIET:
                transport = dataclasses.replace(asked.transport, noise_seconds=0.0)
                asked = dataclasses.replace(asked, transport=transport)
            replayed = predicting.own_replays(self._trace, asked, asked.networks[0], self._index)
            self._known[order, seed] = max(replayed(variants.AS_IT_IS).seconds, _INSTANT)
        return self._known[order, seed]


def judge(
    clock: Clock, present: tuple[int, ...], tried: Sequence[TriedOrder], seed: int, told: Told
) -> Judged:
    """`tried`: the cheapest first; random orders make up for few. `seed`: of these and of the noise."""
    choosing = _seeds(clock, seed, 0, _CHOOSING)
    draws = _seeds(clock, seed, _CHOOSING, _PREDICTING)
    shuffled = np.random.default_rng(seed)

    def at_random() -> TriedOrder:
        return TriedOrder(tuple(shuffled.permutation(present).tolist()), BY_CHANCE)

    def mean(order: tuple[int, ...]) -> float:
        return statistics.fmean(clock.seconds(order, one) for one in choosing)

    told("the present order")
    before = [clock.seconds(present, one) for one in draws]
    random = []
    for number in range(_RANDOM_ORDERS):
        told(f"a random order ({number + 1} of {_RANDOM_ORDERS})")
        random.append(mean(at_random().order))
    few = [one for one in tried if one.order != present][:_MOST_REPLAYED]
    few += [at_random() for _ in range(_MOST_REPLAYED - len(few))]
    times = []
    for number, one in enumerate(few):
        told(f"order {number + 1} of {len(few)}, by {one.made_by}")
        times.append(mean(one.order))
    best = few[times.index(min(times))]
    told("the best order")
    after = [clock.seconds(best.order, one) for one in draws]
    quiet = clock.seconds(best.order, QUIET) / clock.seconds(present, QUIET)
    found = gain(before, after, quiet)
    mean_before = statistics.fmean(before)
    return Judged(mean_before, tuple(random), best, mean_before * found.ratio, found, len(few))


def _seeds(clock: Clock, seed: int, first: int, count: int) -> list[int]:
    """Without noise all draws are alike, so one is enough."""
    if not clock.is_noisy:
        return [QUIET]
    return [seed * 1000 + first + number for number in range(count)]


def gain(before: Sequence[float], after: Sequence[float], quiet: float) -> Gain:
    """`before`, `after`: seconds by draw of noise; `quiet`: their ratio without noise. Student's t on the
    logarithm of the ratio."""
    logs = np.log(after) - np.log(before)
    middle, half = float(logs.mean()), 0.0
    if len(logs) > 1:
        quantile = students.ppf((1 + _CONFIDENCE) / 2, len(logs) - 1)
        half = float(quantile * logs.std(ddof=1) / len(logs) ** 0.5)
    ends = math.log(quiet), middle - half, middle + half
    return Gain(math.exp((ends[0] + middle) / 2), math.exp(min(ends)), math.exp(max(ends)))
