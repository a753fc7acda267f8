"""Rates of phases, routes and ranks. Pure functions of `Samples`.

Rates are bytes per second in one direction. A phase's rate is what the busiest rank moves in one direction,
over the slowest rank's time; a message's rate is its bytes over its own time.
"""

from __future__ import annotations

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
        known = np.isfinite(self.rates.median)
        values = np.where(known, -self.rates.median if self.timed else self.rates.median, np.inf)
        count = min(count, int(known.sum()))
        if count == 0:
            return np.zeros(0, np.int64)
        # Sort only the slowest few of millions, of which many may be equal.
        last = np.partition(values, count - 1)[count - 1]
        slower, equal = np.flatnonzero(values < last), np.flatnonzero(values == last)
        slower = slower[np.argsort(values[slower], kind="stable")]
        return np.concatenate([slower, equal[: count - len(slower)]])


def routes(samples: Samples, *, timed: bool = False) -> Routes:
    """Returns every route's median rate or, if `timed`, its median time (for messages whose sizes differ).

    The rank that timed a sample is the destination, its peer the source.
    """
    phase, rank, slot = np.nonzero((samples.peer >= 0) & (not samples.of_phases))
    source = samples.peer[phase, rank, slot].astype(np.int64)
    values = samples.message_seconds[:, phase, rank, slot]
    if not timed:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            values = samples.bytes[phase, rank, slot] / values
    keyed = source * samples.ranks + rank
    order = np.argsort(keyed, kind="stable")
    keyed = keyed[order]
    first = np.nonzero(np.diff(keyed, prepend=-1))[0]
    keys, cells = keyed[first], np.diff(first, append=len(keyed))
    figures = np.full((4, len(keys)), np.nan)
    for number in np.unique(cells):  # routes with the same number of samples at once
        group = np.nonzero(cells == number)[0]
        columns = order[first[group][:, None] + np.arange(number)]  # [group, number]
        pooled = np.moveaxis(values[:, columns], 1, 2).reshape(-1, len(group))
        found = medians(pooled, exact=samples.exact)
        figures[:, group] = found.median, found.low, found.high, found.count
    sources, destinations = keys // samples.ranks, keys % samples.ranks
    measured = figures[3] > 0
    median, low, high, count = figures[:, measured]
    return Routes(
        source=sources[measured].astype(np.int32),
        destination=destinations[measured].astype(np.int32),
        rates=Medians(median, low, high, count.astype(np.int64)).compact(),
        same_node=samples.node[sources[measured]] == samples.node[destinations[measured]],
        timed=timed,
    )
