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

from crosscut.analysis.intervals import Floats
from crosscut.analysis.observed import Integers, Observed

# Noise below it is not distinguished from none: rounding of clocks.
SMALLEST_NOISE = 0.004
FASTEST_LOOKED_AT = 2


@dataclass(frozen=True)
class Unshared:
    """What messages would reach alone."""

    nominal: float
    """Bytes per second of an ordinary host's link."""
    noise: float
    """Standard deviation of the logarithm of one rate."""
    out_rate: Floats
    """[rank] bytes per second"""
    in_rate: Floats

    def of(self, observed: Observed) -> Floats:
        """[message] bytes per second, if it shared nothing."""
        rates: Floats = np.minimum(self.out_rate[observed.source], self.in_rate[observed.destination])
        return rates

    def slowness(self, observed: Observed) -> Floats:
        """[message] log of the rate over what it would be alone: about 0, or below."""
        found: Floats = np.log(observed.rate / self.of(observed))
        return found

    @property
    def threshold(self) -> float:
        """Slowness below which a message is slow, not unlucky: three standard deviations."""
        return -3 * self.noise


def upper_mode(values: Floats) -> tuple[float, float]:
    """(centre, standard deviation) of the highest heap of logarithms, which contention has not reached.

    The half-sample mode (Bickel and Frühwirth, Computational Statistics & Data Analysis 50, 2006) of those
    near the top; the spread from what lies above it, where there is nothing but noise."""
    ordered = np.sort(values)
    top = ordered[-min(len(ordered), max(3, len(ordered) // 100)) :].mean()
    # Two links of equal rate give at worst one half: what is slower than that is not of the highest heap.
    heap = ordered[ordered > top - 0.25]
    for _ in range(3):
        centre = _half_sample_mode(heap)
        above = heap[heap >= centre] - centre
        noise = max(float(np.median(above)) / 0.6745, SMALLEST_NOISE) if len(above) else SMALLEST_NOISE
        heap = heap[heap > centre - 3 * noise]
        if len(heap) < 8:
            break
    inner = ordered[np.abs(ordered - centre) <= 2 * noise]
    return (float(np.median(inner)) if len(inner) else centre), noise


def _half_sample_mode(ordered: Floats) -> float:
    while len(ordered) > 3:
        half = math.ceil(len(ordered) / 2)
        widths = ordered[half - 1 :] - ordered[: len(ordered) - half + 1]
        at = int(np.argmin(widths))
        ordered = ordered[at : at + half]
    return float(np.mean(ordered))


def unshared(observed: Observed, slow_out: Floats | None = None, slow_in: Floats | None = None) -> Unshared:
    """`slow_out`, `slow_in`: [rank] what is known of single hosts, bytes per second; NaN: nothing."""
    logs = np.log(observed.rate)
    centre, noise = upper_mode(logs) if len(logs) else (0.0, SMALLEST_NOISE)
    ends = []
    for known in (slow_out, slow_in):
        rates = np.full(observed.ranks, math.exp(centre))
        if known is not None:
            rates = np.where(np.isfinite(known), known, rates)
        ends.append(rates)
    return Unshared(math.exp(centre), noise, ends[0], ends[1])


@dataclass(frozen=True)
class Tops:
    """[rank] log of the rate that the fastest of its messages reach, over the middle of all ranks'."""

    out_effect: Floats
    in_effect: Floats
    out_count: Integers
    """[rank] messages looked at."""
    in_count: Integers


def tops(observed: Observed, sweeps: int = 2) -> Tops:
    """Robust two-way decomposition by upper ends. A message between a slow end and a sound one says nothing
    about the sound one: so each side is looked at after the other side's effect is taken out."""
    logs = np.log(observed.rate)
    by_source, by_destination = _Rows.of(observed.source), _Rows.of(observed.destination)
    out_effect, in_effect = np.zeros(observed.ranks), np.zeros(observed.ranks)
    for _ in range(sweeps):
        out_effect = _upper_ends(logs, by_source, in_effect[observed.destination], observed.ranks)
        in_effect = _upper_ends(logs, by_destination, out_effect[observed.source], observed.ranks)
    counts = [np.bincount(ends, minlength=observed.ranks) for ends in (observed.source, observed.destination)]
    return Tops(out_effect, in_effect, counts[0], counts[1])


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
