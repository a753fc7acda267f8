"""Digest of one message size of a run: the rates by phase, route and rank for reports.

Phases are read in blocks, so that millions of routes take little more memory than their results do.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from crosscut.analysis.figures import samples as samples_of
from crosscut.analysis.figures import summary
from crosscut.analysis.figures.samples import Samples
from crosscut.analysis.figures.summary import Routes
from crosscut.analysis.stats.intervals import Floats, Medians, inverted, medians
from crosscut.analysis.stats.rows import median

# Samples held at once; each takes about 60 bytes while its route's median is computed.
BLOCK_SAMPLES = 1 << 19


@dataclass(frozen=True)
class Digest:
    """P phases, N ranks; NaN where nothing was measured."""

    phases: Samples
    """Reduced to one entry per phase: the time of its slowest rank."""
    rates: Medians
    """[P] bytes per second: `summary.phase_rates`."""
    formula: Medians
    """[P] bytes per second: `summary.formula_rates`."""
    messages: Floats
    """[3, P] bytes per second of each phase's slowest, median and fastest message, by their medians."""
    routes: Routes
    rank_rates: Medians
    """[N] bytes per second: what a rank received in all phases, over the time it spent in them."""

    @property
    def size_bytes(self) -> int:
        return self.phases.size_bytes

    @property
    def free_rate(self) -> float:
        """Bytes per second of a phase's fastest message, which hardly anything hinders: the median over the
        phases; NaN if unknown."""
        there = self.messages[2][np.isfinite(self.messages[2])]
        return float(np.median(there)) if len(there) else math.nan


@dataclass(frozen=True)
class _Block:
    phases: Samples
    messages: Floats
    routes: Routes
    received_bytes: Floats  # [N]
    seconds: Floats  # [R, N]
    moved: Floats


def digest(dataset: xr.Dataset, index: int) -> Digest:
    """Returns the digest of the size at `index`."""
    blocks = list(_blocks(dataset, index))
    routes = _joined([block.routes for block in blocks])
    if routes is None:  # a route has samples in several blocks, and its median needs them all
        routes = summary.routes(samples_of.load(dataset, index))
    phases = _concatenated([block.phases for block in blocks])
    moved = np.concatenate([block.moved for block in blocks])
    times = medians(summary.phase_seconds(phases), exact=phases.exact)
    received = np.sum([block.received_bytes for block in blocks], axis=0)
    spent = np.sum([block.seconds for block in blocks], axis=0)
    return Digest(
        phases=phases,
        rates=inverted(times, moved),
        formula=inverted(times, phases.credited_bytes),
        messages=np.concatenate([block.messages for block in blocks], axis=1),
        routes=routes,
        rank_rates=summary.rates_of_ranks(received, spent, exact=phases.exact),
    )


def _blocks(dataset: xr.Dataset, index: int) -> Iterator[_Block]:
    phases, a_phase = int(dataset.sizes["phase"]), 1
    for name in ("message_seconds", "message_summary"):
        if name in dataset:
            sizes = dataset[name].sizes
            a_phase = int(np.prod([sizes[axis] for axis in sizes if axis not in ("size", "phase")]))
    step = max(1, BLOCK_SAMPLES // max(a_phase, 1))
    for first in range(0, phases, step):
        yield _block(samples_of.load(dataset.isel(phase=slice(first, first + step)), index))


def _block(part: Samples) -> _Block:
    received, seconds = summary.rank_spent(part)
    if part.of_phases:
        received = np.zeros(1)
    rates = summary.message_rates(part)
    return _Block(
        phases=_slim(part),
        messages=_spread(part, rates.median),
        routes=summary.routes(part, of_messages=rates),
        received_bytes=received,
        seconds=seconds,
        moved=summary.moved_bytes(part),
    )


def _slim(part: Samples) -> Samples:
    phases = part.peer.shape[0]
    return replace(
        part,
        peer=np.zeros((phases, 1, 1), np.int32),
        bytes=np.zeros((phases, 1, 1)),
        message_seconds=np.zeros((0, phases, 1, 1)),
        rank_seconds=summary.phase_seconds(part)[..., None],
        node=np.zeros(1, np.int32),
    )


def _spread(part: Samples, rates: Floats) -> Floats:
    """[3, P] bytes per second of each phase's slowest, median and fastest message; NaN: unknown.

    `rates`: [P, N, K] of the messages."""
    flat = np.where(np.isfinite(rates) & (part.bytes > 0), rates, np.nan).reshape(len(rates), -1)
    if part.of_phases:
        flat = np.full_like(flat, np.nan)
    return np.stack([np.fmin.reduce(flat, axis=1), median(flat), np.fmax.reduce(flat, axis=1)])


def _concatenated(parts: list[Samples]) -> Samples:
    axes = {"phase": 0, "peer": 0, "bytes": 0, "message_seconds": 1, "rank_seconds": 1, "credited_bytes": 0}
    joined: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in parts], axis=axis)
        for name, axis in axes.items()
    }
    return replace(parts[0], **joined)


def _joined(parts: list[Routes]) -> Routes | None:
    """Joins the parts; None if a route is in more than one."""
    if len(parts) == 1:
        return parts[0]
    source = np.concatenate([part.source for part in parts])
    destination = np.concatenate([part.destination for part in parts])
    if _repeats(source, destination):
        return None
    same_node = np.concatenate([part.same_node for part in parts])
    return Routes(source, destination, Medians.joined([part.rates for part in parts]), same_node)


def _repeats(source: NDArray[np.int32], destination: NDArray[np.int32]) -> bool:
    ranks = int(max(source.max(initial=0), destination.max(initial=0))) + 1
    seen = np.zeros(ranks * ranks, np.bool_)
    seen[source.astype(np.int64) * ranks + destination] = True
    return int(seen.sum()) < len(source)
