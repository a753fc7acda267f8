"""MPI one-sided: what test_everything.py does not vary (who moves a message), and what windows may leave."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from measuring import Sessions, check_whole, small, usable
from processes import running
from tiers import long
from under_way import private_core

from crosscut.base import core
from crosscut.base.job import Job

RANKS = 4

if core.find_executable(core.CORE) is None:
    pytest.skip("crosscut-core is not built", allow_module_level=True)


@pytest.fixture
def sessions(quick_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sessions]:
    private_core(quick_path, monkeypatch.setenv)
    try:
        if not usable("rma"):
            pytest.skip("the backend rma cannot be used here")
        yield Sessions()
    finally:
        core.load.cache_clear()


def job(pattern: str, out: Path, operation: str, **options: object) -> Job:
    found = core.load().pattern(pattern)
    assert found is not None
    return Job(
        pattern=pattern, out=out, pattern_parameters=small(found), backend="rma",
        backend_parameters={"operation": operation}, sizes=(4097,),
        options={"repetitions": 3, "iterations": 5, "verify": True} | options,
    )  # fmt: skip


# Answers, streams and forwards, and all messages at once.
@pytest.mark.parametrize("pattern", ["pingpong", "chain", "aapc-burst", long("streams"), long("collective")])
def test_messages_that_receivers_get_are_whole(sessions: Sessions, quick_path: Path, pattern: str) -> None:
    asked = job(pattern, quick_path / "run.zarr", "get", iterations=1 if pattern == "chain" else 5)
    assert sessions.measure(asked, RANKS).state == "complete"
    run = check_whole(asked.out)
    assert run.attributes["verify"] == {"wrong_messages": 0}
    facts = run.attributes["backend_facts"]
    assert isinstance(facts, dict)
    assert (facts["send_ends"], facts["receive_ends"]) == ("notification by the peer", "flush by this rank")
    assert set(sessions.close()) == {0}


@pytest.mark.parametrize("keep", [False, True])
def test_windows_do_not_outlive_their_job(sessions: Sessions, quick_path: Path, keep: bool) -> None:
    """With kept connections the memory of one job is replaced by that of the next."""
    mapped = []
    for number in range(4):
        asked = job("pingpong", quick_path / f"{number}.zarr", "put", keep_connections=keep)
        assert sessions.measure(asked, RANKS).state == "complete"
        ranks = running(quick_path / "bin" / core.CORE_MPI)
        assert len(ranks) == RANKS
        mapped.append([Path(f"/proc/{pid}/maps").read_text().count("/dev/shm/") for pid in ranks])
    assert mapped[-1] == mapped[-2]
    assert mapped[-1][0] > 0
    assert set(sessions.close()) == {0}
