"""Stages 5 and 6: slow hosts, and limits of parts of groups.

In stage 5, only suspects and their partners send, and reference pairs if all hosts may be equally slow
(suspects.py). It passes on the rates of hosts alone. Stage 6 finds limits that all hosts of a part of a group
share, such as a switching chip's. It passes on the parts and their limits. The methods are our own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator

from crosscut.analysis.search import thresholds
from crosscut.analysis.search.retest import Retest
from crosscut.analysis.search.state import Asked, Phase, Sent, State
from crosscut.analysis.structure import subgroups
from crosscut.analysis.structure.host_rates import rates_alone
from crosscut.analysis.structure.limits import WELL_EXPLAINED
from crosscut.analysis.structure.observed import Integers
from crosscut.analysis.structure.unshared import Unshared, unshared


class Alone:
    """Stage 5."""

    def ask(self, state: State, random: Generator) -> Asked:
        seen = state.within if len(state.within) else state.full
        phases, suspects = state.suspects.ask(
            seen, state.slow_by_itself, state.inferred, random, full=state.full,
            forwarded=state.near is not None,
        )  # fmt: skip
        state = replace(state, suspects=suspects)
        if not phases and state.inferred is None and not state.quiet and state.spare > 0:
            # The suspects, thought to explain all slow messages, were fast alone: look for groups after all.
            return Asked([], replace(state, suspects=replace(suspects, times=0)), state.first_stage)
        if not state.pairs.done and _perhaps_crowded(state):
            phases, pairs = state.pairs.added_to(phases, random, apart=not state.quiet)
            state = replace(state, pairs=pairs)
        return Asked(phases, state, self if phases else GroupParts(), Sent.ALONE)


def _perhaps_crowded(state: State) -> bool:
    """Returns True if all hosts may be equally slow, judging by the groups found so far."""
    found = state.inferred
    if state.quiet or found is None or found.grouping.count < 2 or found.explained < WELL_EXPLAINED:
        return True
    return state.share_of_slow(state.within) >= thresholds.SLOW_WITHIN


@dataclass(frozen=True)
class GroupParts:
    """Stage 6: measures parts of groups that are slow within themselves.

    Random hosts send until covariances of rates suggest parts (structure/subgroups.py). Further phases then
    try to refute the guess.
    """

    measured: int = 0
    """Phases proposed by this stage so far."""
    same: int = 0
    """Guesses in a row that agree."""
    guess: Integers | None = None
    """[rank] its part."""

    def ask(self, state: State, random: Generator) -> Asked:
        if not self.measured:
            state = replace(state, together=state.limit_of_all())
        groups = state.groups(thresholds.SMALLEST_GROUP_OF_PARTS)
        affordable = state.left >= thresholds.FIRST_PART_PHASES // 2
        if not self.measured and not (groups and _shared(state) and affordable):
            return Asked([], state, Retest())
        alone = _alone(state)
        phases, stage = self._phases(groups, state, alone, random)
        if not phases:
            parts = subgroups.parts(state.within, alone, state.labels)
            return Asked([], replace(state, parts=parts), Retest())
        return Asked(phases, replace(state, parts_asked=True), stage, Sent.WITHIN)

    def _phases(
        self, groups: list[list[int]], state: State, alone: Unshared, random: Generator
    ) -> tuple[list[Phase], GroupParts]:
        left = min(state.left, thresholds.MOST_PART_PHASES - self.measured)
        if not self.measured:
            turns = range(min(left, thresholds.FIRST_PART_PHASES))
            return [subgroups.some(groups, turn, random) for turn in turns], GroupParts(len(turns))
        guess = subgroups.guessed(state.within, alone, state.labels)
        known = self.guess is not None and bool((guess == self.guess).all() and (guess >= 0).any())
        same = self.same + 1 if known else 1
        if same >= thresholds.GUESSES_AGREE:
            return [], self
        turns = range(self.measured, self.measured + min(left, thresholds.PART_BATCH))
        phases = [subgroups.leaning(groups, guess, turn, random) for turn in turns]
        return phases, GroupParts(self.measured + len(phases), same, guess)


def _shared(state: State) -> bool:
    """Returns True if a limit within groups is full, rather than some hosts slow."""
    alone = np.fmin(state.suspects.out, state.suspects.back)
    bad = np.nonzero(alone < thresholds.SOUND * unshared(state.full).out_rate)[0]
    within = state.within
    sound = within.where(~np.isin(within.source, bad) & ~np.isin(within.destination, bad))
    return state.crowded or state.share_of_slow(sound) >= thresholds.SLOW_WITHIN


def _alone(state: State) -> Unshared:
    """Returns the rates of hosts alone, as far as known."""
    known = (state.suspects.out, state.suspects.back)
    if state.crowded:
        known = state.pairs.known(*known, unshared(state.full))
    near = None if state.together is not None else state.near
    return rates_alone(state.full, *known, near=near)[1]
