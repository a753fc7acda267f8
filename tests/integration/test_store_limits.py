"""Damaged runs, full disks and wrong command lines give a clear error and exit status, and lose nothing.

test_store_crash.py tests the store by itself; these are the same errors on the command line.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from measuring import check_whole, usable

from crosscut.base import core
from crosscut.cli import main
from crosscut.run import fsck
from crosscut.run.format import MEASURED
from crosscut.run.run import Run

if core.find_executable(core.CORE) is None:
    pytest.skip("crosscut-core is not built", allow_module_level=True)

SMALL = "run aapc -n 3 --backend null --size 100,3000 --repetitions 5 --quiet --out"
MS_REMOUNT, MNT_DETACH = 32, 2


@pytest.fixture
def run(quick_path: Path) -> Path:
    """A small whole run."""
    path = quick_path / "run.zarr"
    assert main([*SMALL.split(), str(path)]) == 0
    return path


def refused(words: list[str], capfd: pytest.CaptureFixture[str], *statuses: int) -> str:
    """Returns the standard error of a command that must fail with a clear message and no traceback."""
    capfd.readouterr()
    try:
        status = main(words)
    except SystemExit as stop:
        status = int(str(stop.code))
    said = capfd.readouterr()
    assert status in (statuses or (1, 2)), (words, said)
    assert said.err.strip(), words
    assert len(said.err.splitlines()) <= 12, said.err
    assert "Traceback" not in said.err
    assert "terminate called" not in said.err
    return said.err


def contents(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def edit_attributes(run: Path, change: Callable[[dict[str, Any]], None]) -> None:
    document = json.loads((run / "zarr.json").read_text())
    change(document["attributes"])
    (run / "zarr.json").write_text(json.dumps(document))


def newer(run: Path) -> None:
    edit_attributes(run, lambda attributes: attributes["schema"].update(version=99))


def of_another(run: Path) -> None:
    edit_attributes(run, lambda attributes: attributes["schema"].update(name="weather"))


def without_schema(run: Path) -> None:
    edit_attributes(run, lambda attributes: attributes.pop("schema"))


def broken_json(run: Path) -> None:
    text = (run / "zarr.json").read_text()
    (run / "zarr.json").write_text(text[: len(text) // 2])


def not_json(run: Path) -> None:
    (run / "zarr.json").write_bytes(b"\x89PNG\r\n\xff\xfe")


def truncated_samples(run: Path) -> None:
    os.truncate(run / "message_seconds/c/0/0/0/0/0", 40)


def truncated_status(run: Path) -> None:
    os.truncate(run / "status/c/1/0/0/0", 10)


def lost_samples(run: Path) -> None:
    (run / "rank_seconds/c/1/0/0/0").unlink()


def truncated_coordinate(run: Path) -> None:
    os.truncate(run / "peer/c/0/0/0", 5)


METADATA = [newer, of_another, without_schema, broken_json, not_json]
SAMPLES = [truncated_samples, truncated_status, lost_samples, truncated_coordinate]


@pytest.mark.parametrize("damage", METADATA + SAMPLES, ids=lambda damage: damage.__name__)
def test_every_command_refuses_a_damaged_run_and_changes_nothing(
    run: Path, capfd: pytest.CaptureFixture[str], damage: Callable[[Path], None]
) -> None:
    damage(run)
    before = contents(run)
    # Only fsck reads every sample, so only fsck notices measured cells without samples.
    for command in ("show", "export") if damage is not lost_samples else ():
        assert str(run) in refused([command, str(run)], capfd)
    assert str(run) in refused(["run", "--resume", str(run), "--quiet"], capfd)
    main(["fsck", str(run)])
    assert "Traceback" not in capfd.readouterr().err
    assert contents(run) == before


@pytest.mark.parametrize("damage", METADATA + SAMPLES, ids=lambda damage: damage.__name__)
def test_fsck_names_the_damage_and_fails(
    run: Path, capfd: pytest.CaptureFixture[str], damage: Callable[[Path], None]
) -> None:
    assert main(["fsck", str(run)]) == 0
    damage(run)
    capfd.readouterr()
    try:
        status = main(["fsck", str(run)])
    except SystemExit as stop:
        status = int(str(stop.code))
    said = capfd.readouterr()
    assert status == 1 if damage in SAMPLES else status in (1, 2)
    assert str(run) in said.out + said.err


@pytest.mark.parametrize("damage", SAMPLES[:3], ids=lambda damage: damage.__name__)
def test_cells_that_repair_gives_up_are_measured_again(run: Path, damage: Callable[[Path], None]) -> None:
    whole = contents(run)
    damage(run)
    assert main(["fsck", "--repair", str(run)]) == 0
    kept = (Run.open(run).dataset["status"] == MEASURED).values
    assert not kept.all()
    assert main(["run", "--resume", str(run), "--quiet"]) == 0
    check_whole(run)
    after = contents(run)
    assert {name for name in whole if after.get(name) != whole[name]} <= {"zarr.json"}


@pytest.mark.parametrize("backend", ["null", "tcp"])
def test_a_full_disk_is_named_measurements_stay_and_the_run_completes_with_more_room(
    small_disk: Path, capfd: pytest.CaptureFixture[str], backend: str
) -> None:
    run = small_disk / "run.zarr"
    # 5 MB of samples, of 100 short messages per phase.
    words = f"run loaded-pingpong -n 4 --backend {backend} --messages 100 --mix 8 --repetitions 1000 --quiet"
    said = refused([*words.split(), "--size", "8", "--out", str(run)], capfd, 1)
    assert "No space left on device" in said
    assert str(run) in said
    assert "--resume" in said
    report = fsck.check(run)
    assert report.problems == ()
    kept = Run.open(run).dataset.load()
    assert (kept["status"] == MEASURED).any()
    assert "No space left on device" in refused(["run", "--resume", str(run), "--quiet"], capfd, 1)

    ctypes.CDLL(None).mount(b"none", os.fsencode(small_disk), b"tmpfs", MS_REMOUNT, b"size=64m")
    assert main(["run", "--resume", str(run), "--quiet"]) == 0
    whole = check_whole(run).dataset
    measured = (kept["status"] == MEASURED).values
    assert (whole["rank_seconds"].values[measured] == kept["rank_seconds"].values[measured]).all()


def test_a_folder_without_write_permission_is_named(
    quick_path: Path, run: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Root may write anywhere except on file systems mounted read-only."""
    folder = quick_path / "closed"
    folder.mkdir()
    shutil.copytree(run, folder / "run.zarr")
    libc = ctypes.CDLL(None, use_errno=True)
    is_root = os.geteuid() == 0
    if is_root:
        bind, read_only = 4096, 1
        name = os.fsencode(folder)
        if libc.mount(name, name, None, bind, None) or libc.mount(
            None, name, None, bind | read_only | 32, None
        ):
            pytest.skip(f"cannot mount a folder read-only: {os.strerror(ctypes.get_errno())}")
    else:
        for path in [*folder.rglob("*"), folder]:
            path.chmod(path.stat().st_mode & ~0o222)
    try:
        before = contents(folder)
        said = refused([*SMALL.split(), str(folder / "new.zarr")], capfd, 1, 2)
        assert str(folder / "new.zarr") in said
        assert re.search("Read-only file system|Permission denied", said)
        assert re.search(
            "Read-only|Permission denied", refused(["run", "--resume", str(folder / "run.zarr")], capfd, 1, 2)
        )
        assert main(["show", str(folder / "run.zarr")]) == 0
        assert main(["fsck", str(folder / "run.zarr")]) == 0
        assert contents(folder) == before
    finally:
        if is_root:
            libc.umount2(os.fsencode(folder), MNT_DETACH)
        else:
            for path in [folder, *folder.rglob("*")]:
                path.chmod(path.stat().st_mode | 0o700)


