"""Limits that random phases seldom fill, and phases that fill them more.

A link between two groups that carries nearly all that permutations send over it leaves a trace in few of
them: more of the one group than usual send to the other, and these routes, no others, are slower together.
Whoever was slow then is of one of the two. If it was no accident, the same hosts slow each other again in
another order. From there on groups send to each other as a whole: who belongs to them shows by joining in,
and a group of several by parting.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crosscut.analysis.structure.observed import Integers, Observed, Route
from crosscut.analysis.structure.unshared import unshared

Slow = NDArray[np.bool_]
"""[message]"""

# Of all messages: more that are slow, and they tell groups without being looked for.
_RARE = 0.05
# Of messages that nothing slows, those that are slow by chance: three standard deviations are 0.13 % of a
# normal distribution, and tails are heavier. And the chance that so many in one phase are no company.
_SLOW_BY_CHANCE, _BY_CHANCE = 0.005, 1e-3
_TIMES_AGAIN, _MOST_REFUTED = 3, 4
# So many more than just fill the way, and it may as well be full whoever joins.
_SPARE = 3
# Logarithm: faster is not slow, however small the noise.
_SLOW = -0.05
# Of the routes of a company that is none, hardly any are slow again.
_SLOW_AGAIN = 0.5
# Of phases that concentrate: two that try who belongs to known groups, for one in which groups send as a
# whole; those alone, once nobody has joined in so many phases; after so many nothing is expected to change.
_KINDS, _ALL_TRIED, _ENOUGH = 3, 6, 12
_WINDOWS = 8
# Of messages in the order of the ranks' numbers, against those in another.
_MORE_IN_ORDER, _TIMES_IN_ORDER = 0.05, 4


@dataclass(frozen=True)
class Company:
    """Routes of one phase that were slower together."""

    phase: int
    sources: Integers
    destinations: Integers


class Pursuit:
    """What becomes of a company: asked again, then believed and made more of, or forgotten."""

    def __init__(self, ranks: int, random: np.random.Generator) -> None:
        self._ranks, self._random = ranks, random
        self._found: Company | None = None
        self._asked, self._believed = False, False
        self._refuted: list[int] = []
        """Phases whose company was none, or was of several limits at once."""
        self._turn, self._unchanged, self._most = 0, 0, 0
        self._labels = np.zeros(ranks, np.int64)

    @property
    def on(self) -> bool:
        return self._found is not None

    @property
    def rested(self) -> bool:
        """Whether each group has sent to each other as a whole, and within itself, since groups changed."""
        return self._believed and self._unchanged >= _ENOUGH

    def notice(self, seen: Observed, slow: Slow) -> None:
        """All that was seen so far; `slow` without messages of hosts that are slow by themselves."""
        if self._found is None and len(self._refuted) < _MOST_REFUTED and len(seen) and slow.mean() <= _RARE:
            fresh = ~np.isin(seen.phase, self._refuted)
            self._found = company(seen.where(fresh), slow[fresh])
        elif self._found is not None and self._asked and not self._believed:
            self._believed = slow_again(self._found, seen, slow)
            self._most = fill_barely(self._found, seen)
            if not self._believed:
                self._refuted.append(self._found.phase)
                self._found, self._asked = None, False
            else:
                self._found = steady(self._found, seen, slow)

    def phases(self, seen: Observed, slow: Slow, count: int) -> list[list[Route]]:
        """What to measure next."""
        if self._found is None:
            return []
        if not self._asked:
            self._asked = True
            return again(self._found, self._ranks, min(count, _TIMES_AGAIN), self._random)
        known = joined(_of(self._found, self._ranks), seen, slow)
        most = self._most if self._unchanged < _ALL_TRIED else 0
        turns = range(self._turn, self._turn + count)
        made = [concentrated(known, turn, most, self._random) for turn in turns]
        self._turn += count
        self._unchanged = count + (self._unchanged if (known == self._labels).all() else 0)
        self._labels = known
        return made


def company(seen: Observed, slow: Slow) -> Company | None:
    """Of a phase with more slow messages than chance puts there, the fewest, for they are most likely of one
    limit; none, where no phase has."""
    if not slow.any():
        return None
    numbers, phase = np.unique(seen.phase, return_inverse=True)
    count, total = np.bincount(phase[slow], minlength=len(numbers)), np.bincount(phase)
    doubt = math.log(len(numbers)) - math.log(_BY_CHANCE)
    sure = [
        at for at, some in enumerate(count.tolist()) if some and doubt + _log_chance(some, int(total[at])) < 0
    ]
    if not sure:
        return None
    at = min(sure, key=lambda one: int(count[one]))
    mine = slow & (phase == at)
    return Company(int(numbers[at]), seen.source[mine], seen.destination[mine])


def _log_chance(slow: int, total: int) -> float:
    """At most, of so many or more: the expected number of such choices of all (Boole's inequality)."""
    choices = math.lgamma(total + 1) - math.lgamma(slow + 1) - math.lgamma(total - slow + 1)
    return choices + slow * math.log(_SLOW_BY_CHANCE)


def slow_again(found: Company, seen: Observed, slow: Slow) -> bool:
    later = seen.phase > found.phase
    later &= np.isin(seen.source, found.sources) & np.isin(seen.destination, found.destinations)
    return bool(later.any() and slow[later].mean() > _SLOW_AGAIN)


def steady(found: Company, seen: Observed, slow: Slow) -> Company:
    """Those of it that mostly were slow again: others were in the same phase by chance."""
    later = (seen.phase > found.phase) & np.isin(seen.source, found.sources)
    later &= np.isin(seen.destination, found.destinations)
    kept = []
    for ends, mine in ((seen.source, found.sources), (seen.destination, found.destinations)):
        total = np.bincount(ends[later], minlength=seen.ranks)
        again_slow = np.bincount(ends[later], weights=slow[later], minlength=seen.ranks)
        kept.append(mine[(again_slow >= _SLOW_AGAIN * total)[mine]])
    return Company(found.phase, kept[0], kept[1])


def joined(labels: Integers, seen: Observed, slow: Slow) -> Integers:
    """Groups 0 and 1, and 2 of all others, with everybody who was mostly slow to the one, or from it, in
    phases in which the other's messages to it, or from it, were."""
    labels = labels.copy()
    while True:
        for_it, against = np.zeros((2, seen.ranks)), np.zeros((2, seen.ranks))
        of_source, of_destination = labels[seen.source], labels[seen.destination]
        for one, other in ((0, 1), (1, 0)):
            known = (of_source == one) & (of_destination == other)
            count = np.bincount(seen.phase[known], minlength=int(seen.phase.max()) + 1)
            were = np.bincount(seen.phase[known], weights=slow[known], minlength=len(count))
            full = ((count >= 2) & (were > _SLOW_AGAIN * count))[seen.phase]
            for mine, ends, group in (
                (full & (of_source == 2) & (of_destination == other), seen.source, one),
                (full & (of_source == one) & (of_destination == 2), seen.destination, other),
            ):
                np.add.at(for_it[group], ends[mine & slow], 1)
                np.add.at(against[group], ends[mine & ~slow], 1)
        more = for_it - against
        joins = (labels == 2) & (more.max(axis=0) > 0)
        if not joins.any():
            return labels
        labels[joins] = more.argmax(axis=0)[joins]


def again(found: Company, ranks: int, count: int, random: np.random.Generator) -> list[list[Route]]:
    """The same hosts send to each other in other orders, and back, where none is on both sides; all others
    send among themselves."""
    there, here = found.sources, found.destinations
    both_ways = not np.isin(there, here).any()
    made = []
    for shift in range(1, count + 1):
        routes = _pairs(there, np.roll(here, shift))
        routes += _pairs(here, np.roll(there, shift)) if both_ways else []
        made.append(_completed(routes, ranks, random))
    return made


def fill_barely(found: Company, seen: Observed) -> int:
    """How many of these routes together are not seen to be slow yet: one more, and all are."""
    later = (seen.phase > found.phase) & np.isin(seen.source, found.sources)
    later &= np.isin(seen.destination, found.destinations)
    if not later.any():
        return 0
    alone = unshared(seen)
    totals = np.bincount(seen.phase[later], weights=seen.rate[later])
    flows = float(np.median(totals[totals > 0])) / alone.nominal
    return math.floor(flows / math.exp(min(alone.threshold, _SLOW)))


def concentrated(labels: Integers, turn: int, most: int, random: np.random.Generator) -> list[Route]:
    """By turns: groups send as a whole, each to another or within itself; and, more often, all groups but the
    last, which is of whoever is not told apart yet, send to each other just so much (`most` routes; 0: never)
    that one more fills the way. Whoever is left over then sends to others that are, and shows by it where it
    belongs."""
    groups = int(labels.max()) + 1
    members = [random.permutation(np.nonzero(labels == group)[0]) for group in range(groups)]
    known = list(range(groups - 1))
    routes: list[Route] = []
    if most and turn % _KINDS < _KINDS - 1:
        shift = 1 + turn // _KINDS % (len(known) - 1)
        for at, group in enumerate(known):
            pairs = _pairs(members[group], members[known[(at + shift) % len(known)]])
            routes += pairs[: most + (len(pairs) >= most + _SPARE)]
        return _completed(routes, len(labels), random)
    shift = (turn // _KINDS if most else turn) % groups
    for group, mine in enumerate(members):
        routes += _pairs(mine, np.roll(mine, 1) if shift == 0 else members[(group + shift) % groups])
    return _completed(routes, len(labels), random)


def _pairs(sources: Integers, destinations: Integers) -> list[Route]:
    """As many as the smaller side has; none with itself."""
    ends = zip(sources.tolist(), destinations.tolist(), strict=False)
    return [(source, destination) for source, destination in ends if source != destination]


def _completed(routes: list[Route], ranks: int, random: np.random.Generator) -> list[Route]:
    """With everybody who does not send yet, each to somebody who does not receive yet."""
    senders, receivers = (
        random.permutation(np.setdiff1d(np.arange(ranks), [route[end] for route in routes])) for end in (0, 1)
    )
    for at in np.nonzero(senders == receivers)[0].tolist():
        other = (at + 1) % len(receivers)  # differs: nobody is there twice
        receivers[[at, other]] = receivers[[other, at]]
    return routes + _pairs(senders, receivers)


def _of(found: Company, ranks: int) -> Integers:
    """Labels: who sent, who received, and all others."""
    labels = np.full(ranks, 2)
    labels[found.destinations] = 1
    labels[found.sources] = 0
    return labels


def in_order(ranks: int, count: int) -> list[list[Route]]:
    """By the ranks' own numbers, at half of them, a quarter, and so on: mostly hosts are numbered as they
    hang on the network, and then whole groups send to one other."""
    distances = [distance for power in range(1, count + 1) if (distance := ranks >> power) > 0]
    return [[(rank, (rank + distance) % ranks) for rank in range(ranks)] for distance in distances]


def nearly_in_order(ranks: int, distance: int, random: np.random.Generator) -> list[Route]:
    """At that distance, but an eighth of the ranks at a time in any order: whole groups send to one other
    still, and who meets whom there is chance. In strict order the ends of groups look like others."""
    width = max(1, ranks // _WINDOWS)
    receivers = (np.arange(ranks) + distance) % ranks
    order = [random.permutation(receivers[at : at + width]) for at in range(0, ranks, width)]
    return _completed(_pairs(np.arange(ranks), np.concatenate(order)), ranks, random)


def numbered_so(slow: Slow, ordered: Slow) -> bool:
    """Whether messages in the order of the ranks' numbers (`ordered`) are slow far more often than others."""
    if not ordered.any() or ordered.all():
        return False
    return bool(slow[ordered].mean() > _MORE_IN_ORDER + _TIMES_IN_ORDER * slow[~ordered].mean())
