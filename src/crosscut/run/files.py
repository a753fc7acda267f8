"""The files of a run: lengths and shard indices, without trusting either."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from crosscut.base import units
from crosscut.run.format import ArrayMetadata, Group, chunk_path

MISSING = np.uint64(2**64 - 1)


@dataclass(frozen=True)
class Problem:
    """Something wrong with one file."""

    file: Path
    what: str
    lost: str
    chunk: int | None = None
    """The chunk of a shard it concerns; None: the whole file."""

    def __str__(self) -> str:
        return f"{self.file}: {self.what}; {self.lost}"


@dataclass(frozen=True)
class Shard:
    """One size of a sharded array: chunk i lies at `index_bytes + i * chunk_bytes`."""

    path: Path
    array: ArrayMetadata

    @property
    def dtype(self) -> np.dtype[np.generic]:
        return np.dtype(self.array.known.dtype).newbyteorder("<")

    @property
    def grid(self) -> tuple[int, ...]:
        return tuple(c // i for c, i in zip(self.array.chunk, self.array.inner, strict=True))

    @property
    def chunks(self) -> int:
        return math.prod(self.grid)

    @property
    def index_bytes(self) -> int:
        return 16 * self.chunks

    @property
    def chunk_bytes(self) -> int:
        return math.prod(self.array.inner) * self.dtype.itemsize

    def offset(self, chunk: int) -> int:
        return self.index_bytes + chunk * self.chunk_bytes

    def index(self) -> NDArray[np.uint64]:
        """[chunk, (offset, bytes)]; ValueError where it is no file, or shorter than its index."""
        if not self.path.is_file():
            raise ValueError("it is no file")
        if self.path.stat().st_size < self.index_bytes:
            raise ValueError("it is shorter than its own index")
        return np.memmap(self.path, dtype="<u8", mode="r", shape=(self.chunks, 2))

    def visible(self) -> NDArray[np.bool_]:
        """[chunk] whether the index names it."""
        return np.asarray(~np.all(self.index() == MISSING, axis=1))

    def bad_chunks(self) -> Iterator[tuple[int, str]]:
        """Chunks whose index entry cannot be true, and why."""
        index = np.asarray(self.index())
        size = self.path.stat().st_size
        named = ~np.all(index == MISSING, axis=1)
        offsets = np.arange(self.chunks, dtype=np.uint64) * np.uint64(self.chunk_bytes) + np.uint64(
            self.index_bytes
        )
        elsewhere = named & ((index[:, 0] != offsets) | (index[:, 1] != np.uint64(self.chunk_bytes)))
        beyond = named & ~elsewhere & (offsets + np.uint64(self.chunk_bytes) > np.uint64(size))
        for chunk in np.nonzero(elsewhere | beyond)[0]:
            yield (
                int(chunk),
                "names another place than its own" if elsewhere[chunk] else "lies beyond the file's end",
            )

    def read(self, chunk: int) -> NDArray[np.generic]:
        """A chunk that is there, without the dimension `size`."""
        count = math.prod(self.array.inner)
        values = np.fromfile(self.path, dtype=self.dtype, count=count, offset=self.offset(chunk))
        return values.reshape(self.array.inner[1:])


def shards(group: Group, array: ArrayMetadata) -> Iterator[tuple[int, Shard]]:
    """Those of an array that have a file, with the index of their size."""
    for size_index in range(array.extent("size")):
        path = chunk_path(group.path, array, size_index)
        if path.exists():
            yield size_index, Shard(path, array)


def _whole_array_problem(group: Group, array: ArrayMetadata) -> Problem | None:
    path = chunk_path(group.path, array)
    expected = math.prod(array.chunk) * np.dtype(array.known.dtype).itemsize
    derived = array.name in ("iterations", "repetitions_done")
    lost = (
        "it can be made again: --repair"
        if derived
        else f"the coordinate '{array.name}'; copy it from a backup"
    )
    if not path.exists():
        return Problem(path, "is missing", lost)
    if not path.is_file():
        return Problem(path, "is no file", lost)
    found = path.stat().st_size
    if found != expected:
        what = f"has {units.exact_bytes(found)}, expected {units.exact_bytes(expected)}"
        return Problem(path, what, lost)
    return None


def file_problems(group: Group) -> Iterator[Problem]:
    """What lengths and indices alone can show; quick also for large runs."""
    for array in group.arrays.values():
        if not array.known.sharded:
            if (problem := _whole_array_problem(group, array)) is not None:
                yield problem
            continue
        for size_index, shard in shards(group, array):
            lost = f"samples of size {size_index} (counted from 0) are lost: see 'crosscut fsck --repair'"
            try:
                for chunk, why in shard.bad_chunks():
                    yield Problem(shard.path, f"chunk {chunk} {why}", f"some {lost}", chunk)
            except ValueError as error:
                yield Problem(shard.path, str(error), f"all {lost}")
