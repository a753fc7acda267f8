"""Stages 2 and 3: limits of the trunks between groups.

Stage 2 follows if latency revealed groups. It fills all trunks at once, so a slow one stands out, and starts
with the widest groups. If their limits explain little, it fills the trunks of the groups inside. Stage 3
fills missing limits if others of their kind are known (filling.py). A total that is the same for any set of
messages is a limit (max-min shares: Bertsekas and Gallager, Data Networks, section 6.5.2). Both stages pass
on groups and limits.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from numpy.random import Generator

from crosscut.analysis.search import filling, thresholds
from crosscut.analysis.search.levels import Inside
from crosscut.analysis.search.state import Asked, State
from crosscut.analysis.structure.infer import Inferred, infer
from crosscut.analysis.structure.levels import Level


@dataclass(frozen=True)
class Trunks:
    permuted: bool = False
    """Two permutations followed the tours."""
    quiet: bool = False
    """Nothing was slow before the tours."""
    best: State | None = None
    """The state with the groups whose limits explained most so far, if wider groups were tried before."""

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
        tried = self.best is not None and state.near is self.best.near
        further = found.explained < thresholds.EXPLAINED and state.levels and not tried
        if further and state.spare >= thresholds.TOURS:
            # The full trunks may be further in: of racks, not of rows of racks.
            nearer = replace(state, near=state.levels[0].grouping, levels=state.levels[1:], toured=False)
            return replace(self, best=state).ask(nearer, random)
        stage, state = replace(self, best=None), replace(state, inferred=found)
        missing = not self.permuted and filling.missing(found, state.full, random, toured=True)
        if missing and not filling.has_slow_trunks(found):
            # In a tour, a group sends to at most two others; other limits show if it sends to more.
            stage = Trunks(permuted=True)
            count = min(thresholds.TOURS - 1, state.spare)
            if count > 0:
                return Asked(*state.permutations(count, random), stage)
        count = min(thresholds.BATCH, state.spare)
        enough = found.explained >= thresholds.EXPLAINED or state.measured >= thresholds.FEWEST_FOR_GROUPS
        if enough or count <= 0:
            return Asked([], state if enough else state.explained(), Missing())
        # Another limit than these trunks is full: permutations show which ranks are slow together.
        return Asked(*state.permutations(count, random), stage)

    def _most_told(self, state: State) -> tuple[Inferred, State]:
        """Infers with these groups, or with the wider ones tried before if these explain as much."""
        found = infer(state.full, near=state.near)
        if self.best is None:
            return found, state
        before = infer(state.full, near=self.best.near)
        if before.explained < found.explained:
            return found, state
        return before, replace(state, near=self.best.near, levels=self.best.levels)


def _outermost(state: State) -> State:
    """Sets `near` to the widest groups that latency or rates reveal while phases for all levels are left."""
    near, levels = state.near, state.levels
    while near is not None and state.spare >= thresholds.TOURS * (len(levels) + 2):
        wider = state.wider(near.labels)
        if wider is None:
            break
        near, levels = wider, (Level(near), *levels)
    return replace(state, near=near, levels=levels)


@dataclass(frozen=True)
class Missing:
    """Stage 3."""

    times: int = 0
    """How often phases were asked for."""

    def ask(self, state: State, random: Generator) -> Asked:
        known, times, most = state.inferred, self.times, state.spare
        if times and known is not None:
            state = replace(state, inferred=infer(state.full, near=state.near))
        found = state.inferred
        if found is None or most <= 0 or times >= thresholds.MOST_FILLINGS:
            return Asked([], state, Inside(fill=Missing()))
        if times and known is not None and len(found.capacities) <= len(known.capacities):
            # Hosts cannot fill the limits that are still missing.
            return Asked([], state, Inside(fill=Missing()))
        wanted = filling.missing(found, state.full, random, toured=state.toured)
        if not times:
            wanted = filling.at_once(found, wanted, thresholds.TOURS, random)
        asked = range(state.used, state.used + min(most, len(wanted)))
        state = replace(state, filled=(*state.filled, *asked))
        return Asked(wanted[:most], state, Missing(times + 1) if wanted else Inside(fill=Missing()))
