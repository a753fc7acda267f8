"""The number of short messages per second, as `run` and `show` print it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from in_process import crosscut

from crosscut.analysis.figures import summary
from crosscut.analysis.figures.samples import load
from crosscut.analysis.stats.intervals import medians
from crosscut.base.core import CORE, find_executable
from crosscut.run.run import Run

pytestmark = pytest.mark.skipif(find_executable(CORE) is None, reason="crosscut-core is not built")
_WINDOW, _SIZE = 16, 8


def _measured(folder: Path, *words: str) -> str:
    done = crosscut(
        "run", "message-rate", "-n", "4", "--window", _WINDOW, "--size", _SIZE, "--repetitions", "3", "--out",
        "run.zarr", *words, folder=folder, environment={"COLUMNS": "200"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def test_messages_per_second_are_those_of_all_pairs_over_the_slowest_ranks_time(quick_path: Path) -> None:
    said = re.findall(r"at most ([\d.]+)( thousand| million)? messages/s", _measured(quick_path))
    samples = load(Run.open(quick_path / "run.zarr").dataset, 0)
    assert [samples.credited_bytes[phase].tolist() for phase in (0, 1)] == [_SIZE, 2 * _SIZE]
    seconds = medians(summary.phase_seconds(samples)).median
    most = max(1 / seconds[0], 2 / seconds[1])
    ((number, unit),) = said
    assert float(number) * {"": 1, " thousand": 1e3, " million": 1e6}[unit] == pytest.approx(most, rel=0.006)


def test_a_simulation_that_knows_only_bytes_counts_no_messages(quick_path: Path) -> None:
    assert "messages/s" not in _measured(quick_path, "--on", "sim:xibalba-e7-config1")
