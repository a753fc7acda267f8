"""The arrays of a run for xarray: read on use, and only by this module.

No Zarr library opens a run: it would read any array in the folder with any codec named there, and some codecs
run code.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from xarray.backends import BackendArray
from xarray.core import indexing

from crosscut.base import memory
from crosscut.run.checksums import check_of
from crosscut.run.files import Box, read_rows, shards
from crosscut.run.format import CHECKSUM, ArrayMetadata, RunGroup

Key = tuple[Any, ...]
"""For each dimension a position, a slice or, for at most one dimension, an array of positions."""

_DIMENSIONS = ("size", "phase")
_COORDINATES = ("node", "peer", "bytes")
# Copies that commands make of the data they read: `show` of 131 MB of samples and status took 0.9 GB.
_COPIES = 5
_BYTES_AT_ONCE = 1 << 25


class StoredArray(BackendArray):
    """An array on disk that xarray indexes as if it were in memory; reads only the part asked for."""

    def __init__(self, group: RunGroup, array: ArrayMetadata) -> None:
        self._group = group
        self._array = array
        self.shape = array.shape
        self.dtype = np.dtype(array.known.dtype).newbyteorder("<")

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        return indexing.explicit_indexing_adapter(
            key, self.shape, indexing.IndexingSupport.OUTER_1VECTOR, self._get
        )

    def _get(self, key: Key) -> NDArray[np.generic]:
        for axis, part in enumerate(key):
            if not isinstance(part, int | slice):
                return self._apart(key, axis, np.asarray(part))
        self._hold(key)
        return self._stretch(key)

    def _hold(self, key: Key) -> None:
        """Raises UsageError if the part of the array takes too much memory."""
        cells = 1
        for part, extent in zip(key, self.shape, strict=True):
            if isinstance(part, slice):
                cells *= len(_hull(range(extent)[part]))
            elif not isinstance(part, int):
                cells *= len(part)
        memory.hold(
            cells * self.dtype.itemsize, f"{self._group.path}: the array '{self._array.name}'", _COPIES
        )

    def _apart(self, key: Key, axis: int, positions: NDArray[np.int64]) -> NDArray[np.generic]:
        """Reads `positions` along an axis, and nothing that lies between them."""
        self._hold(key)
        stretches = np.split(positions, np.nonzero(np.diff(positions) != 1)[0] + 1)
        parts = (slice(int(one[0]), int(one[-1]) + 1) for one in stretches if len(one))
        whole = [self._stretch((*key[:axis], part, *key[axis + 1 :])) for part in parts]
        if not whole:
            whole = [self._stretch((*key[:axis], slice(0), *key[axis + 1 :]))]
        return np.concatenate(whole, axis=sum(not isinstance(part, int) for part in key[:axis]))

    def _stretch(self, key: Key) -> NDArray[np.generic]:
        box: list[range] = []
        rest: list[int | slice] = []
        for part, extent in zip(key, self.shape, strict=True):
            if isinstance(part, slice):
                wanted = range(extent)[part]
                box.append(_hull(wanted))
                rest.append(slice(None, None, wanted.step))
            else:
                first = range(extent)[part]
                box.append(range(first, first + 1))
                rest.append(0)
        return self._read(tuple(box))[tuple(rest)]

    def _read(self, box: Box) -> NDArray[np.generic]:
        shape = tuple(map(len, box))
        if not self._array.known.sharded:
            rows = read_rows(self._group, self._array, box[0])
            return rows[(slice(None), *(slice(r.start, r.stop) for r in box[1:]))]
        values = np.full(shape, self._array.known.fill, self.dtype)
        for size_index, shard in shards(self._group, self._array, box[0]):
            check = check_of(self._group, shard, size_index)
            shard.read_box(box[1:], values[size_index - box[0].start], check)
        return values


def _hull(wanted: range) -> range:
    """Returns the range, without gaps, from the least position to the greatest."""
    if not wanted:
        return range(0)
    least, greatest = sorted((wanted[0], wanted[-1]))
    return range(least, greatest + 1)


def open_dataset(group: RunGroup) -> xr.Dataset:
    """Opens all arrays known to the format but the checksums, by name and dimension."""
    named = group.attributes.get("coordinates")
    words = named.split() if isinstance(named, str) else []
    variables = {
        name: xr.Variable(array.known.dimensions, _cached(StoredArray(group, array)))
        for name, array in group.arrays.items()
        if name != CHECKSUM
    }
    apart = {*_DIMENSIONS, *(name for name in _COORDINATES if name in words)}
    return xr.Dataset(
        {name: variable for name, variable in variables.items() if name not in apart},
        {name: variable for name, variable in variables.items() if name in apart},
        dict(group.attributes),
    )


def in_parts(array: xr.DataArray) -> Iterator[tuple[slice, NDArray[Any]]]:
    """Yields stretches of phases, and the values there: thousands of repetitions may not fit in memory."""
    phases = array.sizes["phase"]
    step = max(1, _BYTES_AT_ONCE // max(1, array.nbytes // max(1, phases)))
    for first in range(0, phases, step):
        part = slice(first, first + step)
        yield part, array.isel(phase=part).values


def _cached(stored: StoredArray) -> indexing.MemoryCachedArray:
    """Caches the array once all of it is used, as `xarray.open_dataset` does."""
    lazy: Any = indexing.LazilyIndexedArray(stored)
    return indexing.MemoryCachedArray(indexing.CopyOnWriteArray(lazy))  # type: ignore[no-untyped-call]
