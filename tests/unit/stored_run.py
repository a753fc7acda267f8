"""Small runs made by zarr-python in the core's format; every sample's value encodes its place."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import google_crc32c
import numpy as np
import zarr
from zarr.codecs import BytesCodec, ShardingCodec

SIZES, REPETITIONS, PHASES, RANKS, SLOTS = (1000, 2000), 5, 7, 4, 2
_CUT = {"repetition": (2, 6), "phase": (7, 7)}  # chunk, shard
_CELL = ("size", "repetition", "phase", "rank")


def peers() -> np.ndarray:
    phase, rank, slot = np.ogrid[:PHASES, :RANKS, :SLOTS]
    return np.where((phase + rank + slot) % 5, (rank + phase + 1) % RANKS, -1).astype("<i4")


def seconds() -> np.ndarray:
    """[size, repetition, phase, rank, slot]"""
    shape = (len(SIZES), REPETITIONS, PHASES, RANKS, SLOTS)
    values = (np.arange(np.prod(shape), dtype=float).reshape(shape) + 1) * 1e-3
    return np.where(peers() >= 0, values, np.nan)


def _whole(
    group: zarr.Group, name: str, dimensions: tuple[str, ...], values: np.ndarray, fill: float = 0
) -> None:
    array = group.create_array(
        name, shape=values.shape, chunks=values.shape, dtype=values.dtype, fill_value=fill, compressors=None,
        filters=None, dimension_names=dimensions, config={"write_empty_chunks": True},
    )  # fmt: skip
    array[...] = values


def _sharded(
    group: zarr.Group, name: str, dimensions: tuple[str, ...], values: np.ndarray, fill: float
) -> None:
    cuts = [
        (1, 1) if d == "size" else _CUT.get(d, (n, n)) for d, n in zip(dimensions, values.shape, strict=True)
    ]
    codec = ShardingCodec(
        chunk_shape=tuple(inner for inner, _ in cuts), codecs=[BytesCodec(endian="little")],
        index_codecs=[BytesCodec(endian="little")], index_location="start",
    )  # fmt: skip
    array = zarr.create(
        store=group.store, path=name, shape=values.shape, chunks=tuple(shard for _, shard in cuts),
        dtype=values.dtype, fill_value=fill, codecs=[codec], dimension_names=dimensions, zarr_format=3,
    )  # fmt: skip
    array[...] = values


def _sums(samples: np.ndarray) -> np.ndarray:
    """Returns the checksums [size, repetition, phase] of an array of samples."""
    cells = samples.reshape(*samples.shape[:3], -1)
    return np.apply_along_axis(lambda cell: np.uint32(google_crc32c.value(cell.tobytes())), 3, cells)


def make_run(
    path: Path,
    *,
    measured_repetitions: int = REPETITIONS,
    state: str = "complete",
    peer: bool = True,
    checksums: bool = True,
) -> Path:
    """Writes a run of which the given repetitions were measured, of schema 1 if it has no checksums."""
    attributes = {
        "schema": {"name": "crosscut-run", "version": 3 if checksums else 1}, "state": state,
        "pattern": {"name": "sample"}, "job": {"pattern": "sample"}, "peers": "stored" if peer else "implied",
        "nodes": [{"name": "n0"}, {"name": "n1"}], "phase_labels": [f"stride {i + 1}" for i in range(PHASES)],
    }  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # zarr warns that consolidated metadata is an extension
        group = zarr.create_group(path, zarr_format=3, attributes=attributes)
        _whole(group, "size", ("size",), np.array(SIZES, "<i8"))
        _whole(group, "phase", ("phase",), np.arange(1, PHASES + 1, dtype="<i8"))
        if peer:
            _whole(group, "peer", ("phase", "rank", "slot"), peers(), -1)
        _whole(group, "node", ("rank",), np.arange(RANKS, dtype="<i4") // 2)
        credited = np.repeat(np.array(SIZES, "<f8")[:, None], PHASES, axis=1)
        _whole(group, "credited_bytes", ("size", "phase"), credited, np.nan)
        _whole(group, "iterations", ("size",), np.ones(len(SIZES), "<i8"))
        done = np.full((len(SIZES), PHASES), measured_repetitions, "<i8")
        _whole(group, "repetitions_done", ("size", "phase"), done)
        cells = seconds()[..., 0].shape
        there = np.arange(REPETITIONS)[None, :, None, None] < measured_repetitions
        messages = np.where(there[..., None], seconds(), np.nan).astype("<f8")
        _sharded(group, "message_seconds", (*_CELL, "slot"), messages, np.nan)
        slowest = np.nanmax(np.where(np.isnan(seconds()), 0, seconds()), axis=-1)
        slowest = np.where(there, slowest, np.nan).astype("<f8")
        _sharded(group, "rank_seconds", _CELL, slowest, np.nan)
        if checksums:
            sums = np.stack([_sums(messages), _sums(slowest)], axis=-1)
            _sharded(group, "checksum", (*_CELL[:3], "array"), sums, 0)
        _sharded(group, "status", _CELL, np.broadcast_to(there, cells).astype("u1"), 0)
        zarr.consolidate_metadata(path)
    return path


def change(run: Path, edit: Callable[[dict[str, Any]], object]) -> None:
    """Edits the metadata of all arrays, in the group's zarr.json."""
    document = json.loads((run / "zarr.json").read_text())
    edit(document["consolidated_metadata"]["metadata"])
    (run / "zarr.json").write_text(json.dumps(document))
