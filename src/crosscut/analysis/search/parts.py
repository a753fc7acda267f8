"""Stage 6: limits that all hosts of a part of a group share, such as a switching chip's.

Where a group is slow within itself, random parts of it send, until covariances of rates allow a guess at who
shares what (structure/subgroups.py); then phases that would refute the guess. Hands on the parts and their
limits. The method is our own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator

from crosscut.analysis.search import thresholds
from crosscut.analysis.search.retest import Retest
from crosscut.analysis.search.state import Asked, Phase, Sent, State
from crosscut.analysis.structure import subgroups
from crosscut.analysis.structure.infer import infer
from crosscut.analysis.structure.observed import Integers
from crosscut.analysis.structure.unshared import Unshared, unshared


@dataclass(frozen=True)
class GroupParts:
    measured: int = 0
    """Phases proposed by this stage."""
    same: int = 0
    """Guesses in a row that agree."""
    guess: Integers | None = None
    """[rank] its part."""

    def ask(self, state: State, random: Generator) -> Asked:
        if not self.measured:
            state = replace(state, together=state.limit_of_all())
        if state.crowded and state.extensible:
            state = replace(state, budget=max(state.budget, thresholds.BUDGET_WHERE_CROWDED))
        groups = state.groups(thresholds.SMALLEST_GROUP_OF_PARTS)
        if not self.measured and not (
            groups and _shared(state) and state.left >= thresholds.FIRST_PART_PHASES // 2
        ):
            return Asked([], state, Retest())
        alone = _alone(state)
        phases, stage = self._phases(groups, state, alone, random)
        if not phases:
            return Asked(
                [], replace(state, parts=subgroups.parts(state.within, alone, state.labels)), Retest()
            )
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
    """Something within groups is full, not just slow hosts."""
    alone = np.fmin(state.suspects.out, state.suspects.back)
    bad = np.nonzero(alone < thresholds.SOUND * unshared(state.full).out_rate)[0]
    within = state.within
    sound = within.where(~np.isin(within.source, bad) & ~np.isin(within.destination, bad))
    return state.crowded or state.share_of_slow(sound) >= thresholds.SLOW_WITHIN


def _alone(state: State) -> Unshared:
    """What hosts reach alone, as far as groups and suspects tell."""
    known = (state.suspects.out, state.suspects.back)
    if state.crowded:
        known = state.pairs.known(*known, unshared(state.full))
    one = state.together is not None
    return infer(state.full, *known, divided=not one, near=None if one else state.near).alone
