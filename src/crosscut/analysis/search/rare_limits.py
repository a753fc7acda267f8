"""Suspects, confirms and fills limits that permutations seldom fill.

A link between two groups that carries nearly all traffic of permutations shows in few of them: if by chance
more routes than usual lead from one group to the other, and only these are slow. The same hosts then send to
each other in other orders. If they are slow again, whole groups send to each other: a rank that joins the
slow routes belongs to the group, and a group that splits was several. Hosts are usually numbered by their
position in the network; then such limits show in permutations in the order of the ranks' numbers.

The method is our own. Boole's inequality bounds the effect of chance (`_log_chance`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from crosscut.analysis.search import thresholds
from crosscut.analysis.structure.observed import Integers, Observed, Route
from crosscut.analysis.structure.unshared import unshared

Slow = NDArray[np.bool_]
"""[message] True if slow."""


@dataclass(frozen=True)
class SlowTogether:
    """Routes that were slow in the same phase."""

    phase: int
    sources: Integers
    destinations: Integers


@dataclass(frozen=True)
class RareLimit:
    """A suspected limit: measured again, then confirmed and filled, or dropped."""

    found: SlowTogether | None = None
    asked: bool = False
    confirmed: bool = False
    refuted: tuple[int, ...] = ()
    """Phases whose slow routes were due to chance, or to several limits at once."""
    turn: int = 0
    """Phases so far that concentrated on the limit."""
    unchanged: int = 0
    """Phases since the groups last changed."""
    most: int = 0
    """Number of routes that just fill the link."""
    labels: Integers = field(default_factory=lambda: np.zeros(0, np.int64))
    """[rank] its group when phases were last asked for."""

    @property
    def on(self) -> bool:
        return self.found is not None

    @property
    def settled(self) -> bool:
        """True if every group has sent to every other and within itself since the groups last changed."""
        return self.confirmed and self.unchanged >= thresholds.ENOUGH

    def notice(self, seen: Observed, slow: Slow) -> RareLimit:
        """Updates the suspicion. `slow`: [message of `seen`]; False for hosts that are slow by themselves."""
        if self.found is None:
            tried = len(self.refuted) >= thresholds.MOST_REFUTED
            if tried or not len(seen) or slow.mean() > thresholds.RARE:
                return self
            fresh = ~np.isin(seen.phase, self.refuted)
            return replace(self, found=slow_together(seen.where(fresh), slow[fresh]))
        if not self.asked or self.confirmed:
            return self
        most = fill_barely(self.found, seen)
        later = _later(self.found, seen)
        if later.any() and slow[later].mean() > thresholds.SLOW_AGAIN:
            return replace(self, confirmed=True, most=most, found=steady(self.found, seen, slow))
        return replace(self, found=None, asked=False, most=most, refuted=(*self.refuted, self.found.phase))

    def ask(
        self, seen: Observed, slow: Slow, count: int, random: Generator
    ) -> tuple[list[list[Route]], RareLimit]:
        """Returns at most `count` phases to measure next."""
        if self.found is None:
            return [], self
        if not self.asked:
            phases = again(self.found, seen.ranks, min(count, thresholds.TIMES_AGAIN), random)
            return phases, replace(self, asked=True)
        labels = joined(_of(self.found, seen.ranks), seen, slow)
        most = self.most if self.unchanged < thresholds.ALL_TRIED else 0
        turns = range(self.turn, self.turn + count)
        phases = [concentrated(labels, turn, most, random) for turn in turns]
        unchanged = count + (self.unchanged if np.array_equal(labels, self.labels) else 0)
        return phases, replace(self, turn=self.turn + count, unchanged=unchanged, labels=labels)


@dataclass(frozen=True)
class Several:
    """A group that turned out to be several."""

    labels: Integers
    """[rank] its group."""
    part: int
    """Messages within it were slow at a distance of this part of its ranks."""


def slow_together(seen: Observed, slow: Slow) -> SlowTogether | None:
    """Returns the slow routes of one phase, or None if chance explains all of them.

    Among phases with more slow routes than chance explains, picks the one with the fewest: a few most likely
    share one limit.
    """
    if not slow.any():
        return None
    numbers, phase = np.unique(seen.phase, return_inverse=True)
    count, total = np.bincount(phase[slow], minlength=len(numbers)), np.bincount(phase)
    doubt = math.log(len(numbers)) - math.log(thresholds.BY_CHANCE)
    sure = [
        at for at, some in enumerate(count.tolist()) if some and doubt + _log_chance(some, int(total[at])) < 0
    ]
    if not sure:
        return None
    at = min(sure, key=lambda one: int(count[one]))
    mine = slow & (phase == at)
    return SlowTogether(int(numbers[at]), seen.source[mine], seen.destination[mine])


def _log_chance(slow: int, total: int) -> float:
    """Bounds the log probability that `slow` of `total` messages are slow by chance.

    The bound is the expected number of slow subsets of this size (Boole's inequality).
    """
    choices = math.lgamma(total + 1) - math.lgamma(slow + 1) - math.lgamma(total - slow + 1)
    return choices + slow * math.log(thresholds.SLOW_BY_CHANCE)


def _later(found: SlowTogether, seen: Observed) -> Slow:
    """Returns [message] True for messages between the same hosts in later phases."""
    later = (seen.phase > found.phase) & np.isin(seen.source, found.sources)
    return later & np.isin(seen.destination, found.destinations)


def steady(found: SlowTogether, seen: Observed, slow: Slow) -> SlowTogether:
    """Removes hosts that were mostly fast later: they were slow in that phase by chance."""
    later = _later(found, seen)
    kept = []
    for ends, mine in ((seen.source, found.sources), (seen.destination, found.destinations)):
        total = np.bincount(ends[later], minlength=seen.ranks)
        again_slow = np.bincount(ends[later], weights=slow[later], minlength=seen.ranks)
        kept.append(mine[(again_slow >= thresholds.SLOW_AGAIN * total)[mine]])
    return SlowTogether(found.phase, kept[0], kept[1])


def joined(labels: Integers, seen: Observed, slow: Slow) -> Integers:
    """Extends groups 0 and 1 by ranks of neither (2); returns [rank] the new labels.

    A rank joins a group if it was mostly slow to or from the other group in phases in which messages of known
    members were slow, too.
    """
    labels = labels.copy()
    while True:
        for_it, against = np.zeros((2, seen.ranks)), np.zeros((2, seen.ranks))
        of_source, of_destination = labels[seen.source], labels[seen.destination]
        for one, other in ((0, 1), (1, 0)):
            known = (of_source == one) & (of_destination == other)
            count = np.bincount(seen.phase[known], minlength=int(seen.phase.max()) + 1)
            were = np.bincount(seen.phase[known], weights=slow[known], minlength=len(count))
            full = ((count >= 2) & (were > thresholds.SLOW_AGAIN * count))[seen.phase]
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


def again(found: SlowTogether, ranks: int, count: int, random: Generator) -> list[list[Route]]:
    """Returns `count` phases in which the same hosts send to each other in other orders.

    They also send back, unless a host is on both sides. All others send among themselves.
    """
    there, here = found.sources, found.destinations
    both_ways = not np.isin(there, here).any()
    made = []
    for shift in range(1, count + 1):
        routes = pairs_of(there, np.roll(here, shift))
        routes += pairs_of(here, np.roll(there, shift)) if both_ways else []
        made.append(completed(routes, ranks, random))
    return made


def fill_barely(found: SlowTogether, seen: Observed) -> int:
    """Returns how many of these routes just fit the link: with one more, all are slow. 0: unknown."""
    later = _later(found, seen)
    if not later.any():
        return 0
    alone = unshared(seen)
    totals = np.bincount(seen.phase[later], weights=seen.rate[later])
    flows = float(np.median(totals[totals > 0])) / alone.nominal
    return math.floor(flows / math.exp(alone.threshold))


def concentrated(labels: Integers, turn: int, most: int, random: Generator) -> list[Route]:
    """Returns a phase that concentrates on the limit; its kind depends on `turn`.

    In some turns, whole groups send, each to another or within itself. More often, known groups (all but the
    last, which contains the ranks of no known group) send each other `most` messages (0: never), so that one
    more fills the link. The other ranks send to each other; if they are slow, their group shows.
    """
    groups = int(labels.max()) + 1
    members = [random.permutation(np.nonzero(labels == group)[0]) for group in range(groups)]
    known = list(range(groups - 1))
    routes: list[Route] = []
    if most and len(known) > 1 and turn % thresholds.TURNS < thresholds.TURNS - 1:
        shift = 1 + turn // thresholds.TURNS % (len(known) - 1)
        for at, group in enumerate(known):
            pairs = pairs_of(members[group], members[known[(at + shift) % len(known)]])
            routes += pairs[: most + (len(pairs) >= most + thresholds.SPARE)]
        return completed(routes, len(labels), random)
    shift = (turn // thresholds.TURNS if most else turn) % groups
    for group, mine in enumerate(members):
        routes += pairs_of(mine, np.roll(mine, 1) if shift == 0 else members[(group + shift) % groups])
    return completed(routes, len(labels), random)


def pairs_of(sources: Integers, destinations: Integers) -> list[Route]:
    """Pairs both sides up to the length of the shorter one, without pairs of a rank with itself."""
    ends = zip(sources.tolist(), destinations.tolist(), strict=False)
    return [(source, destination) for source, destination in ends if source != destination]


def completed(routes: list[Route], ranks: int, random: Generator) -> list[Route]:
    """Adds routes from all ranks that do not send yet, each to a rank that does not receive yet."""
    senders, receivers = (
        random.permutation(np.setdiff1d(np.arange(ranks), [route[end] for route in routes])) for end in (0, 1)
    )
    for at in np.nonzero(senders == receivers)[0].tolist():
        other = (at + 1) % len(receivers)  # never the same rank, because each occurs once
        receivers[[at, other]] = receivers[[other, at]]
    return routes + pairs_of(senders, receivers)


def _of(found: SlowTogether, ranks: int) -> Integers:
    """Returns [rank] labels: 0 for senders, 1 for receivers, 2 for all others."""
    labels = np.full(ranks, 2)
    labels[found.destinations] = 1
    labels[found.sources] = 0
    return labels


def in_order(ranks: int, count: int) -> list[list[Route]]:
    """Returns phases in which each rank sends to the one half of all ranks further on, a quarter, and so on.

    If hosts are numbered by their position in the network, whole groups then send to one other group.
    """
    distances = [distance for power in range(1, count + 1) if (distance := ranks >> power) > 0]
    return [[(rank, (rank + distance) % ranks) for rank in range(ranks)] for distance in distances]


def nearly_in_order(ranks: Integers, distance: int, random: Generator) -> list[Route]:
    """Returns routes from these ranks to those at that distance, shuffled within each eighth of them.

    Whole groups still send to one other group. In strict order, the edges of groups would look like groups.
    """
    width = max(1, len(ranks) // thresholds.WINDOWS)
    receivers = np.roll(ranks, -distance)
    order = [random.permutation(receivers[at : at + width]) for at in range(0, len(ranks), width)]
    return pairs_of(ranks, np.concatenate(order))


def in_order_within(labels: Integers, count: int) -> list[list[Route]]:
    """Returns up to `count` phases in which each rank sends to the one half of its group further on, a third,
    and so on. If a group is several, whole groups then send to one other. `labels`: [rank] its group."""
    groups = [ranks for ranks in _members(labels) if len(ranks) >= thresholds.SMALLEST_OF_SEVERAL]
    phases = [
        [route for ranks in groups for route in pairs_of(ranks, np.roll(ranks, -(len(ranks) // part)))]
        for part in range(2, 2 + count)
    ]
    return phases if groups else []


def nearly_in_order_within(several: Several, random: Generator) -> list[Route]:
    """Returns a phase nearly in order, each group for itself.

    Half of the time at a distance near the one that was slow, otherwise at any: hosts may be numbered in
    another way.
    """
    routes: list[Route] = []
    for ranks in _members(several.labels):
        middle = len(ranks) // several.part
        near = max(1, middle // thresholds.NEAR_IN_ORDER)
        low, high = (middle - near, middle + near) if random.random() < 1 / 2 else (1, len(ranks) - 1)
        distance = int(random.integers(max(1, low), max(2, min(high, len(ranks) - 1) + 1)))
        routes += nearly_in_order(ranks, distance, random)
    return completed(routes, len(several.labels), random)


def _members(labels: Integers) -> list[Integers]:
    """Returns the ranks of each group, in the order of their numbers."""
    return [np.nonzero(labels == group)[0] for group in range(int(labels.max()) + 1)]


def numbered_so(slow: Slow, ordered: Slow) -> bool:
    """Returns True if messages in the order of rank numbers (`ordered`) are slow far more often."""
    if not ordered.any() or ordered.all():
        return False
    return bool(
        slow[ordered].mean() > thresholds.MORE_IN_ORDER + thresholds.TIMES_IN_ORDER * slow[~ordered].mean()
    )
