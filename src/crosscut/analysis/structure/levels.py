"""Groups within groups, with limits on each level: leaves of a row, rows of a hall.

Messages that leave an outer group meet its limit, which may hide the limits of the groups inside. So each
level is measured by its own phases, which no outer limit slows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from crosscut.analysis.structure import limits, totals
from crosscut.analysis.structure.grouping import Grouping
from crosscut.analysis.structure.infer import Inferred
from crosscut.analysis.structure.model import Group, Reach
from crosscut.analysis.structure.observed import Integers, Observed
from crosscut.analysis.structure.subgroups import Within

# By reach of an outer limit: the reach of inner limits whose sum bounds it.
_CARRIED_BY = {
    Reach.LEAVING: Reach.LEAVING, Reach.SENT: Reach.LEAVING, Reach.ENTERING: Reach.ENTERING,
    Reach.RECEIVED: Reach.ENTERING,
}  # fmt: skip


@dataclass(frozen=True)
class Level:
    """Groups, each within a group of the next level out."""

    grouping: Grouping
    phases: tuple[int, ...] = ()
    """Numbers of the phases that fill limits of these groups, but no limit further out."""

    def seen(self, inside: Observed) -> Observed:
        """Selects the messages of this level's phases from those sent inside groups."""
        return inside.where(np.isin(inside.phase, self.phases))


@dataclass(frozen=True)
class Inner:
    """A level with its measured messages and limits."""

    inferred: Inferred
    observed: Observed

    def within(self) -> Within:
        """Returns its groups and limits, for people and files."""
        found = self.inferred
        ranks = [np.nonzero(found.grouping.labels == number)[0] for number in range(found.grouping.count)]
        groups = [Group(found.name(number), tuple(some.tolist())) for number, some in enumerate(ranks)]
        shared = [one.of(tuple(map(found.name, one.groups))) for one in found.capacities]
        return Within(tuple(groups), tuple(shared))


def look(levels: tuple[Level, ...], inside: Observed, outer: Inferred) -> tuple[Inner, ...]:
    """Returns the levels with the limits found on each, the outermost first.

    Stops at the first level that is not nested in the one around it. Drops limits that are only the sum of
    those inside.
    """
    found: list[Inner] = []
    labels, names = outer.grouping.labels, [outer.name(number) for number in range(outer.grouping.count)]
    for level in levels:
        within = _within(level.grouping.labels, labels)
        if within is None:
            break
        labels, names = level.grouping.labels, _names(within, names)
        whole = np.bincount(within)[within] == 1
        found.append(_known(level, level.seen(inside), outer, names, whole))
    for at in range(len(found) - 1, 0, -1):
        own = without_sums(found[at - 1].inferred, found[at].inferred)
        found[at - 1] = replace(found[at - 1], inferred=own)
    return tuple(found)


def _known(
    level: Level, seen: Observed, outer: Inferred, names: list[str], whole: NDArray[np.bool_]
) -> Inner:
    """Finds the limits of one level.

    Rates of messages alone come from `outer`, because nearly all messages of this level's phases are slow.
    `whole`: [group] True if it is all of its outer group, which then has the limit.
    """
    labels = level.grouping.labels
    seen = seen.where(labels[seen.source] != labels[seen.destination])
    explained = limits.explain(seen, outer.alone, labels, totals.LINKS)
    slow = outer.alone.slowness(seen) < outer.alone.threshold
    share = float(slow.mean()) if len(seen) else 0.0
    own = tuple(one for one in explained.capacities if not any(whole[group] for group in one.groups))
    inferred = replace(
        outer, grouping=level.grouping, capacities=own, explained=explained.share,
        slow_share=share, slow_inside=math.nan, unplaced=np.zeros(0, np.int64), hashed=None,
        names=tuple(names),
    )  # fmt: skip
    return Inner(inferred, seen)


def without_sums(outer: Inferred, inner: Inferred) -> Inferred:
    """Returns `outer` without the limits that are no smaller than the sum of those inside (`inner`)."""
    known = [one for one in inner.capacities if one.reach in totals.LINKS]
    of_inner = {(one.reach, one.groups[0]): one.bytes_per_second for one in known}
    usual = float(np.median([*of_inner.values()])) if of_inner else math.inf
    kept = []
    for one in outer.capacities:
        below = math.inf
        if (reach := _CARRIED_BY.get(one.reach)) is not None:
            inside = np.unique(inner.grouping.labels[outer.grouping.labels == one.groups[0]])
            below = sum(of_inner.get((reach, group), usual) for group in inside.tolist())
        if one.bytes_per_second < below * math.exp(-totals.ALIKE):
            kept.append(one)
    return replace(outer, capacities=tuple(kept))


def _within(labels: Integers, outer: Integers) -> Integers | None:
    """Returns [inner group] the outer group that contains it; None if one is spread over several."""
    pairs = np.unique(np.stack([labels, outer]), axis=1)
    return pairs[1] if pairs.shape[1] == int(labels.max()) + 1 else None


def _names(within: Integers, outer: list[str]) -> list[str]:
    """Returns [inner group] a name such as `group0.1`, the second within the first group."""
    number = [int((within[:group] == within[group]).sum()) for group in range(len(within))]
    return [f"{outer[of]}.{at}" for of, at in zip(within.tolist(), number, strict=True)]
