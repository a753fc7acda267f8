"""Estimates the rate of each host's own link, and the noise, although many messages shared other links.

A message that shares nothing runs at the smaller of its two ends' rates. This is modelled as a two-way table,
log rate = end + end + residual (Tukey, Exploratory Data Analysis, 1977, chapter 11). Contention only slows,
so upper ends, the mean of the fastest few of a row, replace the medians of Tukey's polish. Their upward bias
is the same for every row and cancels.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from crosscut.analysis.stats.intervals import Floats
from crosscut.analysis.structure.observed import Integers, Observed

# Least noise assumed, because clocks round.
SMALLEST_NOISE = 0.004
# A message is never slow above this log ratio of its rate to its rate alone, however small the noise: the
# noise of most messages says nothing about the few that a busy processor delays by two or three per cent.
LEAST_SLOWNESS = -0.05
FASTEST_LOOKED_AT = 2
# How far below the top (a logarithm) the highest cluster may reach.
_HEAP_REACH = 0.25
# At most this share of messages may be too fast for any link. They are if the cluster below them is this many
# times as large and has at least this share of all messages.
_MOST_TOO_FAST, _TIMES_TOO_FAST, _SMALLEST_HEAP = 0.02, 10, 0.2
_STEPS, _SWEEPS = 40, 2
_MOST_FITTED = 20_000
# Share of messages outside the cluster that may lie above it: so small that only strays are left there, never
# a cluster of their own. Largest share of all messages in the cluster.
_STRAY, _MOST_OF_HEAP = 1e-12, 0.999


@dataclass(frozen=True)
class Unshared:
    """Rates that messages would reach alone."""

    nominal: float
    """Bytes per second of an ordinary host's link, of the fastest kind."""
    noise: float
    """Standard deviation of the logarithm of one rate."""
    out_rate: Floats
    """[rank] bytes per second."""
    in_rate: Floats
    """[rank] bytes per second."""

    def of(self, observed: Observed) -> Floats:
        """Returns [message] the bytes per second that it would reach if hosts shared nothing."""
        rates = np.minimum(self.out_rate[observed.source], self.in_rate[observed.destination])
        return np.asarray(rates if observed.abreast is None else rates / observed.abreast)

    def slowness(self, observed: Observed) -> Floats:
        """Returns [message] the log of its rate over what it would reach alone: about 0, or below."""
        return np.asarray(np.log(observed.rate / self.of(observed)))

    @property
    def threshold(self) -> float:
        """Slowness below which a message is slow: three standard deviations, but at least 5 %."""
        return min(-3 * self.noise, LEAST_SLOWNESS)


