"""The command line with the real core: processes that measure, runs on disk, and their reports."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import in_process
import pytest

from crosscut.base.core import CORE, find_executable

pytestmark = pytest.mark.skipif(find_executable(CORE) is None, reason="crosscut-core is not built")

LIMIT_SECONDS = 120
Crosscut = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def crosscut(tmp_path: Path) -> Crosscut:
    """Runs `crosscut WORDS` in an empty folder."""

    def run(words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return in_process.crosscut(
            *words.split(), folder=tmp_path, environment={"COLUMNS": "100"} | environment
        )

    return run


@pytest.fixture
def started(tmp_path: Path) -> Crosscut:
    """The same in its own process."""

    def run(words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "crosscut", *words.split()], cwd=tmp_path, capture_output=True, text=True,
            env=os.environ | {"COLUMNS": "100", "PYTHONIOENCODING": "utf-8"} | environment,
            timeout=LIMIT_SECONDS, check=False,
        )  # fmt: skip

    return run


def good(done: subprocess.CompletedProcess[str]) -> str:
    """Returns the standard output of a command that must have succeeded."""
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout


def attributes(run: Path) -> Any:
    return json.loads((run / "zarr.json").read_text())["attributes"]


def test_run_works_without_options_and_show_draws_it(started: Crosscut, tmp_path: Path) -> None:
    said = good(started("run aapc -n 4 --size 1MB"))
    (run,) = tmp_path.glob("aapc-tcp-*.zarr")
    assert said.splitlines()[-1] == f"show it:  crosscut show {run.name}"
    assert "4 ranks, 3 phases" in said
    shown = good(started(f"show {run.name}"))
    for section in ("Rate by phase", "Routes by rate", "formula", "skew", "20 repetitions"):
        assert section in shown
    assert "Slowest routes" in shown or "No route is more than 5 % slower" in shown
    assert re.search(r"\d [MG]B/s \[[\d.,]+ – [\d.,]+\]", shown)
    assert "\x1b" not in shown  # no colours in a pipe
    good(started(f"show {run.name}", PYTHONIOENCODING="ascii")).encode("ascii")


def test_json_is_one_object_and_progress_stays_on_standard_error(started: Crosscut) -> None:
    done = started("run pairwise -n 4 --size 1KB,100KB --repetitions 6 --out p.zarr --json")
    answer = json.loads(good(done))
    assert [size["size_bytes"] for size in answer["sizes"]] == [1000, 100_000]
    assert answer["state"] == "complete"
    assert all(phase["bytes_per_second"]["median"] > 0 for phase in answer["sizes"][1]["phases"])
    assert "crosscut: pairwise" in done.stderr
    again = json.loads(good(started("show p.zarr --json")))
    assert again["sizes"] == answer["sizes"]


@pytest.mark.parametrize(
    "pattern", ["pingpong --maximum 100KB", "loaded-pingpong", "congestor", "chain --size 1MB"]
)
def test_every_kind_of_report_is_drawn_from_a_real_run(crosscut: Crosscut, pattern: str) -> None:
    good(crosscut(f"run {pattern} -n 4 --repetitions 6 --quiet --out r.zarr"))
    for columns in ("50", "120"):
        shown = good(crosscut("show r.zarr", COLUMNS=columns))
        assert max(map(len, shown.splitlines())) <= int(columns)
        assert re.search(r"\d (ns|µs|ms|s|[KMG]?B/s)\b", shown)


def start_long_run(tmp_path: Path) -> subprocess.Popen[str]:
    """Starts a run and waits until at least one block is on disk."""
    words = "run aapc -n 3 --size 100KB --repetitions 1000000 --out long.zarr --quiet"
    process = subprocess.Popen(
        [sys.executable, "-m", "crosscut", *words.split()], cwd=tmp_path, stderr=subprocess.PIPE, text=True
    )
    for _ in range(600):
        if any((tmp_path / "long.zarr" / "status").glob("c/**/0")):
            return process
        time.sleep(0.05)
    process.kill()
    raise AssertionError("nothing was measured within 30 s")


def test_an_interrupt_stops_in_order_and_the_run_can_be_shown_and_resumed(
    crosscut: Crosscut, tmp_path: Path
) -> None:
    process = start_long_run(tmp_path)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "crosscut run --resume long.zarr" in said
    run = tmp_path / "long.zarr"
    assert attributes(run)["state"] == "stopped"
    assert "incomplete: it was stopped, or repaired" in " ".join(good(crosscut("show long.zarr")).split())
    done = crosscut("run --resume long.zarr --time-limit 0.5s --json")
    assert json.loads(good(done))["state"] == "stopped"
    assert len(attributes(run)["resumed"]) == 1


def test_a_resumed_run_measures_only_what_is_missing(crosscut: Crosscut, tmp_path: Path) -> None:
    good(crosscut("run aapc -n 3 --backend null --size 1KB --repetitions 8 --out full.zarr --quiet"))
    before = (tmp_path / "full.zarr" / "message_seconds" / "c" / "0" / "0" / "0" / "0" / "0").read_bytes()
    good(crosscut("run --resume full.zarr --quiet"))
    after = (tmp_path / "full.zarr" / "message_seconds" / "c" / "0" / "0" / "0" / "0" / "0").read_bytes()
    assert before == after


def test_a_killed_rank_is_named_and_what_was_measured_stays(crosscut: Crosscut, tmp_path: Path) -> None:
    process = start_long_run(tmp_path)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    (node,) = children
    ranks = Path(f"/proc/{node}/task/{node}/children").read_text().split()
    os.kill(int(ranks[-1]), signal.SIGKILL)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 1
    assert re.search(r"rank \d", said)
    assert "--resume long.zarr" in said
    assert "cells are measured" in " ".join(good(crosscut("show long.zarr")).split())


def test_a_job_that_the_ranks_refuse_is_wrong_usage(crosscut: Crosscut, tmp_path: Path) -> None:
    done = crosscut("run pairs -n 2 --pairs 0-9 --out r.zarr")
    assert done.returncode == 2
    assert "9" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "r.zarr").exists()


def test_a_directory_without_a_run_is_an_error(crosscut: Crosscut, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for words in ("show nowhere", "show empty", "run --resume empty"):
        done = crosscut(words)
        assert done.returncode in (1, 2), words
        assert done.stderr.startswith("crosscut: error: ")
        assert "Traceback" not in done.stderr


def test_every_command_and_pattern_has_help(crosscut: Crosscut) -> None:
    listed = json.loads(good(crosscut("list --json")))
    assert {"pingpong", "aapc"} <= {pattern["name"] for pattern in listed["patterns"]}
    for command in ("run", "show", "evaluate", "list", "doctor", "completion", "export", "fsck", "build-mpi"):
        help_text = good(crosscut(f"{command} --help"))
        assert "exit status: 0 " in help_text, command
        assert "crosscut " + command in help_text
    for pattern in listed["patterns"]:
        help_text = good(crosscut(f"run {pattern['name']} --help"))
        for parameter in pattern["parameters"]:
            assert re.search(rf"--({pattern['name']}-)?{parameter['name']}\b", help_text), parameter["name"]


def test_evaluate_measures_everything_in_one_directory_and_resumes(
    crosscut: Crosscut, tmp_path: Path
) -> None:
    words = "evaluate --quick -n 3 --backend null --only aapc,chain,pingpong --out all"
    said = good(crosscut(words))
    assert "Median phase" in said
    assert {path.name for path in (tmp_path / "all").iterdir()} >= {
        "aapc.zarr", "chain.zarr", "pingpong.zarr", "campaign.json", "summary.txt", "summary.json",
    }  # fmt: skip
    stamp = (tmp_path / "all" / "aapc.zarr" / "zarr.json").stat().st_mtime_ns
    answer = json.loads(good(crosscut("evaluate --resume all --json")))
    assert [step["state"] for step in answer["steps"]] == ["complete"] * 3
    assert (tmp_path / "all" / "aapc.zarr" / "zarr.json").stat().st_mtime_ns == stamp


@pytest.mark.skipif(not Path("/usr/bin/script").exists(), reason="needs script(1) for a terminal")
def test_on_a_terminal_there_is_a_bar(tmp_path: Path) -> None:
    words = f"{sys.executable} -m crosscut run aapc -n 2 --size 1MB --repetitions 400 --out bar.zarr"
    done = subprocess.run(
        ["/usr/bin/script", "-qec", words, "/dev/null"], cwd=tmp_path, capture_output=True, text=True,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "100"}, timeout=LIMIT_SECONDS, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert "━" in done.stdout
    assert "phase 1/1" in done.stdout
    assert "ETA" in done.stdout
