"""Scores of candidates, the Pareto front, and the cheapest candidate that is good enough. Pure.

A score is the weighted geometric mean of times. It ranks the candidates alike, whichever of them the times
are normalised to (Fleming and Wallace, "How not to lie with statistics", CACM 29(3), 1986). Its interval
assumes that all errors have the same direction, so it is wider than with independent errors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from crosscut.pricing.amounts import Interval


class Standing(Enum):
    """A candidate's place relative to the Pareto front; on it, no other is both cheaper and faster."""

    ON = "on the front"
    PERHAPS = "perhaps"
    OFF = "no"


@dataclass(frozen=True)
class Candidate:
    name: str
    price: Interval
    score: Interval
    """Time relative to the best candidate's."""


@dataclass(frozen=True)
class NetworkChoice:
    surely: tuple[str, ...]
    """Good enough whatever the errors."""
    perhaps: tuple[str, ...]
    contenders: tuple[str, ...]
    """Candidates that could each be the cheapest that is good enough, the most likely first."""

    @property
    def decided(self) -> bool:
        return len(self.contenders) == 1


def score(times: Sequence[Interval], weights: Sequence[float]) -> Interval:
    whole = sum(weights)
    return Interval(*(
        math.exp(math.fsum(w * math.log(v) for v, w in zip(ends, weights, strict=True)) / whole)
        for ends in ([t.low for t in times], [t.high for t in times])
    ))  # fmt: skip


def centre(value: Interval) -> float:
    """Centre of an interval of ratios: the geometric mean of its ends."""
    return math.sqrt(value.low * value.high)


def relative(scores: Sequence[Interval]) -> list[Interval]:
    """Divides the scores by the best one's centre; the best is the one with the smallest centre."""
    best = min(centre(one) for one in scores)
    return [one.times(1 / best) for one in scores]


def choose(candidates: Sequence[Candidate], within: float) -> NetworkChoice:
    """Chooses the cheapest candidate that is good enough.

    `within`: the time beyond the best's that is still good enough, as a share of it, such as 0.1.
    """
    surely, perhaps = [], []
    for one in candidates:
        others = [other.score for other in candidates if other is not one]
        if all(one.score.high <= (1 + within) * other.low for other in others):
            surely.append(one)
        elif all(one.score.low <= (1 + within) * other.high for other in others):
            perhaps.append(one)
    dearest = min((one.price.high for one in surely), default=math.inf)
    open_ = [one for one in (*surely, *perhaps) if one.price.low <= dearest]
    # Candidates whose centre is good enough come first, then by price.
    best = min(centre(one.score) for one in candidates)
    open_.sort(key=lambda one: (centre(one.score) > (1 + within) * best, one.price.middle, one.name))
    return NetworkChoice(*(tuple(one.name for one in those) for those in (surely, perhaps, open_)))


def standing(one: Candidate, candidates: Sequence[Candidate]) -> Standing:
    others = [other for other in candidates if other is not one]
    if any(_better(other.price.high, other.score.high, one.price.low, one.score.low) for other in others):
        return Standing.OFF
    if any(_better(other.price.low, other.score.low, one.price.high, one.score.high) for other in others):
        return Standing.PERHAPS
    return Standing.ON


def _better(price: float, score: float, than_price: float, than_score: float) -> bool:
    return price <= than_price and score <= than_score and (price < than_price or score < than_score)
