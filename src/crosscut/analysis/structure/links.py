"""Finds the limits of links between groups, however different these are.

A link is full in the phases with its largest total, but not in each in which its messages are slow: other
links may be narrower. Such limits are right only together, as each slow message needs a full link on its path
(max-min fairness: Bertsekas and Gallager, Data Networks, section 6.5.2).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from crosscut.analysis.structure import totals
from crosscut.analysis.structure.observed import Integers, Observed
from crosscut.analysis.structure.totals import ALIKE, FEWEST_OF_KIND, LINKS, Capacity, Fit, Slack
from crosscut.analysis.structure.unshared import Unshared

# Links are right together if they explain more than this share of the slow messages between groups. Each
# explains messages in so many phases that no other link does.
_EXPLAINED_TOGETHER, _FEWEST_OF_ITS_OWN = 0.8, 2
# What a link carries is its own limit if the links of all other groups carry more: this share of it is less.
_LESS_THAN_OTHERS = 0.85
# Tolerances tried, as shares of the deviation of single messages: outliers spoil some totals, not others.
_OF_DEVIATION = (0.0, 0.5, 1.0)


def explain(
    observed: Observed, alone: Unshared, labels: Integers, slow: NDArray[np.bool_],
    known: Sequence[Capacity], slack: Slack,
) -> tuple[list[Capacity], NDArray[np.bool_]] | None:  # fmt: skip
    """Returns limits of links, and [message] True if they explain it.

    A link that explains no message that others do not may only carry what these let through. It is taken if
    it is `known` or carries as much per host as several that do. Returns None if too many messages between
    groups remain unexplained.
    """
    fitted = _fitted(observed, alone, labels, slow, slack)
    left, taken, others = slow.copy(), list[Capacity](), list[Capacity]()
    while fitted:
        most = fitted.pop(int(np.argmax([left[one.explained].sum() for one in fitted])))
        phases = observed.phase[most.explained[left[most.explained]]]
        of_its_own = len(np.unique(phases)) >= _FEWEST_OF_ITS_OWN
        (taken if of_its_own else others).append(most.capacity)
        left[most.explained] = False
    across = slow & (labels[observed.source] != labels[observed.destination])
    if (left & across).sum() > (1 - _EXPLAINED_TOGETHER) * across.sum():
        return None
    taken += _alike(others, taken, known, np.bincount(labels))
    return sorted(taken, key=lambda one: (LINKS.index(one.reach), one.groups)), slow & ~left


def _fitted(
    observed: Observed, alone: Unshared, labels: Integers, slow: NDArray[np.bool_], slack: Slack
) -> list[Fit]:
    """Returns the largest total of each link for which it is a limit."""
    deviation = totals.deviation(observed, labels, slow)
    slacks = [replace(slack, largest=True, deviation=share * deviation) for share in _OF_DEVIATION]
    found = []
    for link in (one for reach in LINKS for one in totals.possible(reach, labels, observed)):
        fits = [totals.fit(observed, alone, link, slow, slack) for slack in slacks]
        limits = [one for one in fits if one is not None]
        if limits:
            found.append(max(limits, key=lambda one: len(one.capacity.phases)))
    return found


def filled(
    observed: Observed, phases: Sequence[int], alone: Unshared, labels: Integers, known: Sequence[Capacity]
) -> list[Capacity]:
    """Returns limits beside the `known` ones that agree over `phases`, which filled few links each.

    In all other phases, narrower links may have held the messages back; but if a link then carried more, it
    has no such limit.
    """
    alone_filled = observed.where(np.isin(observed.phase, phases))
    if {one.reach for one in known}.isdisjoint(LINKS) or not len(alone_filled):
        return []
    slow = alone.slowness(alone_filled) < alone.threshold
    fits = [one.capacity for one in _fitted(alone_filled, alone, labels, slow, totals.OVER_TCP)]
    taken, carried = (
        {(one.reach, one.groups) for one in known},
        dict(totals.carried_by_groups(observed, labels)),
    )
    return [
        totals.by_work(one, alone_filled, alone, labels) for one in fits
        if (one.reach, one.groups) not in taken
        and not totals.exceeded(carried[one.reach][:, one.groups[0]], one.bytes_per_second)
        and one.bytes_per_second < _LESS_THAN_OTHERS * _of_others(one, known, int(labels.max()) + 1)
    ]  # fmt: skip


def _of_others(link: Capacity, known: Sequence[Capacity], groups: int) -> float:
    """Returns what all other groups take of what leaves one, or send of what enters it; infinity: unknown."""
    others = [
        one.bytes_per_second for one in known
        if one.reach in LINKS and one.reach is not link.reach and one.groups != link.groups
    ]  # fmt: skip
    return sum(others) if len(others) == groups - 1 else math.inf


def _alike(
    others: Sequence[Capacity], taken: Sequence[Capacity], known: Sequence[Capacity], size: Integers
) -> list[Capacity]:
    """Returns those of `others` that are known, or carry as much per host as several that are taken.

    `size`: [group] hosts.
    """

    def per_host(link: Capacity) -> float:
        return math.log(link.bytes_per_second / size[link.groups[0]])

    sure = {(one.reach, one.groups) for one in known}
    of_reach = {reach: np.array([per_host(one) for one in taken if one.reach is reach]) for reach in LINKS}
    return [
        one for one in others
        if (one.reach, one.groups) in sure
        or (np.abs(of_reach[one.reach] - per_host(one)) < ALIKE).sum() >= FEWEST_OF_KIND
    ]  # fmt: skip
