"""A run, opened for reading: labelled arrays that are read when looked at, attributes, rates.

Rates are bytes per second and direction: a sample is timed where its last byte arrives.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import Self

import numpy as np
import xarray as xr

from crosscut.base import units
from crosscut.base.errors import UsageError
from crosscut.base.node_names import node_names
from crosscut.run import implied
from crosscut.run.agreement import lost_chunks
from crosscut.run.arrays import open_dataset
from crosscut.run.files import file_problems
from crosscut.run.format import LARGEST, MEASURED, STATISTICS, DamagedRun, RunGroup, read_group

_PROBLEMS_SHOWN = 3


@dataclass(frozen=True)
class Run:
    path: Path
    dataset: xr.Dataset
    """All arrays, by name and dimension (docs/reference/run-format.md); values are read when used."""

    @classmethod
    def open(cls, path: Path | str) -> Self:
        """Checks metadata, lengths and indices; UsageError or Damaged say what is wrong."""
        path = Path(path)
        group = read_group(path)
        found = chain(file_problems(group), lost_chunks(group))
        if problems := [str(problem) for problem in islice(found, _PROBLEMS_SHOWN)]:
            raise DamagedRun("\n".join([f"the run is damaged, see 'crosscut fsck {path}':", *problems]))
        dataset = open_dataset(group)
        if "peer" not in dataset and "rank" in dataset.sizes:
            slots = _slots(group)
            job = group.attributes.get("job")
            compute = implied.from_core(
                job if isinstance(job, dict) else {}, int(dataset.sizes["rank"]), slots
            )
            dataset = implied.add_implied(dataset, compute, slots)
        if group.summaries or group.phase_summaries:
            dataset = dataset.assign_coords(statistic=list(STATISTICS))
        return cls(path, dataset)

    @property
    def attributes(self) -> Mapping[str, object]:
        attributes: Mapping[str, object] = self.dataset.attrs
        return attributes

    @property
    def summarised(self) -> bool:
        """Five numbers stand in place of the repetitions of each sample."""
        return "message_summary" in self.dataset

    @property
    def phase_summarised(self) -> bool:
        """Five numbers stand in place of the samples of each phase: there are none of single ranks."""
        return "phase_status" in self.dataset

    @cached_property
    def sizes_bytes(self) -> tuple[int, ...]:
        return tuple(int(size) for size in self.dataset["size"].values)

    @property
    def ranks(self) -> int:
        return int(self.dataset.sizes["rank"])

    @property
    def repetitions(self) -> int:
        """The cap; `repetitions_done` counts."""
        return int(self.dataset.sizes["repetition"])

    @cached_property
    def node_names(self) -> tuple[str, ...]:
        """[rank] the name of each rank's node."""
        names = [name or "?" for name in node_names(self.attributes.get("nodes"))]
        if "node" not in self.dataset:
            return tuple(names[:1] or ["?"]) * self.ranks
        # One text for each node, not for each of the ranks, which may be millions.
        nodes, ranks = np.unique(self.dataset["node"].values, return_inverse=True)
        named = [names[index] if 0 <= index < len(names) else f"node {index}" for index in nodes.tolist()]
        return tuple(named[rank] for rank in ranks.tolist())

    @cached_property
    def node_indices(self) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """[rank]"""
        if "node" not in self.dataset:
            return np.zeros(self.ranks, dtype=np.int64)
        return np.asarray(self.dataset["node"].values, dtype=np.int64)

    def size_index(self, size_bytes: int) -> int:
        if size_bytes in self.sizes_bytes:
            return self.sizes_bytes.index(size_bytes)
        there = ", ".join(map(units.size, self.sizes_bytes[:12]))
        raise UsageError(f"{self.path} has no size {units.size(size_bytes)}; it has {there}")

    def message_bytes(self, size_index: int) -> xr.DataArray:
        """[phase, rank, slot] bytes of each sample; where `peer` is -1 there is none."""
        size = self.sizes_bytes[size_index]
        if "bytes" in self.dataset:
            return self.dataset["bytes"].where(self.dataset["bytes"] >= 0, size)
        return xr.full_like(self.dataset["peer"], size, dtype=np.int64)

    def message_seconds(self, size_index: int) -> xr.DataArray:
        """[repetition, phase, rank, slot] NaN where nothing was measured; not of a summarised run."""
        part = self.dataset.isel(size=size_index)
        there = (part["status"] == MEASURED) & (part["peer"] >= 0)
        return part["message_seconds"].where(there)

    def rank_seconds(self, size_index: int) -> xr.DataArray:
        """[repetition, phase, rank] NaN where nothing was measured; not of a summarised run."""
        part = self.dataset.isel(size=size_index)
        return part["rank_seconds"].where(part["status"] == MEASURED)

    def message_rates(self, size_index: int) -> xr.DataArray:
        """[repetition, phase, rank, slot] bytes per second, of what the rank timed."""
        return _divide(self.message_bytes(size_index), self.message_seconds(size_index))

    def phase_rates(self, size_index: int) -> xr.DataArray:
        """[repetition, phase] the pattern's own formula: credited bytes over the time of the slowest rank.

        NaN where a rank of the phase failed: the slowest is then not known.
        """
        if self.phase_summarised:
            part = self.dataset.isel(size=size_index)
            slowest = part["phase_rank_summary"].sel(statistic="maximum", drop=True)
            complete = part["phase_status"] == MEASURED
        else:
            slowest = self.rank_seconds(size_index).max("rank")
            status = self.dataset["status"].isel(size=size_index)
            complete = (status == MEASURED).all("rank")
        return _divide(self.dataset["credited_bytes"].isel(size=size_index), slowest.where(complete))


def _slots(group: RunGroup) -> int:
    """Samples that a rank has in a phase, at most."""
    for name in ("message_seconds", "message_summary"):
        if name in group.arrays:
            return group.arrays[name].extent("slot")
    slots = group.attributes.get("slots")
    return slots if type(slots) is int and 1 <= slots <= LARGEST["slot"] else 1


def _divide(sent_bytes: xr.DataArray, seconds: xr.DataArray) -> xr.DataArray:
    """A duration of 0 (below the clock's resolution) has no rate."""
    rates = sent_bytes / seconds.where(seconds > 0)
    return rates.transpose(*seconds.dims).drop_vars("size", errors="ignore")
