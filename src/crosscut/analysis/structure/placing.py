"""Places hosts that a grouping leaves alone in the groups to which they belong.

A group consists of hosts that share a limit. A single host whose messages are all slow has a slow cable of
its own. It looks unlike all others, and slow routes do not tell its group. Two things still do: messages that
its cable does not slow, and the share that its messages take of limits that others fill, because a full
capacity carries the same total for any set of messages (limits.py).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from crosscut.analysis.stats.intervals import Floats
from crosscut.analysis.structure import grouping, limits, totals
from crosscut.analysis.structure.grouping import Grouping
from crosscut.analysis.structure.limits import Explained
from crosscut.analysis.structure.observed import Integers, Observed, some_phases
from crosscut.analysis.structure.tallies import RouteCounts
from crosscut.analysis.structure.totals import LINKS, Capacity, counted
from crosscut.analysis.structure.unshared import Unshared

# At most this many hosts whose messages to each other are mostly slow are no group.
_LARGEST_APART = 3
# If a larger share of routes to a group, or within one, is slow, the host itself is slow.
_MOSTLY_SLOW = 0.5
# A larger share of all hosts is no exception: the grouping is wrong.
_MOST_APART = 0.25
# Cap on the misfit of one total: models of noise do not hold further out.
_LARGEST_MISFIT = 8.0
# Totals vary by more than the noise of messages, because messages that end early leave room to others.
_SMALLEST_SPREAD = 0.01
_MOST_MESSAGES, _MOST_GROUPS = 40_000, 32
# Most groups in which to try a host while limits of its group are unknown. A labelling is better if its
# limits explain a share of the slow messages that is larger by this.
_MOST_TRIED, _CLEARLY_MORE = 12, 0.02


@dataclass(frozen=True)
class Placed:
    grouping: Grouping
    open_ranks: Integers
    """Ranks that were alone and whose group is uncertain; they are in the likeliest one."""


def placed(found: Grouping, routes: RouteCounts, observed: Observed, alone: Unshared, sure: float) -> Placed:
    """`routes`: the basis of `found`. `sure`: least probability at which a host's group is known."""
    apart = _by_themselves(found, routes)
    members = np.setdiff1d(np.arange(routes.ranks), apart)
    if not len(apart) or not len(members):
        return Placed(found, np.zeros(0, np.int64))
    of_members = np.unique(found.labels[members], return_inverse=True)[1].astype(np.int64)
    rest = replace(found, labels=of_members, confidence=found.confidence[members])
    routes = _without_slow_ends(routes, apart, members, rest)
    gains = grouping.gains_of_others(routes, members, rest)
    labels, confidence = np.zeros(routes.ranks, np.int64), np.ones(routes.ranks)
    labels[members], confidence[members] = rest.labels, rest.confidence
    labels[apart] = gains[apart].argmax(axis=1)
    few = some_phases(observed, _MOST_MESSAGES)
    _place(apart, gains, few, alone, labels, confidence)
    made = replace(found, labels=grouping.renumbered(labels), confidence=confidence)
    return Placed(made, apart[confidence[apart] < sure])


def by_limits(found: Grouping, observed: Observed, alone: Unshared, doubtful: Integers) -> Grouping:
    """Returns `found` with the `doubtful` ranks placed by their routes and the totals of limits."""
    routes = RouteCounts.of(observed, alone.slowness(observed) < alone.threshold)
    members = np.setdiff1d(np.arange(routes.ranks), doubtful)
    of_members = np.unique(found.labels[members], return_inverse=True)[1].astype(np.int64)
    if not len(members) or of_members.max() + 1 < found.count:
        return found  # a group would be lost
    gains = grouping.gains_of_others(routes, members, replace(found, labels=of_members))
    labels, confidence = found.labels.copy(), found.confidence.copy()
    _place(doubtful, gains, some_phases(observed, _MOST_MESSAGES), alone, labels, confidence)
    return replace(found, labels=labels, confidence=confidence)


def _place(
    ranks: Integers, gains: Floats, observed: Observed, alone: Unshared, labels: Integers, confidence: Floats
) -> None:
    """Moves each of `ranks` to its likeliest group, one by one; changes `labels` and `confidence`.

    `gains`: [rank, group] log likelihood by routes alone.
    """
    groups = gains.shape[1]
    by_totals = 1 < groups <= _MOST_GROUPS
    explained = limits.explain(observed, alone, labels) if by_totals else None
    for rank in ranks.tolist():
        tried = [np.where(np.arange(len(labels)) == rank, group, labels) for group in range(groups)]
        gain = gains[rank].copy()
        if explained is not None:
            explained = _best_explained(explained, observed, alone, tried)
            gain += sum(_fit(capacity, observed, alone, tried, rank) for capacity in explained.capacities)
        labels[rank] = int(np.argmax(gain))
        confidence[rank] = 1 / np.exp(gain - gain.max()).sum()


