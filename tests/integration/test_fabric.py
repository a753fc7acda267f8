"""libfabric: what test_everything.py and test_failures.py do not vary, and what killed ranks leave."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from measuring import Sessions, check_whole, small, usable
from processes import await_none, running
from under_way import (
    PATIENCE_SECONDS,
    Measurement,
    measuring,
    private_core,
    rank_processes,
    signal_all,
    wait_until,
)

from crosscut.base import core
from crosscut.base.errors import CrosscutError
from crosscut.base.job import Job
from crosscut.cli import main
from crosscut.run import fsck
from crosscut.session.measure import Launch

RANKS = 3

if core.find_executable(core.CORE) is None:
    pytest.skip("crosscut-core is not built", allow_module_level=True)


@pytest.fixture
def binaries(quick_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    private_core(quick_path, monkeypatch.setenv)
    try:
        if not usable("fabric"):
            pytest.skip("the backend fabric cannot be used here")
        yield quick_path / "bin"
    finally:
        core.load.cache_clear()


def job(pattern: str, out: Path, parameters: dict[str, str], **options: object) -> Job:
    found = core.load().pattern(pattern)
    assert found is not None
    return Job(
        pattern=pattern, out=out, pattern_parameters=small(found), backend="fabric",
        backend_parameters=parameters, sizes=(4097,), options={"repetitions": 2, "verify": True} | options,
    )  # fmt: skip


def needs(provider: str) -> None:
    """Skips the test where libfabric has no such provider."""
    executable = core.load().executable
    if provider not in {device.name for device in core.devices(executable) if device.backend == "fabric"}:
        pytest.skip(f"libfabric has no provider {provider} here")


every_provider = pytest.mark.parametrize("provider", ["tcp;ofi_rxm", "net", "tcp", "shm"])
every_transfer = pytest.mark.parametrize("transfer", ["tagged", "write"])


@pytest.mark.parametrize("wait", ["poll", "block"])
@every_transfer
@every_provider
def test_messages_are_whole_over_every_provider(
    binaries: Path, quick_path: Path, provider: str, transfer: str, wait: str
) -> None:
    needs(provider)
    sessions = Sessions()
    # The last has more messages in flight with one peer than a provider takes.
    for parts, pattern, window, iterations in (
        *(("0", "pingpong", 1, 5), ("1000", "aapc-burst", 1, 1), ("0", "chain", 1, 1)),
        ("1000", "simple-pairwise", 600, 1),
    ):
        parameters = {"provider": provider, "transfer": transfer, "max-message": parts}
        asked = job(
            pattern, quick_path / f"{pattern}.zarr", parameters, wait=wait, iterations=iterations,
            window=window,
        )  # fmt: skip
        assert sessions.measure(asked, RANKS).state == "complete"
        run = check_whole(asked.out)
        assert run.attributes["verify"] == {"wrong_messages": 0}
        facts = run.attributes["backend_facts"]
        assert isinstance(facts, dict)
        assert facts["provider"] == provider
        assert ("fi_writedata" in str(facts["transfer"])) == (transfer == "write")
        assert (facts["wait"] == "fi_cq_read") == (wait == "poll")
    assert set(sessions.close()) == {0}


@pytest.mark.long
@pytest.mark.parametrize("pattern", [one.name for one in core.load().patterns])
def test_every_pattern_writes_whole_messages(binaries: Path, quick_path: Path, pattern: str) -> None:
    """test_everything.py has every pattern with tagged messages. Some need four ranks."""
    sessions = Sessions()
    asked = job(pattern, quick_path / "run.zarr", {"transfer": "write"})
    assert sessions.measure(asked, RANKS + 1).state == "complete"
    assert check_whole(asked.out).attributes["verify"] == {"wrong_messages": 0}
    assert set(sessions.close()) == {0}


@pytest.mark.parametrize("size", [0, 8])
@pytest.mark.parametrize(
    ("senders", "options"),
    [(3, {"window": 64}), (3, {"iterations": 5000}), (20, {"iterations": 300})],
    ids=str,
)
def test_senders_of_short_messages_wait_for_their_receiver_where_it_has_little_room(
    binaries: Path, quick_path: Path, senders: int, options: dict[str, int], size: int
) -> None:
    """shm keeps at most 1,024 messages for a rank, of all senders together."""
    needs("shm")
    sessions = Sessions()
    asked = job("streams", quick_path / "run.zarr", {"provider": "shm"}, **options)
    asked = replace(asked, sizes=(size,), pattern_parameters={"senders": str(senders)})
    assert sessions.measure(asked, senders + 1).state == "complete"
    assert check_whole(asked.out).attributes["verify"] == {"wrong_messages": 0}
    assert set(sessions.close()) == {0}


@pytest.mark.parametrize(
    ("provider", "said"),
    [
        ("tcp;ofi_rxm", r"has no domain no-such on 127\.0\.0\.1; it has lo"),
        (
            "net",
            r"has no domain no-such on 127\.0\.0\.1; it has lo|offers no .* in domain no-such",
        ),  # 1.17, 2.6
        ("shm", r"has no domain no-such; it has shm"),
    ],
)
def test_a_domain_that_the_provider_does_not_have_is_refused_with_those_that_it_has(
    binaries: Path, quick_path: Path, provider: str, said: str
) -> None:
    needs(provider)
    sessions = Sessions()
    asked = job("aapc", quick_path / "run.zarr", {"provider": provider, "domain": "no-such"})
    with pytest.raises(CrosscutError, match=said):
        sessions.measure(asked, RANKS)
    assert set(sessions.close()) == {2}


def test_a_provider_that_is_not_here_is_refused_with_those_that_are(binaries: Path, quick_path: Path) -> None:
    sessions = Sessions()
    asked = job("aapc", quick_path / "run.zarr", {"provider": "cxi"})
    with pytest.raises(CrosscutError, match=r"provider cxi offers no .* these do: .*tcp;ofi_rxm"):
        sessions.measure(asked, RANKS)
    assert not asked.out.exists()
    assert set(sessions.close()) == {2}


@every_transfer
@every_provider
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "stopped"])
def test_a_lost_rank_is_named_and_no_shared_memory_stays(
    binaries: Path, quick_path: Path, provider: str, transfer: str, number: signal.Signals
) -> None:
    needs(provider)
    asked = endless(quick_path / "run.zarr", provider, transfer=transfer)
    with measuring(asked, launch(), binaries) as measurement:
        ranks = rank_processes(binaries / core.CORE, RANKS)[1]
        wait_until(lambda: progressing(measurement), "nothing was measured")
        os.kill(ranks[2], number)
        said = measurement.end()
        assert f"rank 2 on node {os.uname().nodename}" in said
        assert measurement.lost() == [(2, os.uname().nodename)]
    assert fsck.check(asked.out).damage == ()
    # A stopped rank is killed last: the next run removes its memory.
    assert not memory_of(ranks if number == signal.SIGKILL else ranks[:2])


@every_transfer
@every_provider
def test_an_interrupt_ends_the_ranks_and_leaves_a_run_that_resumes(
    binaries: Path, quick_path: Path, provider: str, transfer: str
) -> None:
    """In a phase that lasts: the interrupt has to reach ranks that wait for each other's messages."""
    needs(provider)
    run = quick_path / "run.zarr"
    words = ["run", "aapc", "-n", str(RANKS), "--backend", "fabric", "--fabric-provider", provider]
    words += ["--fabric-transfer", transfer, "--size", "2KB,4MB", "--repetitions", "100000"]
    words += ["--iterations", "1", "--quiet", "--out", str(run)]
    with subprocess.Popen([sys.executable, "-m", "crosscut", *words], stderr=subprocess.PIPE) as process:
        try:
            wait_until(lambda: any((run / "status").glob("c/**/0")), "nothing was measured")
            ranks = running(binaries / core.CORE)
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=PATIENCE_SECONDS)
        finally:
            process.kill()
    assert process.returncode == 130
    assert b"the run is stopped; continue with: crosscut run --resume" in said
    await_none(binaries / core.CORE)
    assert not memory_of(ranks)
    assert main(["run", "--resume", str(run), "--quiet", "--time-limit", "2s"]) == 0
    assert fsck.check(run).damage == ()