HUGE_LIST = ",".join(f"{a}-{a + 1}" for a in range(0, 40_000, 2))


@pytest.mark.parametrize(
    "words",
    [
        "run aapc -n 0", "run aapc -n 1", "run aapc -n -3", "run aapc -n 1000000000", "run aapc -n 1e3",
        "run aapc -n 99999999999999999999", "run aapc -n two",
        "run aapc --size -1", "run aapc --size=-1", "run aapc --size 1e30",
        "run aapc --size 99999999999999999999", "run aapc --size ,", "run aapc --size 1KB,,2KB",
        "run aapc --size nan", "run aapc --size 1e400", "run aapc --size 9EB",
        "run aapc -n 4 --phases 5-2", "run aapc -n 4 --phases 0-1", "run aapc -n 4 --phases 3-9",
        "run aapc --phases x", "run aapc --phases 1-99999999999999999999",
        "run aapc --repetitions 0", "run aapc --repetitions 99999999999999999999",
        "run aapc --repetitions 1e9", "run aapc -n 4 --repetitions 9000000000000000000",
        "run aapc --interval -5%", "run aapc --interval nan",
        "run aapc --timeout 0s", "run aapc --timeout -1s", "run aapc --timeout 1e300",
        "run aapc --time-limit -1s", "run aapc --memory 0", "run aapc --memory 10 --size 1MB",
        "run aapc --iterations -1", "run aapc --warm-up -1", "run aapc --seed -1",
        "run aapc --sync sometimes", "run aapc --wait never", "run nosuch", "run aapc --backend nosuch",
        "run aapc --on nosuch", "run aapc --on hosts:", "run aapc --on hosts:/nonexistent",
        "run aapc --interface 300.1.1.1", "run aapc --interface nosuch0", "run aapc --interface 192.0.2.1",
        "run aapc --nosuch 3", "run aapc --out /nonexistent/folder/run.zarr",
        "run aapc --resume /nonexistent",
        "run pairs -n 2 --pairs 0-1,0-1,", "run pairs -n 2 --pairs 0-0", "run pairs -n 2 --pairs 0-5",
        "run pairs -n 2 --pairs 5..1-0..9", "run pairs -n 2 --pairs 0..999999999999-0..999999999999",
        "run pairs -n 2 --pairs @/nonexistent", f"run pairs -n 4 --pairs {HUGE_LIST}",
        "run pairwise -n 4 --stride 9", "run pairwise -n 4 --stride -1",
        "run random-pairwise -n 4 --random-phases 0", "run chain -n 4 --segment 0", "run chain --rails 65",
        "run streams -n 4 --streams 99999999999", "run streams -n 4 --senders 9",
        "run loaded-pingpong -n 4 --partners within", "run bisection -n 4 --half 0,1,2,3",
        "run congestor -n 2", "run aapc --backend null --null-rate 0", "run aapc --tcp-send-buffer -1",
        "run aapc --tcp-congestion-control nosuch", "run aapc --backend null --verify",
        "run aapc --backend null --null-latency -1s",
    ],
)  # fmt: skip
def test_senseless_options_give_one_clear_error_and_leave_nothing(
    quick_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], words: str
) -> None:
    monkeypatch.chdir(quick_path)
    given = words.split()
    if "-n" not in given:
        given += ["-n", "3"]
    refused(given, capfd)
    assert list(quick_path.iterdir()) == []


