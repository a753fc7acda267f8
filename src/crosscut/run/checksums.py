"""Compares samples with the checksums that were written with them, and with what can be measured at all.

A cell's status, checksum and samples are read in this order, the opposite of that in which they are written.
Cells whose status is then `measured` are whole, even in a run that is being written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import google_crc32c
import numpy as np
from numpy.typing import NDArray

from crosscut.run.files import Check, Shard
from crosscut.run.format import CHECKSUM, MEASURED, DamagedRun, RunGroup, chunk_path

Mask = NDArray[np.bool_]
Values = NDArray[np.generic]

_LARGEST = 1e9
"""32 years as seconds, and more than the samples of a phase as a count. Older runs may hold infinite shares
of computing."""


@dataclass(frozen=True)
class CheckedSamples:
    """The samples of one array and size, with the checksums of all arrays."""

    shard: Shard
    sums: Shard | None
    """None: the run has no checksums."""
    place: int
    """Index of the array along the last dimension of `sums`."""

    def expected(self, chunk: int) -> NDArray[np.uint32] | None:
        """Returns the checksums [repetition, phase] of a chunk; None if none were recorded."""
        sums = None if self.sums is None else self.sums.read_if_there(chunk)
        return None if sums is None else sums[..., self.place].astype(np.uint32)

    def faults(
        self, values: Values, measured: Mask, expected: NDArray[np.uint32] | None
    ) -> Iterator[tuple[Mask, str]]:
        """Yields masks [repetition, phase, rank] of measured cells whose samples cannot be right, each with
        the reason. `values`: a chunk; `measured`, `expected`: its [repetition, phase, rank] and
        [repetition, phase]. Samples without repetitions are those of all repetitions."""
        along = dict(zip(self.shard.array.known.dimensions[1:], values.shape, strict=True))
        cells = (along.get("repetition", 1), along["phase"])
        changed = np.zeros((*cells, 1), np.bool_)
        if expected is not None:
            changed = _checksums(values, cells) != expected[: cells[0], :, np.newaxis]
        ranks = along.get("rank", 1)
        largest = np.inf if self.shard.array.name == "compute_fraction" else _LARGEST
        impossible = ~changed & _impossible(values, largest).reshape(*cells, ranks, -1).any(axis=-1)
        for bad, why in ((changed, "differ from their checksum"), (impossible, "have impossible values")):
            if bad.any() and (found := measured & bad).any():
                yield found, why


def _checksums(values: Values, cells: tuple[int, int]) -> NDArray[np.uint32]:
    rows = np.ascontiguousarray(values).reshape(cells[0] * cells[1], -1).view(np.uint8)
    return np.fromiter(map(google_crc32c.value, rows), np.uint32, len(rows)).reshape(*cells, 1)


def _impossible(values: Values, largest: float) -> Mask:
    numbers: NDArray[Any] = np.asarray(values)
    most = largest if numbers.dtype.kind == "f" else np.inf
    impossible: Mask = np.less(numbers, 0) | np.greater(numbers, most)
    return impossible


def samples_of(group: RunGroup, shard: Shard, size_index: int) -> CheckedSamples:
    sums = group.arrays.get(CHECKSUM)
    return CheckedSamples(
        shard,
        None if sums is None else Shard(chunk_path(group.path, sums, size_index), sums),
        group.samples.index(shard.array.name),
    )


def check_of(group: RunGroup, shard: Shard, size_index: int) -> Check | None:
    """Returns what checks the chunks of an array as they are read; None if it holds no samples."""
    if shard.array.name not in group.samples:
        return None
    samples = samples_of(group, shard, size_index)
    status = Shard(chunk_path(group.path, group.status, size_index), group.status)

    def before(chunk: int) -> Callable[[Values], None]:
        marked = status.read_if_there(chunk)
        if marked is None:
            marked = np.zeros((1, 1), np.uint8)
        measured = np.equal(marked.reshape(*marked.shape[:2], -1), MEASURED)
        expected = samples.expected(chunk)

        def after(values: Values) -> None:
            for bad, why in samples.faults(values, measured, expected):
                cells = f"samples of {int(bad.sum())} cells in chunk {chunk}"
                raise DamagedRun(f"{shard.path}: {cells} {why}; see 'crosscut fsck {group.path}'")

        return after

    return before
