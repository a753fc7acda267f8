"""Stage 1: all ranks send, by permutations, until slow hosts or groups show.

Ranks are numbered at random and no route is measured twice; all N - 1 permutations would be an all-to-all
(AAPC; Kurmann, Rauch and Stricker 2003, section 4.2.2). Routes that are slow together reveal groups. Three
other kinds of phases help: short messages (latency.py), ranks in the order of their numbers, and repeated
tests of a suspicion (rare_limits.py). The stage passes on groups and limits, or groups from latency.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from crosscut.analysis.findings import slow_messages
from crosscut.analysis.search import host_kinds, rare_limits, thresholds
from crosscut.analysis.search.rare_limits import Several
from crosscut.analysis.search.state import Asked, Phase, Sent, State
from crosscut.analysis.search.trunks import Missing, Trunks
from crosscut.analysis.structure import idle, placing
from crosscut.analysis.structure.infer import SURE_OF_A_RANK, Inferred, infer
from crosscut.analysis.structure.levels import Level
from crosscut.analysis.structure.limits import WELL_EXPLAINED


@dataclass(frozen=True)
class Permutations:
    ordered: tuple[int, ...] | None = None
    """Phases in the order of rank numbers still to be judged; None: not proposed yet."""
    inside: tuple[int, ...] | None = None
    """Such phases within the groups found, still to be judged; None: not proposed yet."""
    among_equals: bool = False
    """Hosts have sent to others of their own kind."""
    asked_rows: bool = False
    """Short messages between the groups found were measured: latency may join them to wider ones."""
    judged: int = 0
    """Number of phases measured when groups were last inferred."""
    last_labels: tuple[int, ...] = ()
    """[rank] its group at that time."""

    def ask(self, state: State, random: Generator) -> Asked:
        stage = self
        if state.used and not state.kinds.asked:
            halves, kinds = state.kinds.ask(state.full, random)
            state = replace(state, kinds=kinds)
            if halves:
                return Asked(halves, state, stage, Sent.HALF_OF_KIND)
        if state.used:
            stage, state = stage.noticed(state)
            stage, state, settled = stage.settled(state)
            if settled:
                quiet = state.quiet and not state.rare.on
                return stage.crossed(state, random) if quiet else stage.grouped(state)
            if _unexplained(state) and (asked := stage.of_rows(state, random)) is not None:
                return asked
            if state.rare.on or not state.quiet:
                phases, near, latency = state.latency.ask(
                    state.full, state.measured, random, first=state.rare.on
                )
                state = replace(state, latency=latency)
                if near is not None:
                    return Asked([], replace(state, near=near, groups_certain=True, sure=True), Trunks())
                if phases:
                    return Asked(phases, state, stage, Sent.SHORT)
        return stage.everybody(state, random)

    def of_rows(self, state: State, random: Generator) -> Asked | None:
        """Looks for wider groups, by rates or latencies; None: there are none.

        Permutations fill their limits, and hide those of the groups inside.
        """
        if (rows := _rows(state)) is not None:
            return Asked([], rows, Trunks())
        if self.asked_rows:
            return None
        (apart,) = random.spawn(1)  # keeps later draws the same
        return Asked(_between(state, apart), state, replace(self, asked_rows=True), Sent.SHORT)

    def crossed(self, state: State, random: Generator) -> Asked:
        """Looks for full trunks although nothing was slow.

        In a permutation only some messages leave a group, too few to fill a trunk that carries more than half
        of its hosts' rate. In a tour of the groups that latency reveals, all messages leave.
        """
        (apart,) = random.spawn(1)  # keeps later draws the same as in a search without latencies
        phases, near, latency = state.latency.ask(state.full, state.measured, apart, first=True)
        state = replace(state, latency=latency)
        if phases:
            return Asked(phases, state, self, Sent.SHORT)
        if near is not None and near.count > 1:
            return Asked([], replace(state, near=near, groups_certain=True), Trunks(quiet=True))
        return Asked([], state.explained(), Missing())

    def grouped(self, state: State) -> Asked:
        """Looks, once, whether a group is several; then passes on groups and limits."""
        if self.inside is None and state.inferred is not None and not state.rare.on:
            labels = state.inferred.grouping.labels
            phases = rare_limits.in_order_within(labels, min(thresholds.IN_ORDER_WITHIN, state.spare))
            if phases:
                numbers = range(state.used, state.used + len(phases))
                return Asked(phases, state, replace(self, inside=tuple(numbers)))
        return Asked([], state.explained(), Missing())

    def everybody(self, state: State, random: Generator) -> Asked:
        blurred = state.inferred is not None and _blurred(state)
        # Batches grow with the number of phases, because inferring then takes longer than measuring.
        count = max(thresholds.BATCH, state.measured // thresholds.PHASES_PER_BATCH)
        if not state.used:
            count = thresholds.FIRST_PERMUTATIONS
        if blurred:
            count = thresholds.MORE_WHERE_BLURRED
        count = min(count, max(1, thresholds.MOST_MESSAGES_AT_ONCE // state.ranks))
        count = min(count, state.spare)
        if count <= 0:
            return Asked([], state.explained(), Missing())
        if state.rare.on:
            phases, rare = state.rare.ask(state.full, state.slow(state.full), count, random)
            return Asked(phases, replace(state, rare=rare), self)
        if state.kinds.of_kind is not None and state.quiet and not self.among_equals:
            phases = host_kinds.among_equals(
                state.kinds.of_kind, min(count, thresholds.FIRST_PERMUTATIONS), random
            )
            return Asked(phases, state, replace(self, among_equals=True))
        if state.used and self.ordered is None and state.quiet:
            phases = rare_limits.in_order(state.ranks, count)
            numbers = range(state.used, state.used + len(phases))
            return Asked(phases, state, replace(self, ordered=tuple(numbers)))
        groups = state.inferred.grouping.labels if state.inferred is not None and blurred else None
        return Asked(*state.permutations(count, random, groups), self)

    def noticed(self, state: State) -> tuple[Permutations, State]:
        """Looks for limits that permutations seldom fill.

        They show if many routes are slow in the order of the ranks' numbers, or if a few are slow together.
        """
        of_hosts = slow_messages.of_slow_hosts(state.full, state.suspects.cleared)
        stage, slow = self, state.slow(state.full) & ~of_hosts
        if self.ordered:
            by_number = rare_limits.numbered_so(slow, np.isin(state.full.phase, self.ordered))
            stage, state = replace(self, ordered=()), replace(state, by_number=by_number)
        if self.inside:
            stage, several = replace(stage, inside=()), _several(state, slow, self.inside)
            if several is not None:
                stage, state = replace(stage, last_labels=()), replace(state, several=several)
        return stage, replace(state, rare=state.rare.notice(state.full, slow))

    def settled(self, state: State) -> tuple[Permutations, State, bool]:
        """Returns True as the last value if more permutations would reveal nothing new."""
        if not state.rare.on and state.quiet:
            if state.least_phases:
                enough = state.measured >= state.least_phases
            elif state.kinds.of_kind is not None and not self.among_equals:
                enough = not host_kinds.untold(state.full)
            else:
                # Two permutations reveal slow hosts; limits that few permutations fill need more.
                named = bool(slow_messages.of_slow_hosts(state.full, state.suspects.cleared).any())
                enough = named or state.used >= state.fewest_where_quiet
            return self, replace(state, sure=True), enough
        blurred, state = _blurred(state), replace(state, sure=False)
        fewest = thresholds.FEWEST_WHERE_BLURRED if blurred else state.fewest_for_groups
        if state.measured < fewest or state.measured == self.judged:
            return self, state, False
        found = infer(state.full, thorough=False)
        labels = tuple(found.grouping.labels.tolist())
        stage = replace(self, judged=state.measured, last_labels=labels)
        state = replace(state, inferred=found)
        if state.rare.on and not state.rare.settled:
            return stage, state, False
        same, unsure = labels == self.last_labels, found.grouping.confidence <= state.confidence
        if blurred and same and _vouched(found, float(unsure.mean())):
            near = placing.by_limits(found.grouping, state.full, found.alone, np.nonzero(unsure)[0])
            if (near.confidence > state.confidence).all():
                return stage, replace(state, near=near, sure=True), True
        sure = same and not unsure.any() and found.grouping.count > 1
        enough = found.explained > WELL_EXPLAINED or state.measured >= state.budget // 2
        return stage, replace(state, sure=sure), sure and enough


def _several(state: State, slow: NDArray[np.bool_], inside: tuple[int, ...]) -> Several | None:
    """Returns the groups if one looks like several: most of its messages were slow in one of the phases
    `inside`. Otherwise None."""
    assert state.inferred is not None
    labels, full = state.inferred.grouping.labels, state.full
    for part, phase in enumerate(inside, 2):
        mine = full.phase == phase
        group = labels[full.source[mine]]
        if (np.bincount(group, weights=slow[mine]) > thresholds.SLOW_AGAIN * np.bincount(group)).any():
            return Several(labels, part)
    return None


def _unexplained(state: State) -> bool:
    """Returns True if groups are certain, but their limits explain little."""
    found = state.inferred
    if found is None or state.near is not None or state.rare.on:
        return False
    enough = state.sure or 2 * state.measured >= state.budget
    certain = bool((found.grouping.confidence > SURE_OF_A_RANK).all())
    return enough and certain and found.grouping.count > 2 and found.explained < thresholds.EXPLAINED


def _rows(state: State) -> State | None:
    """Returns the state with wider groups than those inferred, as a level outside them; None if there are
    none."""
    assert state.inferred is not None
    near = state.wider(state.labels)
    if near is None:
        return None
    levels = (Level(state.inferred.grouping),)
    return replace(state, near=near, levels=levels, groups_certain=True, sure=True)


def _between(state: State, random: Generator) -> list[Phase]:
    """Returns phases of short messages between random ranks: several for each pair of groups."""
    pairs = int(state.labels.max()) ** 2 / 2
    count = math.ceil(thresholds.SHORT_PER_PAIR * pairs / state.ranks)
    return idle.phases(state.latency.measured, np.arange(state.ranks), max(1, count), random)


def _blurred(state: State) -> bool:
    """Returns True if permutations should come before more short messages."""
    return not state.rare.on and state.latency.blurred(state.measured)


def _vouched(found: Inferred, unsure: float) -> bool:
    """Returns True if limits may place the ranks that routes leave uncertain (`unsure`: their share).

    With a rank in a wrong group, totals are not constant. No host may be slow or unplaced.
    """
    slow_hosts = len(found.out_suspects) + len(found.in_suspects) + len(found.unplaced)
    constant = unsure < thresholds.FEW_UNSURE and found.explained > thresholds.SURELY_EXPLAINED
    slow = found.grouping.count > 2 and found.slow_share > thresholds.MOSTLY_SLOW
    return constant and slow and not slow_hosts
