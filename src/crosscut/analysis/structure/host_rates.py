"""Infers the rates of the hosts' own links, also of slow ones, from messages that shared other links."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crosscut.analysis.stats.intervals import Floats
from crosscut.analysis.structure.grouping import Grouping
from crosscut.analysis.structure.observed import Integers, Observed, joined
from crosscut.analysis.structure.unshared import Unshared, tops, unshared

# Largest deviation of a sound host (a logarithm); a host that is slower by more has a slow link.
_LARGEST_SOUND_EFFECT = 0.15
# Rates above an ordinary host's link by more than this (a logarithm) are measuring errors.
_TOO_FAST = 0.3
# More hosts than these that never seem fast are no exceptions.
_FEWEST_FOR_A_KIND, _SHARE_FOR_A_KIND = 3, 0.125


def rates_alone(
    observed: Observed, known_out: Floats | None = None, known_in: Floats | None = None, *,
    near: Grouping | None = None, apart: Observed | None = None,
) -> tuple[Observed, Unshared]:  # fmt: skip
    """Returns the messages without measuring errors, and the hosts' own rates.

    `apart`: messages with few others beside them. If nearly all of `observed` are slow, only these show the
    rate of an ordinary host. The other parameters are those of infer.infer.
    """
    every = observed if apart is None else joined(observed, apart)
    first = unshared(every)
    # Rates above any link's are measuring errors (see unshared.possible).
    most = max(_TOO_FAST, 6 * first.noise)
    observed, every = (one.where(one.relative(first.nominal) < most) for one in (observed, every))
    out_effect, in_effect = tops(observed)
    limit = max(_LARGEST_SOUND_EFFECT, 4 * first.noise)
    fast = observed.relative(first.nominal) > -limit
    sound = _sound_groups(near, out_effect < -limit, in_effect < -limit)
    out_fast, in_fast = (
        np.concatenate([ends[fast & observed.tells_of(ends)], sound])
        for ends in (observed.source, observed.destination)
    )
    out_rate = _ends(first.out_rate, out_effect, limit, out_fast, known_out)
    in_rate = _ends(first.in_rate, in_effect, limit, in_fast, known_in)
    return observed, unshared(every, out_rate, in_rate)


def _sound_groups(near: Grouping | None, *slow: NDArray[np.bool_]) -> Integers:
    """Returns the ranks of known groups in which all are slow: their shared link is slow, not their own."""
    if near is None:
        return np.zeros(0, np.int64)
    whole = np.zeros(near.count, bool)
    for ends in slow:
        whole |= np.bincount(near.labels, weights=~ends, minlength=near.count) == 0
    return np.nonzero(whole[near.labels])[0].astype(np.int64)


def _ends(
    ordinary: Floats, effect: Floats, limit: float, seen_fast: Integers, known: Floats | None
) -> Floats:
    """Returns [rank] the rate of a host's own link if it is slow or known; NaN: ordinary.

    `ordinary`: [rank] rate of its kind. `seen_fast`: ranks with at least one message near that rate. One is
    enough, because hosts of a small group are seldom fast: their group is slow towards all others.
    """
    slow = effect < -limit
    slow[seen_fast] = False
    if slow.sum() > max(_FEWEST_FOR_A_KIND, _SHARE_FOR_A_KIND * len(effect)):
        slow[:] = False  # so many cannot have slow links: a shared link slows them
    rates = np.where(slow, ordinary * np.exp(effect), np.nan)
    return rates if known is None else np.where(np.isfinite(known), known, rates)
