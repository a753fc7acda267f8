"""The search for the smallest window that fills a route."""

from __future__ import annotations

from pathlib import Path

import pytest
from stored_run import make_run

from crosscut.analysis.figures import samples
from crosscut.base.errors import UsageError
from crosscut.base.job import Job
from crosscut.campaigns import window
from crosscut.run.run import Run


def _searched(rates: dict[int, float], widest: int = window.WIDEST) -> window.WindowSearch:
    return window.search(rates.__getitem__, 1000, widest)


def test_the_window_doubles_until_that_is_not_worth_it() -> None:
    found = _searched({1: 100.0, 2: 190.0, 4: 200.0, 8: 209.9})
    assert found.window == 4
    assert found.rates == ((1, 100.0), (2, 190.0), (4, 200.0), (8, 209.9))
    assert found.told() == (
        "window 4: with 4 messages of 1 KB in flight one route carries 200 B/s, with 8 210 B/s"
    )


def test_a_window_that_does_not_help_is_one_message() -> None:
    assert _searched({1: 100.0, 2: 90.0}).window == 1


def test_a_route_that_no_window_fills_gets_the_widest() -> None:
    found = _searched({1: 1.0, 2: 2.0, 4: 4.0, 8: 8.0}, widest=8)
    assert found.window == 8
    assert found.told() == "window 8: with 8 messages of 1 KB in flight one route carries 8.00 B/s"


def test_the_search_needs_a_size_and_a_backend_that_loses_nothing() -> None:
    job = Job(pattern="aapc", out=Path("run.zarr"), backend="udp", sizes=(1,))
    with pytest.raises(UsageError, match="needs a --size"):
        window.refuse(Job(pattern="aapc", out=Path("run.zarr")), lossy=False)
    with pytest.raises(UsageError, match="udp may lose"):
        window.refuse(job, lossy=True)
    window.refuse(job, lossy=False)


def test_a_sample_is_the_mean_of_a_window_s_messages_in_every_iteration(tmp_path: Path) -> None:
    run = Run.open(make_run(tmp_path / "run.zarr"))
    assert samples.load(run.dataset, 0).iterations == 1
    for recorded, iterations in ((1, 1), (8, 8), (0, 1), ("8", 1), (True, 1)):
        dataset = run.dataset.assign_attrs(window=recorded)
        assert samples.load(dataset, 0).iterations == iterations
