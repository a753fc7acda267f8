"""Runs as a damaged disk, a dead network or a stopped clock leaves them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from hypothesis import strategies as st
from made_runs import ATTRIBUTES, SAMPLE

from crosscut.run.run import Run

PATTERNS = ("aapc", "all-pairs", "pingpong", "loaded-pingpong", "congestor", "chain", "simple-pairwise")
TIMES = ("ordinary", "noisy", "equal", "zero", "negative", "infinite", "missing", "tiny", "huge")


@st.composite
def hostile(draw: st.DrawFn, pattern: str | None = None) -> Run:
    """Draws a run in memory, of any shape that the format allows, with any times."""
    ranks, phases = draw(st.integers(1, 9)), draw(st.integers(1, 9))
    repetitions, slots = draw(st.integers(1, 12)), draw(st.integers(1, 2))
    sizes = draw(st.lists(st.sampled_from([0, 1, 100, 10**6, 2**40]), min_size=1, max_size=4, unique=True))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shape = (len(sizes), repetitions, phases, ranks, slots)
    seconds = _times(draw(st.sampled_from(TIMES)), shape, random)
    other = _times(draw(st.sampled_from(TIMES)), shape, random)
    seconds = np.where(random.random(shape) < draw(st.sampled_from([0.0, 0.1, 0.9])), other, seconds)
    status = np.where(random.random(shape[:-1]) < draw(st.sampled_from([0.0, 0.2, 1.0])), 0, 1)
    peer = _peers(draw(st.sampled_from(["shift", "any", "none", "self"])), (phases, ranks, slots), random)
    with np.errstate(all="ignore"):
        slowest = np.where(np.isnan(seconds), -np.inf, seconds).max(axis=-1)
    nodes = draw(st.integers(1, ranks))
    attributes: dict[str, Any] = ATTRIBUTES | {
        "pattern": {"name": pattern or draw(st.sampled_from(PATTERNS)), "parameters": {"mode": "pingpong"}},
        "nodes": [{"name": f"n{node}", "cores": 1} for node in range(nodes)],
    }
    dataset = xr.Dataset(
        {
            "peer": (("phase", "rank", "slot"), peer),
            "node": (("rank",), (np.arange(ranks) % nodes).astype(np.int32)),
            "message_seconds": (SAMPLE, seconds),
            "rank_seconds": (SAMPLE[:-1], np.where(np.isfinite(slowest), slowest, np.nan)),
            "status": (SAMPLE[:-1], status.astype(np.uint8)),
            "skew_seconds": (SAMPLE[:3], other[..., 0, 0]),
            "credited_bytes": (("size", "phase"), np.outer(np.array(sizes, float), np.ones(phases))),
            "iterations": (("size",), np.full(len(sizes), draw(st.sampled_from([0, 1, 100])), np.int64)),
            "repetitions_done": (("size", "phase"), np.full((len(sizes), phases), repetitions)),
        },
        coords={"size": np.array(sizes, np.int64), "phase": np.arange(1, phases + 1, dtype=np.int64)},
    )
    dataset.attrs = attributes
    return Run(Path("hostile.zarr"), dataset)


def _times(kind: str, shape: tuple[int, ...], random: np.random.Generator) -> np.ndarray:
    if kind in ("ordinary", "noisy"):
        return 0.01 * np.exp((0.02 if kind == "ordinary" else 3.0) * random.standard_normal(shape))
    value = {"equal": 0.01, "zero": 0.0, "negative": -0.01, "infinite": np.inf, "missing": np.nan,
             "tiny": 5e-324, "huge": 1e300}[kind]  # fmt: skip
    return np.full(shape, value)


def _peers(kind: str, shape: tuple[int, ...], random: np.random.Generator) -> np.ndarray:
    phases, ranks, slots = shape
    phase, rank, slot = np.ogrid[:phases, :ranks, :slots]
    if kind == "shift":
        return ((rank + phase + slot + 1) % ranks).astype(np.int32)
    if kind == "any":
        return random.integers(-1, ranks, shape).astype(np.int32)
    return np.broadcast_to(-1 if kind == "none" else rank, shape).astype(np.int32)
