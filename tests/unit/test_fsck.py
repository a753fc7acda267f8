"""fsck finds each kind of damage, reports the loss, and repairs it so that only lost cells are measured."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from stored_run import PHASES, RANKS, SIZES, make_run

from crosscut.base.errors import CrosscutError, UsageError
from crosscut.cli import main
from crosscut.run import fsck
from crosscut.run.repair import repair
from crosscut.run.run import Run

CELLS = len(SIZES) * 5 * PHASES * RANKS
MESSAGES = "message_seconds/c/1/0/0/0/0"
STATUS = "status/c/0/0/0/0"
SUMS = "checksum/c/1/0/0/0"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return make_run(tmp_path / "run.zarr")


def truncate(path: Path, length: int) -> None:
    os.truncate(path, length if length >= 0 else path.stat().st_size + length)


def overwrite(path: Path, offset: int, content: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(content)


def test_a_whole_run_has_no_problem_and_its_cells_are_counted(path: Path) -> None:
    report = fsck.check(path)
    assert report.ok
    assert report.notes == ()
    assert report.cells == {"unmeasured": 0, "measured": CELLS, "failed": 0, "skipped": 0}


def test_a_killed_run_is_named_as_such_and_is_not_damaged(tmp_path: Path) -> None:
    path = make_run(tmp_path / "run.zarr", measured_repetitions=2, state="running")
    report = fsck.check(path)
    assert report.ok
    assert "was killed" in report.notes[0]
    assert "--resume" in report.notes[0]
    assert report.cells["measured"] == CELLS * 2 // 5


def test_a_lost_root_is_rebuilt_from_the_arrays_and_samples_are_read_again(path: Path) -> None:
    samples = Run.open(path).message_seconds(1).values
    (path / "zarr.json").unlink()
    report = fsck.check(path)
    assert [problem.what for problem in report.problems] == ["is lost"]
    assert "--repair" in report.problems[0].lost
    assert "pattern, job and hosts are lost" in repair(path)[0]
    again = Run.open(path)
    np.testing.assert_array_equal(again.message_seconds(1).values, samples)
    assert again.attributes["state"] == "recovered"
    assert fsck.check(path).ok
    assert main(["show", str(path)]) == 0


def test_a_root_that_is_not_json_is_kept_beside_the_run_and_rebuilt(path: Path) -> None:
    (path / "zarr.json").write_text("{", encoding="utf-8")
    assert "not valid JSON" in str(fsck.check(path).problems[0])
    repair(path)
    assert fsck.check(path).ok
    (path / "zarr.json").write_bytes(b"\xff")
    repair(path)
    kept = sorted(one.name for one in path.parent.glob("*damaged*"))
    assert kept == [f"{path.name}.zarr.json.damaged", f"{path.name}.zarr.json.damaged-2"]


def test_a_lost_root_with_a_damaged_array_is_not_rebuilt(path: Path) -> None:
    (path / "zarr.json").unlink()
    (path / "status" / "zarr.json").write_text("{")
    report = fsck.check(path)
    assert "backup" in report.problems[0].lost
    with pytest.raises(CrosscutError, match="status"):
        repair(path)
    assert not (path / "zarr.json").exists()


def test_a_run_being_written_is_not_called_killed_nor_repaired(tmp_path: Path) -> None:
    path = make_run(tmp_path / "run.zarr", state="running")
    writer = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(writer, fcntl.LOCK_EX)
        assert fsck.check(path).notes == ("the run is being written now",)
        with pytest.raises(UsageError, match="being written"):
            repair(path)
    finally:
        os.close(writer)


NAN = np.float64("nan").tobytes()
# How to damage a run, fsck's message, and the number of cells that repairing must give up.
DAMAGES: dict[str, tuple[Callable[[Path], object], str, int]] = {
    "last chunk cut": (lambda p: truncate(p / MESSAGES, -1), "beyond the file's end", 1 * PHASES * RANKS),
    "index cut": (lambda p: truncate(p / MESSAGES, 20), "shorter than its own index", 5 * PHASES * RANKS),
    "shard gone": (lambda p: (p / MESSAGES).unlink(), "lacks chunk 0", 5 * PHASES * RANKS),
    "entry gone": (lambda p: overwrite(p / MESSAGES, 16, b"\xff" * 16), "lacks chunk 1", 2 * PHASES * RANKS),
    "entry wrong": (lambda p: overwrite(p / MESSAGES, 16, b"\0"), "a wrong place", 2 * PHASES * RANKS),
    # Behind the index: repetition 0, phase 0, rank 0, slot 1 (slot 0 has no message there).
    "sample gone": (lambda p: overwrite(p / MESSAGES, 48 + 8, NAN), "no samples for 1", RANKS),
    "sample changed": (lambda p: overwrite(p / MESSAGES, 48 + 8, b"\x01"), "4 cells that differ", RANKS),
    "checksum changed": (lambda p: overwrite(p / SUMS, 48, b"\x01\x02"), "cells that differ", RANKS),
    "checksums gone": (lambda p: (p / SUMS).unlink(), "lacks chunk 0", 5 * PHASES * RANKS),
    "status wrong": (lambda p: overwrite(p / STATUS, 48, b"\x09"), "an unknown status code", 1),
    "status cut": (lambda p: truncate(p / STATUS, 40), "shorter than its own index", 5 * PHASES * RANKS),
    "status gone": (lambda p: (p / STATUS).unlink(), "fewer repetitions than", 5 * PHASES * RANKS),
    "left over": (lambda p: (p / "zarr.json.unfinished").touch(), "left by a writer that was killed", 0),
    "array metadata": (lambda p: (p / "peer/zarr.json").write_text("{}"), "differs from the copy", 0),
    "array metadata gone": (lambda p: (p / "peer/zarr.json").unlink(), "no such file", 0),
    "counts cut": (lambda p: truncate(p / "repetitions_done/c/0/0", 9), "has 9 bytes", 0),
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGES)
def test_damage_is_named_and_repairing_gives_up_only_damaged_cells(path: Path, name: str) -> None:
    damage, words, given_up = DAMAGES[name]
    before = Run.open(path).message_seconds(0).values
    damage(path)
    report = fsck.check(path)
    assert [problem for problem in report.problems if words in str(problem)], report.problems
    assert repair(path)
    after = fsck.check(path)
    assert after.ok, after.problems
    assert after.state == ("stopped" if given_up else "complete")
    assert after.cells["unmeasured"] == given_up
    assert after.cells["measured"] == CELLS - given_up
    if "status" not in name:
        np.testing.assert_array_equal(Run.open(path).message_seconds(0).values, before)


def test_a_lost_coordinate_is_reported_and_left_alone(path: Path) -> None:
    (path / "peer/c/0/0/0").unlink()
    assert "backup" in str(fsck.check(path).problems[0])
    repair(path)
    assert not fsck.check(path).ok


def test_every_file_may_vanish_or_be_cut_anywhere_without_a_crash(path: Path) -> None:
    for file in sorted(file for file in path.rglob("*") if file.is_file()):
        content = file.read_bytes()
        for length in (None, 0, 1, 9, len(content) - 2):
            if length is None:
                file.unlink()
            else:
                file.write_bytes(content[:length])
            assert not fsck.check(path).ok, (file, length)
            file.write_bytes(content)


def test_the_command_informs_scripts_by_status_and_json(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fsck", str(path)]) == 0
    assert f"intact: {CELLS} of {CELLS} cells measured" in capsys.readouterr().out
    truncate(path / MESSAGES, -1)
    assert main(["fsck", "--json", str(path)]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert answer["ok"] is False
    assert answer["problems"][0]["file"].endswith(MESSAGES)
    assert main(["fsck", "--repair", str(path)]) == 0
    assert main(["fsck", str(path / "nowhere")]) == 2
