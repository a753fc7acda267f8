"""What the search knows, as stages hand it on, and what a stage answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, Protocol

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from crosscut.analysis.findings import slow_messages
from crosscut.analysis.search import thresholds
from crosscut.analysis.search.host_kinds import HostKinds
from crosscut.analysis.search.latency import Latency
from crosscut.analysis.search.rare_limits import RareLimit, nearly_in_order
from crosscut.analysis.search.suspects import ReferencePairs, Suspects
from crosscut.analysis.structure import idle, levels, subgroups
from crosscut.analysis.structure.grouping import Grouping
from crosscut.analysis.structure.infer import WELL_EXPLAINED, Inferred, doubtful, infer
from crosscut.analysis.structure.levels import Inner, Level
from crosscut.analysis.structure.observed import Integers, Observed, Route, joined, of_phases
from crosscut.analysis.structure.subgroups import Within
from crosscut.analysis.structure.unshared import unshared

Phase = list[Route]


class Sent(Enum):
    """Which messages a phase has, and so where their rates belong."""

    EVERYBODY = "everybody"
    SHORT = "short"
    WITHIN = "within groups"
    HALF_OF_KIND = "half of a slower kind"
    ALONE = "alone"
    INSIDE = "between groups within groups"
    FULL_AGAIN = "trunks again"
    INSIDE_AGAIN = "between groups within groups again"
    ALONE_AGAIN = "alone again"
    AGAIN = "routes again"
    FEW = "few between groups"
    FEW_AGAIN = "few between groups again"

    @property
    def free(self) -> bool:
        """No budget counts these phases: short messages take no time to speak of, and nothing is told that
        was not measured again."""
        return self in (Sent.SHORT, *_AGAIN)


# Part of the state that such phases add to.
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
    extensible: bool
    """True if nobody asked for this budget."""
    least_phases: int
    """Permutations where nothing is slow; 0: one for each doubling of the ranks."""
    confidence: float
    """Probability that each rank is in its group, before permutations end."""
    order: Integers
    """[position] rank, at random."""
    distances: tuple[int, ...]
    """Distances of permutations not measured yet; the last comes next."""
    full: Observed
    """Messages of phases of everybody."""
    within: Observed
    """Messages of phases within groups."""
    latency: Latency
    suspects: Suspects
    pairs: ReferencePairs
    again: Observed
    """Messages of routes that seemed slow, and of nobody else."""
    few: Observed
    """Messages between groups, of phases with so few that hardly any meet on a cable."""
    inside: Observed
    """Messages of phases that fill what groups within groups share."""
    kinds: HostKinds = field(default_factory=HostKinds)
    rare: RareLimit = field(default_factory=RareLimit)
    used: int = 0
    """Phases measured, short ones and those beyond the budget too."""
    retested: int = 0
    """Phases that measured again what would be told as a fault."""
    near: Grouping | None = None
    """Groups that later stages take as given: by latency, or sure permutations."""
    levels: tuple[Level, ...] = ()
    """Groups within those of `near`, the outermost first."""
    innermost: Integers | None = None
    """[rank] group of the innermost level that shares limits; None: no level within groups does."""
    by_latency: bool = False
    by_number: bool = False
    """Permutations keep nearly to the order of the ranks' numbers."""
    toured: bool = False
    """All trunks were filled at once."""
    crossed: int = 0
    """Groups that latency tells, between which nothing was slow when all messages left their group."""
    inferred: Inferred | None = None
    sure: bool = False
    """More of the same would not change the groups."""
    parts_asked: bool = False
    together: Within | None = None
    """What all share, if that is one limit, before parts were asked."""
    parts: Within | None = None
    """Parts of groups, and their limits; None: not looked into."""

    @property
    def measured(self) -> int:
        """Phases of full messages."""
        return self.used - self.latency.phases - self.retested

    @property
    def left(self) -> int:
        """Phases of full messages; short ones take no time to speak of."""
        return self.budget - self.measured

    @property
    def spare(self) -> int:
        """Phases left but for those kept for the stages within groups. The smallest budgets keep few."""
        return self.left - min(thresholds.RESERVE, self.budget - thresholds.FIRST_PERMUTATIONS)

    def learn(self, phases: Sequence[Phase], sent: Sent, rates: NDArray[np.float64]) -> State:
        seen = of_phases(self.ranks, phases, rates, self.used)
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
        """The next `count` permutations, at random or nearly by the ranks' numbers. `groups`: [rank] as far
        as known; then in every second permutation ranks send where it is open if they are together: groups
        taken for one would never be asked within."""
        distances, phases = list(self.distances), []
        for number in range(count):
            if number % 2 and groups is not None:
                phases += idle.phases(self.full, groups, 1, random, within=False)[:1]
            elif self.by_number:
                phases.append(nearly_in_order(self.ranks, distances.pop(), random))
            else:
                receivers = np.roll(self.order, -distances.pop())
                phases.append(list(zip(self.order.tolist(), receivers.tolist(), strict=True)))
        return phases, replace(self, distances=tuple(distances))

    def slow(self, observed: Observed) -> NDArray[np.bool_]:
        return slow_messages.slow(observed, self.full)

    def slow_by_itself(self, observed: Observed) -> NDArray[np.bool_]:
        return slow_messages.by_itself(observed, self.full)

    def share_of_slow(self, observed: Observed) -> float:
        return float(self.slow(observed).mean()) if len(observed) else 0.0

    @property
    def quiet(self) -> bool:
        """Nothing was slow but a few hosts."""
        return slow_messages.quiet(self.full)

    def quiet_since(self, phase: int) -> bool:
        """As `quiet`, of the phases of everybody from this one on."""
        return slow_messages.quiet(self.full, self.full.phase >= phase)

    @property
    def divided(self) -> bool:
        """There is something that groups would explain."""
        return self.toured or self.rare.on or not self.quiet

    def explained(self) -> State:
        """With groups and limits as all phases of everybody tell them, if there is anything to explain."""
        return replace(self, inferred=infer(self.full, near=self.near) if self.divided else None)

    def found(self) -> Inferred:
        """Groups and limits, by all that was measured."""
        alone = unshared(self.full)
        known = self.suspects.known(self.within, self.slow, alone)
        if self.crowded:
            known = self.pairs.known(self.suspects.out, self.suspects.back, alone)
            if self.together is not None:
                return infer(self.full, *known, divided=False)
        found = infer(self.full, *known, divided=self.divided, near=self.near)
        if doubtful(found) and self.near is None:
            return infer(self.full, *known, divided=False)
        inner = self.inner(found)
        return levels.without_sums(found, inner[0].inferred) if inner else found

    def inner(self, found: Inferred) -> tuple[Inner, ...]:
        """Groups within those that were found, the outermost first."""
        return levels.look(self.levels, self.inside, found) if found.grouping.count > 1 else ()

    def limit_of_all(self) -> Within | None:
        """One limit that everybody shares, if the reference pairs were faster and totals agree."""
        found = self.inferred
        if self.by_latency and found is not None and found.explained >= WELL_EXPLAINED:
            return None
        alone, unknown = unshared(self.full), np.full(self.ranks, np.nan)
        if not self.pairs.faster_than(alone):
            return None
        reached = unshared(self.full, *self.pairs.known(unknown, unknown, alone))
        return subgroups.of_everybody(joined(self.full, self.within), reached)

    def fills(self, at: int, phases: int) -> State:
        """The next so many phases fill what groups of this level share."""
        level = self.levels[at]
        filled = replace(level, phases=(*level.phases, *range(self.used, self.used + phases)))
        return replace(self, levels=(*self.levels[:at], filled, *self.levels[at + 1 :]))

    @property
    def crowded(self) -> bool:
        """All hosts are slow alike, by something that all of them fill."""
        alike = self.together is not None or self.quiet
        return alike and self.pairs.faster_than(unshared(self.full))

    @property
    def labels(self) -> Integers:
        """[rank] its group; of groups within groups the innermost that share limits."""
        if self.inferred is None or self.together is not None:
            return np.zeros(self.ranks, np.int64)
        return self.inferred.grouping.labels if self.innermost is None else self.innermost

    def groups(self, fewest: int) -> list[list[int]]:
        """Ranks of each group of `fewest` or more."""
        labels = self.labels
        groups = [np.nonzero(labels == number)[0].tolist() for number in range(int(labels.max()) + 1)]
        return [group for group in groups if len(group) >= fewest]


@dataclass(frozen=True)
class Asked:
    """A stage's answer. The search ends if a stage asks nothing and keeps the turn."""

    phases: list[Phase]
    state: State
    stage: Stage
    """Whose turn it is after these phases."""
    sent: Sent = Sent.EVERYBODY


class Stage(Protocol):
    def ask(self, state: State, random: Generator) -> Asked: ...