def _best_explained(
    known: Explained, observed: Observed, alone: Unshared, tried: list[Integers]
) -> Explained:
    """Returns the limits of the labelling that explains most.

    `known`: limits of the labelling so far; `tried`: [group] the labels with the rank in that group. In a
    wrong group, the rank's messages spoil the totals of that group and of its own. So only groups whose
    limits are not known yet can be its own.
    """
    of_links = [one for one in known.capacities if one.reach in LINKS]
    limited = [sum(one.groups == (group,) for one in of_links) for group in range(len(tried))]
    candidates = [group for group, count in enumerate(limited) if count < len(LINKS)]
    best = known
    if known.share < limits.WELL_EXPLAINED and len(candidates) <= _MOST_TRIED:
        for group in candidates:
            explained = limits.explain(observed, alone, tried[group])
            if explained.share > best.share + _CLEARLY_MORE:
                best = explained
    return best


def _by_themselves(found: Grouping, routes: RouteCounts) -> Integers:
    """Returns the ranks to place: alone in their group, in a very small and slow group, or without routes.

    Returns none if there are too many to be exceptions.
    """
    size = np.bincount(found.labels, minlength=found.count)
    s, n = routes.within(found.labels, found.count)
    alike = (n > 0) & (s <= _MOSTLY_SLOW * n)
    none = (size == 1) | ((size <= _LARGEST_APART) & (n > 0) & ~alike)
    seen = np.isin(np.arange(routes.ranks), [routes.source, routes.destination])
    apart = np.nonzero(none[found.labels] | ~seen)[0].astype(np.int64)
    return apart if len(apart) <= max(1, _MOST_APART * routes.ranks) else np.zeros(0, np.int64)


def _without_slow_ends(
    routes: RouteCounts, apart: Integers, members: Integers, rest: Grouping
) -> RouteCounts:
    """Removes the routes out of (or into) hosts apart that are slow to (or from) every group.

    These hosts are slow for another reason than the groups.
    """
    labels = np.full(routes.ranks, rest.count)  # those apart are in none of the groups
    labels[members] = rest.labels

    def all_slow(counts: Integers) -> Integers:
        slow, seen = counts[:, apart, : rest.count]
        seen_fast = (seen > 0) & (slow <= _MOSTLY_SLOW * seen)
        return np.asarray(apart[~seen_fast.any(axis=1)], np.int64)

    routes = routes.without(np.isin(routes.source, all_slow(routes.to_groups(labels, rest.count + 1))))
    return routes.without(np.isin(routes.destination, all_slow(routes.from_groups(labels, rest.count + 1))))


def _fit(capacity: Capacity, observed: Observed, alone: Unshared, tried: list[Integers], rank: int) -> Floats:
    """Returns [labelling] the log likelihood of a limit's totals, over phases in which others fill it.

    With the right labels the totals are the same in all of these phases.
    """
    mine = np.array([counted(capacity.reach, capacity.groups, one, observed) for one in tried])
    own = (observed.source == rank) | (observed.destination == rank)
    numbers, phase = np.unique(observed.phase, return_inverse=True)
    slow = alone.slowness(observed) < alone.threshold
    others = mine[0] & ~own
    full = totals.seems_full(observed.rate[others], phase[others], len(numbers), slow[others], alone.noise)
    # Only phases in which the labelling decides whether the rank's messages count are informative.
    differs = np.bincount(phase[mine.any(axis=0) & ~mine.all(axis=0)], minlength=len(numbers)) > 0
    looked_at = np.nonzero(full & differs)[0]
    if not len(looked_at):
        return np.zeros(len(tried))
    carried = [np.bincount(phase[c], weights=observed.rate[c], minlength=len(numbers)) for c in mine]
    count = np.maximum(np.bincount(phase[others], minlength=len(numbers))[looked_at], 1)
    off = np.log(np.array(carried)[:, looked_at])
    off -= np.median(off, axis=1)[:, None]
    # Misfit of the best placement: the part due to noise and unequal ends.
    left = 1.4826 * np.abs(off).min(axis=0)
    spread = np.maximum(alone.noise / np.sqrt(count), max(_SMALLEST_SPREAD, float(np.median(left))))
    misfit = np.minimum(0.5 * (off / spread) ** 2, _LARGEST_MISFIT)
    found: Floats = -misfit.sum(axis=1)
    return found if math.isfinite(float(found.sum())) else np.zeros(len(tried))
