"""Stage 7: measures suspected faults again.

Trunks are filled by themselves, because another limit, or another job, may have held them back. Hosts that
were slow alone exchange with other sound partners: few of a group at a time, and finally each by itself,
because two that share a cable slow each other. Routes that seemed slow run while all others are silent:
noise makes some of thousands of routes slow, but different ones the next time. Up to three phases, some time
apart, then measure once more what would be reported, because another job or a daemon may last through a few
phases. They are kept for this: no other stage may use them. At most eight of all these phases are beyond the
budget. Suspects that were not slow again are not reported (findings/).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator

from crosscut.analysis.findings import slow_cables, slow_parts, slow_routes, slow_trunks
from crosscut.analysis.findings.model import Finding
from crosscut.analysis.search import thresholds
from crosscut.analysis.search.cables import Cables
from crosscut.analysis.search.state import Asked, Phase, Sent, State
from crosscut.analysis.search.suspects import Suspects
from crosscut.analysis.structure.infer import Inferred
from crosscut.analysis.structure.observed import Integers, Observed, Route

# Times that a host must have been slow with few others to be suspected.
_FEWEST_SLOW = 2


@dataclass(frozen=True)
class Retest:
    """Fills again, each by itself, the trunks that carry less than others; then those that seem to since."""

    filled: frozenset[tuple[frozenset[int], ...]] = frozenset()
    """Ranks of the groups of each trunk filled before."""

    def ask(self, state: State, random: Generator) -> Asked:
        found = state.found
        slow = [*slow_trunks.trunks(found, state.full), *slow_trunks.lone_trunks(found, state.full)]
        new = [part for part in _parts(found, slow) if _ranks(found, part) not in self.filled]
        phases, refilled = _again(found, new, thresholds.MOST_TRUNKS_AGAIN - state.retested, random)
        if not phases:
            return RetestInside().ask(state, random)
        filled = self.filled | {_ranks(found, part) for part in new}
        others = tuple(one for one in found.capacities if _ranks(found, one.groups) not in filled)
        state = replace(state, beside=replace(found, capacities=others))
        return Asked(phases, state.refills(len(phases), refilled), Retest(filled), Sent.FULL_AGAIN)


@dataclass(frozen=True)
class RetestInside:
    """Does the same for groups within groups, level by level."""

    at: int = 0

    def ask(self, state: State, random: Generator) -> Asked:
        for at, level in enumerate(state.inner(state.found)[self.at :], self.at):
            slow = slow_trunks.trunks(level.inferred, level.observed)
            most = min(state.left_before_last, thresholds.MOST_TRUNKS_AGAIN)
            phases, refilled = _again(level.inferred, _parts(level.inferred, slow), most, random)
            if phases:
                after = state.refills(len(phases), refilled).fills(at, len(phases))
                return Asked(phases, after, RetestInside(at + 1), Sent.INSIDE_AGAIN)
        return RetestHosts().ask(state, random)


def _parts(found: Inferred, slow: Sequence[Finding]) -> list[tuple[int, ...]]:
    """Returns the groups of each finding on a trunk."""
    numbers = {found.name(number): number for number in range(found.grouping.count)}
    return list(dict.fromkeys(tuple(numbers[name] for name in one.groups) for one in slow if one.groups))


def _ranks(found: Inferred, part: tuple[int, ...]) -> tuple[frozenset[int], ...]:
    labels = found.grouping.labels
    return tuple(frozenset(np.nonzero(labels == group)[0].tolist()) for group in part)


def _again(
    found: Inferred, parts: Sequence[tuple[int, ...]], most: int, random: Generator
) -> tuple[list[Phase], list[frozenset[int]]]:
    """Returns at most `most` phases, each of which fills the trunk of one of these groups; two for each, if
    possible; and the ranks of the groups whose trunks these fill."""
    times = min(2, max(1, most // max(1, len(parts))))
    phases = [_filled(found.grouping.labels, part, random) for part in parts for _ in range(times)]
    kept = phases[: max(0, most)]
    return kept, [_ranks(found, part)[0] for part in parts[: len(kept) // times]]


def _filled(labels: Integers, part: tuple[int, ...], random: Generator) -> Phase:
    """Returns a phase that fills only one group's trunk, or the links from one group to another."""
    if len(part) == 1:
        return _across(labels, part[0], random)
    ends = (random.permutation(np.nonzero(labels == group)[0]).tolist() for group in part)
    return list(zip(*ends, strict=False))


def _across(labels: Integers, group: int, random: Generator) -> Phase:
    """Returns a phase in which each host of the group sends to and receives from hosts outside.

    With fewer hosts outside, only as many of the group take part.
    """
    inside = random.permutation(np.nonzero(labels == group)[0]).tolist()
    outside = random.permutation(np.nonzero(labels != group)[0]).tolist()
    pairs = list(zip(inside, outside, strict=False))
    return [
        *pairs,
        *((other, rank) for (rank, _), (_, other) in zip(pairs, pairs[1:] + pairs[:1], strict=True)),
    ]


@dataclass(frozen=True)
class RetestHosts:
    """Measures slow hosts again, with other sound partners; after the cables also those found slow there."""

    found: Inferred | None = None
    permuted: bool = False
    """Permutations measured other routes of the ends of slow routes."""
    after_cables: bool = False

    def ask(self, state: State, random: Generator) -> Asked:
        found = self.found or state.found
        routes = slow_routes.suspected(state.full, found).slow
        if routes and not self.permuted:
            # Some routes of a host may be slow while others are sound. So all ranks send.
            lacking = slow_routes.others_lacking(routes, state.full)
            count = min(lacking, state.left)
            if count > 0:
                return Asked(*state.permutations(count, random), replace(self, permuted=True))
        if state.left_before_last:
            suspects = state.suspects
            open_ = slow_parts.unconfirmed(suspects.measured, found)
            by_itself = [rank for rank, lacks_only_that in open_.items() if lacks_only_that]
            new = _never_fast(state.few, suspects, found) if self.after_cables else []
            chosen = by_itself[:1] or _few_of_each([*open_, *new], found.grouping.labels, random)
            phase, after = _exchanged(chosen, state, found, random)
            if phase:
                return Asked([phase], after, replace(self, found=found), Sent.ALONE_AGAIN)
        if self.after_cables:
            return Cables(found, RetestRoutes(found, routes), again=True).ask(state, random)
        return Cables(found, replace(self, found=found, after_cables=True)).ask(state, random)


