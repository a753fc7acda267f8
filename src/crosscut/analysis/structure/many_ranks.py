"""Groups any number of ranks: of many, a sample, beside which the others are placed.

Grouping takes cubic time. A sample may hold too few ranks of a small group to tell it from another; messages
within the group that joins both are then slow. So ranks are moved, and such groups split, by the routes of
all ranks.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from crosscut.analysis.structure import grouping
from crosscut.analysis.structure.grouping import SLOW_WITHIN_AT_MOST, Grouping
from crosscut.analysis.structure.observed import Integers
from crosscut.analysis.structure.tallies import RouteCounts

MOST_GROUPED = 256
"""Ranks of the sample."""
# Moving more ranks than these would take longer than a search should.
_MOST_MOVED = 2048


def grouped(routes: RouteCounts) -> Grouping:
    """Returns the likeliest grouping that the search finds."""
    ranks = routes.ranks
    if ranks <= MOST_GROUPED:
        return grouping.group(routes)
    members = np.sort(np.random.default_rng(ranks).choice(ranks, MOST_GROUPED, replace=False))
    found = grouping.extended(routes, members, grouping.group(routes.among(members)))
    if ranks > _MOST_MOVED or found.count == 1 or not len(_mixed(routes, found)):
        return found
    return _split(routes, grouping.climbed(routes, found))


def _mixed(routes: RouteCounts, found: Grouping) -> Integers:
    """Returns the groups within which messages are slow."""
    slow, measured = routes.within(found.labels, found.count)
    return np.nonzero(slow > SLOW_WITHIN_AT_MOST * np.maximum(measured, 1))[0]


def _split(routes: RouteCounts, found: Grouping) -> Grouping:
    """Splits each mixed group if that is likelier."""
    if found.count == 1:
        return found
    for number in _mixed(routes, found).tolist():
        members = np.nonzero(found.labels == number)[0]
        parts = grouped(routes.among(members)).labels
        if not 0 < parts.max() <= grouping.MOST_GROUPS - found.count:
            continue
        labels = found.labels.copy()
        labels[members] = np.where(parts == 0, number, found.count - 1 + parts)
        split = grouping.given(routes, labels)
        if split.log_likelihood > found.log_likelihood:
            found = split
    return replace(found, labels=grouping.renumbered(found.labels))
