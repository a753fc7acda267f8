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

# A message is never slow above this log ratio of its rate to its rate alone, however small the noise: the
# noise of most messages says nothing about the few that a busy processor delays by two or three per cent.
LEAST_SLOWNESS = -0.05
FASTEST_LOOKED_AT = 2
_SWEEPS = 2


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


def unshared(observed: Observed, slow_out: Floats | None = None, slow_in: Floats | None = None) -> Unshared:
    """Estimates the rates of messages alone. `slow_out`, `slow_in`: [rank] bytes per second; NaN: unknown."""
    centre, noise = observed.ordinary
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
