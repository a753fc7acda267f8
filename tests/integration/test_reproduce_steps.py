"""Experiments that trace routes, compute on a node during messages, or use ranks on this machine."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from in_process import crosscut
from labs import FAST_ETHERNET, needs_lab

from crosscut.lab import state
from crosscut.lab.faults import computing
from crosscut.run.run import Run

WALK = """
title = "Routes"
source = "made for a test"
[[series]]
name = "routes"
network = "routed.toml"
quantity = "routes"
unit = "routes"
x = [0, 1, 2, 3]
"""
COMPUTING = """
title = "Computing"
source = "made for a test"
[lab]
repetitions = 24
"""
BESIDE = """
[[series]]
name = "{quantity}"
network = "routed.toml"
pattern = "routes"
parameters = {{ routes = "0-1" }}
message = "1500KB"
phases = [1]
quantity = "{quantity}"
unit = "share"
worker = "{worker}"
on = "lab"
"""
HERE = """
title = "Here"
source = "made for a test"
[[series]]
name = "by ranks"
pattern = "pingpong"
wait = "block"
ranks = [2, 4]
message = "1KB"
quantity = "time of all"
unit = "us"
on = "local"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "routed.toml").write_text(
        '[generator]\nkind = "meta-node"\nmeta_nodes = 3\nports = 4\nrate = "100 Mbit/s"\n'
        f'[routing]\nkind = "hosts"\n{FAST_ETHERNET}'
    )
    monkeypatch.setenv(state.VARIABLE, str(tmp_path / "labs"))
    return tmp_path


def rows(folder: Path, text: str, *words: str) -> list[dict[str, float]]:
    (folder / "it.toml").write_text(text)
    done = crosscut("reproduce", "./it.toml", "--out", "out", *words, folder=folder)
    assert done.returncode == 0, done.stderr
    found: list[dict[str, float]] = json.loads((folder / "out" / "result.json").read_text())["rows"]
    return found


@needs_lab
def test_as_many_routes_are_traced_as_computed(folder: Path) -> None:
    found = rows(folder, WALK)
    assert [row["emulated"] for row in found] == [row["simulated"] for row in found]
    assert sum(row["emulated"] for row in found) == 12 * 11
    assert found[3]["emulated"] == 0
    assert state.names() == []


@needs_lab
def test_a_worker_and_messages_together_are_compared_with_each_alone(folder: Path) -> None:
    both = [BESIDE.format(quantity=quantity, worker="n0002") for quantity in ("computing left", "rate left")]
    found = rows(folder, COMPUTING + "".join(both))
    # Wide bounds: the machine may be busy. A worker that did nothing, or never started, would have 0.
    assert all(0.05 < row["emulated"] < 20 for row in found)
    runs = sorted(path.name for path in (folder / "out").glob("*.zarr"))
    assert runs == ["computing-left-1-alone.zarr", "computing-left-1-worker.zarr"]  # measured once for both
    assert state.names() == []


@needs_lab
def test_a_worker_on_a_nonexistent_node_is_refused(folder: Path) -> None:
    (folder / "it.toml").write_text(COMPUTING + BESIDE.format(quantity="rate left", worker="n99"))
    done = crosscut("reproduce", "./it.toml", "--out", "out", folder=folder)
    assert done.returncode == 2
    assert "key 'worker': " in done.stderr
    assert "has no node n99" in done.stderr
    assert not (folder / "out").exists()
    assert "Traceback" not in done.stderr
    assert state.names() == []


def test_ranks_of_this_machine_are_measured_for_each_number_and_need_no_lab(folder: Path) -> None:
    found = rows(folder, HERE)
    assert [row["x"] for row in found] == [2, 4]
    assert all(row["here"] > 0 and row["emulated"] is None for row in found)
    ran = [Run.open(folder / "out" / f"by-ranks-{ranks}-ranks-local.zarr") for ranks in (2, 4)]
    assert [run.ranks for run in ran] == [2, 4]
    assert all(run.attributes["wait"] == "block" for run in ran)
    drawn = (folder / "out" / "picture.svg").read_text()
    assert "this machine" in drawn


def test_a_worker_counts_until_its_parent_is_gone(tmp_path: Path) -> None:
    file = tmp_path / "count"
    file.write_bytes(bytes(computing.COUNT.size))
    words = [sys.executable, "-m", "crosscut.lab.faults.computing", str(file)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as worker:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "computing\n"
        deadline = time.monotonic() + 60
        while computing.read(file) < 2 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert computing.read(file) >= 2
        assert worker.stdin is not None
        worker.stdin.close()
        assert worker.wait(timeout=60) == 0
