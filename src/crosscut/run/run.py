"""A run opened for reading: labelled arrays, read on use; attributes; rates.

Rates are bytes per second and direction; a sample is timed where its last byte arrives.
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
from crosscut.run.arrays import in_parts, open_dataset
from crosscut.run.files import file_problems
from crosscut.run.format import LARGEST, MEASURED, STATISTICS, DamagedRun, RunGroup, read_group

_PROBLEMS_SHOWN = 3


@dataclass(frozen=True)
class Run:
    path: Path
    dataset: xr.Dataset
    """All arrays but the checksums, by name and dimension (docs/reference/run-format.md); values are read on
    use. Reading samples that differ from their checksums raises DamagedRun."""

    @classmethod
    def open(cls, path: Path | str) -> Self:
        """Opens a run after checking metadata, lengths and indices. Raises UsageError or DamagedRun."""
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
        """True if each sample has five statistics in place of its repetitions."""
        return "message_summary" in self.dataset

    @property
    def phase_summarised(self) -> bool:
        """True if each phase has five statistics in place of its samples, and nothing about single ranks."""
        return "phase_status" in self.dataset

    @cached_property
    def sizes_bytes(self) -> tuple[int, ...]:
        return tuple(int(size) for size in self.dataset["size"].values)

    @property
    def ranks(self) -> int:
        return int(self.dataset.sizes["rank"])

    @property
    def repetitions(self) -> int:
        """Upper bound; `repetitions_done` has the actual counts."""
        return int(self.dataset.sizes["repetition"])

    @cached_property
    def node_names(self) -> tuple[str, ...]:
        """[rank] name of its node."""
        names = [name or "?" for name in node_names(self.attributes.get("nodes"))]
        if "node" not in self.dataset:
            return tuple(names[:1] or ["?"]) * self.ranks
        # One string for each node, not for each rank: there may be millions of ranks.
        nodes, ranks = np.unique(self.dataset["node"].values, return_inverse=True)
        named = [names[index] if 0 <= index < len(names) else f"node {index}" for index in nodes.tolist()]
        return tuple(named[rank] for rank in ranks.tolist())

    @cached_property
    def node_indices(self) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """[rank] number of its node; all 0 if the run does not record nodes."""
        if "node" not in self.dataset:
            return np.zeros(self.ranks, dtype=np.int64)
        return np.asarray(self.dataset["node"].values, dtype=np.int64)

    @cached_property
    def measured_repetitions(self) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
        """[size, phase] repetitions in which at least one rank was measured."""
        return self._marked[0]

    @property
    def measured_share(self) -> float:
        """Share of the run's cells (size, repetition, phase, rank) that were measured."""
        return self._marked[1]

    def measured_part(self, size_index: int) -> xr.Dataset:
        """Returns the dataset without the phases in which nothing of this size was measured, as in a run that
        was stopped early; all of it if there is no other."""
        there = np.nonzero(self.measured_repetitions[size_index])[0]
        if len(there) in (0, self.dataset.sizes["phase"]):
            return self.dataset
        together = int(there[-1]) - int(there[0]) + 1 == len(there)
        return self.dataset.isel(phase=slice(int(there[0]), int(there[-1]) + 1) if together else there)

    @cached_property
    def _marked(self) -> tuple[np.ndarray[tuple[int, int], np.dtype[np.int64]], float]:
        """Reads the status of all cells, a few phases at a time: it may be larger than the memory."""
        status = self.dataset["phase_status" if self.phase_summarised else "status"]
        sizes, phases = status.sizes["size"], status.sizes["phase"]
        repetitions, cells = np.zeros((sizes, phases), np.int64), 0
        for size in range(sizes):
            for part, marks in in_parts(status.isel(size=size)):
                measured = marks == MEASURED
                cells += int(np.count_nonzero(measured))
                some = measured if measured.ndim == 2 else measured.any(axis=-1)
                repetitions[size, part] = some.sum(axis=0)
        return repetitions, cells / max(1, status.size)

    def size_index(self, size_bytes: int) -> int:
        if size_bytes in self.sizes_bytes:
            return self.sizes_bytes.index(size_bytes)
        there = ", ".join(map(units.size, self.sizes_bytes[:12]))
        raise UsageError(f"{self.path} has no size {units.size(size_bytes)}; it has {there}")

    def message_bytes(self, size_index: int) -> xr.DataArray:
        """[phase, rank, slot] bytes of each sample; without meaning where `peer` is -1."""
        size = self.sizes_bytes[size_index]
        if "bytes" in self.dataset:
            return self.dataset["bytes"].where(self.dataset["bytes"] >= 0, size)
        return xr.full_like(self.dataset["peer"], size, dtype=np.int64)

    def message_seconds(self, size_index: int) -> xr.DataArray:
        """[repetition, phase, rank, slot], NaN where nothing was measured. Not for a summarised run."""
        part = self.dataset.isel(size=size_index)
        there = (part["status"] == MEASURED) & (part["peer"] >= 0)
        return part["message_seconds"].where(there)

    def rank_seconds(self, size_index: int) -> xr.DataArray:
        """[repetition, phase, rank], NaN where nothing was measured. Not for a summarised run."""
        part = self.dataset.isel(size=size_index)
        return part["rank_seconds"].where(part["status"] == MEASURED)

    def message_rates(self, size_index: int) -> xr.DataArray:
        """[repetition, phase, rank, slot] bytes per second of each sample. Not for a summarised run."""
        return _divide(self.message_bytes(size_index), self.message_seconds(size_index))

    def phase_rates(self, size_index: int) -> xr.DataArray:
        """[repetition, phase] rate by the pattern's formula: credited bytes over the slowest rank's time.

        NaN if a rank of the phase failed, because the slowest is then unknown.
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
    """Returns the most samples that a rank has in a phase."""
    for name in ("message_seconds", "message_summary"):
        if name in group.arrays:
            return group.arrays[name].extent("slot")
    slots = group.attributes.get("slots")
    return slots if type(slots) is int and 1 <= slots <= LARGEST["slot"] else 1


def _divide(sent_bytes: xr.DataArray, seconds: xr.DataArray) -> xr.DataArray:
    """Divides bytes by seconds; a time of 0 (below the clock's resolution) gives NaN."""
    rates = sent_bytes / seconds.where(seconds > 0)
    return rates.transpose(*seconds.dims).drop_vars("size", errors="ignore")
