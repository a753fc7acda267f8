"""Kill -9 at any moment loses at most the block in flight, and a resumed run ends as if nothing had happened.

CROSSCUT_TEST_SEED draws other moments.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from measuring import check_whole, usable, without_seconds
from under_way import measuring, private_core, rank_processes, signal_all, wait_until

from crosscut.base import core
from crosscut.base.job import Job
from crosscut.cli import main
from crosscut.run import fsck
from crosscut.run.format import MEASURED
from crosscut.run.run import Run
from crosscut.session.measure import Launch

if core.find_executable(core.CORE) is None:
    pytest.skip("crosscut-core is not built", allow_module_level=True)

RANKS = 4
VICTIMS = [*(f"rank {rank}" for rank in range(RANKS)), "all ranks", "the node"]
SEED = int(os.environ.get("CROSSCUT_TEST_SEED", "1"))
# Many blocks in well under a second: `null` ends a block with its chunk, other backends with their size.
MANY = {
    "null": Job(pattern="aapc", out=Path(), backend="null", sizes=(100, 2000),
                options={"repetitions": 40_000}),
    "tcp": Job(pattern="aapc", out=Path(), backend="tcp", sizes=tuple(range(100, 1300, 100)),
               options={"repetitions": 40, "iterations": 1}),
}  # fmt: skip


@pytest.fixture
def binaries(quick_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    yield private_core(quick_path, monkeypatch.setenv)
    core.load.cache_clear()


def files_of(run: Path) -> dict[str, bytes]:
    """Returns all files but the group's metadata, which record when the run was resumed."""
    files = (file for file in run.rglob("*") if file.is_file() and file != run / "zarr.json")
    return {str(file.relative_to(run)): file.read_bytes() for file in files}


def as_typed(job: Job, out: Path, ranks: int = RANKS) -> Job:
    """Returns the job with the metadata that `--resume` needs to start the same ranks again."""
    words = ["crosscut", "run", job.pattern]
    return replace(job, out=out, metadata={"ranks": ranks, "on": "", "command_line": words})


def measure_whole(job: Job, binaries: Path) -> None:
    with measuring(job, Launch(backend=job.backend, ranks=RANKS), binaries) as measurement:
        assert measurement.end() == ""


def measured_cells(run: Path) -> np.ndarray:
    return np.asarray(xr.open_zarr(run, chunks=None)["status"].values == MEASURED)


def kill_midway(
    job: Job, victim: str, after_seconds: float, binaries: Path, *, once_begun: bool = False
) -> np.ndarray:
    """Kills the job, some time after its start or after its first block, and returns which cells had been
    measured just before."""
    with measuring(job, Launch(backend=job.backend, ranks=RANKS), binaries) as measurement:
        node, ranks = rank_processes(binaries / core.CORE, RANKS)
        if once_begun:
            wait_until((job.out / "status" / "c").exists, "no block was measured")
        time.sleep(after_seconds)
        signal_all([node, *ranks], signal.SIGSTOP)  # reading takes longer than the job on a busy machine
        before = measured_cells(job.out)
        whom = {"all ranks": ranks, "the node": [node]}.get(victim) or [ranks[int(victim.split()[1])]]
        signal_all(whom, signal.SIGKILL)
        signal_all([node, *ranks], signal.SIGCONT)
        said = measurement.end()
        if measurement.outcome is None and victim.startswith("rank"):
            assert victim in said, said
    return before


