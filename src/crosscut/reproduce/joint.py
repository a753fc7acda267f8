"""The joint rate of routes that share a limit, while they fill it: bytes over the time that it was busy.

A run records when each message was done, not its progress before. Dividing all bytes by the time of the
slowest gives too little: the limit idles once too few routes are left to fill it. Adding up each route's own
rate gives too much: routes that finish early leave their share to the others, and it counts twice. The figure
here lies between. No route is faster than its own link, so a message that is done t seconds after a given
moment lacked at most t times the link's rate at that moment. The bytes that must have passed by that moment,
over the time since the start, are a mean rate that never exceeds the limit. The largest of these mean rates
is the limit itself if the remaining routes are held back by their links rather than by the limit.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from crosscut.run.run import Run

Floats = NDArray[np.float64]
Limits = Sequence[tuple[int, int]]
"""For each limit, the first and last rank that receive behind it; all other ranks share one more limit."""


def pace(runs: Sequence[Run]) -> float:
    """Bytes per second of a route that shares nothing: the fastest route, by medians over repetitions."""
    fastest = [float(run.message_rates(0).median("repetition", skipna=True).max()) for run in runs]
    return max((rate for rate in fastest if np.isfinite(rate)), default=float("nan"))


def rates(run: Run, size: int, limits: Limits, route_rate: float) -> Floats:
    """[phase] joint rate in bytes per second, summed over limits; median over repetitions without failure."""
    seconds = run.message_seconds(size).transpose("phase", "repetition", "rank", "slot").values
    there = run.dataset["peer"].transpose("phase", "rank", "slot").values >= 0
    sent = np.broadcast_to(run.message_bytes(size).transpose("phase", "rank", "slot").values, there.shape)
    behind = _behind(limits, run.ranks)[:, None]
    found = []
    for phase in range(len(seconds)):
        groups = [(there[phase] & (behind == one)) for one in range(len(limits) + 1)]
        together = np.asarray([
            sum(least_mean_rate(done[one], sent[phase][one], route_rate) for one in groups if one.any())
            for done in seconds[phase]
        ])  # fmt: skip
        found.append(float(np.nanmedian(together)) if np.isfinite(together).any() else float("nan"))
    return np.asarray(found, dtype=np.float64)


def least_mean_rate(done_seconds: Floats, sent_bytes: Floats, route_rate: float) -> float:
    """Returns the largest, over moments, of the least mean rate that the routes can have had until then.

    NaN if a message was not measured. Only moments at which a message is done are tried, as the bytes that
    must have passed grow more slowly only from there on. `route_rate` is in bytes per second.
    """
    if not len(done_seconds) or not np.all(np.isfinite(done_seconds)) or np.any(done_seconds <= 0):
        return float("nan")
    carried_bytes = float(sent_bytes.sum())
    means = [
        (carried_bytes - float(np.clip((done_seconds - moment) * route_rate, 0, sent_bytes).sum())) / moment
        for moment in np.unique(done_seconds)
    ]
    return float(max(means))


def _behind(limits: Limits, ranks: int) -> NDArray[np.int64]:
    """[rank] number of its limit, from 1; 0: the limit that all other ranks share."""
    found = np.zeros(ranks, dtype=np.int64)
    for number, (first, last) in enumerate(limits, 1):
        found[first : last + 1] = number
    return found
