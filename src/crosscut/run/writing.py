"""Writes whole runs: all cells at once, as the core lays them out (docs/reference/run-format.md, Storage).

Nothing is at the run's path before everything is on disk.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import google_crc32c
import numpy as np
from numpy.typing import NDArray

from crosscut.base.errors import CrosscutError, UsageError, plainly
from crosscut.run import replacing
from crosscut.run.format import (
    ARRAYS,
    CHECKSUM,
    SCHEMA_NAME,
    SCHEMA_VERSION,
    ArrayMetadata,
    chunk_path,
)

Arrays = Mapping[str, NDArray[Any]]
# Largest chunk of `message_seconds`, as in the core (core/src/store/layout.hpp).
_LARGEST_CHUNK_BYTES = 256 << 10


def write(path: Path, attributes: Mapping[str, object], arrays: Arrays, *, overwrite: bool) -> None:
    """Writes a run with raw samples. `arrays`: those of the format but the checksums, which are added.

    Raises UsageError if something is there already (with `overwrite`, if that is no run), CrosscutError if
    writing fails; then nothing has changed.
    """
    refuse(path, overwrite=overwrite)
    schema = {"name": SCHEMA_NAME, "version": SCHEMA_VERSION}
    named = " ".join(name for name in ("node", "peer", "bytes") if name in arrays)
    whole = {"schema": schema, "peers": "stored", "coordinates": named, **attributes}
    mark = os.urandom(4).hex()
    unfinished, replaced = (path.with_name(f".{path.name}.{mark}.{word}") for word in ("unfinished", "old"))
    try:
        try:
            _write_files(unfinished, whole, _with_checksums(arrays))
            if path.exists():
                path.rename(replaced)
            unfinished.rename(path)
        except BaseException:
            shutil.rmtree(unfinished, ignore_errors=True)
            if replaced.exists() and not path.exists():
                replaced.rename(path)
            raise
    except OSError as error:
        raise CrosscutError(f"cannot write {path}: {plainly(error)}") from error
    shutil.rmtree(replaced, ignore_errors=True)


def refuse(path: Path, *, overwrite: bool) -> None:
    """Raises UsageError if `write` would refuse the path."""
    if not os.path.lexists(path):
        return
    if not overwrite:
        raise UsageError(f"{path} exists; name another run, or replace it with --force")
    replacing.refuse(path)


def _with_checksums(arrays: Arrays) -> dict[str, NDArray[Any]]:
    """Returns all arrays in the order and with the types of the format, checksums added."""
    found = {
        name: np.ascontiguousarray(arrays[name], np.dtype(known.dtype).newbyteorder("<"))
        for name, known in ARRAYS.items()
        if name in arrays
    }
    sums = [_sums(found[name]) for name in sorted(found) if ARRAYS[name].samples]
    return found | {CHECKSUM: np.stack(sums, axis=-1)}


def _sums(samples: NDArray[Any]) -> NDArray[np.uint32]:
    """Returns [size, repetition, phase] the checksum of each cell's bytes."""
    cells = samples.reshape(math.prod(samples.shape[:3]), -1).view(np.uint8)
    return np.fromiter(map(google_crc32c.value, cells), "<u4", len(cells)).reshape(samples.shape[:3])


def _write_files(path: Path, attributes: Mapping[str, object], arrays: Arrays) -> None:
    cut = _cut(arrays["message_seconds"].shape)
    path.mkdir()
    metadata = {}
    for name, values in arrays.items():
        layout = _layout(name, values.shape, cut)
        metadata[name] = _described(layout)
        for size_index in range(len(values) if layout.inner else 1):
            content = _shard(layout, values[size_index]) if layout.inner else values.tobytes()
            _write(chunk_path(path, layout, size_index), content)
        _write(path / name / "zarr.json", _json(metadata[name]))
    group = {
        "zarr_format": 3, "node_type": "group", "attributes": attributes,
        "consolidated_metadata": {"kind": "inline", "must_understand": False, "metadata": metadata},
    }  # fmt: skip
    _write(path / "zarr.json", _json(group))


def _cut(shape: Sequence[int]) -> tuple[int, int]:
    """Returns the repetitions and the phases of a chunk."""
    _, repetitions, phases, ranks, slots = shape
    most = max(1, _LARGEST_CHUNK_BYTES // (8 * ranks * slots))
    if most < phases:
        return 1, -(-phases // -(-phases // most))
    return min(repetitions, most // phases), phases


def _layout(name: str, shape: tuple[int, ...], cut: tuple[int, int]) -> ArrayMetadata:
    known = ARRAYS[name]
    if not known.sharded:
        return ArrayMetadata(name, known, shape, shape, ())
    inner = (1, *cut, *shape[3:])
    return ArrayMetadata(
        name, known, shape, tuple(-(-s // i) * i for s, i in zip((1, *shape[1:]), inner, strict=True)), inner
    )


def _shard(layout: ArrayMetadata, values: NDArray[Any]) -> bytes:
    """Returns the file of one size: the index, then every chunk. `values`: [repetition, phase, …]."""
    padded = np.full(layout.chunk[1:], layout.known.fill, values.dtype)
    padded[tuple(slice(0, extent) for extent in values.shape)] = values
    (repetitions, phases), whole = layout.inner[1:3], padded.shape[2:]
    split = padded.reshape(padded.shape[0] // repetitions, repetitions, -1, phases, *whole)
    chunks = np.moveaxis(split, 2, 1).reshape(-1, repetitions, phases, *whole)
    index = np.empty((len(chunks), 2), "<u8")
    index[:, 1] = chunks[0].nbytes
    index[:, 0] = index.nbytes + np.arange(len(chunks)) * chunks[0].nbytes
    return index.tobytes() + chunks.tobytes()


def _codec(name: str, **configuration: object) -> dict[str, object]:
    return {"name": name, "configuration": configuration} if configuration else {"name": name}


def _described(layout: ArrayMetadata) -> dict[str, object]:
    known, fill = layout.known, layout.known.fill
    plain = _codec("bytes") if known.dtype == "uint8" else _codec("bytes", endian="little")
    codec = plain if not layout.inner else _codec(
        "sharding_indexed", chunk_shape=layout.inner, codecs=[plain],
        index_codecs=[_codec("bytes", endian="little")], index_location="start",
    )  # fmt: skip
    return {
        "zarr_format": 3, "node_type": "array", "shape": layout.shape, "dimension_names": known.dimensions,
        "data_type": known.dtype, "chunk_grid": _codec("regular", chunk_shape=layout.chunk),
        "chunk_key_encoding": _codec("default", separator="/"),
        "fill_value": "NaN" if math.isnan(fill) else int(fill), "codecs": [codec], "attributes": {},
        "storage_transformers": [],
    }  # fmt: skip


def _json(document: Mapping[str, object]) -> bytes:
    return (json.dumps(document, indent=2, allow_nan=False) + "\n").encode()


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("xb") as file:
        file.write(content)
        file.flush()
        with contextlib.suppress(OSError):  # some file systems cannot sync
            os.fsync(file.fileno())
