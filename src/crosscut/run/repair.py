"""Makes a damaged run resumable: marks cells that cannot be read as unmeasured.

Samples that can be read do not change. As in the core, status is written last.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from crosscut.base import memory, units
from crosscut.base.errors import CrosscutError
from crosscut.run import fsck, lock
from crosscut.run.agreement import open_size, read_repetitions_done
from crosscut.run.files import MISSING, Shard, shards_of_size
from crosscut.run.folder import refuse_links, unfinished
from crosscut.run.format import SKIPPED, UNMEASURED, RunGroup, chunk_path, read_group, store_json


def repair(path: Path) -> list[str]:
    """Repairs a run; returns what was done, one line each. Raises CrosscutError or UsageError."""
    try:
        with lock.alone(path) if path.is_dir() else contextlib.nullcontext():
            return _repaired(path)
    except OSError as error:
        raise CrosscutError(f"cannot repair {error.filename or path}: {error.strerror}") from error


def _repaired(path: Path) -> list[str]:
    if path.is_dir():
        refuse_links(path)
    restored = _restore_root(path) if fsck.has_lost_root(path) else []
    group = read_group(path)
    kept = [*restored, *_remove_unfinished(group), *_write_metadata(group), *_write_counts(group)]
    sizes = range(group.status.extent("size"))
    lost = [line for size in sizes for line in _repair_size(group, size)]
    lost += _lower_counts(group)
    return [*kept, *lost, *(_reopen(group) if lost else [])]


def _restore_root(path: Path) -> list[str]:
    rebuilt, root = fsck.rebuilt(path), path / "zarr.json"
    done = []
    if root.exists():
        name = f"{path.name}.zarr.json.damaged"
        tried = itertools.chain([name], (f"{name}-{number}" for number in itertools.count(2)))
        kept = next(other for each in tried if not (other := path.with_name(each)).exists())
        root.replace(kept)
        done = [f"moved the damaged {root} to {kept}"]
    store_json(root, rebuilt)
    return [*done, f"wrote {root} from the arrays' own metadata; {fsck.ROOT_LOST}"]


def _remove_unfinished(group: RunGroup) -> Iterator[str]:
    for left in unfinished(group.path):
        left.unlink()
        yield f"removed {left}"


def _write_metadata(group: RunGroup) -> Iterator[str]:
    for problem in fsck.metadata_problems(group):
        problem.file.parent.mkdir(exist_ok=True)
        store_json(problem.file, group.inline[problem.file.parent.name])
        yield f"wrote {problem.file}"


def _write_counts(group: RunGroup) -> Iterator[str]:
    """Restores the length of `iterations` and `repetitions_done`. The core determines the first anew, and
    recounts the second."""
    for name in ("iterations", "repetitions_done"):
        array = group.arrays[name]
        path = chunk_path(group.path, array)
        expected = math.prod(array.shape) * 8
        if path.exists() and path.stat().st_size == expected:
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        memory.hold(expected, f"{path}: the array '{name}'")
        kept = _beginning(path, expected) if path.exists() else b""
        path.write_bytes(kept[: len(kept) // 8 * 8].ljust(expected, b"\0"))
        yield f"wrote {path}"


def _beginning(path: Path, most_bytes: int) -> bytes:
    with path.open("rb") as file:
        return file.read(most_bytes)


def _lower_counts(group: RunGroup) -> Iterator[str]:
    """Lowers counts of repetitions to those that the status records."""
    counts = read_repetitions_done(group)
    if counts is None:
        return
    lowered = counts.copy()
    for size_index, counted in enumerate(counts):
        recorded = open_size(group, size_index).recorded_repetitions(len(counted))
        lowered[size_index] = np.minimum(counted, recorded)
    if (lowered != counts).any():
        path = chunk_path(group.path, group.arrays["repetitions_done"])
        path.write_bytes(lowered.astype("<i8").tobytes())
        yield f"{path}: {units.count(int((lowered != counts).sum()), 'count')} lowered"


def _reopen(group: RunGroup) -> Iterator[str]:
    """Marks a complete run that now lacks something as stopped, so that it can be resumed."""
    if group.state != "complete":
        return
    document = {**group.document, "attributes": {**group.attributes, "state": "stopped"}}
    store_json(group.path / "zarr.json", document)
    yield f"the run is now stopped, no longer complete: continue with 'crosscut run --resume {group.path}'"


def _repair_size(group: RunGroup, size_index: int) -> Iterator[str]:
    for shard in shards_of_size(group, size_index):
        yield from _hide_bad_chunks(shard)
    size = open_size(group, size_index)
    forgotten = 0
    for chunk, status in size.status_chunks():
        unknown = np.asarray(status > SKIPPED)
        for bad in size.bad(chunk, status):
            unknown |= bad.cells
        _forget(size.status, chunk, unknown)
        forgotten += int(unknown.sum())
    if forgotten:
        yield f"size number {size_index + 1}: {units.count(forgotten, 'cell')} marked as unmeasured"


def _hide_bad_chunks(shard: Shard) -> Iterator[str]:
    if not shard.path.exists():
        return
    try:
        elsewhere, beyond = shard.bad_chunks()
    except ValueError:
        shard.path.unlink()
        yield f"removed {shard.path}, which had lost its index"
        return
    bad = elsewhere | beyond
    if bad.any():
        index = np.memmap(shard.path, dtype="<u8", mode="r+", shape=(shard.chunks, 2))
        index[bad] = MISSING
        index.flush()
        yield f"{shard.path}: {units.count(int(bad.sum()), 'chunk')} marked as missing"


def _forget(status: Shard, chunk: int, bad: NDArray[np.bool_]) -> None:
    if not bad.any():
        return
    shape = status.array.inner[1:]
    cells = np.memmap(status.path, dtype="u1", mode="r+", offset=status.offset(chunk), shape=shape)
    cells[bad.reshape(shape)] = UNMEASURED
    cells.flush()
