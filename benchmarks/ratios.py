"""Ratios of paired measurements: two programs are measured right after each other, so that changes of the
machine cancel. Order statistics bound the 95 % interval of the median log ratio
(crosscut.analysis.stats.intervals has the source): nothing is assumed about the distribution."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from crosscut.analysis.stats.intervals import medians

FEWEST_PAIRS = 20
HALF_WIDTH = 0.03
"""Target for the interval, as a share of the ratio."""

Measure = Callable[[], float]


@dataclass(frozen=True)
class Ratio:
    """crosscut over its peer; `ours` and `theirs` are the pairs, in the order measured."""

    ours: tuple[float, ...]
    theirs: tuple[float, ...]
    ratio: float
    low: float
    high: float

    @property
    def half_width(self) -> float:
        return (self.high - self.low) / (2 * self.ratio)


def ratio_of(ours: list[float], theirs: list[float]) -> Ratio:
    logs = np.log(np.asarray(ours) / np.asarray(theirs))
    found = medians(logs)
    low, middle, high = (math.exp(float(value)) for value in (found.low, found.median, found.high))
    return Ratio(tuple(ours), tuple(theirs), middle, low, high)


def compare(ours: Measure, theirs: Measure, most_pairs: int, limit_seconds: float, fewest: int) -> Ratio:
    """Measures pairs in alternating order (AB, BA, AB, ...), at least `fewest`, until the interval is narrow
    enough or a limit is reached. A first pair warms up and does not count."""
    ours(), theirs()
    mine: list[float] = []
    other: list[float] = []
    deadline = time.monotonic() + limit_seconds
    while len(mine) < most_pairs:
        first_is_ours = len(mine) % 2 == 0
        for is_ours in (first_is_ours, not first_is_ours):
            (mine if is_ours else other).append(ours() if is_ours else theirs())
        if len(mine) < fewest:
            continue
        if ratio_of(mine, other).half_width <= HALF_WIDTH or time.monotonic() > deadline:
            break
    return ratio_of(mine, other)
