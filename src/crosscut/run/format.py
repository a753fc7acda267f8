"""Parses and checks the metadata of a run: docs/reference/run-format.md as a table.

A zarr.json is untrusted until it has passed `read_group`.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crosscut.base import whole_file
from crosscut.base.errors import CrosscutError, UsageError, plainly
from crosscut.base.regular_file import open_regular
from crosscut.base.spelling import missing

SCHEMA_NAME = "crosscut-run"
SCHEMA_VERSION = 3
"""The newest version: 2 added phase summaries, 3 checksums and the skew of phases."""
LARGEST_METADATA_BYTES = 64 << 20
UNMEASURED, MEASURED, FAILED, SKIPPED = range(4)
STATISTICS = ("count", "minimum", "median", "p99", "maximum")

# The same limits as the core's when it writes (core/src/store/layout.cpp): extents first, then totals.
LARGEST: Mapping[str, int] = {
    "size": 4096, "repetition": 10**9, "phase": 1 << 32, "rank": 1 << 24, "slot": 1 << 24,
    "statistic": len(STATISTICS), "array": 8,
}  # fmt: skip
LARGEST_PHASE_BYTES = 1 << 32
"""Samples of one phase: 8 bytes per rank and slot."""
MOST_CHUNKS = 1 << 24
"""In one file."""

_RUNS_NAMED = 16

_CELL = ("size", "repetition", "phase", "rank")
_ROUTE = ("phase", "rank", "slot")
_WHOLE = ("rank", "slot", "statistic", "array")
CHECKSUM, SKEW = "checksum", "skew_seconds"


@dataclass(frozen=True)
class Known:
    """The format's definition of one array."""

    dimensions: tuple[str, ...]
    dtype: str
    fill: float = 0
    required: bool = False

    @property
    def sharded(self) -> bool:
        return self.dimensions[0] == "size" and not {"rank", "repetition"}.isdisjoint(self.dimensions)

    @property
    def samples(self) -> bool:
        """True for what was measured, as opposed to what is known about it."""
        return self.sharded and self.dtype not in ("uint8", "uint32")


ARRAYS: Mapping[str, Known] = {
    "size": Known(("size",), "int64", required=True),
    "phase": Known(("phase",), "int64", required=True),
    "peer": Known(_ROUTE, "int32", -1),
    "bytes": Known(_ROUTE, "int64", -1),
    "node": Known(("rank",), "int32"),
    "credited_bytes": Known(("size", "phase"), "float64", math.nan),
    "iterations": Known(("size",), "int64", required=True),
    "repetitions_done": Known(("size", "phase"), "int64", required=True),
    "message_seconds": Known((*_CELL, "slot"), "float64", math.nan),
    "rank_seconds": Known(_CELL, "float64", math.nan),
    "message_summary": Known(("size", *_ROUTE, "statistic"), "float64", math.nan),
    "rank_summary": Known(("size", "phase", "rank", "statistic"), "float64", math.nan),
    "compute_fraction": Known(_CELL, "float64", math.nan),
    "message_lost_bytes": Known((*_CELL, "slot"), "int64"),
    SKEW: Known(_CELL[:3], "float64", math.nan),
    "phase_message_summary": Known((*_CELL[:3], "statistic"), "float64", math.nan),
    "phase_rank_summary": Known((*_CELL[:3], "statistic"), "float64", math.nan),
    "phase_moved_bytes": Known(_CELL[:3], "int64"),
    "status": Known(_CELL, "uint8"),
    "phase_status": Known(_CELL[:3], "uint8"),
    CHECKSUM: Known((*_CELL[:3], "array"), "uint32"),
}
# A run holds its samples in one of these sets of arrays.
_SAMPLES = (
    ("message_seconds", "rank_seconds", "status"),
    ("message_summary", "rank_summary", "status"),
    ("phase_message_summary", "phase_rank_summary", "phase_moved_bytes", "phase_status"),
)


