"""Says why no order helps."""

from __future__ import annotations

import numpy as np

from crosscut.base import units
from crosscut.ordering.judging import LEAST_GAIN, Gain, Judged
from crosscut.ordering.placing import Placement


def why_not(placed: Placement) -> str:
    """Returns the reason, as the end of a sentence: `No order helps: …`."""
    if len(placed.terrain.used) == 1:
        return "all ranks are on one host"
    if not placed.traffic.messages.any():
        return "the ranks send each other nothing"
    if placed.judged is None:
        return _structural(placed) or "no order that was tried sends less over the narrow links"
    if placed.judged.gain.ratio <= 1 - LEAST_GAIN:
        said = ratio(placed.judged.gain)
        return f"the best that was tried takes {said} of the present time, which is not certainly less"
    if placed.judged.gain.ratio >= 1 + LEAST_GAIN:
        said = ratio(placed.judged.gain)
        return (
            f"the present order is better than any other that was tried (the best takes {said} times as long)"
        )
    return _structural(placed) or _of_time(placed, placed.judged)


def _structural(placed: Placement) -> str:
    """Returns what makes all orders alike; empty if nothing does."""
    terrain = placed.terrain
    apart = ~np.eye(len(terrain.used), dtype=bool)
    alike = all(np.ptp(one[apart]) <= 1e-6 * one[apart].max() for one in (terrain.cost, terrain.latency))
    if alike and terrain.per_host == 1:
        return "the network treats all pairs of these hosts alike"
    if placed.traffic.is_even:
        return (
            "every rank sends as much to each of the others, so as much passes the narrow links in any order"
        )
    if not terrain.narrow.any():
        return "no way of the network is narrower than the hosts behind it"
    return ""


def _of_time(placed: Placement, judged: Judged) -> str:
    before, after = placed.before.bytes, placed.after.bytes
    if after < (1 - LEAST_GAIN) * before:
        return (
            f"the best that was tried sends {units.about_size(after)} over the narrow links, not "
            f"{units.about_size(before)}, but takes {ratio(judged.gain)} of the present time: the program "
            "does not wait for them"
        )
    return f"the present order is as good as the best that was tried ({ratio(judged.gain)} of its time)"


def ratio(gain: Gain) -> str:
    """`0.613 [0.602 – 0.624]`"""
    if not gain.has_interval:
        return f"{gain.ratio:.3f}"
    return f"{gain.ratio:.3f} [{gain.low:.3f} – {gain.high:.3f}]"
