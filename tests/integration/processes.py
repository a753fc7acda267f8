"""Finds processes that a test left behind, by their executable: the test's own copy."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

GONE_SECONDS = 15


def running(executable: Path) -> list[int]:
    """Returns process ids, without zombies."""
    found = []
    for process in _processes():
        try:
            target = str((process / "exe").readlink())
        except OSError:
            continue
        if target.removesuffix(" (deleted)") == str(executable):
            found.append(int(process.name))
    return sorted(found)


def _processes() -> Iterator[Path]:
    return (entry for entry in Path("/proc").iterdir() if entry.name.isdigit())


def parent(pid: int) -> int:
    """Returns the parent's id; 0 if the process has ended."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def children(pid: int) -> list[int]:
    return sorted(int(process.name) for process in _processes() if parent(int(process.name)) == pid)


def name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def processes_named(wanted: str) -> list[int]:
    return [pid for pid in map(int, (process.name for process in _processes())) if name(pid) == wanted]


def environment(pid: int) -> dict[str, str]:
    """Returns the environment with which the process started."""
    with contextlib.suppress(OSError):
        words = Path(f"/proc/{pid}/environ").read_bytes().decode("utf-8", "replace").split("\0")
        return dict(word.partition("=")[::2] for word in words if "=" in word)
    return {}


def command_line(pid: int) -> list[str]:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode("utf-8", "replace").split("\0")
    return []


def ranks_of_nodes(executable: Path) -> dict[int, int]:
    """Returns the number of ranks by `node` process: a rank's parent runs the same executable."""
    everyone = running(executable)
    nodes = [pid for pid in everyone if parent(pid) not in everyone]
    return {node: sum(parent(pid) == node for pid in everyone) for node in nodes}


def await_none(executable: Path) -> None:
    """Fails if processes are left, after killing them."""
    end = time.monotonic() + GONE_SECONDS
    while left := running(executable):
        if time.monotonic() > end:
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            raise AssertionError(f"processes were left behind: {left}")
        time.sleep(0.05)
