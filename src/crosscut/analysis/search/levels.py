"""Stage 4: groups within groups, and what is slow within the innermost groups.

Messages that leave a row of racks meet the row's limit and leave its racks' limits unfilled. So racks send
only to others of their row. A bad trunk holds back the trunks that exchange with it; racks whose limit did
not show then send to all others, one rack of each row at a time, unless a row's limit is no larger than a
rack's. Finally all ranks send within the innermost groups that share limits, because limits between groups
hide slow hosts. The stage passes on groups within groups, their limits, and the hosts that are slow within
the innermost.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator

from crosscut.analysis.figures.expectation import SMALLEST_ON_WIRE_BYTES
from crosscut.analysis.search import filling, thresholds
from crosscut.analysis.search.inside import Alone
from crosscut.analysis.search.state import Asked, Phase, Sent, Stage, State
from crosscut.analysis.structure import subgroups
from crosscut.analysis.structure.infer import Inferred, infer
from crosscut.analysis.structure.levels import Inner, without_sums
from crosscut.analysis.structure.model import Reach
from crosscut.analysis.structure.observed import Integers, joined
from crosscut.analysis.structure.totals import ALIKE, carried_by_groups
from crosscut.analysis.structure.unshared import unshared


@dataclass(frozen=True)
class Inside:
    at: int = 0
    """Index of the level, the outermost first."""
    toured: bool = False
    """All trunks of the level were filled at once."""
    filled: bool = False
    """Trunks whose limit did not show in the tours were filled as well."""
    fill: Stage | None = None
    """Fills the trunks of inner groups that take the place of the outer ones."""

    def ask(self, state: State, random: Generator) -> Asked:
        found = state.inferred
        inner = () if found is None else state.inner(found)
        if found is None or not found.capacities or self.at >= len(inner):
            if found is not None and inner and self.fill is not None and _set_apart(state, found, inner[0]):
                return Asked([], _without_outer(state), self.fill)
            return WithinGroups().ask(_settled(state), random)
        level, outer = inner[self.at], inner[self.at - 1].inferred if self.at else found
        phases: list[Phase] = []
        if not self.toured and state.spare >= thresholds.TOURS:
            labels = level.inferred.grouping.labels, outer.grouping.labels
            phases = filling.tours_within(*labels, thresholds.TOURS, random)
        elif not self.filled:
            phases = _missing(outer, level, state, random)
        if phases:
            stage = replace(self, toured=True, filled=self.toured)
            return Asked(phases, state.fills(self.at, len(phases)), stage, Sent.INSIDE)
        return Inside(self.at + 1, fill=self.fill).ask(state, random)


def _missing(outer: Inferred, level: Inner, state: State, random: Generator) -> list[Phase]:
    """Returns phases that fill the trunks of inner groups whose limit did not show.

    Returns none if no inner limit showed, or if inner limits are hardly smaller than those of outer groups.
    """
    inner = level.inferred
    rates = [one.bytes_per_second for one in inner.capacities]
    out = [one.bytes_per_second for one in outer.capacities if one.reach is not Reach.BETWEEN]
    if not rates or (out and np.median(rates) > thresholds.NEARLY_ALL * np.median(out)):
        return []
    labels, nominal = inner.grouping.labels, unshared(state.full).nominal
    unlimited = filling.carrying(level.observed, labels, nominal) | _whole(labels, outer.grouping.labels)
    wanted = filling.phases(inner.capacities, labels, random, unlimited, outer.grouping.labels)
    return wanted[: max(0, state.spare)]


def _whole(inner: Integers, outer: Integers) -> frozenset[tuple[Reach, int]]:
    """Returns the trunks of inner groups that are the only one in their outer group."""
    inside = (np.unique(inner[outer == group]).tolist() for group in range(int(outer.max()) + 1))
    groups = [alone[0] for alone in inside if len(alone) == 1]
    return frozenset((reach, group) for reach in (Reach.LEAVING, Reach.ENTERING) for group in groups)


def _settled(state: State) -> State:
    """Sets the innermost groups that share limits.

    Drops outer groups whose limits are only sums of the limits inside.
    """
    found = state.inferred
    if found is None:
        return state
    inner = state.inner(found)
    limited = [one for one in inner if one.inferred.capacities]
    if found.capacities and limited and not without_sums(found, inner[0].inferred).capacities:
        return _settled(_without_outer(state))
    innermost = limited[-1].inferred.grouping.labels if limited else None
    return replace(state, innermost=innermost)


def _without_outer(state: State) -> State:
    """Drops the outermost groups: those of the next level take their place."""
    level, *rest = state.levels
    full = joined(state.full, level.seen(state.inside))
    inferred = infer(full, near=level.grouping)
    return replace(state, near=level.grouping, levels=tuple(rest), full=full, inferred=inferred)


def _set_apart(state: State, outer: Inferred, level: Inner) -> bool:
    """Returns True if slow trunks, on which even a short frame takes longer, set groups apart.

    Latency then shows each as a row of one rack, and the others as one row. Such a rack carries less than one
    of the others, in all and per host, and is farther away by no more than its trunk delays a frame.
    """
    labels, outside = level.inferred.grouping.labels, outer.grouping.labels
    single = {group for _, group in _whole(labels, outside)}
    alone = {int(outside[labels == group][0]): group for group in single}
    if not alone or outer.grouping.count != len(alone) + 1 or not len(level.observed):
        return False
    others = np.setdiff1d(labels, [*single])
    size = np.bincount(labels)
    totals = dict(carried_by_groups(level.observed, labels))
    for reach, end in ((Reach.LEAVING, 0), (Reach.ENTERING, -1)):
        most = totals[reach].max(axis=0)[others]
        for limit in outer.capacities:
            group = alone.get(limit.groups[end]) if limit.reach in (reach, Reach.BETWEEN) else None
            if group is None:
                continue
            less = math.exp(-ALIKE) * min(np.median(most), size[group] * np.median(most / size[others]))
            if limit.bytes_per_second < less and _frame_explains_delay(
                state, labels, group, limit.bytes_per_second
            ):
                return True
    return False


def _frame_explains_delay(state: State, labels: Integers, group: int, rate: float) -> bool:
    """Returns True if short messages of the group take longer than those among others by no more than a trunk
    of this rate, bytes per second, explains."""
    short = state.latency.measured
    if not len(short):
        return True  # rates alone set it apart
    source, destination = labels[short.source], labels[short.destination]
    mine = (source == group) ^ (destination == group)
    among = (source != destination) & ~mine
    if not mine.any() or not among.any():
        return False
    seconds = 1 / short.rate
    later = float(np.median(seconds[mine]) - np.median(seconds[among]))
    return later < thresholds.FRAMES_LATER * SMALLEST_ON_WIRE_BYTES / rate


class WithinGroups:
    def ask(self, state: State, random: Generator) -> Asked:
        # A second phase only if the first shows something: most networks have no slow host.
        most = 2 if state.slow_by_itself(state.within).any() else 1
        groups = state.groups(2)
        if state.quiet or state.within.phases >= most or not groups:
            return Asked([], state, Alone())
        return Asked([subgroups.permutation(groups, 1.0, random)], state, self, Sent.WITHIN)