@dataclass(frozen=True)
class ArrayMetadata:
    name: str
    known: Known
    shape: tuple[int, ...]
    chunk: tuple[int, ...]
    """Shape of a file's contents."""
    inner: tuple[int, ...]
    """Shape of a chunk within a shard; empty if a file is one chunk."""

    def extent(self, dimension: str) -> int:
        return self.shape[self.known.dimensions.index(dimension)]


@dataclass(frozen=True)
class RunGroup:
    path: Path
    attributes: Mapping[str, object]
    arrays: Mapping[str, ArrayMetadata]
    document: Mapping[str, object]
    """The whole of zarr.json."""
    inline: Mapping[str, Any]
    """The arrays' metadata, as copied into zarr.json."""

    @property
    def state(self) -> str:
        state = self.attributes.get("state")
        return state if isinstance(state, str) else "unknown"

    @property
    def summaries(self) -> bool:
        """True if each sample summarises its repetitions."""
        return "message_summary" in self.arrays

    @property
    def phase_summaries(self) -> bool:
        """True if the run summarises each phase over its ranks, and has nothing about single ranks."""
        return "phase_status" in self.arrays

    @property
    def samples(self) -> tuple[str, ...]:
        """The arrays of samples, in the order of their checksums."""
        return tuple(sorted(name for name, array in self.arrays.items() if array.known.samples))

    @property
    def status(self) -> ArrayMetadata:
        """The array that tells which cells are measured: of ranks, or of whole phases."""
        return self.arrays["phase_status" if self.phase_summaries else "status"]


class DamagedRun(CrosscutError):
    """A run whose files do not hold what the format requires."""


def load_json(path: Path) -> Mapping[str, object]:
    """Reads one JSON object from a file of bounded size. Raises DamagedRun."""
    try:
        with open_regular(path) as file:
            if os.fstat(file.fileno()).st_size > LARGEST_METADATA_BYTES:
                raise DamagedRun(
                    f"{path} has more than {LARGEST_METADATA_BYTES >> 20} MiB; metadata is far smaller"
                )
            value = json.loads(file.read())
    except OSError as error:
        raise DamagedRun(f"{path}: {plainly(error)}") from error
    except (ValueError, RecursionError) as error:
        raise DamagedRun(f"{path}: {plainly(error)}") from error
    if not isinstance(value, dict):
        raise DamagedRun(f"{path}: it holds no JSON object")
    return value


def store_json(path: Path, document: Mapping[str, object]) -> None:
    """Replaces a file of metadata, or leaves it as it is. Raises OSError."""
    whole_file.write(path, (json.dumps(document, indent=2) + "\n").encode())


def _member(value: Mapping[str, object], path: Path, *keys: str) -> Mapping[str, object]:
    for key in keys:
        found = value.get(key)
        if not isinstance(found, dict):
            raise DamagedRun(
                f"{path}: member '{key}' is missing or is not an object; this is not a crosscut run, or it "
                "is damaged"
            )
        value = found
    return value


def _check_schema(attributes: Mapping[str, object], path: Path) -> None:
    schema = _member(attributes, path / "zarr.json", "schema")
    version = schema.get("version")
    if schema.get("name") != SCHEMA_NAME or not isinstance(version, int) or version < 1:
        raise UsageError(f"{path} is not a run of crosscut: its schema is {json.dumps(schema)[:100]}")
    if version > SCHEMA_VERSION:
        raise UsageError(
            f"{path} was written by a newer crosscut (schema version {version}; this one reads up to "
            f"{SCHEMA_VERSION}): upgrade crosscut to read it"
        )


def _extents(value: object) -> tuple[int, ...]:
    """Returns the extents if they are positive and their product fits an address space; otherwise empty."""
    if not isinstance(value, list) or not all(type(extent) is int and extent > 0 for extent in value):
        return ()
    return tuple(value) if math.prod(value) < 2**60 else ()


def _configuration(value: object, name: str) -> Mapping[str, object]:
    if not isinstance(value, dict) or value.get("name") != name:
        return {}
    found = value.get("configuration", {})
    return found if isinstance(found, dict) else {}