def upper_mode(values: Floats) -> tuple[float, float]:
    """Returns centre and standard deviation of the highest cluster of logarithms, untouched by contention.

    Fits a normal distribution, plus a uniform one below its centre for messages that contention slowed, by
    expectation maximisation (Dempster, Laird and Rubin, J. Royal Statistical Society B 39, 1977). All values
    above the centre must belong to the cluster, so a larger one further down cannot replace it.
    """
    ordered = possible(np.sort(values))
    top = ordered[-_few(ordered) :].mean()
    # Sharing a link with an equal message halves the rate, so lower values are outside the highest cluster.
    heap = ordered[ordered > top - _HEAP_REACH]
    heap = heap[:: max(1, len(heap) // _MOST_FITTED)]  # thinned evenly, which keeps the shape
    starts = [(_half_sample_mode(heap), 0.02), (top, 0.01), (top - 0.02, 0.02), (top - 0.05, 0.04)]
    fitted = [_fitted(heap, float(top) - _HEAP_REACH, *start) for start in starts]
    _, centre, noise = max(fitted)
    return centre, noise


def possible(ordered: Floats) -> Floats:
    """Drops the few highest values, which no link explains.

    If the packet that releases a receiver from the barrier is lost and resent, it leaves late, finds its
    message waiting, and measures next to no time.
    """
    for left_out in range(int(_MOST_TOO_FAST * len(ordered)) + 1):
        rest = ordered[: len(ordered) - left_out]
        if rest[-1] - rest[-_few(rest)] > _HEAP_REACH:
            continue
        heap = int((rest > rest[-1] - _HEAP_REACH).sum())
        enough = max(_TIMES_TOO_FAST * left_out, _SMALLEST_HEAP * len(ordered))
        return rest if left_out == 0 or heap >= enough else ordered
    return ordered


def _few(values: Floats) -> int:
    return min(len(values), max(3, len(values) // 100))


def _fitted(heap: Floats, low: float, centre: float, noise: float) -> tuple[float, float, float]:
    """Returns log likelihood, centre and standard deviation of the normal part of the values above `low`."""
    high, share, likelihood = float(heap[-1]) + SMALLEST_NOISE, 0.5, -math.inf
    for _ in range(_STEPS):
        below = (heap < centre) / max(centre - low, SMALLEST_NOISE)
        others = (1 - share) * ((1 - _STRAY) * below + _STRAY / (high - low))
        bell = np.exp(-0.5 * ((heap - centre) / noise) ** 2) / (noise * math.sqrt(2 * math.pi))
        mine = share * bell / (share * bell + others)
        count = float(mine.sum())
        if count < 1:
            return -math.inf, centre, noise
        likelihood = float(np.log(share * bell + others).sum())
        centre = float(mine @ heap) / count
        noise = max(math.sqrt(float(mine @ (heap - centre) ** 2) / count), SMALLEST_NOISE)
        share = min(count / len(heap), _MOST_OF_HEAP)
    return likelihood, centre, noise


def _half_sample_mode(ordered: Floats) -> float:
    while len(ordered) > 3:
        half = math.ceil(len(ordered) / 2)
        widths = ordered[half - 1 :] - ordered[: len(ordered) - half + 1]
        at = int(np.argmin(widths))
        ordered = ordered[at : at + half]
    return float(np.mean(ordered))


def unshared(observed: Observed, slow_out: Floats | None = None, slow_in: Floats | None = None) -> Unshared:
    """Estimates the rates of messages alone. `slow_out`, `slow_in`: [rank] bytes per second; NaN: unknown."""
    logs = observed.relative(1.0)
    centre, noise = upper_mode(logs) if len(logs) else (0.0, SMALLEST_NOISE)
    usual = math.exp(centre) * (np.ones(observed.ranks) if observed.of_kind is None else observed.of_kind)
    out_rate, in_rate = (
        usual if known is None else np.where(np.isfinite(known), known, usual)
        for known in (slow_out, slow_in)
    )
    return Unshared(math.exp(centre), noise, out_rate, in_rate)


def tops(observed: Observed) -> tuple[Floats, Floats]:
    """Returns [rank] the log rate of its fastest messages, out and in, relative to the median rank.

    This is a robust two-way decomposition by upper ends. A message between a slow end and a sound one says
    nothing about the sound one, so each side prefers messages whose other end is sound.
    """
    logs = observed.relative(1.0)
    of_source, of_destination = (
        np.where(observed.tells_of(ends), logs, -np.inf) for ends in (observed.source, observed.destination)
    )
    by_source, by_destination = _Rows.of(observed.source), _Rows.of(observed.destination)
    out_effect, in_effect = np.zeros(observed.ranks), np.zeros(observed.ranks)
    for _ in range(_SWEEPS):
        out_effect = _upper_ends(of_source, by_source, in_effect[observed.destination], observed.ranks)
        in_effect = _upper_ends(of_destination, by_destination, out_effect[observed.source], observed.ranks)
    return out_effect, in_effect


@dataclass(frozen=True)
class _Rows:
    """Messages sorted by one of their ends."""

    order: Integers
    """Indices of messages, those of a rank together."""
    firsts: Integers
    """Position in `order` where each of `ranks` begins."""
    ranks: Integers
    row: Integers
    """[position in order] index of its rank in `ranks`."""

    @classmethod
    def of(cls, ends: Integers) -> _Rows:
        order = np.argsort(ends, kind="stable")
        ranks, firsts, counts = np.unique(ends[order], return_index=True, return_counts=True)
        return cls(order, firsts, ranks, np.repeat(np.arange(len(ranks)), counts))


def _upper_ends(logs: Floats, rows: _Rows, other_effect: Floats, ranks: int) -> Floats:
    """Returns [rank] the mean of its fastest few messages, less the median rank's.

    Only messages whose other end is sound count, if the rank has enough of them. 0: it has no messages.
    """
    found = np.full(ranks, np.nan)
    if not len(logs):
        return np.zeros(ranks)
    every = logs[rows.order]
    for values in (np.where(other_effect[rows.order] > -0.1, every, -np.inf), every):
        mean = _fastest(values, rows)
        open_ = np.isnan(found[rows.ranks]) & np.isfinite(mean)
        found[rows.ranks[open_]] = mean[open_]
    found -= np.nanmedian(found) if np.isfinite(found).any() else 0.0
    return np.where(np.isfinite(found), found, 0.0)


def _fastest(values: Floats, rows: _Rows) -> Floats:
    """Returns [row] the mean of its FASTEST_LOOKED_AT largest values; -inf if there are fewer."""
    left, total = values.copy(), np.zeros(len(rows.ranks))
    for _ in range(FASTEST_LOOKED_AT):
        largest = np.maximum.reduceat(left, rows.firsts)
        total += largest
        at = np.nonzero(left == largest[rows.row])[0]
        left[at[np.unique(rows.row[at], return_index=True)[1]]] = -np.inf
    return np.asarray(total / FASTEST_LOOKED_AT)
