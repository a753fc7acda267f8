"""Explains slow messages by capacities that routes share, given the groups.

Of several kinds of limits, the one that explains most is taken.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from crosscut.analysis.structure import links, totals
from crosscut.analysis.structure.model import Reach
from crosscut.analysis.structure.observed import Integers, Observed
from crosscut.analysis.structure.totals import (
    ALIKE,
    FEWEST_OF_KIND,
    LINKS,
    OWN,
    Capacity,
    PossibleLimit,
    Slack,
)
from crosscut.analysis.structure.unshared import Unshared

# If limits explain more than this share of the slow messages, they explain them well.
WELL_EXPLAINED = 0.9
# Share of the slow messages, not explained so far, that a family of limits must explain.
SMALLEST_SHARE_EXPLAINED = 0.3
# Least share of the seemingly full phases whose totals must agree if FEWEST_OF_KIND limits of the kind are
# known: another limit often leaves one unfilled. Its capacity must then be within ALIKE of theirs.
SMALLEST_SHARE_OF_KIND = 0.2
# Families that explain this share of what the best one explains are as good: the difference is noise.
_AS_MUCH = 0.95
# Limits found in totals of unevenly shared links replace others if they explain more by this share.
_MUCH_MORE = 0.1
# Limits of links replace others if they explain more by at least this share of the slow messages.
_EXPLAIN_MORE = 0.02
# Sharing is uneven, as with TCP, if rates that fair sharing would make equal differ by more than this
# multiple of noise and by more than this standard deviation of logarithms.
_TIMES_NOISE, _SMALLEST_UNEVENNESS = 3, 0.05
_ROUNDS = 2
# Kinds of limits, in order of preference: of two that explain as much, the first is taken. Only limits of all
# that a group sends or receives apply to a single group.
_FAMILIES = (LINKS, (Reach.BETWEEN,), (Reach.CROSSING,), OWN)


@dataclass(frozen=True)
class Explained:
    capacities: tuple[Capacity, ...]
    share: float
    """Share of the slow messages that the capacities explain."""


def explain(
    observed: Observed, alone: Unshared, labels: Integers, reaches: Collection[Reach] = tuple(Reach)
) -> Explained:
    """Explains slow messages by one family of limits, then the rest by another. `reaches`: only these.

    Limits of links that differ much are better explained together (links.py).
    """
    slow = alone.slowness(observed) < alone.threshold
    spread, is_uneven = totals.deviation(observed, labels, slow), _unevenness_of(alone)
    alone, by_work = _uneven(observed, alone, labels, slow)
    found, explained = _limits(observed, alone, labels, slow, reaches)
    if explained.sum() < WELL_EXPLAINED * slow.sum() and spread > is_uneven:
        slack = replace(totals.OVER_TCP, top=_TIMES_NOISE * spread, deviation=spread)
        # Totals of everything agree anyway, because unevenness averages out.
        some = [reach for reach in reaches if reach is not Reach.CROSSING]
        unevenly = _limits(observed, alone, labels, slow, some, slack)
        if unevenly[1].sum() - explained.sum() > _MUCH_MORE * slow.sum():
            (found, explained), by_work = unevenly, True
    if by_work:
        found = [totals.by_work(one, observed, alone, labels) for one in found]
    return Explained(tuple(found), float(explained.sum() / slow.sum()) if slow.any() else 1.0)


def _limits(
    observed: Observed, alone: Unshared, labels: Integers, slow: NDArray[np.bool_],
    reaches: Collection[Reach], slack: Slack = totals.NONE,
) -> tuple[list[Capacity], NDArray[np.bool_]]:  # fmt: skip
    """Returns limits, and [message] True if they explain it: of families, or of links together."""
    found, explained = _by_family(observed, alone, labels, slow, reaches, slack)
    of_links = all(one.reach in LINKS for one in found)
    if set(LINKS) <= set(reaches) and (of_links or explained.sum() < WELL_EXPLAINED * slow.sum()):
        together = links.explain(observed, alone, labels, slow, found, slack)
        if together is not None:
            further = found and of_links and len(together[0]) > len(found)
            more = float(together[1].sum() - explained.sum()) / max(slow.sum(), 1)
            if more > (-_EXPLAIN_MORE if further else _EXPLAIN_MORE):
                return together
    return found, explained


def _by_family(
    observed: Observed, alone: Unshared, labels: Integers, slow: NDArray[np.bool_],
    reaches: Collection[Reach], slack: Slack = totals.NONE,
) -> tuple[list[Capacity], NDArray[np.bool_]]:  # fmt: skip
    """Returns limits, and [message] True if they explain it."""
    left = slow.copy()
    found: list[Capacity] = []
    families = [
        [limit for reach in family for limit in totals.possible(reach, labels, observed)]
        for family in (_FAMILIES if labels.max() else (OWN,)) if set(family) <= set(reaches)
    ]  # fmt: skip
    for _ in range(_ROUNDS):
        if left.sum() < max(totals.FEWEST_MESSAGES, 0.02 * len(observed)):
            break
        tried = [_family(observed, alone, family, left, slack) for family in families]
        most = max(int((explained & left).sum()) for _, explained in tried)
        best = next(pair for pair in tried if (pair[1] & left).sum() >= _AS_MUCH * most)
        if (best[1] & left).sum() < SMALLEST_SHARE_EXPLAINED * left.sum():
            break
        known = {(capacity.reach, capacity.groups) for capacity in found}
        found += [capacity for capacity in best[0] if (capacity.reach, capacity.groups) not in known]
        left &= ~best[1]
    return found, slow & ~left


def _uneven(
    observed: Observed, alone: Unshared, labels: Integers, slow: NDArray[np.bool_]
) -> tuple[Unshared, bool]:
    """Raises the noise to the unevenness of sharing; also returns whether it clearly exceeds the noise."""
    uneven = totals.unevenness(observed, labels, slow)
    return replace(alone, noise=max(alone.noise, uneven)), uneven > _unevenness_of(alone)


def _unevenness_of(alone: Unshared) -> float:
    """Returns the standard deviation of a logarithm above which sharing is uneven."""
    return max(_TIMES_NOISE * alone.noise, _SMALLEST_UNEVENNESS)


def explain_own(observed: Observed, alone: Unshared, labels: Integers) -> Explained:
    """Explains slow messages by limits on all that a group sends, or receives, such as a switching chip's."""
    slow = alone.slowness(observed) < alone.threshold
    alone, by_work = _uneven(observed, alone, labels, slow)
    own = [limit for reach in OWN for limit in totals.possible(reach, labels, observed)]
    found, explained = _family(observed, alone, own, slow, totals.OF_CHIPS)
    if by_work:
        found = [totals.by_work(one, observed, alone, labels) for one in found]
    return Explained(tuple(found), float(explained.sum() / slow.sum()) if slow.any() else 0.0)


def _family(
    observed: Observed, alone: Unshared, family: Sequence[PossibleLimit], slow: NDArray[np.bool_],
    slack: Slack = totals.NONE,
) -> tuple[list[Capacity], NDArray[np.bool_]]:  # fmt: skip
    fitted = [totals.fit(observed, alone, possible, slow, slack) for possible in family]
    sure = [math.log(fit.capacity.bytes_per_second) for fit in fitted if fit is not None]
    explained = np.zeros(len(observed), bool)
    found = []
    for possible, strict in zip(family, fitted, strict=True):
        fit = strict
        if fit is None and len(sure) >= FEWEST_OF_KIND and possible.reach not in OWN:
            fit = totals.fit(observed, alone, possible, slow, slack, SMALLEST_SHARE_OF_KIND)
            if fit is not None and abs(math.log(fit.capacity.bytes_per_second) - np.median(sure)) > ALIKE:
                fit = None
        if fit is not None:
            found.append(fit.capacity)
            explained[fit.explained] = True
    return found, explained & slow