def test_the_others_remove_the_shared_memory_of_a_killed_rank(binaries: Path, quick_path: Path) -> None:
    needs("shm")
    asked = endless(quick_path / "run.zarr", "shm", tolerate_failures=True)
    with measuring(asked, launch(), binaries) as measurement:
        ranks = rank_processes(binaries / core.CORE, RANKS)[1]
        wait_until(lambda: bool(memory_of(ranks[2:])), "no shared memory")
        os.kill(ranks[2], signal.SIGKILL)
        wait_until(lambda: not memory_of(ranks[2:]), "the memory is still there")
        measurement.session.stop()
        measurement.end()
    assert not memory_of(ranks)


def test_the_next_run_removes_the_shared_memory_of_ranks_that_were_all_killed(
    binaries: Path, quick_path: Path
) -> None:
    needs("shm")
    asked = endless(quick_path / "run.zarr", "shm")
    with measuring(asked, launch(), binaries) as measurement:
        node, ranks = rank_processes(binaries / core.CORE, RANKS)
        wait_until(lambda: progressing(measurement), "nothing was measured")
        signal_all([node, *ranks], signal.SIGKILL)
        measurement.end()
    assert memory_of(ranks), "nothing was left to remove"
    sessions = Sessions()
    assert sessions.measure(job("aapc", quick_path / "next.zarr", {"provider": "shm"}), 2).state == "complete"
    assert set(sessions.close()) == {0}
    assert not memory_of(ranks)


def endless(out: Path, provider: str, transfer: str = "tagged", **options: object) -> Job:
    parameters = {"provider": provider, "transfer": transfer}
    return job("aapc", out, parameters, repetitions=100_000, iterations=1, verify=False, **options)


def launch() -> Launch:
    return Launch(backend="fabric", ranks=RANKS, timeout_seconds=4)


def progressing(measurement: Measurement) -> bool:
    """True if blocks are measured. Fails if the job has ended instead."""
    assert measurement.error is None, measurement.error
    return sum(event["event"] == "progress" for event in measurement.events) >= 2


def memory_of(processes: Iterable[int]) -> list[Path]:
    return [path for process in processes for path in Path("/dev/shm").glob(f"{process}:*")]
