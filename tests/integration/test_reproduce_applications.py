"""Experiments with a workload instead of a pattern, and with streams that share a limit."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from in_process import crosscut
from labs import FAST_ETHERNET, needs_lab

from crosscut.lab import state
from crosscut.workloads import applications
from crosscut.workloads.applications import WorkloadError

WORKLOAD = """
title = "A data server"
source = "made for a test"
[[series]]
name = "it"
workload = "data-server"
options = "--array 128 --block 32 --tasks 32 --operations-per-byte {operations}"
base = {{ ranks = 2 }}
quantity = "time left"
unit = "share"
repetitions = 1
"""
ON_SIM = 'network = "two.toml"\nranks = [4]\nranks_per_host = 2\non = "sim"\n'
ON_LOCAL = 'ranks = 4\non = "local"\n'
STREAMS = """
title = "Streams through a trunk of two links"
source = "made for a test"
[lab]
repetitions = 3
[[series]]
name = "streams"
network = "tree.toml"
pattern = "streams"
parameters = { senders = "1,2", streams = "1,2,3", receiver-ranks = "6-11" }
message = "1MB"
lab_message = "400KB"
phases = [1, 6]
quantity = "joint rate"
unit = "MB/s"
calculated = [11.87, 23.74]
"""


def built() -> bool:
    try:
        applications.find_executable(applications.find(["data-server"])[0])
    except WorkloadError:
        return False
    return True


needs_workloads = pytest.mark.skipif(
    not built(), reason="no crosscut-data-server: pip install 'mpich>=5', then make"
)
needs_simgrid = pytest.mark.skipif(
    shutil.which("smpirun") is None, reason="SimGrid is not installed: apt install libsimgrid-dev"
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "two.toml").write_text(
        f'[generator]\nkind = "two-node"\nrate = "1 Mbit/s"\n[link]\nlatency = "1 us"\n{FAST_ETHERNET}'
    )
    (tmp_path / "tree.toml").write_text(
        '[generator]\nkind = "stacked-tree"\nleaves = 2\nhosts_per_leaf = 6\nrate = "100 Mbit/s"\n'
        f'uplink_rate = "200 Mbit/s"\n{FAST_ETHERNET}'
    )
    monkeypatch.setenv(state.VARIABLE, str(tmp_path / "labs"))
    return tmp_path


def reproduced(folder: Path, text: str, *words: str) -> dict[str, Any]:
    (folder / "it.toml").write_text(text)
    done = crosscut("reproduce", "./it.toml", "--out", "out", *words, folder=folder)
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads((folder / "out" / "result.json").read_text())
    return document


@needs_simgrid
def test_a_second_node_takes_longer_on_a_slow_simulated_network(folder: Path) -> None:
    # Half of the 8 KiB blocks now cross 1 Mbit/s: 70 ms each, and computing takes next to nothing.
    document = reproduced(folder, WORKLOAD.format(operations=1) + ON_SIM)
    (row,) = document["rows"]
    assert row["simulated"] > 5
    kept = json.loads((folder / "out" / "it-sim.json").read_text())
    assert [run["ranks"] for run in kept["turns"][0]] == [2, 4]
    assert all(run["verified"] for run in kept["turns"][0])


@needs_workloads
def test_on_this_machine_both_runs_of_a_share_are_kept(folder: Path) -> None:
    document = reproduced(folder, WORKLOAD.format(operations=500) + ON_LOCAL, "--repetitions", "2")
    (row,) = document["rows"]
    kept = json.loads((folder / "out" / "it-local.json").read_text())
    shares = sorted(turn[1]["seconds"] / turn[0]["seconds"] for turn in kept["turns"])
    assert row["here"] == pytest.approx(sum(shares) / 2)
    assert row["emulated"] is None


@needs_workloads
def test_a_series_that_its_workload_refuses_is_left_out_with_the_reason(folder: Path) -> None:
    text = (WORKLOAD.format(operations=1) + ON_LOCAL).replace("--array 128", "--array 16")
    (folder / "it.toml").write_text(text)
    done = crosscut("reproduce", "./it.toml", "--out", "out", folder=folder)
    assert "left out: it: data-server: --block 32: the array has 16 rows" in done.stderr
    assert "Traceback" not in done.stderr


@needs_lab
def test_the_joint_rate_of_streams_is_at_most_the_trunk_s(folder: Path) -> None:
    document = reproduced(folder, STREAMS, "--on", "both", "--dilate", "5")
    alone, crowd = document["rows"]
    assert [alone["simulated"], crowd["simulated"]] == pytest.approx([11.87, 23.74], rel=0.01)
    # However unevenly six streams share it, and however busy the machine; buckets pass a few more frames.
    assert 0 < crowd["emulated"] < 23.74 * 1.04
    assert document["quantities"] == {"streams": "joint rate"}
    assert state.names() == []
