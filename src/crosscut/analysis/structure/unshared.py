"""The rate of each host's own link, and the noise, from messages of which many shared other links.

A message that shares nothing runs at the smaller of its two ends' rates: log rate = end + end + residual, a
two-way table (Tukey, Exploratory Data Analysis, 1977, chapter 11). Contention only ever slows, so in place of
the medians of his polish stand the upper ends: the mean of the fastest few of a row. As every row is looked
at in the same way, that it lies above the middle cancels.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from crosscut.analysis.stats.intervals import Floats
from crosscut.analysis.structure.observed import Integers, Observed

# Noise below it is not distinguished from none: rounding of clocks.
SMALLEST_NOISE = 0.004
# Log ratio to what a message reaches alone: what loses less is not slow, however little noise there is. The
# noise of most messages says nothing of the few that a busy processor delays by two or three per cent.
LEAST_SLOWNESS = -0.05
FASTEST_LOOKED_AT = 2
# Logarithm: how far below the top anything may lie that is of the highest heap.
_HEAP_REACH = 0.25
# Share of all messages that may seem faster than any link; they are, if the heap below them is so many
# times as large, and of so many of all.
_MOST_TOO_FAST, _TIMES_TOO_FAST, _SMALLEST_HEAP = 0.02, 10, 0.2
_STEPS, _SWEEPS = 40, 2
_MOST_FITTED = 20_000
# Share of messages outside the heap that may lie above it: so little that only strays are left there,
# never a heap of its own. And of all, the share that the heap may have.
_STRAY, _MOST_OF_HEAP = 1e-12, 0.999


@dataclass(frozen=True)
class Unshared:
    """What messages would reach alone."""

    nominal: float
    """Bytes per second of an ordinary host's link, of the fastest kind."""
    noise: float
    """Standard deviation of the logarithm of one rate."""
    out_rate: Floats
    """[rank] bytes per second"""
    in_rate: Floats

    def of(self, observed: Observed) -> Floats:
        """[message] bytes per second, if it shared nothing."""
        return np.asarray(np.minimum(self.out_rate[observed.source], self.in_rate[observed.destination]))

    def slowness(self, observed: Observed) -> Floats:
        """[message] log of the rate over what it would be alone: about 0, or below."""
        return np.asarray(np.log(observed.rate / self.of(observed)))

    @property
    def threshold(self) -> float:
        """Slowness below which a message is slow, not unlucky: three standard deviations, or 5 %."""
        return min(-3 * self.noise, LEAST_SLOWNESS)


def upper_mode(values: Floats) -> tuple[float, float]:
    """(centre, standard deviation) of the highest heap of logarithms, which contention has not reached.

    A normal heap, and what contention slowed evenly below its centre, fitted by expectation maximisation
    (Dempster, Laird and Rubin, J. Royal Statistical Society B 39, 1977): whatever lies above the centre must
    be of the heap, so a larger one further down cannot take its place."""
    ordered = possible(np.sort(values))
    top = ordered[-_few(ordered) :].mean()
    # Two links of equal rate give at worst one half: what is slower than that is not of the highest heap.
    heap = ordered[ordered > top - _HEAP_REACH]
    heap = heap[:: max(1, len(heap) // _MOST_FITTED)]  # every so many: the same shape
    starts = [(_half_sample_mode(heap), 0.02), (top, 0.01), (top - 0.02, 0.02), (top - 0.05, 0.04)]
    fitted = [_fitted(heap, float(top) - _HEAP_REACH, *start) for start in starts]
    _, centre, noise = max(fitted)
    return centre, noise


def possible(ordered: Floats) -> Floats:
    """Without the few highest that no link explains: a receiver that leaves the barrier late, for the word to
    go was lost and came again, finds its message waiting and times next to nothing."""
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
    """Log likelihood, centre and standard deviation of the normal part of what lies above `low`."""
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
    """`slow_out`, `slow_in`: [rank] what is known of single hosts, bytes per second; NaN: nothing."""
    logs = observed.relative(1.0)
    centre, noise = upper_mode(logs) if len(logs) else (0.0, SMALLEST_NOISE)
    usual = math.exp(centre) * (np.ones(observed.ranks) if observed.of_kind is None else observed.of_kind)
    out_rate, in_rate = (
        usual if known is None else np.where(np.isfinite(known), known, usual)
        for known in (slow_out, slow_in)
    )
    return Unshared(math.exp(centre), noise, out_rate, in_rate)


def tops(observed: Observed) -> tuple[Floats, Floats]:
    """[rank] log of the rate that the fastest of its messages reach, out and in, over the middle of all.

    Robust two-way decomposition by upper ends. A message between a slow end and a sound one says nothing
    about the sound one: so each side is looked at after the other side's effect is taken out."""
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
    """Messages by one of their ends."""

    order: Integers
    """Messages, all of a rank together."""
    firsts: Integers
    """Where in `order` each of `ranks` begins."""
    ranks: Integers
    row: Integers
    """[place in order] number of its rank among `ranks`"""

    @classmethod
    def of(cls, ends: Integers) -> _Rows:
        order = np.argsort(ends, kind="stable")
        ranks, firsts, counts = np.unique(ends[order], return_index=True, return_counts=True)
        return cls(order, firsts, ranks, np.repeat(np.arange(len(ranks)), counts))


def _upper_ends(logs: Floats, rows: _Rows, other_effect: Floats, ranks: int) -> Floats:
    """The mean of the fastest few of each rank among messages whose other end is sound, where there are
    such."""
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
    """[row] mean of its largest FASTEST_LOOKED_AT values; -inf where there are fewer."""
    left, total = values.copy(), np.zeros(len(rows.ranks))
    for _ in range(FASTEST_LOOKED_AT):
        largest = np.maximum.reduceat(left, rows.firsts)
        total += largest
        at = np.nonzero(left == largest[rows.row])[0]
        left[at[np.unique(rows.row[at], return_index=True)[1]]] = -np.inf
    return np.asarray(total / FASTEST_LOOKED_AT)
