"""Judges which messages of a search are slow, and whether more are slow than by chance.

`full`: messages of phases in which every rank sends; most of them reach the rate of a host's link.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from crosscut.analysis.findings.slow_parts import SOUND_ALONE
from crosscut.analysis.structure.observed import Observed
from crosscut.analysis.structure.unshared import unshared

# Share of all messages, or number, that may be slow by chance. If more are, hosts fill a shared link.
_MOST_QUIET, _FEW_SLOW = 0.02, 2
# More slow hosts are assumed to share a limit.
_MOST_SLOW_HOSTS = 3
# Probability that noise alone makes any message this slow.
_CHANCE = 0.05


def slow(observed: Observed, full: Observed) -> NDArray[np.bool_]:
    """[message] True if it is slower than those of ordinary hosts."""
    alone = unshared(full)
    return np.asarray(observed.relative(alone.nominal) < alone.threshold)


def by_itself(observed: Observed, full: Observed) -> NDArray[np.bool_]:
    """[message] True if a host this slow would be reported, and noise alone hardly ever makes any of so many
    messages this slow."""
    alone = unshared(full)
    by_chance = -NormalDist().inv_cdf(1 - _CHANCE / max(len(observed), 1)) * alone.noise
    return np.asarray(observed.relative(alone.nominal) < min(by_chance, math.log(1 - SOUND_ALONE)))


def quiet(
    full: Observed, among: NDArray[np.bool_] | None = None, sound: Collection[int] = frozenset()
) -> bool:
    """True if few messages are slow, apart from those of a few hosts that are always slow.

    `among`: [message] True to examine it; None: all. `sound`: hosts that were fast alone.
    """
    found = slow(full, full) & ~of_slow_hosts(full, sound)
    if among is not None:
        found = found[among]
    return bool(found.sum() <= max(_FEW_SLOW, _MOST_QUIET * len(found)))


def most_slow_hosts(ranks: int) -> int:
    """Returns how many hosts may be always slow; if more are, they share the cause."""
    return max(1, min(_MOST_SLOW_HOSTS, ranks // 8))


def of_slow_hosts(full: Observed, sound: Collection[int] = frozenset()) -> NDArray[np.bool_]:
    """[message] True if one of its ends is among a few hosts whose messages are all slow.

    `sound`: hosts that were fast alone, so something else slows their messages.
    """
    found, apart = slow(full, full), np.zeros(len(full), bool)
    for ends in (full.source, full.destination):
        tells = full.tells_of(ends)
        of_rank = np.bincount(ends[tells], minlength=full.ranks)
        always = np.bincount(ends[tells & found], minlength=full.ranks) == of_rank
        always &= of_rank > 0
        always[list(sound)] = False
        if 0 < always.sum() <= most_slow_hosts(full.ranks):
            apart |= always[ends]
    return apart
