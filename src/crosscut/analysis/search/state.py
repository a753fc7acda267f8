"""The state that stages of the search pass on, and the answer of a stage."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from crosscut.analysis.findings import slow_messages
from crosscut.analysis.search import thresholds
from crosscut.analysis.search.host_kinds import HostKinds
from crosscut.analysis.search.latency import Latency
from crosscut.analysis.search.rare_limits import (
    RareLimit,
    Several,
    completed,
    nearly_in_order,
    nearly_in_order_within,
)
from crosscut.analysis.search.suspects import ReferencePairs, Suspects
from crosscut.analysis.stats.intervals import Floats
from crosscut.analysis.structure import idle, levels, links, subgroups
from crosscut.analysis.structure.grouping import Grouping
from crosscut.analysis.structure.infer import Inferred, doubtful, infer
from crosscut.analysis.structure.levels import Inner, Level
from crosscut.analysis.structure.limits import WELL_EXPLAINED
from crosscut.analysis.structure.observed import Integers, Observed, Route, joined, of_phases
from crosscut.analysis.structure.subgroups import Within
from crosscut.analysis.structure.unshared import unshared

Phase = list[Route]


class Sent(Enum):
    """The kind of messages in a phase, in words for people; it decides where their rates are kept."""

    EVERYBODY = "every host sends"
    SHORT = "for latencies"
    WITHIN = "within groups"
    HALF_OF_KIND = "half of the slower hosts"
    ALONE = "a few hosts alone"
    INSIDE = "between the parts of a group"
    FULL_AGAIN = "trunks again"
    INSIDE_AGAIN = "between the parts of a group again"
    ALONE_AGAIN = "a few hosts alone again"
    AGAIN = "slow routes again"
    FEW = "few routes between groups"
    FEW_AGAIN = "few routes between groups again"

    @property
    def free(self) -> bool:
        """True if such phases do not count towards the budget.

        Short messages take hardly any time, and every suspected fault must be measured again.
        """
        return self in (Sent.SHORT, *_AGAIN)


# The field of State that collects these messages.
_JOINED = {
    Sent.EVERYBODY: "full", Sent.FULL_AGAIN: "full", Sent.WITHIN: "within", Sent.INSIDE: "inside",
    Sent.INSIDE_AGAIN: "inside", Sent.FEW: "few", Sent.FEW_AGAIN: "few", Sent.AGAIN: "again",
}  # fmt: skip
_AGAIN = (Sent.FULL_AGAIN, Sent.INSIDE_AGAIN, Sent.ALONE_AGAIN, Sent.AGAIN, Sent.FEW_AGAIN)


@dataclass(frozen=True)
class State:
    ranks: int
    budget: int
    """Phases of full messages."""
    least_phases: int
    """Number of permutations if nothing is slow; 0: fewest_where_quiet."""
    confidence: float
    """Probability that each rank is in its group, required before permutations end."""
    order: Integers
    """[position] rank, in random order."""
    distances: tuple[int, ...]
    """Distances of permutations still to be measured; the last is next."""
    full: Observed
    """Messages of phases in which everybody sends, and of trunks filled again."""
    within: Observed
    """Messages of phases within groups."""
    latency: Latency
    suspects: Suspects
    pairs: ReferencePairs
    again: Observed
    """Messages of routes that seemed slow, measured again while all others were silent."""
    few: Observed
    """Messages between groups, from phases with so few that hardly any share a cable."""
    inside: Observed
    """Messages of phases that fill limits of groups within groups."""
    first_stage: Stage
    """Begins the search, and again if all suspects are fast alone."""
    kinds: HostKinds = field(default_factory=HostKinds)
    rare: RareLimit = field(default_factory=RareLimit)
    used: int = 0
    """Phases measured, including short ones and those beyond the budget."""
    retested: int = 0
    """Phases that measured suspected faults again."""
    near: Grouping | None = None
    """Groups that later stages take as given, from latency or from conclusive permutations."""
    levels: tuple[Level, ...] = ()
    """Groups within those of `near`, the outermost first."""
    innermost: Integers | None = None
    """[rank] group on the innermost level with shared limits; None: no level within groups has any."""
    groups_certain: bool = False
    """Latencies revealed the groups, or permutations made those certain that `near` joins."""
    by_number: bool = False
    """Further permutations approximately follow the order of the ranks' numbers."""
    several: Several | None = None
    """None: no group turned out to be several."""
    toured: bool = False
    """All trunks were filled at once."""
    crossed: int = 0
    """Number of groups from latency if nothing was slow when every message left its group; else 0."""
    inferred: Inferred | None = None
    filled: tuple[int, ...] = ()
    """Phases that filled few trunks each."""
    refilled: tuple[tuple[int, frozenset[int]], ...] = ()
    """Ranks of the group of each trunk that was filled again by itself, with the number of the last phase."""
    beside: Inferred | None = None
    """The limits of trunks that were not filled again, as known before; None: no trunk was."""
    sure: bool = False
    """More phases of the same kind would not change the groups."""
    parts_asked: bool = False
    together: Within | None = None
    """The limit that all hosts share, if any, as known before parts were measured."""
    parts: Within | None = None
    """Parts of groups and their limits; None: not measured."""

    @property
    def measured(self) -> int:
        """Phases of full messages that count towards the budget."""
        return self.used - self.latency.phases - self.retested

    @property
    def left(self) -> int:
        """Phases of full messages left in the budget."""
        return self.budget - self.measured

    @property
    def spare(self) -> int:
        """Phases left, less those reserved for the last stages; small budgets reserve fewer."""
        return self.left - min(thresholds.RESERVE, self.budget - thresholds.FIRST_PERMUTATIONS)

    @property
    def left_again(self) -> int:
        """Phases left to measure suspected faults again, the last looks among them."""
        return thresholds.MOST_AGAIN + min(max(0, self.left), thresholds.LAST_LOOKS) - self.retested

    @property
    def left_before_last(self) -> int:
        """The same, without those kept for the last looks."""
        return max(0, self.left_again - thresholds.LAST_LOOKS)

    @property
    def fewest_where_quiet(self) -> int:
        """Permutations before the search believes that nothing is slow: a small cluster needs more."""
        few = min(thresholds.MOST_WHERE_QUIET, thresholds.MESSAGES_WHERE_QUIET // max(self.ranks, 1))
        return max(few, math.ceil(math.log2(self.ranks)))

    @property
    def fewest_for_groups(self) -> int:
        """Permutations before groups are inferred: a small cluster needs more for as many messages."""
        many = math.ceil(thresholds.MESSAGES_FOR_GROUPS / max(self.ranks, 1))
        return max(thresholds.FEWEST_FOR_GROUPS, min(many, self.budget // 2))

    def learn(
        self, phases: Sequence[Phase], sent: Sent, rates: Floats, of_ranks: Floats | None = None
    ) -> State:
        """`rates`: [route] bytes or short messages per second, in order of phases; not finite: unusable.

        `of_ranks`: as in `Observed`.
        """
        seen = replace(of_phases(self.ranks, phases, rates, self.used), of_ranks=of_ranks)
        seen = seen.where(np.isfinite(seen.rate))
        if sent is not Sent.SHORT:
            seen = replace(seen, of_kind=self.kinds.of_kind)
        after = replace(self, used=self.used + len(phases))
        if sent in _AGAIN:
            after = replace(after, retested=self.retested + len(phases))
        if part := _JOINED.get(sent):
            changed: dict[str, Any] = {part: joined(getattr(self, part), seen)}
            return replace(after, **changed)
        if sent is Sent.HALF_OF_KIND:
            kinds = self.kinds.learn(self.full, seen)
            return replace(after, kinds=kinds, full=replace(self.full, of_kind=kinds.of_kind))
        if sent is Sent.SHORT:
            return replace(after, latency=self.latency.learn(seen))
        others, pairs = self.pairs.learn(seen, self.used)
        return replace(after, suspects=self.suspects.learn(others), pairs=pairs)

    def permutations(
        self, count: int, random: Generator, groups: Integers | None = None
    ) -> tuple[list[Phase], State]:
        """Returns the next `count` permutations, at random or approximately by the ranks' numbers.

        `groups`: [rank] its group as far as known. If given, ranks send in every second permutation to groups
        that may be one with their own. The random ones reveal groups that were merged by mistake.
        """
        distances, phases = list(self.distances), []
        for number in range(count):
            if number % 2 and groups is not None:
                phases += idle.phases(self.full, groups, 1, random, within=False)[:1]
            elif number % 2 and self.several is not None:
                phases.append(nearly_in_order_within(self.several, random))
            elif self.by_number and distances:
                routes = nearly_in_order(np.arange(self.ranks), distances.pop(), random)
                phases.append(completed(routes, self.ranks, random))
            else:
                # Once all routes were measured, further permutations let other routes meet.
                order = self.order if distances else random.permutation(self.ranks)
                receivers = np.roll(order, -(distances.pop() if distances else 1))
                phases.append(list(zip(order.tolist(), receivers.tolist(), strict=True)))
        return phases, replace(self, distances=tuple(distances))

    def slow(self, observed: Observed) -> NDArray[np.bool_]:
        return slow_messages.slow(observed, self.full)

    def slow_by_itself(self, observed: Observed) -> NDArray[np.bool_]:
        return slow_messages.by_itself(observed, self.full)

    def share_of_slow(self, observed: Observed) -> float:
        return float(self.slow(observed).mean()) if len(observed) else 0.0

    @property
    def quiet(self) -> bool:
        """True if nothing was slow except a few hosts."""
        return slow_messages.quiet(self.full, sound=self.suspects.cleared)

    def quiet_since(self, phase: int) -> bool:
        """Returns `quiet` for the phases of `full` from this one on."""
        return slow_messages.quiet(self.full, self.full.phase >= phase, self.suspects.cleared)

    @property
    def divided(self) -> bool:
        """True if groups could explain something."""
        return self.toured or self.rare.on or not self.quiet

    def explained(self) -> State:
        """Sets `inferred` from all phases in which everybody sent; None if there is nothing to explain."""
        return replace(self, inferred=infer(self.full, near=self.near) if self.divided else None)

    @cached_property  # several stages ask for it in turn
    def found(self) -> Inferred:
        """The groups and limits that all measurements show."""
        alone = unshared(self.full)
        known = self.suspects.known(self.within, self.slow, alone)
        if self.crowded:
            known = self.pairs.known(self.suspects.out, self.suspects.back, alone)
            if self.together is not None:
                return infer(self.full, *known, divided=False)
        apart = self.suspects.measured
        found = infer(self.full, *known, divided=self.divided, near=self.near, apart=apart)
        if doubtful(found) and self.near is None:
            return infer(self.full, *known, divided=False, apart=apart)
        found, inner = self._with_beside(self._with_filled(found)), self.inner(found)
        return levels.without_sums(found, inner[0].inferred) if inner else found

    def _with_filled(self, found: Inferred) -> Inferred:
        """Adds limits that only phases which filled these trunks show."""
        labels, known = found.grouping.labels, found.capacities
        more = links.filled(self.full, self.filled, found.alone, labels, known) if self.filled else []
        return replace(found, capacities=(*known, *more)) if more else found

    def _with_beside(self, found: Inferred) -> Inferred:
        """Adds limits known before trunks were filled again: such a phase leaves the other trunks partly
        unused, and so hides their limits."""
        before = self.beside
        if before is None or not np.array_equal(before.grouping.labels, found.grouping.labels):
            return found
        known = {(one.reach, one.groups) for one in found.capacities}
        reaches = {one.reach for one in found.capacities}
        hidden = [
            one for one in before.capacities if one.reach in reaches and (one.reach, one.groups) not in known
        ]
        return replace(found, capacities=(*found.capacities, *hidden)) if hidden else found

    def inner(self, found: Inferred) -> tuple[Inner, ...]:
        """Returns the levels of groups within those of `found`, the outermost first."""
        return levels.look(self.levels, self.inside, found) if found.grouping.count > 1 else ()

    def wider(self, labels: Integers) -> Grouping | None:
        """Returns wider groups of these ([rank] group) that latency or, in permutations, rates reveal."""
        found = idle.wider(self.latency.measured, labels) if len(self.latency.measured) else None
        if found is not None or self.toured or not len(self.full):
            return found
        found = idle.wider(self.full, labels)
        # A slow trunk sets a single group apart.
        groups = np.unique(labels, return_index=True)[1]
        several = found is not None and np.bincount(found.labels[groups]).min() > 1
        return found if several else None

    def limit_of_all(self) -> Within | None:
        """Returns the limit that all hosts share, if reference pairs were faster and totals agree."""
        found = self.inferred
        if self.groups_certain and found is not None and found.explained >= WELL_EXPLAINED:
            return None
        alone, unknown = unshared(self.full), np.full(self.ranks, np.nan)
        if not self.pairs.faster_than(alone):
            return None
        reached = unshared(self.full, *self.pairs.known(unknown, unknown, alone))
        return subgroups.of_everybody(joined(self.full, self.within), reached)

    @property
    def trunks_again(self) -> frozenset[frozenset[int]]:
        """Ranks of the groups whose trunks were filled again."""
        return frozenset(ranks for phase, ranks in self.refilled if phase < self.used)

    def refills(self, phases: int, trunks: Iterable[frozenset[int]]) -> State:
        """Records that the next `phases` phases fill these trunks again."""
        new = tuple((self.used + phases - 1, ranks) for ranks in trunks)
        return replace(self, refilled=(*self.refilled, *new))

    def fills(self, at: int, phases: int) -> State:
        """Records that the next `phases` phases fill limits of the groups of level `at`."""
        level = self.levels[at]
        filled = replace(level, phases=(*level.phases, *range(self.used, self.used + phases)))
        return replace(self, levels=(*self.levels[:at], filled, *self.levels[at + 1 :]))

    @property
    def crowded(self) -> bool:
        """True if all hosts are equally slow because together they fill a limit."""
        alike = self.together is not None or self.quiet
        return alike and self.pairs.faster_than(unshared(self.full))

    @property
    def labels(self) -> Integers:
        """[rank] its group; with groups within groups, the innermost with shared limits."""
        if self.inferred is None or self.together is not None:
            return np.zeros(self.ranks, np.int64)
        return self.inferred.grouping.labels if self.innermost is None else self.innermost

    def groups(self, fewest: int) -> list[list[int]]:
        """Returns the ranks of each group that has at least `fewest`."""
        labels = self.labels
        groups = [np.nonzero(labels == number)[0].tolist() for number in range(int(labels.max()) + 1)]
        return [group for group in groups if len(group) >= fewest]


@dataclass(frozen=True)
class Asked:
    """A stage's answer. The search ends if a stage proposes no phases and keeps the turn."""

    phases: list[Phase]
    state: State
    stage: Stage
    """The stage whose turn is next."""
    sent: Sent = Sent.EVERYBODY


class Stage(Protocol):
    def ask(self, state: State, random: Generator) -> Asked: ...
