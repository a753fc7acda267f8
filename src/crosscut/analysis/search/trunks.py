"""Stages 2 and 3: what the trunks between groups carry.

Stage 2 follows where latency told groups: all trunks are filled at once, so a slow one stands out. If limits
of these groups explain little, it fills the trunks of wider ones, by the next level of latency. Stage 3 fills
limits of which others of their kind are known (filling.py). A total that stays the same whatever passes
is a limit (max-min shares: Bertsekas and Gallager, Data Networks, section 6.5.2). Both hand on groups and
limits.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from numpy.random import Generator

from crosscut.analysis.search import filling, thresholds
from crosscut.analysis.search.inside import WithinGroups
from crosscut.analysis.search.state import Asked, State
from crosscut.analysis.structure import idle
from crosscut.analysis.structure.grouping import Grouping
from crosscut.analysis.structure.infer import infer


@dataclass(frozen=True)
class Trunks:
    permuted: bool = False
    """Two permutations followed the tours."""
    quiet: bool = False
    """Nothing was slow before the tours."""

    def ask(self, state: State, random: Generator) -> Asked:
        if not state.toured and (near := state.near) is not None:
            state = replace(state, toured=True)
            phases = filling.tours(near.labels, thresholds.TOURS, random)
            if affordable := phases[: max(0, state.spare)]:
                return Asked(affordable, state, self)
        quiet = self.quiet and state.near is not None and state.quiet_since(state.used - thresholds.TOURS)
        found = infer(state.full, near=state.near)
        if (quiet or found.explained < thresholds.EXPLAINED) and (wider := _wider(state)) is not None:
            # What is full may be further out: what leaves a row of racks, say.
            return self.ask(replace(state, near=wider, nearer=state.near, toured=False), random)
        if quiet and state.near is not None:
            crossed = state.near.count if state.toured else 0
            return Asked([], replace(state, near=None, toured=False, crossed=crossed), Missing())
        if state.nearer is not None:
            before = infer(state.full, near=state.nearer)
            if before.explained > found.explained:
                found, state = before, replace(state, near=state.nearer, nearer=None)
        stage, state = self, replace(state, inferred=found)
        missing = not self.permuted and filling.missing(found, state.full, random, toured=True)
        if missing and not filling.has_slow_trunks(found):
            # In a tour all that a group sends goes to two others; other limits show when it goes to more.
            stage = Trunks(permuted=True)
            count = min(thresholds.TOURS - 1, state.spare, len(state.distances))
            if count > 0:
                return Asked(*state.permutations(count, random), stage)
        count = min(thresholds.BATCH, state.spare, len(state.distances))
        enough = found.explained >= thresholds.EXPLAINED or state.measured >= thresholds.FEWEST_FOR_GROUPS
        if enough or count <= 0:
            return Asked([], state if enough else state.explained(), Missing())
        # These trunks are not what is full: permutations show which ranks are slow together.
        return Asked(*state.permutations(count, random), stage)


def _wider(state: State) -> Grouping | None:
    """Groups by the next level of latency, if there are phases to fill their trunks."""
    if state.near is None or state.spare < thresholds.TOURS:
        return None
    return idle.wider(state.latency.measured, state.near.labels)


@dataclass(frozen=True)
class Missing:
    times: int = 0
    """Times that phases were asked for."""

    def ask(self, state: State, random: Generator) -> Asked:
        known, times, most = state.inferred, self.times, state.spare
        if times and known is not None:
            state = replace(state, inferred=infer(state.full, near=state.near))
        found = state.inferred
        if found is None or most <= 0 or times >= thresholds.MOST_FILLINGS:
            return Asked([], state, WithinGroups())
        if times and known is not None and len(found.capacities) <= len(known.capacities):
            # What is not full by now is not full by what its hosts can send.
            return Asked([], state, WithinGroups())
        wanted = filling.missing(found, state.full, random, toured=state.toured)
        if not times:
            wanted = filling.at_once(found, wanted, thresholds.TOURS, random)
        return Asked(wanted[:most], state, Missing(times + 1) if wanted else WithinGroups())
