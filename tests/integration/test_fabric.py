"""libfabric: what test_everything.py does not vary, and what a killed rank leaves."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from measuring import Sessions, check_whole, small, usable
from under_way import measuring, private_core, rank_processes, wait_until

from crosscut.base import core
from crosscut.base.errors import CrosscutError
from crosscut.base.job import Job
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


@pytest.mark.parametrize("wait", ["poll", "block"])
@pytest.mark.parametrize("provider", ["tcp;ofi_rxm", "net", "shm"])
def test_messages_are_whole_over_every_provider(
    binaries: Path, quick_path: Path, provider: str, wait: str
) -> None:
    needs(provider)
    sessions = Sessions()
    for parts, pattern in (("0", "pingpong"), ("1000", "aapc-burst"), ("0", "chain")):
        parameters = {"provider": provider, "max-message": parts}
        asked = job(pattern, quick_path / f"{pattern}.zarr", parameters, wait=wait, iterations=1)
        assert sessions.measure(asked, RANKS).state == "complete"
        run = check_whole(asked.out)
        assert run.attributes["verify"] == {"wrong_messages": 0}
        facts = run.attributes["backend_facts"]
        assert isinstance(facts, dict)
        assert facts["provider"] == provider
        assert (facts["wait"] == "fi_cq_read") == (wait == "poll")
    assert set(sessions.close()) == {0}


def test_a_provider_that_is_not_here_is_refused_with_those_that_are(binaries: Path, quick_path: Path) -> None:
    sessions = Sessions()
    asked = job("aapc", quick_path / "run.zarr", {"provider": "cxi"})
    with pytest.raises(CrosscutError, match=r"provider cxi offers no .* these do: .*tcp;ofi_rxm"):
        sessions.measure(asked, RANKS)
    assert not asked.out.exists()
    assert set(sessions.close()) == {2}


def test_the_others_remove_the_shared_memory_of_a_killed_rank(binaries: Path, quick_path: Path) -> None:
    needs("shm")
    asked = job(
        "aapc", quick_path / "run.zarr", {"provider": "shm"}, repetitions=100_000, iterations=1,
        tolerate_failures=True,
    )  # fmt: skip
    with measuring(asked, Launch(backend="fabric", ranks=RANKS), binaries) as measurement:
        ranks = rank_processes(binaries / core.CORE, RANKS)[1]
        wait_until(lambda: bool(memory_of(ranks[2])), "no shared memory")
        os.kill(ranks[2], signal.SIGKILL)
        wait_until(lambda: not memory_of(ranks[2]), "the memory is still there")
        measurement.session.stop()
        measurement.end()
    assert not [path for rank in ranks for path in memory_of(rank)]


def memory_of(process: int) -> list[Path]:
    return list(Path("/dev/shm").glob(f"{process}:*"))
