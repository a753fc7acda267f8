"""What a price is worth: scores of candidates, the Pareto front, the cheapest that is good enough. Pure.

A score is the weighted geometric mean of times. Which candidate is better does not depend then on which of
them the times are related to (Fleming and Wallace, "How not to lie with statistics", CACM 29(3), 1986). An
interval holds whatever the errors of its parts add up to, all of them the same way: wider than chance would
make it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from crosscut.pricing.amounts import Interval


class Standing(Enum):
    """On the Pareto front: nothing is both cheaper and faster."""

    ON = "on the front"
    PERHAPS = "perhaps"
    OFF = "no"


@dataclass(frozen=True)
class Candidate:
    name: str
    price: Interval
    score: Interval
    """Time, as so many times the best candidate's."""


@dataclass(frozen=True)
class NetworkChoice:
    surely: tuple[str, ...]
    """Good enough, whatever the errors."""
    perhaps: tuple[str, ...]
    contenders: tuple[str, ...]
    """Candidates that may each be the cheapest that is good enough; the likeliest first."""

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
    """The centre of an interval of ratios."""
    return math.sqrt(value.low * value.high)


def relative(scores: Sequence[Interval]) -> list[Interval]:
    """To the best, as far as is known which that is: the one of the smallest centre."""
    best = min(centre(one) for one in scores)
    return [one.times(1 / best) for one in scores]


def choose(candidates: Sequence[Candidate], within: float) -> NetworkChoice:
    """`within`: how much more time than the best is good enough, as 0.1."""
    surely, perhaps = [], []
    for one in candidates:
        others = [other.score for other in candidates if other is not one]
        if all(one.score.high <= (1 + within) * other.low for other in others):
            surely.append(one)
        elif all(one.score.low <= (1 + within) * other.high for other in others):
            perhaps.append(one)
    dearest = min((one.price.high for one in surely), default=math.inf)
    open_ = [one for one in (*surely, *perhaps) if one.price.low <= dearest]
    # A middle that is good enough first, then by price.
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
