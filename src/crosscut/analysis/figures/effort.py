"""Processor time spent on moving bytes, by rank: the attribute `effort` (docs/reference/run-format.md).

A rank's time is the user and kernel time of its process in timed sections. It excludes the kernel's work in
interrupts, on any core, and the work of adapters.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from crosscut.analysis.stats.intervals import Floats

GIGABYTE = 1e9
# Beyond this multiple of the median rank's cost, a host is of another kind or also does other work.
FAR_OFF = 1.5
FEWEST_RANKS = 4
# Shorter times are mostly rounding by the clock and the scheduler.
SHORTEST_SECONDS = 1e-3


@dataclass(frozen=True)
class Effort:
    """Effort for one message size. Arrays are [rank]; NaN or 0 where a rank took no part."""

    size_bytes: int
    processor_seconds: Floats
    elapsed_seconds: Floats
    sent_bytes: Floats
    received_bytes: Floats

    def per_gigabyte(self) -> Floats:
        """[rank] processor seconds for each GB that the rank sent or received; NaN if it moved nothing."""
        with np.errstate(invalid="ignore", divide="ignore"):
            moved = self.sent_bytes + self.received_bytes
            return np.where(moved > 0, self.processor_seconds * GIGABYTE / moved, np.nan)

    def per_message(self) -> Floats:
        """[rank] processor seconds for each message of `size_bytes` sent or received."""
        return self.per_gigabyte() * self.size_bytes / GIGABYTE

    def total_per_gigabyte(self) -> float:
        """Returns processor seconds of both ends together, for each GB sent."""
        moved = float(np.nansum(self.sent_bytes))
        return float(np.nansum(self.processor_seconds)) * GIGABYTE / moved if moved > 0 else float("nan")

    def busy(self) -> float:
        """Returns the share of the timed sections that ranks spent on a processor: the median over ranks."""
        with np.errstate(invalid="ignore", divide="ignore"):
            shares = self.processor_seconds / self.elapsed_seconds
        there = shares[np.isfinite(shares)]
        return float(np.median(there)) if len(there) else float("nan")

    def far_off(self) -> list[tuple[int, float]]:
        """Returns (rank, multiple of the median rank's cost), largest first; empty if ranks are too few."""
        found = self.per_gigabyte()
        there = np.isfinite(found) & (self.processor_seconds >= SHORTEST_SECONDS)
        if there.sum() < FEWEST_RANKS:
            return []
        ratios = np.where(there, found / float(np.median(found[there])), 0.0)
        order = np.argsort(-ratios, kind="stable")
        return [(int(rank), float(ratios[rank])) for rank in order if ratios[rank] > FAR_OFF]


def efforts(attributes: Mapping[str, object], ranks: int) -> list[Effort]:
    """Returns the efforts by size; skips damaged entries and those with a different number of ranks."""
    entries = attributes.get("effort")
    found = [_effort(entry, ranks) for entry in entries] if isinstance(entries, list | tuple) else []
    return sorted((one for one in found if one is not None), key=lambda one: one.size_bytes)


def _effort(entry: object, ranks: int) -> Effort | None:
    if not isinstance(entry, Mapping):
        return None
    size = entry.get("size")
    names = ("processor_seconds", "elapsed_seconds", "sent_bytes", "received_bytes")
    columns = [one for name in names if (one := _column(entry.get(name), ranks)) is not None]
    if type(size) is not int or size < 0 or len(columns) < len(names):
        return None
    return Effort(size, *columns)


def _column(values: object, ranks: int) -> Floats | None:
    if not isinstance(values, list | tuple) or len(values) != ranks:
        return None
    if not all(type(value) in (int, float) for value in values):
        return None
    found = np.array(values, np.float64)
    return found if bool((np.isfinite(found) & (found >= 0)).all()) else None