def _plain(codecs: object, dtype: str) -> bool:
    """True if values are stored as they are in memory, the lowest byte first."""
    wanted = {} if dtype == "uint8" else {"endian": "little"}
    if not isinstance(codecs, list) or len(codecs) != 1 or not isinstance(codecs[0], dict):
        return False
    return codecs[0].get("name") == "bytes" and codecs[0].get("configuration", {}) == wanted


def _rounded_up(extent: int, step: int) -> int:
    return -(-extent // step) * step


def _check_extents(known: Known, shape: tuple[int, ...]) -> None:
    for dimension, extent in zip(known.dimensions, shape, strict=True):
        if extent > (most := LARGEST[dimension]):
            raise ValueError(f"it has {extent:,} along '{dimension}'; a run has at most {most:,}")


def parse_array(name: str, metadata: object) -> ArrayMetadata:
    """Checks the metadata of one array against the format. Raises ValueError that says what is wrong."""
    known = ARRAYS[name]
    if not isinstance(metadata, dict):
        raise ValueError("no metadata")  # noqa: TRY004
    shape = _extents(metadata.get("shape"))
    chunk = _extents(_configuration(metadata.get("chunk_grid"), "regular").get("chunk_shape"))
    codecs = metadata.get("codecs")
    if metadata.get("dimension_names") != list(known.dimensions) or len(shape) != len(known.dimensions):
        raise ValueError(f"its dimensions are not {', '.join(known.dimensions)}")
    _check_extents(known, shape)
    if metadata.get("data_type") != known.dtype:
        raise ValueError(f"its type is not {known.dtype}")
    if not isinstance(codecs, list) or len(codecs) != 1 or len(chunk) != len(shape):
        raise ValueError("its chunks or codecs are not those of a run")
    if not known.sharded:
        if not _plain(codecs, known.dtype):
            raise ValueError("its values are not written as those of a run are")
        if chunk != shape:
            raise ValueError("it is not in one chunk")
        return ArrayMetadata(name, known, shape, chunk, ())
    return ArrayMetadata(name, known, shape, chunk, _parse_shards(known, codecs[0], shape, chunk))


def _parse_shards(
    known: Known, codec: object, shape: tuple[int, ...], chunk: tuple[int, ...]
) -> tuple[int, ...]:
    """Returns the shape of a chunk within a shard. Raises ValueError that says what is wrong."""
    sharding = _configuration(codec, "sharding_indexed")
    inner = _extents(sharding.get("chunk_shape"))
    if sharding.get("index_location") != "start" or not _plain(sharding.get("index_codecs"), "uint64"):
        raise ValueError("its shards have no plain index at the start")
    if not _plain(sharding.get("codecs"), known.dtype):
        raise ValueError("its values are not written as those of a run are")
    fits = len(inner) == len(shape) and all(i <= s for i, s in zip(inner, (1, *shape[1:]), strict=True))
    if not fits or chunk != (1, *map(_rounded_up, shape[1:], inner[1:])):
        raise ValueError("its chunks do not tile one file a size")
    if math.prod(chunk) // math.prod(inner) > MOST_CHUNKS:
        raise ValueError(f"it has more than {MOST_CHUNKS:,} chunks a file")
    if any(c != s for d, c, s in zip(known.dimensions, inner, shape, strict=True) if d in _WHOLE):
        raise ValueError("its chunks do not hold all ranks")
    return inner


def _check_together(arrays: Mapping[str, ArrayMetadata], path: Path) -> None:
    extents: dict[str, tuple[int, str]] = {"statistic": (len(STATISTICS), "the format")}
    for array in arrays.values():
        for dimension, extent in zip(array.known.dimensions, array.shape, strict=True):
            other, owner = extents.setdefault(dimension, (extent, f"array '{array.name}'"))
            if extent != other:
                raise DamagedRun(
                    f"{path}/zarr.json is damaged: '{array.name}' has {extent} along '{dimension}', "
                    f"{owner} {other}"
                )
    phase_bytes = 8 * math.prod(extents.get(dimension, (1, ""))[0] for dimension in ("rank", "slot"))
    if phase_bytes > LARGEST_PHASE_BYTES:
        raise DamagedRun(
            f"{path}/zarr.json is damaged: a phase has {phase_bytes:,} bytes of samples; a run has at most "
            f"{LARGEST_PHASE_BYTES:,}"
        )
    for dimension in ("repetition", "phase"):
        cut = {a.inner[a.known.dimensions.index(dimension)] for a in arrays.values()
               if a.inner and dimension in a.known.dimensions}  # fmt: skip
        if len(cut) > 1:
            raise DamagedRun(f"{path}/zarr.json is damaged: arrays are not cut at the same {dimension}s")
    missing = [name for name, known in ARRAYS.items() if known.required and name not in arrays]
    kept = max(_SAMPLES, key=lambda names: sum(name in arrays for name in names))
    missing += [name for name in kept if name not in arrays]
    if missing:
        raise DamagedRun(f"{path}: the run has no array '{missing[0]}'")
    samples = sum(array.known.samples for array in arrays.values())
    if CHECKSUM in arrays and arrays[CHECKSUM].extent("array") != samples:
        raise DamagedRun(
            f"{path}/zarr.json is damaged: '{CHECKSUM}' has {arrays[CHECKSUM].extent('array')} along "
            f"'array', but the run has {samples} arrays of samples"
        )
    if "phase_status" in arrays and "status" in arrays:
        raise DamagedRun(
            f"{path} is damaged: it has both 'status' and 'phase_status', but a run has only one"
        )


def _no_run(path: Path) -> str:
    """Says why a folder is not a run, since folders of runs are easily taken for one."""
    runs = runs_in(path)
    if not runs:
        if any((path / name).is_dir() for name in ARRAYS):
            return (
                f"{path} is not a readable run: it holds arrays of a run, but zarr.json is missing; "
                f"see 'crosscut fsck {path}'"
            )
        return f"{path} is not a run: it has no zarr.json"
    more = f" and {len(runs) - _RUNS_NAMED} more" if len(runs) > _RUNS_NAMED else ""
    named = ", ".join(map(str, runs[:_RUNS_NAMED]))
    return f"{path} is not a run but a folder of runs; name one of them: {named}{more}"


def runs_in(directory: Path) -> list[Path]:
    """Returns the runs that lie directly in a directory."""
    # The arrays of a run have a zarr.json of their own.
    return sorted(f.parent for f in directory.glob("*/zarr.json") if f.parent.name not in ARRAYS)


def read_group(path: Path) -> RunGroup:
    """Reads a run's metadata. Raises UsageError if it is no run or too new, DamagedRun if it is damaged."""
    if not path.is_dir():
        other = "it is a file, and a run is a directory"
        if path.suffix == ".toml":
            other += f"; if it describes a network: crosscut network show {path}"
        raise UsageError(f"{path}: {other if path.exists() else missing(path, 'directory')}")
    if not (path / "zarr.json").exists():
        raise UsageError(_no_run(path))
    document = load_json(path / "zarr.json")
    attributes = _member(document, path / "zarr.json", "attributes")
    _check_schema(attributes, path)
    found = _member(document, path / "zarr.json", "consolidated_metadata", "metadata")
    arrays = {}
    for name in ARRAYS.keys() & found.keys():
        try:
            arrays[name] = parse_array(name, found[name])
        except ValueError as error:
            raise DamagedRun(f"{path}/zarr.json: array '{name}': {plainly(error)}") from error
    _check_together(arrays, path)
    known = {name: arrays[name] for name in ARRAYS if name in arrays}
    return RunGroup(path, attributes, known, document, found)


def chunk_path(path: Path, array: ArrayMetadata, size_index: int = 0) -> Path:
    """Returns the file of one size of a sharded array, or the only file of any other array."""
    return path.joinpath(array.name, "c", str(size_index), *["0"] * (len(array.shape) - 1))