def _never_fast(few: Observed, suspects: Suspects, found: Inferred) -> list[int]:
    """Returns the ranks that were never suspected, but slow one way whenever few others sent.

    Where most messages are slow, only such phases tell slow hosts from others. None if there are many.
    """
    slow, ranks = found.alone.slowness(few) < math.log(1 - slow_parts.SOUND_ALONE), set[int]()
    for ends in (few.source, few.destination):
        times, slow_times = (np.bincount(one, minlength=few.ranks) for one in (ends, ends[slow]))
        ranks |= set(np.nonzero((times >= _FEWEST_SLOW) & (slow_times == times))[0].tolist())
    ranks -= suspects.ranks | suspects.cleared
    return sorted(ranks) if len(ranks) <= slow_parts.LARGEST_SHARE_OF_HOSTS * few.ranks else []


def _exchanged(
    chosen: Sequence[int], state: State, found: Inferred, random: Generator
) -> tuple[Phase, State]:
    """Returns a phase in which these ranks exchange with sound ones that were never suspected."""
    suspects, ranks = state.suspects, frozenset(chosen)
    now = replace(suspects, ranks=ranks, cleared=suspects.cleared | (suspects.ranks - ranks))
    within_only = state.near is not None
    phase = now.exchanges(found.grouping.labels, random, state.kinds.of_kind, within_only=within_only)
    return phase, replace(state, suspects=replace(now, ranks=suspects.ranks | ranks))


def _few_of_each(ranks: list[int], labels: Integers, random: Generator) -> list[int]:
    """Draws so few of the ranks from each group that no limit of the group slows them."""
    sizes = np.bincount(labels)
    taken: dict[int, int] = {}
    chosen = []
    for rank in random.permutation(ranks).tolist():
        group = int(labels[rank])
        if taken.get(group, 0) < max(1, sizes[group] // thresholds.RANKS_A_SUSPECT):
            taken[group] = taken.get(group, 0) + 1
            chosen.append(rank)
    return chosen


@dataclass(frozen=True)
class RetestRoutes:
    """Measures slow routes again while all others are silent."""

    found: Inferred
    suspected: Mapping[Route, float]
    """Like `slow` of slow_routes.Suspected."""

    def ask(self, state: State, random: Generator) -> Asked:
        phase: Phase = []
        if state.left_before_last:
            slow = self.still_slow(state)
            times = slow_routes.times(state.again)
            phase = _disjoint([one for one in slow if times[one] < slow_routes.FEWEST_AGAIN], random)
        if phase:
            return Asked([phase], state, self, Sent.AGAIN)
        return LastLook(self).ask(state, random)

    def still_slow(self, state: State) -> list[Route]:
        """Returns routes that seemed slow and have not been fast since."""
        fast = slow_routes.refuted(self.suspected, state.again, self.found)
        slowest = list(self.suspected)[: thresholds.MOST_ROUTES_AGAIN]
        return [route for route in slowest if route not in fast]


@dataclass(frozen=True)
class LastLook:
    """Measures once more hosts, routes and cables that would be reported, one kind in each phase.

    Trunks, filled twice before, are left out: phases that fill only one would outweigh others.
    """

    routes: RetestRoutes
    turn: int = 0
    times: int = 0
    """Phases proposed so far."""

    def ask(self, state: State, random: Generator) -> Asked:
        looks = (self._hosts, self._routes, self._cables)
        for turn in range(self.turn, self.turn + len(looks)):
            if state.left_again <= 0 or self.times >= thresholds.LAST_LOOKS:
                break
            phase, after, sent = looks[turn % len(looks)](state, random)
            if phase:
                return Asked([phase], after, replace(self, turn=turn + 1, times=self.times + 1), sent)
        return Asked([], state, self)

    def _hosts(self, state: State, random: Generator) -> tuple[Phase, State, Sent]:
        """Every second phase measures a single host, because several may slow each other."""
        found = self.routes.found
        slow = slow_parts.steadily_slow(state.suspects.measured, found)
        chosen = _few_of_each(slow, found.grouping.labels, random)
        phase, after = _exchanged(chosen[: None if state.retested % 2 else 1], state, found, random)
        return phase, after, Sent.ALONE_AGAIN

    def _routes(self, state: State, random: Generator) -> tuple[Phase, State, Sent]:
        return _disjoint(self.routes.still_slow(state), random), state, Sent.AGAIN

    def _cables(self, state: State, random: Generator) -> tuple[Phase, State, Sent]:
        slow = slow_cables.lonely(slow_cables.tested(state.few, self.routes.found), self.routes.found)
        return [slow[random.integers(len(slow))]] if slow else [], state, Sent.FEW_AGAIN


def _disjoint(routes: list[Route], random: Generator) -> Phase:
    """Returns as many of the routes, in random order, as share no sender and no receiver."""
    chosen: Phase = []
    for at in random.permutation(len(routes)).tolist():
        source, destination = routes[at]
        if all(source != other[0] and destination != other[1] for other in chosen):
            chosen.append((source, destination))
    return chosen
