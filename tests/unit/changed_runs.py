"""Runs with a known change: an AAPC with noise, parts of it slower."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from made_runs import aapc_view

from crosscut.analysis.figures.route_class import Groups
from crosscut.run.run import Run


def aapc(
    seed: int, *, ranks: int = 8, repetitions: int = 10, noise: float = 0.02, factor: float = 1.0,
    out: Mapping[int, float] | None = None, into: Mapping[int, float] | None = None,
    route: Mapping[tuple[int, int], float] | None = None, drift: float = 0.0,
    attributes: Mapping[str, Any] | None = None, sizes: tuple[int, ...] = (1_000_000,),
) -> Run:  # fmt: skip
    """Rates times `factor`, and times the factors of sending and receiving ranks. `drift`: noise common to
    all, 60 % of which a repetition inherits from the previous one."""
    view = aapc_view(ranks=ranks, repetitions=repetitions, sizes=sizes)
    random = np.random.default_rng(seed)
    dataset: xr.Dataset = view.dataset
    peer = dataset["peer"].values[..., 0]
    shape = dataset["message_seconds"].shape[:-1]
    rates = factor * np.exp(noise * random.standard_normal(shape))
    memory = np.zeros(shape[1])
    for repetition, shock in enumerate(random.standard_normal(shape[1])):
        memory[repetition] = 0.6 * memory[repetition - 1] + drift * shock
    rates *= np.exp(memory)[None, :, None, None]
    destination = np.broadcast_to(np.arange(ranks), peer.shape)
    for rank, share in (out or {}).items():
        rates[:, :, peer == rank] *= share
    for rank, share in (into or {}).items():
        rates[:, :, destination == rank] *= share
    for (source, end), share in (route or {}).items():
        rates[:, :, (peer == source) & (destination == end)] *= share
    scale = np.array(sizes)[:, None, None, None] * 1e-8
    seconds = scale / rates
    dataset["message_seconds"] = (dataset["message_seconds"].dims, seconds[..., None])
    dataset["rank_seconds"] = (dataset["rank_seconds"].dims, seconds)
    nodes = [{"name": f"n{rank:03}", "id": f"id{rank}"} for rank in range(ranks)]
    dataset.attrs = {**view.attributes, "nodes": nodes, **(attributes or {})}
    return Run(Path(f"run{seed}.zarr"), dataset)


def halves(ranks: int = 8) -> Groups:
    return Groups(np.arange(ranks) // (ranks // 2), "module", "made")
