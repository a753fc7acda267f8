"""Connections outlive a job, so that a network that hashes ports sends each route the same way again."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from processes import running
from under_way import private_core, wait_until

from crosscut.base import core
from crosscut.base.job import Job
from crosscut.run.run import Run
from crosscut.session.measure import Launch, decide, open_session

RANKS = 3
_ESTABLISHED = "01"


def connections() -> set[tuple[str, str]]:
    """Returns both ends of every TCP connection in this network namespace."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return {(row[1], row[2]) for row in rows if row[3] == _ESTABLISHED}


def listening_ports(executable: Path) -> set[str]:
    """Returns the ports on which this test's ranks listen: a data lane has one at one end."""
    inodes = set()
    for pid in running(executable):
        with contextlib.suppress(OSError):
            inodes |= {str(fd.readlink()) for fd in Path(f"/proc/{pid}/fd").iterdir()}
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return {row[1].split(":")[1] for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in inodes}


def recorded_ports(run: Path) -> list[tuple[int, int]]:
    """Returns the recorded ports of each rank that connected, and of its peer."""
    attribute = Run.open(run).attributes["connections"]
    assert isinstance(attribute, dict)
    rows = [dict(zip(attribute["fields"], row, strict=True)) for row in attribute["rows"]]
    assert attribute["count"] == len(rows)
    assert len({(row["rank"], row["peer"], row["index"]) for row in rows}) == len(rows)
    return [(row["local_port"], row["remote_port"]) for row in rows]


@pytest.fixture
def executable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    yield private_core(tmp_path, monkeypatch.setenv) / core.CORE
    core.load.cache_clear()


@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize("each", [1, 4])
def test_the_next_job_of_a_session_has_the_same_connections_if_asked(
    keep: bool, each: int, tmp_path: Path, executable: Path
) -> None:
    pairs = RANKS * (RANKS - 1) // 2

    def job(name: str) -> Job:
        options = {"repetitions": 2, "verify": True, "keep_connections": keep}
        parameters = {"connections": str(each)}
        return Job("aapc", tmp_path / name, sizes=(1000,), backend_parameters=parameters, options=options)

    with open_session(decide(core.load(), Launch(ranks=RANKS)), lambda _event: None) as session:
        session.wait_ready()
        listening = listening_ports(executable)

        def lanes() -> set[tuple[str, str]]:
            return {ends for ends in connections() if ends[1].split(":")[1] in listening}

        before, there = lanes(), pairs * each if keep else 0

        def left() -> set[tuple[str, str]]:
            """Returns the lanes after a job, whose end is reported while ranks still close theirs."""
            wait_until(lambda: len(lanes() - before) == there, f"there should be {there} lanes")
            return lanes() - before

        assert session.run(job("first.zarr")).state == "complete"
        first = left()
        assert session.run(job("second.zarr")).state == "complete"
        second = left()
    assert first == second
    for name in ("first.zarr", "second.zarr"):
        attributes = Run.open(tmp_path / name).attributes
        assert attributes["state"] == "complete"
        assert attributes["verify"] == {"wrong_messages": 0}
    ports, ports_after = (recorded_ports(tmp_path / name) for name in ("first.zarr", "second.zarr"))
    assert len(ports) == pairs * each
    assert (sorted(ports) == sorted(ports_after)) == keep
    if keep:
        assert sorted(ports) == sorted(
            (int(ends[0].split(":")[1], 16), int(ends[1].split(":")[1], 16)) for ends in first
        )
