"""Checks counts, status and samples against each other, a chunk at a time: is anything missing?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from crosscut.base.errors import CrosscutError
from crosscut.base.regular_file import open_regular
from crosscut.run.checksums import CheckedSamples, samples_of
from crosscut.run.files import Problem, Shard, read_rows, shards_of_size
from crosscut.run.format import MEASURED, UNMEASURED, DamagedRun, RunGroup, chunk_path, read_group

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Bad:
    """Cells [repetition, phase, rank] of one chunk that are marked as measured but whose samples are lost."""

    shard: Shard
    cells: Mask
    what: str


@dataclass(frozen=True)
class SizeSamples:
    """Everything that was measured for one size."""

    status: Shard
    samples: Sequence[tuple[Shard, Mask]]
    """Each array and the checksums, with a mask of the chunks that can be read."""
    checked: Mapping[str, CheckedSamples]
    peers: NDArray[np.int32] | None
    lossy: bool

    def status_chunks(self) -> Iterator[tuple[int, NDArray[np.uint8]]]:
        """Yields each recorded chunk with its status [repetition, phase, rank]. In a run with phase
        summaries, a phase counts as one rank."""
        for chunk in np.nonzero(self.status.readable())[0]:
            status = self.status.read(int(chunk)).astype(np.uint8)
            yield int(chunk), status.reshape(*status.shape[:2], -1)

    def recorded_repetitions(self, phases: int) -> NDArray[np.int64]:
        """Counts, by phase, the repetitions in which any rank was measured, failed or was skipped."""
        counts = np.zeros(phases, np.int64)
        for chunk, status in self.status_chunks():
            first = chunk % self.status.grid[2] * status.shape[1]
            recorded = np.not_equal(status, UNMEASURED).any(axis=2).sum(axis=0)[: phases - first]
            counts[first : first + len(recorded)] += recorded
        return counts

    def bad(self, chunk: int, status: NDArray[np.uint8]) -> Iterator[Bad]:
        measured: Mask = np.equal(status, MEASURED)
        if not measured.any():
            return
        for shard, readable in self.samples:
            if not _has(readable, chunk):
                marked = f"{int(measured.sum())} cells marked as measured"
                yield Bad(shard, measured, f"lacks chunk {chunk}, with {marked}")
            elif (samples := self.checked.get(shard.array.name)) is not None:
                yield from self._bad_samples(samples, chunk, measured)

    def _bad_samples(self, samples: CheckedSamples, chunk: int, measured: Mask) -> Iterator[Bad]:
        shard, expected = samples.shard, samples.expected(chunk)
        values = shard.read(chunk)
        absent = self._absent(shard, chunk, values)
        if absent is not None and (found := measured & absent).any():
            marked = f"{int(found.sum())} cells marked as measured"
            yield Bad(shard, found, f"chunk {chunk} has no samples for {marked}")
        for found, why in samples.faults(values, measured, expected):
            yield Bad(shard, found, f"chunk {chunk} has samples of {int(found.sum())} cells that {why}")

    def _absent(self, shard: Shard, chunk: int, values: NDArray[np.generic]) -> Mask | None:
        """Returns a mask [repetition, phase, rank] of cells with a message but no time; None if unknown.

        Lossy backends lose messages, and a rank without messages has no time: neither is damage.
        """
        if shard.array.name in ("phase_message_summary", "phase_rank_summary"):
            return np.isnan(values.astype(np.float64)[..., :1])  # the count, always present
        if shard.array.name not in ("message_seconds", "rank_seconds") or self.peers is None or self.lossy:
            return None
        phases = shard.array.inner[2]
        first = chunk % shard.grid[2] * phases
        there = np.zeros((phases, *self.peers.shape[1:]), dtype=bool)
        part: Mask = np.greater_equal(self.peers[first : first + phases], 0)
        there[: len(part)] = part
        absent: Mask = np.isnan(values.astype(np.float64))
        if absent.ndim == 4:
            return np.asarray((absent & there).any(axis=-1))
        return absent & np.asarray(there.any(axis=-1))


def _has(readable: Mask, chunk: int) -> bool:
    return chunk < len(readable) and bool(readable[chunk])


def open_size(group: RunGroup, size_index: int) -> SizeSamples:
    status, samples = _status_and_samples(group, size_index)
    readable = [(shard, shard.readable()) for shard in samples]
    checked = {
        shard.array.name: samples_of(group, shard, size_index)
        for shard in samples
        if shard.array.known.samples
    }
    return SizeSamples(status, readable, checked, _peers(group), "message_lost_bytes" in group.arrays)


def _status_and_samples(group: RunGroup, size_index: int) -> tuple[Shard, list[Shard]]:
    found = {shard.array.name: shard for shard in shards_of_size(group, size_index)}
    return found.pop(group.status.name), list(found.values())


def holds_samples(path: Path) -> bool:
    """True if the run can be read and anything in it was measured."""
    try:
        group = read_group(path)
        sizes = (open_size(group, index) for index in range(group.status.extent("size")))
        return any(np.equal(status, MEASURED).any() for size in sizes for _, status in size.status_chunks())
    except (CrosscutError, OSError, ValueError):
        return False


def lost_chunks(group: RunGroup) -> Iterator[Problem]:
    """Yields chunks that are missing, although counted or marked as measured. Quick even for large runs:
    reads indices, and status only where an index lacks something. `fsck` reads everything.

    A writer commits samples, then status, then the count. Read in the opposite order, a run that is being
    written never seems to lack anything.
    """
    counts = read_repetitions_done(group)
    for size_index in range(group.status.extent("size")):
        status, samples = _status_and_samples(group, size_index)
        there = status.readable()
        if counts is not None and (counts[size_index] > _most_repetitions(status, there)).any():
            yield Problem(status.path, _absent_words(status.path, "repetitions were counted"), _LOST)
        for shard in samples:
            readable = shard.readable()
            missing = (int(chunk) for chunk in np.nonzero(there)[0] if not _has(readable, int(chunk)))
            if any(np.equal(status.read(chunk), MEASURED).any() for chunk in missing):
                yield Problem(shard.path, _absent_words(shard.path, "samples are marked as measured"), _LOST)


_LOST = "they cannot be shown"


def _absent_words(path: Path, though: str) -> str:
    return f"{'lacks chunks' if path.exists() else 'is missing'}, although its {though}"


def _most_repetitions(status: Shard, there: Mask) -> NDArray[np.int64]:
    """Counts, by phase, the repetitions that fit into the existing chunks."""
    repetitions, phases = status.grid[1:3]
    columns = there.reshape(repetitions, phases).sum(axis=0) * status.array.inner[1]
    return np.repeat(columns, status.array.inner[2])[: status.array.extent("phase")]


def read_repetitions_done(group: RunGroup) -> NDArray[np.int64] | None:
    """Returns counts [size, phase], or None if the file is incomplete."""
    array = group.arrays["repetitions_done"]
    try:
        return read_rows(group, array, range(array.shape[0])).astype(np.int64)
    except DamagedRun:
        return None


def _peers(group: RunGroup) -> NDArray[np.int32] | None:
    """Returns peers [phase, rank, slot], or None if they are not stored completely."""
    array = group.arrays.get("peer")
    if array is None:
        return None
    try:
        with open_regular(chunk_path(group.path, array)) as file:
            return np.memmap(file, dtype="<i4", mode="r", shape=array.shape)
    except (OSError, ValueError):  # missing, or too short
        return None
