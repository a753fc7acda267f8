"""Stages 4 and 5: slow hosts.

Stage 4: everybody sends within its group, for limits between groups hide slow hosts. Stage 5: only suspects
send (suspects.py), and reference pairs where all hosts may be slow alike (reference_pairs.py). It hands on
what hosts send and receive alone. The method is our own.
"""

from __future__ import annotations

from dataclasses import replace

from numpy.random import Generator

from crosscut.analysis.search import thresholds
from crosscut.analysis.search.parts import GroupParts
from crosscut.analysis.search.state import Asked, Sent, State
from crosscut.analysis.structure import subgroups
from crosscut.analysis.structure.infer import WELL_EXPLAINED


class WithinGroups:
    def ask(self, state: State, random: Generator) -> Asked:
        # Twice only if the first shows something: most networks have no slow host.
        most = 2 if state.slow_by_itself(state.within).any() else 1
        groups = state.groups(2)
        if state.quiet or state.within.phases >= most or not groups:
            return Asked([], state, Alone())
        return Asked([subgroups.permutation(groups, 1.0, random)], state, self, Sent.WITHIN)


class Alone:
    def ask(self, state: State, random: Generator) -> Asked:
        seen = state.within if len(state.within) else state.full
        phases, suspects = state.suspects.ask(
            seen, state.slow_by_itself, state.inferred, random, forwarded=state.near is not None
        )
        state = replace(state, suspects=suspects)
        if not state.pairs.done and _perhaps_crowded(state):
            phases, pairs = state.pairs.added_to(phases, random, apart=not state.quiet)
            state = replace(state, pairs=pairs)
        return Asked(phases, state, self if phases else GroupParts(), Sent.ALONE)


def _perhaps_crowded(state: State) -> bool:
    """Groups, if there are any, leave it open that all hosts are slow alike."""
    found = state.inferred
    if state.quiet or found is None or found.grouping.count < 2 or found.explained < WELL_EXPLAINED:
        return True
    return state.share_of_slow(state.within) >= thresholds.SLOW_WITHIN
