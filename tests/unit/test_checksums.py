"""A sample that changed on disk is never shown: readers refuse it, fsck names it, repair forgets it."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from stored_run import make_run

from crosscut.cli import main
from crosscut.run import fsck
from crosscut.run.checksums import check_of
from crosscut.run.files import Shard, shards
from crosscut.run.format import DamagedRun, read_group
from crosscut.run.repair import repair
from crosscut.run.run import Run

RUNS = Path(__file__).resolve().parents[1] / "golden" / "runs"
ARRAYS = [(path.name, name) for path in sorted(RUNS.glob("v3-*/")) for name in read_group(path).samples]
MESSAGES = "message_seconds/c/1/0/0/0/0"


def flip(file: Path, at: int, bit: int = 0) -> None:
    content = bytearray(file.read_bytes())
    content[at] ^= 1 << bit
    file.write_bytes(content)


def first_shard(run: Path, array: str) -> Shard:
    group = read_group(run)
    return next(shard for _, shard in shards(group, group.arrays[array]))


@pytest.mark.parametrize(("name", "array"), ARRAYS)
def test_one_changed_bit_in_any_array_of_samples_is_noticed(name: str, array: str, tmp_path: Path) -> None:
    run = shutil.copytree(RUNS / name, tmp_path / name)
    Run.open(run).dataset.load()
    shard = first_shard(run, array)
    flip(shard.path, shard.offset(0) + 3, bit=5)
    with pytest.raises(DamagedRun, match=rf"{array}/c/.*differ from their checksum; see 'crosscut fsck"):
        Run.open(run).dataset[array].load()
    assert main(["show", str(run)]) in (0, 1)  # 0: it needs no such sample
    (problem,) = fsck.check(run).problems
    assert problem.file == shard.path
    assert "cells that differ from their checksum" in problem.what
    repair(run)
    assert fsck.check(run).ok
    Run.open(run).dataset.load()


def test_other_arrays_and_other_cells_can_still_be_read(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run.zarr")
    flip(run / MESSAGES, 48 + 8)
    opened = Run.open(run)
    opened.dataset["rank_seconds"].load()
    opened.message_seconds(0).load()
    opened.dataset["message_seconds"].isel(size=1, repetition=slice(2, 5)).load()  # not the first chunk
    with pytest.raises(DamagedRun, match="samples of 4 cells in chunk 0 differ"):
        opened.dataset["message_seconds"].isel(size=1, repetition=1, phase=3).load()


@pytest.mark.parametrize("value", [-1e-9, 2.35e297, np.inf])
def test_impossible_times_are_noticed_in_runs_without_checksums(tmp_path: Path, value: float) -> None:
    run = make_run(tmp_path / "run.zarr", checksums=False)
    assert fsck.check(run).ok
    with (run / MESSAGES).open("r+b") as file:
        file.seek(48 + 8)
        file.write(np.float64(value).tobytes())
    (problem,) = fsck.check(run).problems
    assert problem.what == "chunk 0 has samples of 1 cells that have impossible values"
    with pytest.raises(DamagedRun, match="have impossible values"):
        Run.open(run).message_seconds(1).load()
    repair(run)
    assert np.isnan(Run.open(run).message_seconds(1).values[0, 0, 0]).all()
    assert main(["show", str(run)]) == 0


def test_samples_without_a_status_are_not_checked(tmp_path: Path) -> None:
    """Those of a block in flight when the writer died."""
    run = make_run(tmp_path / "run.zarr", measured_repetitions=3, state="running")
    flip(run / MESSAGES, 48 + 896 + 448 + 8)  # chunk 1 holds repetitions 2 and 3
    assert fsck.check(run).ok
    Run.open(run).dataset.load()


def test_a_cell_that_becomes_whole_while_it_is_read_is_not_called_damaged(tmp_path: Path) -> None:
    """Readers take the status first. A cell that is measured only afterwards is therefore not checked."""
    run = make_run(tmp_path / "run.zarr")
    group = read_group(run)
    shard = first_shard(run, "message_seconds")
    old = np.full(shard.array.inner[1:], np.nan)  # what was there before the writer wrote
    status = run / "status/c/0/0/0/0"
    whole = status.read_bytes()
    status.write_bytes(whole[:48] + b"\0" * len(whole[48:]))
    check = check_of(group, shard, 0)
    assert check is not None
    after = check(0)
    status.write_bytes(whole)
    after(old)
    with pytest.raises(DamagedRun):
        check(0)(old)
