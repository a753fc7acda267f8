"""Windows on the command line: their rates in simulations, the search for one, and refusals."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from in_process import crosscut

from crosscut.base import core
from crosscut.run.run import Run

pytestmark = pytest.mark.skipif(core.find_executable(core.CORE) is None, reason="crosscut-core is not built")

_SIZE, _TRANSFER, _LATENCY = 1000, 8e-6, 40e-6
_NETWORK = """
name = "far"
[generator]
kind = "crossbar"
hosts = 2
rate = "1 Gbit/s"
[switch]
latency = "40 us"
"""


def _seconds(window: int) -> float:
    """A message's time among `window`: the latency passes once for all."""
    return _TRANSFER + _LATENCY / window


def _measured(folder: Path, name: str, *words: object) -> Run:
    done = crosscut("run", *words, "--out", name, folder=folder)
    assert done.returncode == 0, done.stderr
    return Run.open(folder / name)


@pytest.fixture
def far(quick_path: Path) -> str:
    (quick_path / "far.toml").write_text(_NETWORK)
    return "sim:far.toml"


@pytest.mark.parametrize("window", [1, 2, 64])
def test_rates_are_those_of_all_bytes_over_the_time(quick_path: Path, far: str, window: int) -> None:
    run = _measured(quick_path, "aapc.zarr", "aapc", "--on", far, "--size", _SIZE, "--window", window)
    np.testing.assert_allclose(run.message_rates(0).values, _SIZE / _seconds(window))
    np.testing.assert_allclose(run.phase_rates(0).values, 2 * _SIZE / _seconds(window))
    shown = crosscut("show", "aapc.zarr", folder=quick_path).stdout
    assert ("messages in flight per route" in " ".join(shown.split())) == (window > 1)


def test_a_time_among_others_is_no_latency(quick_path: Path, far: str) -> None:
    for window, latency in ((1, True), (2, False)):
        run = _measured(
            quick_path, f"{window}.zarr", "pingpong", "--on", far, "--size", "8", "--window", window
        )
        pattern = run.attributes["pattern"]
        assert isinstance(pattern, dict)
        assert pattern["latency"] is latency
        assert crosscut("show", f"{window}.zarr", folder=quick_path).returncode == 0


def test_auto_takes_the_smallest_window_whose_double_is_not_worth_it(quick_path: Path, far: str) -> None:
    done = crosscut(
        "run", "aapc", "--on", far, "--size", f"{_SIZE},1MB", "--window", "auto", "--out", "auto.zarr",
        folder=quick_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    run = Run.open(quick_path / "auto.zarr")
    searched = run.attributes["window_search"]
    assert isinstance(searched, dict)
    assert (searched["size"], searched["route"], searched["pattern"]) == (_SIZE, [0, 1], "message-rate")
    windows = [one["window"] for one in searched["rates"]]
    assert windows == [1, 2, 4, 8, 16, 32, 64, 128]
    for one in searched["rates"]:
        assert one["bytes_per_second"] == pytest.approx(_SIZE / _seconds(one["window"]))
    assert searched["window"] == run.attributes["window"] == 64
    assert "window 64: " in done.stderr
    assert [entry.name for entry in quick_path.glob(".crosscut-window-*")] == []


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("aapc -n 2", "--window auto needs a --size"),
        ("aapc -n 2 --size 1KB --backend udp", "loses nothing"),
        ("aapc -n 2 --size 1KB --launches 2", "give a number"),
    ],
)
def test_auto_is_refused_where_it_would_find_nothing_of_use(quick_path: Path, words: str, why: str) -> None:
    done = crosscut("run", *words.split(), "--window", "auto", "--out", "no.zarr", folder=quick_path)
    assert done.returncode == 2
    assert why in done.stderr
    assert not (quick_path / "no.zarr").exists()


def test_a_window_beyond_the_memory_is_refused_with_what_to_do(quick_path: Path) -> None:
    words = "aapc -n 2 --size 1MB --window 10000 --out no.zarr"
    done = crosscut("run", *words.split(), folder=quick_path)
    assert done.returncode == 2
    assert "lower --window" in done.stderr


def test_runs_with_different_windows_are_neither_compared_nor_resumed(quick_path: Path, far: str) -> None:
    words = ("aapc", "--on", far, "--size", _SIZE)
    _measured(quick_path, "one.zarr", *words)
    _measured(quick_path, "four.zarr", *words, "--window", 4)
    done = crosscut("compare", "one.zarr", "four.zarr", folder=quick_path)
    assert done.returncode == 2
    assert "messages in flight per route: 1 and 4" in done.stderr
    for again in (("--window", 2), ()):
        done = crosscut("run", *words, *again, "--resume", "four.zarr", "--force", folder=quick_path)
        assert done.returncode == 2
        assert "window (the run: 4" in done.stderr
    assert crosscut("run", "--resume", "four.zarr", folder=quick_path).returncode == 0


def test_sendrecv_refuses_more_than_one_message_in_flight(quick_path: Path) -> None:
    backend = core.load().backend("mpi")
    if backend is None or backend.unavailable:
        pytest.skip("there is no MPI here")
    words = "aapc -n 2 --backend mpi --mpi-mode sendrecv --size 1KB --window 2 --out no.zarr"
    done = crosscut("run", *words.split(), folder=quick_path)
    assert done.returncode == 2
    assert "has one message in flight" in done.stderr
