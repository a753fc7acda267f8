"""A rank that dies or falls silent is named with its node, in bounded time; measurements stay.

Time-outs are not asserted exactly: everything must end within `PATIENCE_SECONDS`, and no process be left.
"""

from __future__ import annotations

import json
import os
import platform
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from measuring import check_whole, usable
from processes import await_none, children, environment, running
from tiers import long
from under_way import PATIENCE_SECONDS, Measurement, measuring, private_core, rank_processes, wait_until

from crosscut.base import core
from crosscut.base.errors import SessionError
from crosscut.base.job import Event, Job
from crosscut.cli import main
from crosscut.run import fsck
from crosscut.run.format import FAILED, MEASURED, SKIPPED
from crosscut.run.run import Run
from crosscut.session.measure import Launch, decide, open_session

if core.find_executable(core.CORE) is None:
    pytest.skip("crosscut-core is not built", allow_module_level=True)

RANKS = 4
TIMEOUT_SECONDS = 1.0
# On a loaded machine libfabric takes a second to look for its providers.
FABRIC_TIMEOUT_SECONDS = 4.0
# Far more repetitions than a test lets finish.
ENDLESS = 1_000_000


@pytest.fixture
def binaries(quick_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    yield private_core(quick_path, monkeypatch.setenv)
    core.load.cache_clear()


def attributes(run: Path) -> Any:
    return json.loads((run / "zarr.json").read_text())["attributes"]


def endless(out: Path, backend: str, parameters: Mapping[str, str] | None = None, **options: object) -> Job:
    words = ["crosscut", "run", "aapc"]
    return Job(
        pattern="aapc", out=out, backend=backend, backend_parameters=parameters or {}, sizes=(2000,),
        options={"repetitions": ENDLESS, "iterations": 1} | options,
        metadata={"ranks": RANKS, "on": "", "command_line": words},
    )  # fmt: skip


def launch(backend: str) -> Launch:
    seconds = FABRIC_TIMEOUT_SECONDS if backend == "fabric" else TIMEOUT_SECONDS
    return Launch(backend=backend, ranks=RANKS, timeout_seconds=seconds)


def progress(events: list[Event]) -> int:
    return sum(event["event"] == "progress" for event in events)


def await_blocks(measurement: Measurement) -> None:
    """Waits until the run is well under way: the first blocks are small."""
    wait_until(
        lambda: progress(measurement.events) >= 3 or measurement.error is not None, "no progress is made"
    )
    assert measurement.error is None, measurement.error


def check_kept(job: Job) -> None:
    """Checks that the measurements are whole, and that the run says that it is incomplete."""
    assert fsck.check(job.out).damage == ()
    assert attributes(job.out)["state"] == "failed"
    status = Run.open(job.out).dataset["status"].values
    assert 0 < (status == MEASURED).sum() < status.size


@pytest.mark.parametrize(
    ("backend", "rank", "window"),
    [
        long("null", 1, 1),
        ("tcp", 1, 1),
        ("tcp", 2, 8),
        long("tcp", 3, 1),
        ("udp", 2, 1),
        long("udp", 2, 8),
        ("fabric", 2, 1),
        ("mpi", 3, 1),
        long("mpi", 3, 8),
        ("rma", 3, 1),
        long("rma", 3, 8),
    ],
)
def test_a_stopped_rank_is_named_with_its_node(
    quick_path: Path, binaries: Path, rank: int, backend: str, window: int
) -> None:
    if not usable(backend):
        pytest.skip(f"the backend {backend} cannot be used here")
    job = endless(quick_path / "run.zarr", backend, window=window)
    with measuring(job, launch(backend), binaries) as measurement:
        ranks = processes_of(backend, binaries)
        await_blocks(measurement)
        os.kill(ranks[rank], signal.SIGSTOP)
        said = measurement.end()
        assert f"rank {rank} on node {os.uname().nodename}" in said
        assert measurement.lost() == [(rank, os.uname().nodename)]
    check_kept(job)
    (failed,) = attributes(job.out)["failed_ranks"]
    assert (failed["rank"], failed["node"]) == (rank, os.uname().nodename)
    assert failed["reason"]


@pytest.mark.parametrize("victim", ["the launcher", "the process below it"])
def test_a_stopped_launcher_is_named_and_ends_the_session(
    quick_path: Path, binaries: Path, victim: str
) -> None:
    if not usable("mpi"):
        pytest.skip("the backend mpi cannot be used here")
    job = endless(quick_path / "run.zarr", "mpi")
    with measuring(job, launch("mpi"), binaries) as measurement:
        await_blocks(measurement)
        pid = measurement.session.process_id
        if victim != "the launcher":
            (pid,) = children(pid)
        os.kill(pid, signal.SIGSTOP)
        said = measurement.end()
    assert f"(process {pid}) was stopped for" in said
    assert fsck.check(job.out).damage == ()


@pytest.mark.parametrize("backend", ["null", "tcp", "mpi"])
def test_a_stopped_rank_zero_ends_the_session_too(quick_path: Path, binaries: Path, backend: str) -> None:
    """Rank 0 conducts, so others must notice its silence: its node, or under MPI the ranks themselves."""
    if not usable(backend):
        pytest.skip(f"the backend {backend} cannot be used here")
    job = endless(quick_path / "run.zarr", backend)
    with measuring(job, launch(backend), binaries) as measurement:
        ranks = processes_of(backend, binaries)
        await_blocks(measurement)
        os.kill(ranks[0], signal.SIGSTOP)
        said = measurement.end()
        assert "rank 0" in said
    assert fsck.check(job.out).damage == ()


def test_mpi_ranks_whose_launcher_is_killed_while_they_start_end(binaries: Path) -> None:
    """MPICH's MPI_Init waits without end if its launcher is killed between two of its steps."""
    mpiexec = Path(sys.executable).with_name("mpiexec")
    if not usable("mpi") or not mpiexec.exists():
        pytest.skip("the backend mpi, or its launcher, cannot be used here")
    executable = binaries / core.CORE_MPI
    for delay_seconds in (0.03, 0.05, 0.06, 0.07, 0.08, 0.09, 0.12):
        with subprocess.Popen(
            [mpiexec, "-disable-auto-cleanup", "-n", str(RANKS), executable, "mpi-rank"],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        ) as process:  # fmt: skip
            try:
                wait_until(lambda: len(running(executable)) == RANKS, "the ranks do not start")
                time.sleep(delay_seconds)
                (proxy,) = children(process.pid)
                os.kill(proxy, signal.SIGKILL)
            finally:
                process.kill()
        await_none(executable)


def test_under_mpi_a_rank_zero_that_is_stopped_before_it_hears_of_a_job_is_named(
    quick_path: Path, binaries: Path
) -> None:
    if not usable("mpi"):
        pytest.skip("the backend mpi cannot be used here")
    session = open_session(decide(core.load(), launch("mpi")), lambda _: None)
    try:
        session.wait_ready()
        os.kill(processes_of("mpi", binaries)[0], signal.SIGSTOP)
        with pytest.raises(SessionError, match=r"crosscut-core-m \(process \d+\) was stopped for 4 s"):
            session.run(endless(quick_path / "run.zarr", "mpi"))
    finally:
        session.close()
        await_none(binaries / core.CORE_MPI)


@pytest.mark.parametrize(
    ("backend", "parameters", "window", "number"),
    [
        ("null", {}, 1, signal.SIGKILL),
        ("tcp", {}, 1, signal.SIGKILL),
        ("tcp", {"connections": "4"}, 4, signal.SIGKILL),
        ("tcp", {}, 4, signal.SIGSTOP),
        ("udp", {}, 1, signal.SIGKILL),
        ("fabric", {}, 1, signal.SIGKILL),
        ("fabric", {"provider": "shm"}, 4, signal.SIGKILL),
    ],
)
def test_the_tolerated_loss_of_a_rank_is_reported_and_the_others_go_on(
    quick_path: Path,
    binaries: Path,
    backend: str,
    parameters: Mapping[str, str],
    window: int,
    number: signal.Signals,
) -> None:
    """The session continues without the rank, and can be asked to stop as usual."""
    if not usable(backend):
        pytest.skip(f"the backend {backend} cannot be used here")
    lost = 2
    job = endless(quick_path / "run.zarr", backend, parameters, tolerate_failures=True, window=window)
    with measuring(job, launch(backend), binaries) as measurement:
        _, ranks = rank_processes(binaries / core.CORE, RANKS)
        await_blocks(measurement)
        os.kill(ranks[lost], number)
        wait_until(lambda: bool(measurement.lost()), "the loss was not told")
        told = len(measurement.events)
        wait_until(lambda: progress(measurement.events[told:]) >= 2, "the others do not go on")
        measurement.session.stop()
        assert measurement.end() == ""
        assert measurement.outcome is not None
        assert measurement.outcome.failures
        assert f"rank {lost} on {os.uname().nodename} was lost" in measurement.outcome.failures[0]
    (failed,) = attributes(job.out)["failed_ranks"]
    assert failed["rank"] == lost
    assert fsck.check(job.out).damage == ()


@pytest.mark.parametrize("backend", ["null", "tcp", "udp"])
def test_a_tolerated_loss_leaves_statuses_as_documented_and_resuming_measures_them(
    quick_path: Path, binaries: Path, backend: str
) -> None:
    """Failed: cells of the lost rank; skipped: cells of its peers; measured: all others."""
    lost, repetitions = 2, {"null": 200_000, "tcp": 2500, "udp": 1500}[backend]
    job = endless(quick_path / "run.zarr", backend, tolerate_failures=True, repetitions=repetitions)
    with measuring(job, launch(backend), binaries) as measurement:
        _, ranks = rank_processes(binaries / core.CORE, RANKS)
        os.kill(ranks[lost], signal.SIGKILL)
        assert measurement.end() == ""
        assert measurement.lost() == [(lost, os.uname().nodename)]
    assert attributes(job.out)["state"] == "complete"
    data = Run.open(job.out).dataset.load()
    status, peer = data["status"].values[0], data["peer"].values[..., 0]
    harmed = status[..., lost] == FAILED  # [repetition, phase]
    assert harmed.any(), "killed too late to show anything"
    assert (status[~harmed] == MEASURED).all()
    # aapc: a rank receives from its peer, and sends to the rank whose peer it is.
    for phase in range(status.shape[1]):
        sends_to_lost = peer[phase, lost]
        expected = np.where(peer[phase] == lost, SKIPPED, MEASURED)
        expected[sends_to_lost] = SKIPPED
        expected[lost] = FAILED
        found = status[harmed[:, phase], phase]
        np.testing.assert_array_equal(found, np.broadcast_to(expected, found.shape))
    seconds = data["message_seconds"].values[0]
    assert np.isnan(seconds[..., lost, :][harmed]).all()
    met = status == MEASURED
    if backend != "udp":
        assert np.isfinite(seconds[met & (peer >= 0)[None]]).all()

    assert main(["show", str(job.out)]) == 0
    assert main(["run", "--resume", str(job.out), "--quiet"]) == 0
    check_whole(job.out, lossy=backend == "udp")


@pytest.mark.parametrize(
    ("backend", "whom"),
    [
        ("mpi", "rank 0"),
        ("mpi", "rank 1"),
        ("mpi", "rank 3"),
        ("mpi", "the launcher"),
        ("rma", "rank 1"),
        long("rma", "rank 0"),
        long("rma", "the launcher"),
    ],
)
def test_under_mpi_a_killed_rank_ends_the_job_and_the_run_resumes(
    quick_path: Path, binaries: Path, backend: str, whom: str
) -> None:
    if not usable(backend):
        pytest.skip(f"the backend {backend} cannot be used here")
    job = endless(quick_path / "run.zarr", backend, time_limit_seconds=PATIENCE_SECONDS)
    with measuring(job, launch(backend), binaries) as measurement:
        ranks = mpi_ranks(binaries / core.CORE_MPI)
        await_blocks(measurement)
        segments = shared_segments(ranks[0])
        victim = measurement.session._launched.process.pid if whom == "the launcher" else ranks[int(whom[-1])]
        os.kill(victim, signal.SIGKILL)
        said = measurement.end()
        assert measurement.outcome is None
        if whom.startswith("rank"):
            assert names_rank(whom, said) or launcher_alone_spoke(said), said
    assert segments
    assert not [path for path in segments if path.exists()]
    assert fsck.check(job.out).damage == ()
    kept = Run.open(job.out).dataset["status"].values == MEASURED
    assert 0 < kept.sum() < kept.size
    seconds = Run.open(job.out).dataset["rank_seconds"].values
    resumed = ["run", "--resume", str(job.out), "--quiet", "--time-limit", "500ms"]
    assert main(resumed) == 0
    after = Run.open(job.out).dataset
    assert fsck.check(job.out).damage == ()
    assert (after["status"].values == MEASURED).sum() > kept.sum()
    np.testing.assert_array_equal(after["rank_seconds"].values[kept], seconds[kept])


def test_under_mpi_a_tolerated_loss_starts_the_ranks_again(quick_path: Path, binaries: Path) -> None:
    if not usable("mpi"):
        pytest.skip("the backend mpi cannot be used here")
    out = quick_path / "run.zarr"
    command = [
        sys.executable, "-m", "crosscut", "run", "aapc", "-n", str(RANKS), "--backend", "mpi",
        "--size", "2KB", "--repetitions", str(ENDLESS), "--iterations", "1", "--time-limit", "5s",
        "--tolerate-failures", "--out", str(out),
    ]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not (out / "message_seconds" / "c").is_dir() and time.monotonic() < deadline:
            time.sleep(0.05)
        os.kill(mpi_ranks(binaries / core.CORE_MPI)[2], signal.SIGKILL)
        _, said = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 1, said  # a script must notice
    assert names_rank("rank 2", said) or launcher_alone_spoke(said), said
    assert "starting again" in said
    assert fsck.check(out).damage == ()
    run = Run.open(out)
    assert run.attributes["state"] == "stopped"  # by its time limit, not by the loss
    assert (run.dataset["status"].values == MEASURED).any()


def names_rank(whom: str, said: str) -> bool:
    """True if the message names the rank and its node, as the conductor does, or, if the launcher ended
    sooner, the client."""
    return re.search(rf"{whom} on (node )?{re.escape(platform.node())}\b", said) is not None


def launcher_alone_spoke(said: str) -> bool:
    """True if the launcher ended the ranks, or failed itself, before any could report the loss."""
    words = r"signal 9|cannot start the ranks|the ranks ended unexpectedly|mpiexec ended \(exit status"
    ended = re.search(words, said) is not None
    return ended and " gone" not in said and "lost" not in said


def shared_segments(process: int) -> set[Path]:
    """Returns a rank's files in /dev/shm: megabytes per node, which MPICH leaves after a job is killed."""
    lines = Path(f"/proc/{process}/maps").read_text().splitlines()
    return {Path(line.split()[-1]) for line in lines if "/dev/shm/mpich_shm_" in line}


def processes_of(backend: str, binaries: Path) -> list[int]:
    """Returns the ranks' processes in rank order."""
    if backend in ("mpi", "rma"):
        return mpi_ranks(binaries / core.CORE_MPI)
    return rank_processes(binaries / core.CORE, RANKS)[1]


def mpi_ranks(executable: Path) -> list[int]:
    """Returns the processes in rank order: the launcher puts the rank into their environment."""
    ranks = sorted((int(environment(pid)["PMI_RANK"]), pid) for pid in running(executable))
    assert [rank for rank, _ in ranks] == list(range(RANKS))
    return [pid for _, pid in ranks]


@pytest.mark.parametrize("backend", ["null", "udp", "fabric", "mpi", "rma"])
def test_an_interrupt_stops_after_the_block_in_flight_and_the_run_resumes(
    quick_path: Path, binaries: Path, backend: str
) -> None:
    """By Ctrl-C in a terminal, or kill -INT; test_cli.py tests it over TCP."""
    if not usable(backend):
        pytest.skip(f"the backend {backend} cannot be used here")
    run = quick_path / "run.zarr"
    words = f"run aapc -n 3 --backend {backend} --size 2KB --repetitions {ENDLESS} --iterations 1 --quiet"
    command = [sys.executable, "-m", "crosscut", *words.split(), "--out", str(run)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            wait_until(lambda: any((run / "status").glob("c/**/0")), "nothing was measured")
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=PATIENCE_SECONDS)
        finally:
            process.kill()
    assert process.returncode == 130
    assert "the run is stopped; continue with: crosscut run --resume" in said
    assert "Traceback" not in said
    assert attributes(run)["state"] == "stopped"
    kept = Run.open(run).dataset["status"].values == MEASURED
    assert main(["run", "--resume", str(run), "--quiet", "--time-limit", "2s"]) == 0
    after = Run.open(run).dataset["status"].values == MEASURED
    assert not (kept & ~after).any()
    assert after.sum() > kept.sum()
    for name in (core.CORE, core.CORE_MPI):
        await_none(binaries / name)
