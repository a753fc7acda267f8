"""A run in a lab records and shows how far its machine could be trusted, and leaves nothing behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from in_process import crosscut
from labs import crossbar, lab, needs_lab

from crosscut.lab import lifecycle
from crosscut.lab.faults import plant
from crosscut.lab.faults.fault import Fault
from crosscut.lab.watching import observer

pytestmark = [needs_lab, pytest.mark.usefixtures("own_labs")]
QUICK = ("--size", "100KB", "--repetitions", "6")


def recorded(run: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((run / "zarr.json").read_text())["attributes"]["trust"]
    return found


def watchers_of(root: Path) -> list[int]:
    """Returns the watchers started by commands with this folder of labs."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            is_one = b"crosscut.lab.watching.watch" in (process / "cmdline").read_bytes()
            if is_one and str(root).encode() in (process / "environ").read_bytes():
                found.append(int(process.name))
        except OSError:
            continue
    return found


@contextmanager
def all_cores_busy() -> Iterator[None]:
    """Several programs on each core, so that nice tests beside this one get next to nothing."""
    count = 4 * (os.cpu_count() or 1)
    spinners = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for spinner in spinners:
            spinner.kill()
            spinner.wait()


def test_every_session_of_a_run_adds_its_observations(tmp_path: Path, own_labs: Path) -> None:
    with lab(crossbar(tmp_path, 3)):
        words = ("run", "aapc", "--on", "lab:test", *QUICK, "--quiet")
        done = crosscut(*words, "--time-limit", "0.001", "--out", "run.zarr", folder=tmp_path)
        assert len(recorded(tmp_path / "run.zarr")) == 1, done.stderr
        done = crosscut("run", "--resume", "run.zarr", "--quiet", folder=tmp_path)
        assert done.returncode == 0, done.stderr
        assert not watchers_of(own_labs)
    first, second = recorded(tmp_path / "run.zarr")
    for trust in (first, second):
        assert trust["cores"] == os.cpu_count()
        assert trust["seconds"] > 0
        for which in ("reference_before", "reference_after"):
            assert trust[which]["nodes"] == ["n0000", "n0001"]
            assert trust[which]["bytes_per_second"] > 0
            assert trust[which]["round_trip_seconds"] > 0
    assert 0 <= second["cpu_busy_share"] <= second["cpu_busy_share_max"] <= 1
    assert crosscut("fsck", "run.zarr", folder=tmp_path).returncode == 0


def test_phases_on_a_busy_machine_are_marked_in_show_and_report(tmp_path: Path) -> None:
    with lab(crossbar(tmp_path, 3)), all_cores_busy():
        words = ("run", "aapc", "--on", "lab:test", "--size", "1MB", "--repetitions", "3", "--quiet")
        done = crosscut(*words, "--out", "run.zarr", folder=tmp_path)
        assert done.returncode == 0, done.stderr
    (trust,) = recorded(tmp_path / "run.zarr")
    assert trust["limited"] == [{"size": 1_000_000, "phases": [[1, 2]]}], trust
    shown = " ".join(crosscut("show", "run.zarr", folder=tmp_path).stdout.split())
    assert "cores of this machine were busy during every phase at 1 MB" in shown
    done = crosscut("report", "run.zarr", "--out", "page.html", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "cores of this machine were busy during every phase" in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_an_ended_run_leaves_no_watcher(number: signal.Signals, tmp_path: Path, own_labs: Path) -> None:
    words = ["run", "aapc", "--on", "lab:test", "--size", "1MB", "--repetitions", "10000", "--quiet"]
    complaint = tmp_path / "complaint"
    with lab(crossbar(tmp_path, 3)), complaint.open("w") as complained:
        process = subprocess.Popen(
            [sys.executable, "-m", "crosscut", *words],
            cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=complained,
        )  # fmt: skip
        deadline = time.monotonic() + 60
        while not watchers_of(own_labs):
            assert process.poll() is None, complaint.read_text()
            assert time.monotonic() < deadline
            time.sleep(0.02)
        process.send_signal(number)
        process.wait(timeout=60)
        while watchers_of(own_labs):
            assert time.monotonic() < deadline
            time.sleep(0.02)


def test_a_reference_pair_that_does_not_answer_is_reported_without_waiting(tmp_path: Path) -> None:
    with lab(crossbar(tmp_path, 2)) as record:
        plant.plant("test", Fault("dead", ("n0001",)))
        made = lifecycle.plan_of(record)
        assert set(observer.measure(record, made, (0, 1))) == {"error"}
