"""A writer that is killed, or whose disk is full, loses at most the block in flight."""

from __future__ import annotations

import ctypes
import os
import random
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
from power_loss import expected_seconds  # of tools
from store_writer import crash_writer

from crosscut.run import fsck
from crosscut.run.format import MEASURED
from crosscut.run.repair import repair
from crosscut.run.run import Run

KILLS = 12
MODES = {"by-phases": [], "by-repetitions": ["many-repetitions"], "summaries": ["summaries"]}


@pytest.fixture(scope="module")
def writer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return crash_writer(tmp_path_factory.mktemp("build"))


def write(writer: Path, path: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([writer, path, *words], capture_output=True, text=True, check=False, timeout=120)


def check_all_measured_is_exact(path: Path, committed: list[str]) -> int:
    """Checks all measured cells. Returns their number."""
    assert fsck.check(path).problems == ()
    run = Run.open(path)
    measured = run.dataset["status"].values == MEASURED
    for size_index in range(len(run.sizes_bytes)):
        expected = expected_seconds(run, size_index)
        if run.summarised:
            there = measured[size_index].all(axis=0)
            median = run.dataset["message_summary"].isel(size=size_index).sel(statistic="median").values
            np.testing.assert_array_equal(median[there], np.median(expected, axis=0)[there])
        else:
            found = run.dataset["message_seconds"].isel(size=size_index).values
            np.testing.assert_array_equal(found[measured[size_index]], expected[measured[size_index]])
    for line in committed:
        size, repetition, repetition_end, phase, phase_end = map(int, line.split())
        assert measured[size, repetition:repetition_end, phase:phase_end].all(), "a finished block was lost"
    return int(measured.sum())


def files_of(path: Path) -> dict[str, bytes]:
    """Returns all files but the group's metadata, which record when the run was resumed."""
    files = (file for file in path.rglob("*") if file.is_file() and file != path / "zarr.json")
    return {str(file.relative_to(path)): file.read_bytes() for file in files}


def kill_midway(writer: Path, path: Path, chance: random.Random, *words: str) -> list[str]:
    """Kills a writer shortly after one of its first blocks. Returns the blocks reported as committed."""
    with subprocess.Popen([writer, path, *words], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(chance.randrange(3))]
        time.sleep(chance.uniform(0, 0.01))
        process.kill()
        lines += process.stdout.readlines()
    return [line for line in lines if line.endswith("\n")]


@pytest.mark.parametrize("mode", MODES)
def test_a_repeatedly_killed_writer_ends_with_the_same_bytes_as_an_undisturbed_one(
    writer: Path, tmp_path: Path, mode: str
) -> None:
    assert write(writer, tmp_path / "whole.zarr", *MODES[mode]).returncode == 0
    whole = files_of(tmp_path / "whole.zarr")
    chance = random.Random(mode)
    path, midway = tmp_path / "killed.zarr", 0
    for attempt in range(KILLS):
        resume = ["resume"] if path.exists() else []
        committed = kill_midway(writer, path, chance, *resume, *MODES[mode])
        if not (path / "zarr.json").exists():  # killed before the run existed: nothing was measured
            assert not committed
            if path.exists():
                path.rename(tmp_path / f"stillborn-{attempt}")
            continue
        for left in path.rglob("*.unfinished"):
            left.unlink()
        measured = check_all_measured_is_exact(path, committed)
        midway += 0 < measured < Run.open(path).dataset["status"].size
    assert midway >= 3, "the kills came too early or too late to show anything"
    finished = write(writer, path, *(["resume"] if path.exists() else []), *MODES[mode])
    assert finished.returncode == 0, finished.stderr
    check_all_measured_is_exact(path, finished.stdout.splitlines())
    assert files_of(path) == whole


def test_cells_that_repair_gave_up_are_measured_again_to_the_same_bytes(writer: Path, tmp_path: Path) -> None:
    for name in ("whole.zarr", "damaged.zarr"):
        assert write(writer, tmp_path / name).returncode == 0
    path = tmp_path / "damaged.zarr"
    os.truncate(path / "message_seconds/c/1/0/0/0/0", 1_000_000)
    (path / "rank_seconds/c/0/0/0/0").unlink()
    refused = write(writer, path, "resume")
    assert refused.returncode == 1
    assert "crosscut fsck" in refused.stderr
    repair(path)
    resumed = write(writer, path, "resume")
    assert resumed.returncode == 0
    assert 0 < len(resumed.stdout.splitlines()) < 18
    assert fsck.check(path).ok
    assert files_of(path) == files_of(tmp_path / "whole.zarr")


def test_a_full_disk_is_named_and_measurements_stay(writer: Path, tmp_path: Path, small_disk: Path) -> None:
    path = small_disk / "run.zarr"
    failed = write(writer, path)
    assert failed.returncode == 1
    assert "No space left on device" in failed.stderr
    assert str(path) in failed.stderr
    assert "--resume" in failed.stderr
    committed = failed.stdout.splitlines()
    assert committed
    check_all_measured_is_exact(path, committed)
    again = write(writer, path, "resume")
    assert again.returncode == 1
    check_all_measured_is_exact(path, committed)

    ctypes.CDLL(None).mount(b"none", os.fsencode(small_disk), b"tmpfs", 32, b"size=64m")  # MS_REMOUNT
    resumed = write(writer, path, "resume")
    assert resumed.returncode == 0, resumed.stderr
    assert write(writer, tmp_path / "whole.zarr").returncode == 0
    assert files_of(path) == files_of(tmp_path / "whole.zarr")


def test_a_disk_too_small_for_a_run_refuses_it_at_the_start(writer: Path, small_disk: Path) -> None:
    (small_disk / "ballast").write_bytes(bytes(3 << 20 - 0)[: (3 << 20) - 65536])
    failed = write(writer, small_disk / "run.zarr")
    assert failed.returncode == 1
    assert "No space left on device" in failed.stderr
    assert not failed.stdout
