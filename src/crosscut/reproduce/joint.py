"""What routes that share a limit have together while they fill it: bytes over the time that it was busy.

A run says when each message was done, not how far it was before. Over the time of the slowest, the limit
idles once fewer are left than fill it: too little. Each over its own time, whoever is done early leaves its
share to the others, and it counts twice: too much. In between lies what must have passed: no route is
faster than its own link, so of a message that is done t seconds after a moment at most t x the link's rate
was missing at that moment. The least that had passed by the moment, over the time since the start, is never
more than the limit carries; the largest of these mean rates is the limit where links, not it, hold back
those that are left.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from crosscut.run.run import Run

Floats = NDArray[np.float64]
Limits = Sequence[tuple[int, int]]
"""First and last of the ranks that receive behind one limit, for each; all others are behind one more."""


def pace(runs: Sequence[Run]) -> float:
    """Bytes per second of a route that shares nothing: the fastest of all, medians over repetitions."""
    fastest = [float(run.message_rates(0).median("repetition", skipna=True).max()) for run in runs]
    return max((rate for rate in fastest if np.isfinite(rate)), default=float("nan"))


def rates(run: Run, size: int, limits: Limits, route_rate: float) -> Floats:
    """[phase] of all routes, the sum over limits; the median over repetitions in which no rank failed."""
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
    """The largest, over moments, of the mean rate that all must have had until then, at least. NaN where one
    was not measured. It can be largest only when a message is done: only then does it grow more slowly."""
    if not len(done_seconds) or not np.all(np.isfinite(done_seconds)) or np.any(done_seconds <= 0):
        return float("nan")
    carried_bytes = float(sent_bytes.sum())
    means = [
        (carried_bytes - float(np.clip((done_seconds - moment) * route_rate, 0, sent_bytes).sum())) / moment
        for moment in np.unique(done_seconds)
    ]
    return float(max(means))


def _behind(limits: Limits, ranks: int) -> NDArray[np.int64]:
    """[rank] which limit, from 1 on; 0: the one of all that are not named."""
    found = np.zeros(ranks, dtype=np.int64)
    for number, (first, last) in enumerate(limits, 1):
        found[first : last + 1] = number
    return found
