"""Rates of phases, routes and ranks. Pure functions of `Samples`.

Rates are bytes per second in one direction. A phase's rate is what the busiest rank moves in one direction,
over the slowest rank's time; a message's rate is its bytes over its own time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crosscut.analysis.figures.samples import Samples
from crosscut.analysis.stats.intervals import Floats, Medians, inverted, medians


def phase_seconds(samples: Samples) -> Floats:
    """[R, P] time of the slowest rank."""
    times = samples.rank_seconds
    slowest = np.where(np.isfinite(times), times, -np.inf).max(axis=2)
    return np.where(np.isfinite(slowest), slowest, np.nan)


def phase_skew(samples: Samples) -> Floats:
    """[P] time from the first rank's start to the last one's: the median of repetitions; NaN: unknown."""
    return np.broadcast_to(medians(samples.skew_seconds).median, len(samples.phase))


def moved_bytes(samples: Samples) -> Floats:
    """[P] bytes that the busiest rank sends or receives, whichever is more."""
    phases, ranks, _ = samples.peer.shape
    present = samples.peer >= 0
    amounts = np.where(present, samples.bytes, 0)
    received = amounts.sum(axis=2)
    sent = np.zeros((phases, ranks))
    rows = np.broadcast_to(np.arange(phases)[:, None, None], samples.peer.shape)
    np.add.at(sent, (rows[present], samples.peer[present]), amounts[present])
    busiest: Floats = np.maximum(received, sent).max(axis=1)
    return busiest


def phase_rates(samples: Samples) -> Medians:
    """[P] rate of each phase."""
    return inverted(medians(phase_seconds(samples), exact=samples.exact), moved_bytes(samples))


def formula_rates(samples: Samples) -> Medians:
    """[P] rate by the pattern's own formula: credited bytes over the slowest rank's time."""
    return inverted(medians(phase_seconds(samples), exact=samples.exact), samples.credited_bytes)


def rank_spent(samples: Samples) -> tuple[Floats, Floats]:
    """Returns ([N] bytes that a rank received in samples, [R, N] seconds that it spent in its phases).

    Phases without a sample of the rank count no time. A repetition that lacks one of its phases is NaN.
    """
    present = (samples.peer >= 0) & np.isfinite(samples.message_seconds).any(axis=0)
    received: Floats = np.where(present, samples.bytes, 0.0).sum(axis=(0, 2))
    busy = present.any(axis=2)
    seconds: Floats = np.where(busy, samples.rank_seconds, 0.0).sum(axis=1)
    return received, seconds


def rank_rates(samples: Samples) -> Medians:
    """[N] bytes per second: what a rank received in all phases, over the time it spent in them."""
    return rates_of_ranks(*rank_spent(samples), exact=samples.exact)


def rates_of_ranks(received: Floats, seconds: Floats, *, exact: bool = False) -> Medians:
    """Computes `rank_rates` from the results of `rank_spent`."""
    times = medians(np.where(seconds > 0, seconds, np.nan), exact=exact)
    return inverted(times, np.where(received > 0, received, np.nan))


_AT_ONCE = 1 << 20


def parts(count: int) -> Iterator[slice]:
    """Yields stretches of `count` routes, so that copies of millions need little memory."""
    return (slice(first, first + _AT_ONCE) for first in range(0, count, _AT_ONCE))


@dataclass(frozen=True)
class Routes:
    """One entry per route (source, destination), over all its samples of one size."""

    source: NDArray[np.int32]
    destination: NDArray[np.int32]
    rates: Medians
    """Bytes per second; seconds if `timed`."""
    same_node: NDArray[np.bool_]
    timed: bool = False

    def slowest(self, count: int) -> NDArray[np.int64]:
        """Returns the indices of the slowest routes, slowest first."""
        slowest = np.zeros(0, np.int64)
        for part in parts(len(self.source)):
            values = -self.rates.median[part] if self.timed else self.rates.median[part]
            there = np.flatnonzero(np.isfinite(values))
            if len(there) > count:  # sort only those up to the last of the slowest; many may be equal
                there = there[values[there] <= np.partition(values[there], count - 1)[count - 1]]
            both = np.concatenate([slowest, part.start + there])
            rates = self.rates.median[both]
            slowest = both[np.argsort(-rates if self.timed else rates, kind="stable")][:count]
        return slowest


def message_rates(samples: Samples) -> Medians:
    """[P, N, K] rate of each message: the median over repetitions."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        rates = samples.bytes / samples.message_seconds
    return medians(rates, exact=samples.exact)


def routes(samples: Samples, *, timed: bool = False, of_messages: Medians | None = None) -> Routes:
    """Returns every route's median rate or, if `timed`, its median time (for messages whose sizes differ).

    The rank that timed a sample is the destination, its peer the source. `of_messages`: [P, N, K] the same
    of each message, if known: that of the route if it has only one message.
    """
    there = (samples.peer >= 0) & (not samples.of_phases)
    source = samples.peer[there].astype(np.int64)
    destination = np.broadcast_to(np.arange(samples.ranks)[:, None], there.shape)[there]
    keyed = source * samples.ranks + destination
    order = np.argsort(keyed)
    ordered = keyed[order]
    starts = np.diff(ordered, prepend=-1) != 0
    if starts.all():
        keys = ordered
        if of_messages is None:
            found = medians(_values(samples, there, timed=timed)[:, order], exact=samples.exact)
        else:
            found = of_messages.where(there).where(order)
    else:
        order = np.argsort(keyed, kind="stable")  # a route's samples stay in the order of time
        first = np.nonzero(starts)[0]
        keys, counts = ordered[first], np.diff(first, append=len(keyed))
        found = _pooled(_values(samples, there, timed=timed), order, first, counts, exact=samples.exact)
    if not (measured := found.count > 0).all():
        keys, found = keys[measured], found.where(measured)
    sources, destinations = (ends.astype(np.int32) for ends in np.divmod(keys, samples.ranks))
    same_node = samples.node[sources] == samples.node[destinations]
    return Routes(sources, destinations, found.compact(), same_node, timed)


def _values(samples: Samples, there: NDArray[np.bool_], *, timed: bool) -> Floats:
    """Returns [repetition, message] the rate or, if `timed`, the time of each message that is `there`."""
    seconds: Floats = samples.message_seconds[:, there]
    if timed:
        return seconds
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.asarray(samples.bytes[there] / seconds)


def _pooled(
    values: Floats, order: NDArray[np.int64], first: NDArray[np.int64], counts: NDArray[np.int64], *,
    exact: bool,
) -> Medians:  # fmt: skip
    """[route] medians over all its messages: in `order`, those from `first` on, `counts` of them."""
    figures = np.full((4, len(first)), np.nan)
    for number in np.unique(counts):  # routes with the same number of messages at once
        group = np.nonzero(counts == number)[0]
        columns = order[first[group][:, None] + np.arange(number)]  # [group, number]
        pooled = np.moveaxis(values[:, columns], 1, 2).reshape(-1, len(group))
        found = medians(pooled, exact=exact)
        figures[:, group] = found.median, found.low, found.high, found.count
    median, low, high, count = figures
    return Medians(median, low, high, count.astype(np.int64))
