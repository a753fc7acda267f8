"""The files of a run: reads them, and checks their lengths and shard indices, which it does not trust."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from crosscut.base import memory, units
from crosscut.base.errors import plainly
from crosscut.base.regular_file import open_regular
from crosscut.run.format import ArrayMetadata, DamagedRun, RunGroup, chunk_path

MISSING = np.uint64(2**64 - 1)
# Index entries read at a time, and bad chunks of a file reported one by one.
_ENTRIES_AT_ONCE = 1 << 16
_MOST_TOLD = 1000
# Chunks of less are not held against the limit on memory: to look up the memory in use takes longer than to
# read one, and only one is held at a time.
_TRIFLING_BYTES = 1 << 20

Box = tuple[range, ...]
"""A range of positions along each dimension, without gaps."""
Check = Callable[[int], Callable[[NDArray[np.generic]], None]]
"""Called with the number of a chunk before that is read. The result is called with the chunk's values."""


@dataclass(frozen=True)
class Problem:
    """A fault in one file."""

    file: Path
    what: str
    lost: str
    chunk: int | None = None
    """The chunk of a shard; None for the whole file."""

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

    def _index(self, chunks: range) -> Iterator[tuple[int, NDArray[np.uint64]]]:
        """Yields pieces of the index: the number of the first chunk, and entries [chunk, (offset, bytes)].
        Raises ValueError if the file cannot be read, or is shorter than its index."""
        try:
            with open_regular(self.path) as file:
                for first in range(chunks.start, chunks.stop, _ENTRIES_AT_ONCE):
                    entries = np.empty((min(_ENTRIES_AT_ONCE, chunks.stop - first), 2), "<u8")
                    if not read_into(file, 16 * first, entries):
                        raise ValueError("it is shorter than its own index")
                    yield first, entries
        except OSError as error:
            raise ValueError(plainly(error)) from error

    def visible(self, chunks: range) -> NDArray[np.bool_]:
        """Returns a mask of those of `chunks` that the index names."""
        named = [~np.all(entries == MISSING, axis=1) for _, entries in self._index(chunks)]
        return np.concatenate([np.zeros(0, np.bool_), *named])

    def read_if_there(self, chunk: int) -> NDArray[np.generic] | None:
        """Reads a chunk, without the dimension `size`; None if it cannot be read."""
        entry = np.empty(2, "<u8")
        try:
            with open_regular(self.path) as file:
                if not read_into(file, 16 * chunk, entry) or np.all(entry == MISSING):
                    return None
                values = self._empty_chunk()
                return values if read_into(file, self.offset(chunk), values) else None
        except OSError:
            return None

    def bad_chunks(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Returns two masks of chunks: the index names a wrong place, or one beyond the file's end."""
        elsewhere, beyond = np.zeros((2, self.chunks), np.bool_)
        for first, entries in self._index(range(self.chunks)):
            size = np.uint64(self.path.stat().st_size)
            named = ~np.all(entries == MISSING, axis=1)
            chunk_bytes = np.uint64(self.chunk_bytes)
            numbers = np.arange(first, first + len(entries), dtype=np.uint64)
            offsets = numbers * chunk_bytes + np.uint64(self.index_bytes)
            wrong = named & ((entries[:, 0] != offsets) | (entries[:, 1] != chunk_bytes))
            elsewhere[first : first + len(entries)] = wrong
            beyond[first : first + len(entries)] = named & ~wrong & (offsets + chunk_bytes > size)
        return elsewhere, beyond

    def readable(self) -> NDArray[np.bool_]:
        """Returns a mask of the chunks that can be read; none if the file cannot."""
        try:
            elsewhere, beyond = self.bad_chunks()
            return self.visible(range(self.chunks)) & ~(elsewhere | beyond)
        except ValueError:
            return np.zeros(self.chunks, np.bool_)

    def read(self, chunk: int) -> NDArray[np.generic]:
        """Reads a chunk that is there, without the dimension `size`."""
        values = self._empty_chunk()
        with open_regular(self.path) as file:
            self._read_chunk(file, chunk, values)
        return values

    def _empty_chunk(self) -> NDArray[np.generic]:
        if self.chunk_bytes > _TRIFLING_BYTES:
            memory.hold(self.chunk_bytes, f"a chunk of {self.path}")
        return np.empty(self.array.inner[1:], self.dtype)

    def read_box(self, box: Box, into: NDArray[np.generic], check: Check | None = None) -> None:
        """Reads the stored part of a box into an array of its shape, both without the dimension `size`. The
        rest of the array stays unchanged. Raises DamagedRun, and what `check` raises."""
        inner, grid = self.array.inner[1:], self.grid[1:]
        across = [range(r.start // i, -(-r.stop // i)) for r, i in zip(box, inner, strict=True)]
        try:
            if not all(across):
                return
            first, last = (int(np.ravel_multi_index([one[end] for one in across], grid)) for end in (0, -1))
            visible = self.visible(range(first, last + 1))
            with open_regular(self.path) as file:
                for place in itertools.product(*across):
                    chunk = int(np.ravel_multi_index(place, grid))
                    if visible[chunk - first]:
                        corner = [p * i for p, i in zip(place, inner, strict=True)]
                        checked = check(chunk) if check else _unchecked
                        self._read_part(file, chunk, corner, box, into, checked)
        except ValueError as error:
            raise DamagedRun(f"{self.path}: {error}") from error

    def _read_part(
        self,
        file: BinaryIO,
        chunk: int,
        corner: list[int],
        box: Box,
        into: NDArray[np.generic],
        checked: Callable[[NDArray[np.generic]], None],
    ) -> None:
        target, source = [], []
        for low, extent, wanted in zip(corner, self.array.inner[1:], box, strict=True):
            first, last = max(low, wanted.start), min(low + extent, wanted.stop)
            target.append(slice(first - wanted.start, last - wanted.start))
            source.append(slice(first - low, last - low))
        part = into[tuple(target)]
        if part.shape == self.array.inner[1:] and part.flags.c_contiguous:
            self._read_chunk(file, chunk, part)
            checked(part)
        else:
            values = self.read(chunk)
            checked(values)
            part[...] = values[tuple(source)]

    def _read_chunk(self, file: BinaryIO, chunk: int, into: NDArray[np.generic]) -> None:
        if not read_into(file, self.offset(chunk), into):
            raise DamagedRun(f"{self.path}: chunk {chunk} lies beyond the file's end")


def _unchecked(_: NDArray[np.generic]) -> None: ...


def read_rows(group: RunGroup, array: ArrayMetadata, rows: range) -> NDArray[np.generic]:
    """Reads rows (along the first dimension) of a one-chunk array. DamagedRun if the file lacks them."""
    dtype = np.dtype(array.known.dtype).newbyteorder("<")
    shape = (len(rows), *array.shape[1:])
    row_bytes = math.prod(shape[1:]) * dtype.itemsize
    memory.hold(len(rows) * row_bytes, f"{group.path}: the array '{array.name}'")
    path, values = chunk_path(group.path, array), np.empty(shape, dtype)
    try:
        with open_regular(path) as file:
            whole = read_into(file, rows.start * row_bytes, values)
    except OSError as error:
        raise DamagedRun(f"{path}: {plainly(error)}") from error
    if not whole:
        raise DamagedRun(f"{path} is shorter than the array '{array.name}'")
    return values


def read_into(file: BinaryIO, offset: int, into: NDArray[np.generic]) -> bool:
    """Fills a contiguous array from the file; returns False if the file ends too early."""
    rest = into.reshape(-1).view(np.uint8).data
    while len(rest) > 0:
        count = os.preadv(file.fileno(), [rest], offset)
        if count == 0:
            return False
        rest, offset = rest[count:], offset + count
    return True


def shards(group: RunGroup, array: ArrayMetadata, sizes: range | None = None) -> Iterator[tuple[int, Shard]]:
    """Yields (index of the size, shard) for each shard with a file, of all sizes or of those in `sizes`."""
    for size_index in sizes if sizes is not None else range(array.extent("size")):
        path = chunk_path(group.path, array, size_index)
        if os.path.lexists(path):
            yield size_index, Shard(path, array)


def shards_of_size(group: RunGroup, size_index: int) -> Iterator[Shard]:
    """Yields every sharded array, whether or not it has a file."""
    for array in group.arrays.values():
        if array.known.sharded:
            yield Shard(chunk_path(group.path, array, size_index), array)


def _whole_array_problem(group: RunGroup, array: ArrayMetadata) -> Problem | None:
    path = chunk_path(group.path, array)
    expected = math.prod(array.chunk) * np.dtype(array.known.dtype).itemsize
    lost = f"the coordinate '{array.name}' is lost; copy it from a backup"
    if array.name in ("iterations", "repetitions_done"):
        lost = "it can be rebuilt"
    try:
        with open_regular(path) as file:
            found = os.fstat(file.fileno()).st_size
    except OSError as error:
        return Problem(path, plainly(error) if os.path.lexists(path) else "is missing", lost)
    if found == expected:
        return None
    return Problem(path, f"has {units.exact_bytes(found)}, expected {units.exact_bytes(expected)}", lost)


def file_problems(group: RunGroup) -> Iterator[Problem]:
    """Yields the problems that lengths and indices alone show; quick even for large runs."""
    root = Path(os.path.realpath(group.path))
    for array in group.arrays.values():
        if not array.known.sharded:
            file = chunk_path(group.path, array)
            if _behind_a_link(group.path, root, file):
                yield Problem(file, _LINKED, _unread(array))
            elif (problem := _whole_array_problem(group, array)) is not None:
                yield problem
            continue
        for size_index, shard in shards(group, array):
            if _behind_a_link(group.path, root, shard.path):
                yield Problem(shard.path, _LINKED, _unread(array))
            else:
                yield from _shard_problems(shard, _of_size(array, size_index))


_LINKED = "is reached through a symbolic link, so it lies outside the run"


def _unread(array: ArrayMetadata) -> str:
    return f"the array '{array.name}' cannot be read; replace the link with the folder itself"


def _behind_a_link(path: Path, real: Path, file: Path) -> bool:
    """True if a folder between the run and the file is a link. `real`: the run, with all links resolved."""
    folder = file.parent
    return Path(os.path.realpath(folder)) != real / folder.relative_to(path)


def _of_size(array: ArrayMetadata, index: int) -> str:
    """Returns words such as ` of message size 2 of 7`; none if there is only one size."""
    sizes = array.extent("size")
    return f" of message size {index + 1} of {sizes}" if sizes > 1 else ""


def _shard_problems(shard: Shard, of_size: str) -> Iterator[Problem]:
    lost = f"samples{of_size} are lost"
    try:
        elsewhere, beyond = shard.bad_chunks()
    except ValueError as error:
        yield Problem(shard.path, str(error), f"all {lost}")
        return
    bad = np.nonzero(elsewhere | beyond)[0]
    for chunk in bad[:_MOST_TOLD]:
        what = (
            f"the index gives a wrong place for chunk {chunk}"
            if elsewhere[chunk]
            else f"chunk {chunk} lies beyond the file's end"
        )
        yield Problem(shard.path, what, f"some {lost}", int(chunk))
    if len(bad) > _MOST_TOLD:
        yield Problem(
            shard.path, f"{len(bad) - _MOST_TOLD} further chunks are not where they must be", f"some {lost}"
        )
