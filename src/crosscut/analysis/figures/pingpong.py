"""The ping-pong sweep: time and rate by message size.

Latency is the time of the smallest message, and the signature graph is rate against time (Snell, Mikler and
Gustafson, NetPIPE, 1996).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from crosscut.analysis.figures.samples import Samples
from crosscut.analysis.stats.intervals import Medians, medians

# Messages of up to so many bytes reach this share of the peak rate only if they have no latency.
_SHORT_BYTES, _NO_LATENCY = 64, 0.9


@dataclass(frozen=True)
class Sweep:
    """One entry per size, in ascending order, pooled over pairs."""

    size_bytes: list[int]
    seconds: Medians
    rates: Medians
    pairs: int = 1
    """Pairs of ranks, in either order, that the figures are of."""

    def latency_index(self) -> int:
        """Returns the index of the smallest size, whose time is the latency."""
        return int(np.argmin(self.size_bytes))

    def peak_index(self) -> int:
        """Returns the index of the size with the highest median rate."""
        return int(np.nanargmax(self.rates.median))

    def timeless(self) -> bool:
        """Returns True if the smallest messages take only the time of their bytes: no latency is known."""
        if not np.isfinite(self.rates.median).any():
            return False
        first, rates = self.latency_index(), self.rates.median
        return bool(
            self.size_bytes[first] <= _SHORT_BYTES and rates[first] >= _NO_LATENCY * rates[self.peak_index()]
        )

    def half_rate_bytes(self) -> int:
        """Returns the smallest size that reaches half the peak rate (Hockney's n1/2)."""
        peak = self.rates.median[self.peak_index()]
        return int(np.min(np.array(self.size_bytes)[self.rates.median >= peak / 2]))


def sweep(measured: Sequence[Samples]) -> Sweep:
    """Returns the median time and rate of each size, over all pairs and repetitions."""
    ordered = sorted(measured, key=lambda samples: samples.size_bytes)
    times, rates = [], []
    for samples in ordered:
        seconds = samples.message_seconds
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            speed = np.where(np.isfinite(seconds), samples.bytes / seconds, np.nan)
        times.append(medians(seconds.reshape(-1, 1), exact=samples.exact))
        rates.append(medians(speed.reshape(-1, 1), exact=samples.exact))
    sizes = [samples.size_bytes for samples in ordered]
    pairs = max((_pairs(samples) for samples in ordered), default=1)
    return Sweep(sizes, Medians.joined(times), Medians.joined(rates), pairs)


def _pairs(samples: Samples) -> int:
    measured = np.isfinite(samples.message_seconds).any(axis=0)
    receivers = np.broadcast_to(np.arange(samples.peer.shape[1])[:, None], samples.peer.shape)[measured]
    return int(np.unique(np.stack([samples.peer[measured], receivers]), axis=1).shape[1])
