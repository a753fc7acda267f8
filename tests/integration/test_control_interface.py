"""Barriers and control on an interface of their own: which connections use it, also after a rank was lost."""

from __future__ import annotations

import ipaddress
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from under_way import measuring, private_core, rank_processes, wait_until

from crosscut.base import core
from crosscut.base.errors import UsageError
from crosscut.base.job import Job
from crosscut.session.measure import Launch, decide

if core.find_executable(core.CORE) is None:
    pytest.skip("crosscut-core is not built", allow_module_level=True)

RANKS = 4
DATA, CONTROL = "127.0.77.1", "127.0.77.2"


@pytest.fixture
def binaries(quick_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    yield private_core(quick_path, monkeypatch.setenv)
    core.load.cache_clear()


def _address(text: str) -> str:
    """The address of an entry of /proc/net/tcp."""
    return str(ipaddress.IPv4Address(int.from_bytes(bytes.fromhex(text.partition(":")[0]), "little")))


def connections(pid: int) -> list[str]:
    """The addresses at which this process, or its peer, accepted each of its TCP connections."""
    sockets = set()
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        target = str(entry.readlink())
        if target.startswith("socket:["):
            sockets.add(target[8:-1])
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    mine = [line for line in lines if line[9] in sockets and line[3] == "01"]
    ends = [(_address(line[1]), _address(line[2])) for line in mine]
    return [end if end in (DATA, CONTROL) else other for end, other in ends]


def test_only_messages_use_the_measured_interface_also_after_a_rank_was_lost(
    quick_path: Path, binaries: Path
) -> None:
    job = Job(pattern="aapc", out=quick_path / "run.zarr", backend="tcp", sizes=(2000,),
              options={"repetitions": 1_000_000, "iterations": 1, "tolerate_failures": True})  # fmt: skip
    launch = Launch(ranks=RANKS, interface=DATA, control_interface=CONTROL)
    with measuring(job, launch, binaries) as measurement:
        _, ranks = rank_processes(binaries / core.CORE, RANKS)

        def connected(pid: int, to: int) -> bool:
            found = connections(pid)
            return found.count(DATA) >= to and set(found) == {DATA, CONTROL}

        wait_until(lambda: all(connected(pid, RANKS - 1) for pid in ranks), "the ranks are not connected")
        # To the conductor, and to the parent in the tree of the barrier.
        assert connections(ranks[3]).count(CONTROL) == 2
        os.kill(ranks[1], signal.SIGKILL)
        wait_until(lambda: bool(measurement.lost()), "no loss is noticed")
        left = [ranks[0], *ranks[2:]]
        wait_until(lambda: all(connected(pid, RANKS - 2) for pid in left), "the others do not go on")
        measurement.session.stop()
        assert measurement.end() == ""


def test_a_control_interface_needs_the_measured_one() -> None:
    with pytest.raises(UsageError, match="name the interface that is measured, too, with --interface"):
        decide(core.load(), Launch(ranks=2, control_interface=CONTROL))