def test_a_huge_list_of_pairs_is_measured_like_any_other(quick_path: Path) -> None:
    """20,000 times the same two ranks, more than anybody would type."""
    pairs = quick_path / "pairs.txt"
    pairs.write_text("\n".join(["0-1"] * 20_000))
    run = quick_path / "run.zarr"
    words = f"run pairs -n 2 --backend null --size 1 --repetitions 1 --pairs @{pairs} --quiet --out {run}"
    try:
        status = main(words.split())
    except SystemExit as stop:
        status = int(str(stop.code))
    assert status in (0, 2)
    assert status == 2 or check_whole(run)


@pytest.mark.parametrize("tasks", [1, 3])
def test_a_launcher_that_starts_another_number_of_ranks_is_detected(
    quick_path: Path, capfd: pytest.CaptureFixture[str], tasks: int
) -> None:
    """As mpiexec does if its host file or allocation has another number."""
    if not usable("mpi"):
        pytest.skip("the backend mpi cannot be used here")
    from crosscut.places.launchers import find_launcher

    real = find_launcher("", core.load().mpi_executable)
    assert real is not None
    wrong = quick_path / "mpiexec"
    wrong.write_text(f'#!/bin/sh\nshift 2\nexec {real.program} -n {tasks} "$@"\n')
    wrong.chmod(0o755)
    run = quick_path / "run.zarr"
    words = f"run aapc -n 2 --backend mpi --no-pin --launcher {wrong} --timeout 5s --quiet --out {run}"
    said = refused(words.split(), capfd, 1)
    assert f"{tasks} ranks" in said
    assert not run.exists()