@pytest.mark.parametrize("backend", MANY)
def test_a_run_killed_at_any_moment_keeps_its_blocks_and_resumes_to_the_same_result(
    backend: str, quick_path: Path, binaries: Path
) -> None:
    whole = as_typed(MANY[backend], quick_path / "whole.zarr")
    begin = time.monotonic()
    measure_whole(whole, binaries)
    duration = time.monotonic() - begin
    check_whole(whole.out)
    print(f"CROSSCUT_TEST_SEED={SEED}; undisturbed it takes {duration:.2f} s")
    chance, midway = random.Random(f"{SEED} {backend}"), 0
    victims = [*VICTIMS, *chance.sample(VICTIMS, 3)]
    for number in range(3 * len(victims)):
        if number >= len(victims) and midway >= 3:
            break
        victim = victims[number % len(victims)]
        job = as_typed(MANY[backend], quick_path / "killed.zarr")
        once_begun, moment = number % 2 == 1, chance.uniform(0, 0.7 * duration)
        moment *= 0.3 if once_begun else 1
        print(f"kill -9 {victim} {moment:.3f} s after {'the first block' if once_begun else 'the start'}")
        before = kill_midway(job, victim, moment, binaries, once_begun=once_begun)

        kept = measured_cells(job.out)
        assert not (before & ~kept).any(), "a finished block was lost"
        report = fsck.check(job.out)
        assert report.damage == ()  # a file that the killed writer was about to rename may be left
        seconds = Run.open(job.out).dataset["rank_seconds"].values
        midway += bool(0 < kept.sum() < kept.size)
        duration *= 0.8 if kept.all() else 1.0 if kept.any() else 1.2  # the machine's load may have changed

        assert main(["run", "--resume", str(job.out), "--quiet"]) == 0
        check_whole(job.out)
        again = Run.open(job.out).dataset["rank_seconds"].values
        # A rank killed at the end of a block fails in it alone; the phase is then measured again by all.
        by_all = kept & kept.all(axis=-1, keepdims=True)
        np.testing.assert_array_equal(again[by_all], seconds[by_all], "it was measured a second time")
        xr.testing.assert_identical(without_seconds(job.out), without_seconds(whole.out))
        if backend == "null":
            assert files_of(job.out) == files_of(whole.out)
        shutil.rmtree(job.out)
    assert midway >= 3, "the kills came too early or too late to show anything"


def test_a_run_killed_repeatedly_still_completes(quick_path: Path, binaries: Path) -> None:
    """Resuming is as safe as the first attempt."""
    whole = as_typed(MANY["null"], quick_path / "whole.zarr")
    measure_whole(whole, binaries)
    print(f"CROSSCUT_TEST_SEED={SEED}")
    chance = random.Random(f"{SEED} again")
    job = as_typed(MANY["null"], quick_path / "killed.zarr")
    for _ in range(6):
        kill_midway(job, chance.choice(VICTIMS), chance.uniform(0, 0.08), binaries)
        job = replace(job, options=job.options | {"resume": True})
    assert main(["run", "--resume", str(job.out), "--quiet"]) == 0
    check_whole(job.out)
    assert files_of(job.out) == files_of(whole.out)
    assert not list(job.out.rglob("*.unfinished"))


@pytest.mark.parametrize("backend", ["null", "tcp", "udp", "mpi"])
def test_resuming_a_complete_run_does_not_change_it(backend: str, quick_path: Path, binaries: Path) -> None:
    if not usable(backend):
        pytest.skip(f"the backend {backend} cannot be used here")
    words = (
        f"run pairwise -n 3 --backend {backend} --size 1,500 --repetitions 3 --iterations 1 --quiet".split()
    )
    run = quick_path / "run.zarr"
    assert main([*words, "--out", str(run)]) == 0
    before = files_of(run)
    assert main(["run", "--resume", str(run), "--quiet"]) == 0
    assert files_of(run) == before


def test_two_runs_of_the_same_job_on_null_are_identical(quick_path: Path) -> None:
    words = "run random-pairwise -n 5 --backend null --size 1,4KB --repetitions 7 --seed 3 --quiet --out"
    for name in ("one.zarr", "two.zarr"):
        assert main([*words.split(), str(quick_path / name)]) == 0
    assert files_of(quick_path / "one.zarr") == files_of(quick_path / "two.zarr")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("-n 5", "the run has 3 ranks, not 5; leave out -n"),
        ("--size 10", "keeps the sizes and phases of the run"),
        ("--phases 1-1", "keeps the sizes and phases of the run"),
        ("--repetitions 9", "number of repetitions (the run: 4; now: 9)"),
        ("--sync none", "sync"),
        ("--backend tcp", "backend"),
    ],
)
def test_a_run_is_not_resumed_as_another(
    quick_path: Path, capfd: pytest.CaptureFixture[str], change: str, said: str
) -> None:
    run = quick_path / "run.zarr"
    words = "run aapc -n 3 --backend null --size 100 --repetitions 4 --quiet --out"
    assert main([*words.split(), str(run)]) == 0
    before = files_of(run), (run / "zarr.json").read_bytes()
    assert main(["run", "--resume", str(run), *change.split(), "--quiet"]) == 2
    complaint = capfd.readouterr().err
    assert said in complaint
    assert "Traceback" not in complaint
    assert (files_of(run), (run / "zarr.json").read_bytes()) == before
