"""Runs made by hand, in memory, as in docs/reference/run-format.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from crosscut.reports.view import View

SAMPLE = ("size", "repetition", "phase", "rank", "slot")

ATTRIBUTES: dict[str, Any] = {
    "state": "complete",
    "start": "2025-01-31T14:25:01Z",
    "end": "2025-01-31T14:25:09Z",
    "job": {"pattern": "aapc", "backend": "tcp", "interval": 0},
    "pattern": {
        "name": "aapc",
        "summary": "Everyone to everyone",
        "formula": "2 m / t_slowest",
        "formula_per": "rank",
        "source": "Fatoohi et al. 2005, algorithm 1",
    },
    "backend": {"name": "tcp"},
    "place": "hosts",
    "cadence": "phases behind a barrier",
    "sync": {"policy": "barrier", "skew_median_seconds": 2e-6, "skew_largest_seconds": 5e-6},
    "clock": {"resolution_seconds": 1e-9},
    "wait": "poll",
}


def aapc_view(
    *,
    ranks: int = 4,
    repetitions: int = 10,
    sizes: Sequence[int] = (1000, 1_000_000),
    seconds: float = 0.01,
    slow_route: tuple[int, int] | None = None,
    attributes: Mapping[str, Any] | None = None,
) -> View:
    """In phase s rank r sends to r + s. A message takes `seconds` at the largest size, in proportion at
    smaller ones, and a little more in each repetition; `slow_route` takes twice as long."""
    phases = ranks - 1
    peer = np.array(
        [[[(rank - phase) % ranks] for rank in range(ranks)] for phase in range(1, ranks)], np.int32
    )
    shape = (len(sizes), repetitions, phases, ranks)
    messages = np.empty((*shape, 1))
    for index, size in enumerate(sizes):
        scale = seconds * (size / max(sizes) if size else 1.0)
        messages[index] = scale * (1 + 0.001 * np.arange(repetitions))[:, None, None, None]
    if slow_route is not None:
        source, destination = slow_route
        phase = (destination - source) % ranks - 1
        messages[:, :, phase, destination, 0] *= 2
    dataset = xr.Dataset(
        {
            "peer": (("phase", "rank", "slot"), peer),
            "node": (("rank",), np.arange(ranks, dtype=np.int32)),
            "message_seconds": (SAMPLE, messages),
            "rank_seconds": (SAMPLE[:-1], messages[..., 0]),
            "status": (SAMPLE[:-1], np.ones(shape, np.uint8)),
            "credited_bytes": (("size", "phase"), 2.0 * np.array(sizes)[:, None] * np.ones((1, phases))),
            "iterations": (("size",), np.ones(len(sizes), np.int64)),
            "repetitions_done": (("size", "phase"), np.full((len(sizes), phases), repetitions)),
        },
        coords={"size": np.array(sizes, np.int64), "phase": np.arange(1, ranks, dtype=np.int64)},
    )
    nodes = [{"name": f"n{rank + 1:03d}", "cores": 2} for rank in range(ranks)]
    attributes = ATTRIBUTES | {"nodes": nodes} | dict(attributes or {})
    return View(Path("made.zarr"), dataset.assign_attrs(attributes))


def pingpong_view(sizes: Sequence[int] = (1, 1000, 1_000_000), repetitions: int = 10) -> View:
    """Half round trips of 10 us + 1 ns per byte between ranks 0 and 1."""
    times = np.array([10e-6 + 1e-9 * size for size in sizes])
    messages = np.full((len(sizes), repetitions, 1, 2, 1), np.nan)
    messages[:, :, 0, 0, 0] = times[:, None]
    shape = (len(sizes), repetitions, 1, 2)
    dataset = xr.Dataset(
        {
            "peer": (("phase", "rank", "slot"), np.array([[[1], [-1]]], np.int32)),
            "node": (("rank",), np.array([0, 1], np.int32)),
            "message_seconds": (SAMPLE, messages),
            "rank_seconds": (SAMPLE[:-1], np.broadcast_to(2 * times[:, None, None, None], shape)),
            "status": (SAMPLE[:-1], np.ones(shape, np.uint8)),
        },
        coords={"size": np.array(sizes, np.int64), "phase": np.array([1], np.int64)},
    )
    pattern = {"name": "pingpong", "summary": "There and back", "parameters": {"mode": "pingpong"}}
    nodes = [{"name": "n001", "cores": 2}, {"name": "n002", "cores": 2}]
    attributes = ATTRIBUTES | {"pattern": pattern, "nodes": nodes}
    return View(Path("made.zarr"), dataset.assign_attrs(attributes))
