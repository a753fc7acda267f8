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
from crosscut.analysis.search.levels import Inside
from crosscut.analysis.search.state import Asked, State
from crosscut.analysis.structure import idle
from crosscut.analysis.structure.infer import Inferred, infer
from crosscut.analysis.structure.levels import Level


@dataclass(frozen=True)
class Trunks:
    permuted: bool = False
    """Two permutations followed the tours."""
    quiet: bool = False
    """Nothing was slow before the tours."""
    best: State | None = None
    """With the groups whose limits explained most so far, where wider ones were asked first."""

    def ask(self, state: State, random: Generator) -> Asked:
        if not state.toured and state.near is not None:
            state = replace(state if self.best else _outermost(state), toured=True)
            assert state.near is not None
            phases = filling.tours(state.near.labels, thresholds.TOURS, random)
            if affordable := phases[: max(0, state.spare)]:
                return Asked(affordable, state, self)
        if self.quiet and state.near is not None and state.quiet_since(state.used - thresholds.TOURS):
            crossed = state.near.count if state.toured else 0
            return Asked([], replace(state, near=None, levels=(), toured=False, crossed=crossed), Missing())
        found, state = self._most_told(state)
        if found.explained < thresholds.EXPLAINED and state.levels and state.spare >= thresholds.TOURS:
            # What is full may be further in: what leaves a rack, not what leaves a row of racks.
            nearer = replace(state, near=state.levels[0].grouping, levels=state.levels[1:], toured=False)
            return replace(self, best=state).ask(nearer, random)
        stage, state = replace(self, best=None), replace(state, inferred=found)
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

    def _most_told(self, state: State) -> tuple[Inferred, State]:
        """By these groups, or by wider ones that were asked before, if their limits explain as much."""
        found = infer(state.full, near=state.near)
        if self.best is None:
            return found, state
        before = infer(state.full, near=self.best.near)
        if before.explained < found.explained:
            return found, state
        return before, replace(state, near=self.best.near, levels=self.best.levels)


def _outermost(state: State) -> State:
    """Groups by the widest level of latency that tells any, if there are phases to fill trunks of two."""
    near, levels = state.near, state.levels
    while near is not None and state.spare >= thresholds.TOURS * (len(levels) + 2):
        wider = idle.wider(state.latency.measured, near.labels)
        if wider is None:
            break
        near, levels = wider, (Level(near), *levels)
    return replace(state, near=near, levels=levels)


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
            return Asked([], state, Inside())
        if times and known is not None and len(found.capacities) <= len(known.capacities):
            # What is not full by now is not full by what its hosts can send.
            return Asked([], state, Inside())
        wanted = filling.missing(found, state.full, random, toured=state.toured)
        if not times:
            wanted = filling.at_once(found, wanted, thresholds.TOURS, random)
        return Asked(wanted[:most], state, Missing(times + 1) if wanted else Inside())
