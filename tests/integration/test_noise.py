"""`--noise` on the command line: what it costs, what runs record of it, and where it is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from in_process import crosscut

from crosscut.analysis.compare.matching import match
from crosscut.base import core
from crosscut.run.run import Run

pytestmark = pytest.mark.skipif(core.find_executable(core.CORE) is None, reason="crosscut-core is not built")


def test_ranks_that_are_away_delay_each_other_and_the_run_says_so(quick_path: Path) -> None:
    words = ["collective", "--operation", "barrier", "-n", "2", "--repetitions", "2000", "--iterations", "20"]
    for name, more in (("quiet.zarr", []), ("noisy.zarr", ["--noise", "20ms/40ms"])):
        done = crosscut("run", *words, *more, "--out", name, folder=quick_path)
        assert done.returncode == 0, done.stderr
    quiet, noisy = (Run.open(quick_path / name) for name in ("quiet.zarr", "noisy.zarr"))
    # The samples span many periods, in each of which an absence of 20 ms falls into a sample of both ranks.
    samples = 20 * noisy.dataset["rank_seconds"].values.max(axis=-1)
    assert np.count_nonzero(samples > 10e-3) >= 3
    assert noisy.attributes["noise"] == "20ms/40ms"
    assert quiet.attributes["noise"] == ""
    shown = " ".join(crosscut("show", "noisy.zarr", folder=quick_path).stdout.split())
    assert "noise: each rank away for 20ms in every 40ms" in shown
    assert any("noise: none, then 20ms/40ms" in note for note in match(quiet, noisy).notes)
    resumed = crosscut("run", *words, "--resume", "noisy.zarr", folder=quick_path)
    assert resumed.returncode == 2
    assert "noise" in resumed.stderr


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--noise", "6ms/10ms"], "more than half of the period"),
        (["--noise", "fast"], "TIME/PERIOD"),
        (["--noise", "1s/60s"], "longer than 1 s"),
        (["--noise", "1ms/10ms", "--compute"], "would work on"),
        (["--noise", "1ms/10ms", "--backend", "udp"], "when they arrive"),
        (["--noise", "1ms/10ms", "--backend", "null"], "leave --noise out"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_noise_that_cannot_be_is_refused(quick_path: Path, words: list[str], why: str) -> None:
    done = crosscut("run", "aapc", "-n", "2", "--size", "1KB", *words, "--out", "r.zarr", folder=quick_path)
    assert done.returncode == 2
    assert why in done.stderr
