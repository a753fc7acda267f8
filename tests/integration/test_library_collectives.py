"""MPI's own collectives as phases of the pattern `collective`: right results, and refusals."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from measuring import Sessions, usable
from processes import environment, running
from under_way import measuring, private_core, wait_until

from crosscut.base import core
from crosscut.base.errors import CrosscutError
from crosscut.base.job import Job
from crosscut.run import fsck
from crosscut.run.run import Run
from crosscut.session.measure import Launch

RANKS = 3

if core.find_executable(core.CORE) is None:
    pytest.skip("crosscut-core is not built", allow_module_level=True)


@pytest.fixture
def sessions(quick_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sessions]:
    private_core(quick_path, monkeypatch.setenv)
    try:
        yield Sessions()
    finally:
        core.load.cache_clear()


def job(out: Path, operation: str, backend: str, **options: object) -> Job:
    return Job(
        pattern="collective", out=out, pattern_parameters={"operation": operation, "library": "also"},
        backend=backend, sizes=(0,) if operation == "barrier" else (0, 5, 4096, 100_001),
        options={"repetitions": 3, "iterations": 3, "verify": True} | options,
    )  # fmt: skip


@pytest.mark.parametrize(
    "operation",
    ["all-reduce", "reduce-scatter", "all-gather", "broadcast", "all-to-all", "all-to-all-v", "barrier"],
)
@pytest.mark.parametrize(
    ("iterations", "every", "who"),  # in place, every second exchange undoes the first
    [(2, "1", ""), (3, "1", ""), (2, "2,1", ", every 2nd rank"), (3, "2,1", ", all ranks")],
)
def test_results_of_mpi_s_own_collectives_are_whole(
    sessions: Sessions, quick_path: Path, operation: str, iterations: int, every: str, who: str
) -> None:
    if not usable("mpi"):
        pytest.skip("the backend mpi cannot be used here")
    asked = job(quick_path / "run.zarr", operation, "mpi", iterations=iterations)
    asked = replace(asked, pattern_parameters={**asked.pattern_parameters, "every": every})
    assert sessions.measure(asked, RANKS).state == "complete"
    attributes = Run.open(asked.out).attributes
    assert attributes["verify"] == {"wrong_messages": 0}
    labels = attributes["phase_labels"]
    assert isinstance(labels, list)
    assert f"library{who}" in labels
    assert (f"library, in place{who}" in labels) == (operation in ("all-reduce", "all-gather", "all-to-all"))
    assert set(sessions.close()) == {0}


def test_a_barrier_carries_nothing_so_it_has_no_size(sessions: Sessions, quick_path: Path) -> None:
    asked = replace(
        job(quick_path / "run.zarr", "barrier", "tcp"),
        sizes=(8,),
        pattern_parameters={"operation": "barrier"},
    )
    with pytest.raises(CrosscutError, match="carries nothing, so leave --size out"):
        sessions.measure(asked, 2)
    assert not (quick_path / "run.zarr").exists()
    sessions.close()


def test_a_backend_without_collectives_of_its_own_refuses_them(sessions: Sessions, quick_path: Path) -> None:
    with pytest.raises(CrosscutError, match="backend tcp has no collective operations of its own"):
        sessions.measure(job(quick_path / "run.zarr", "all-reduce", "tcp"), 2)
    assert not (quick_path / "run.zarr").exists()
    sessions.close()


@pytest.mark.parametrize("number", [signal.SIGSTOP, signal.SIGKILL])
def test_a_rank_that_stops_or_dies_in_a_collective_ends_the_job(
    quick_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    if not usable("mpi"):
        pytest.skip("the backend mpi cannot be used here")
    binaries = private_core(quick_path, monkeypatch.setenv)
    asked = Job(
        pattern="collective", out=quick_path / "run.zarr", pattern_parameters={"library": "only"},
        backend="mpi", sizes=(2000,), options={"repetitions": 1_000_000, "iterations": 1},
        metadata={"ranks": RANKS, "on": "", "command_line": ["crosscut", "run", "collective"]},
    )  # fmt: skip
    with measuring(asked, Launch(backend="mpi", ranks=RANKS, timeout_seconds=1.0), binaries) as measurement:
        ranks = {environment(pid)["PMI_RANK"]: pid for pid in running(binaries / core.CORE_MPI)}
        wait_until(
            lambda: sum(event["event"] == "progress" for event in measurement.events) >= 3, "no progress"
        )
        os.kill(ranks["1"], number)
        assert measurement.end()
        assert measurement.outcome is None
        if number is signal.SIGSTOP:
            assert measurement.lost() == [(1, os.uname().nodename)]
    assert fsck.check(asked.out).damage == ()
    core.load.cache_clear()
