"""More ranks than a machine has room for are refused before any starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from crosscut.base import memory
from crosscut.base.errors import UsageError
from crosscut.places import base, room
from crosscut.places.local import PLACE


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with room for 5,000 processes, of which 900 exist, and plenty of memory."""
    monkeypatch.setattr(room, "_PROC", tmp_path / "proc")
    monkeypatch.setattr(room, "_CONTROL_GROUPS", tmp_path / "cgroup")
    monkeypatch.setattr(room.os, "geteuid", lambda: 0)
    monkeypatch.setattr(memory, "free_bytes", lambda: 1 << 40)
    write(tmp_path / "proc" / "sys" / "kernel" / "pid_max", "5000")
    write(tmp_path / "proc" / "loadavg", "0.01 0.02 0.03 2/900 12345")
    return tmp_path


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{text}\n")


def test_processes_of_the_machine_are_a_limit(machine: Path) -> None:
    room.refuse_more(2050)
    with pytest.raises(
        UsageError, match=r"-n 2051: .* room for only 2,050 ranks, limited by kernel.pid_max \(5000\)"
    ):
        room.refuse_more(2051)


def test_a_control_group_above_ours_is_a_limit(machine: Path) -> None:
    write(machine / "proc" / "self" / "cgroup", "0::/user/session")
    write(machine / "cgroup" / "user" / "session" / "pids.max", "max")
    write(machine / "cgroup" / "user" / "pids.max", "100")
    write(machine / "cgroup" / "user" / "pids.current", "20")
    room.refuse_more(40)
    with pytest.raises(
        UsageError, match=r"room for only 40 ranks, limited by .*/cgroup/user/pids.max \(100\)"
    ):
        room.refuse_more(41)


def test_memory_is_a_limit(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "free_bytes", lambda: 8 << 20)
    with pytest.raises(UsageError, match=r"room for only 8 ranks, limited by its free memory \(0.0 GB"):
        room.refuse_more(9)


def test_limits_that_cannot_be_read_are_ignored(machine: Path) -> None:
    (machine / "proc" / "sys" / "kernel" / "pid_max").unlink()
    room.refuse_more(1_000_000)


def test_nothing_is_started_if_the_ranks_do_not_fit(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "spawn", lambda *_: pytest.fail("something was started"))
    with pytest.raises(UsageError, match="-n 100000: this machine has room for only 2,050 ranks"):
        PLACE.start(base.PlaceOptions(executable=Path("/nowhere"), ranks=100_000))
