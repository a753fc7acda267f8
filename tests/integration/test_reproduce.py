"""`crosscut reproduce`: a small experiment on the simulator and in its own lab."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from in_process import crosscut
from labs import FAST_ETHERNET, needs_lab

from crosscut.lab import state

EXPERIMENT = """
title = "Three pairs through a trunk of two links"
source = "made for a test"
[lab]
repetitions = 3
[aim]
worst = 0.2
[[series]]
name = "over the trunk"
network = "tree.toml"
pattern = "pairs"
parameters = { pairs = "0..2-3..5", cumulative = true }
message = "1MB"
lab_message = "300KB"
phases = [1, 3]
quantity = "median rate"
unit = "MB/s"
published = [11.87, 3.96]
[[series]]
name = "all of it"
network = "tree.toml"
pattern = "pairs"
parameters = { pairs = "0..2-3..5" }
message = "1MB"
lab_message = "300KB"
quantity = "total seconds"
unit = "s"
published = [0.2526]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "small.toml").write_text(EXPERIMENT)
    (tmp_path / "tree.toml").write_text(
        '[generator]\nkind = "stacked-tree"\nleaves = 2\nhosts_per_leaf = 3\nrate = "100 Mbit/s"\n'
        f'uplink_rate = "100 Mbit/s"\n{FAST_ETHERNET}'
    )
    monkeypatch.setenv(state.VARIABLE, str(tmp_path / "labs" / "here"))
    return tmp_path


def result(folder: Path) -> dict[str, list[dict[str, float]]]:
    found: dict[str, list[dict[str, float]]] = json.loads((folder / "out" / "result.json").read_text())
    return found


def test_simulated_figures_stand_next_to_published_ones(folder: Path) -> None:
    done = crosscut("reproduce", "./small.toml", "--on", "sim", "--out", "out", folder=folder)
    assert done.returncode == 0, done.stderr
    rows = result(folder)["rows"]
    assert [row["simulated"] for row in rows] == pytest.approx([11.87, 3.955, 0.2528], rel=1e-3)
    assert all(row["emulated"] is None for row in rows)
    assert "met" in done.stdout
    assert (folder / "out" / "over-the-trunk-sim.zarr" / "zarr.json").is_file()
    assert (folder / "out" / "over-the-trunk-sim-2.zarr" / "zarr.json").is_file()
    assert "<svg" in (folder / "out" / "picture.svg").read_text()


@needs_lab
def test_emulated_figures_are_scaled_to_the_paper_s_network(folder: Path) -> None:
    words = ["reproduce", "./small.toml", "--on", "lab", "--dilate", "5", "--out", "out"]
    done = crosscut(*words, folder=folder)
    assert done.returncode == 0, done.stderr
    rows = result(folder)["rows"]
    # Wide bounds: the machine may be busy. Unscaled figures would be off by a factor of 5 or more.
    assert [row["emulated"] for row in rows] == pytest.approx([11.8, 3.9, 0.256], rel=0.4)
    assert state.names() == []


@needs_lab
def test_an_interrupted_reproduction_leaves_no_lab(folder: Path) -> None:
    words = ["reproduce", "./small.toml", "--on", "lab", "--dilate", "1000", "--out", "out"]
    process = subprocess.Popen(
        [sys.executable, "-m", "crosscut", *words], cwd=folder, stderr=subprocess.PIPE, env=os.environ
    )
    deadline = time.monotonic() + 60
    while not (folder / "out" / "over-the-trunk-lab.zarr").exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)  # at this rate a block takes minutes
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert f"interrupted; what was measured is in {folder / 'out'}\n" in said.decode()
    assert state.names() == []


def test_a_mistake_in_the_file_is_one_line_without_a_traceback(folder: Path) -> None:
    (folder / "small.toml").write_text(EXPERIMENT.replace("median rate", "mediocre rate"))
    done = crosscut("reproduce", "./small.toml", "--on", "sim", folder=folder)
    assert done.returncode == 2
    assert "[[series]] 1, key 'quantity': 'mediocre rate' is unknown" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_folder_with_something_in_it_is_not_written_to(folder: Path) -> None:
    (folder / "out").mkdir()
    (folder / "out" / "mine").touch()
    done = crosscut("reproduce", "./small.toml", "--on", "sim", "--out", "out", folder=folder)
    assert done.returncode == 2
    assert "already exists and is not empty" in done.stderr


@pytest.mark.parametrize("on", ["sim", pytest.param("lab", marks=needs_lab)])
def test_nonexistent_phases_leave_neither_lab_nor_folder(folder: Path, on: str) -> None:
    (folder / "small.toml").write_text(EXPERIMENT.replace("[1, 3]", "[1, 99]"))
    done = crosscut("reproduce", "./small.toml", "--on", on, "--out", "out", folder=folder)
    assert done.returncode == 2
    assert "small.toml:15: [[series]] 1, key 'phases': there is no phase 99" in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (folder / "out").exists()
    assert state.names() == []


def test_a_whole_paper_is_simulated_into_one_page(folder: Path) -> None:
    done = crosscut("reproduce", "salmon1998", "--quick", "--out", "all", folder=folder)
    assert done.returncode == 0, done.stderr
    page = (folder / "all" / "report.html").read_text()
    assert page.count("data:image/svg+xml") == len(list(folder.glob("all/*/*.svg"))) > 2
    assert "salmon-forwarding is left out: it runs only on lab." in page
    assert "Traceback" not in page + done.stderr
    results = json.loads((folder / "all" / "result.json").read_text())
    assert {one["experiment"] for one in results["experiments"]} >= {"salmon-routes", "salmon-loaded"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["small.toml", "--quick"], "--quick: for a whole paper"),
        (["--list", "--on", "sim"], "--on: for an experiment to repeat, not for a list"),
        (["--list", "kurman2003"], "there is no such paper; did you mean kurmann2003?"),
    ],
)
def test_options_that_do_not_go_together_are_refused(folder: Path, words: list[str], said: str) -> None:
    done = crosscut("reproduce", *words, folder=folder)
    assert done.returncode == 2
    assert said in done.stderr
