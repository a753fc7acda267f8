"""Checks that this machine has room for the ranks, before any is started.

Without this check, 100,000 ranks would mean a minute of silence and a machine that no longer responds.
"""

from __future__ import annotations

import math
import os
import resource
from collections.abc import Iterator
from pathlib import Path

from crosscut.base import memory
from crosscut.base.errors import UsageError

# A rank has its own thread and a control thread. Measured (tcp, 40 ranks): 0.1 to 0.4 MB of its own, and
# 0.6 MB in the kernel for its process, threads and sockets.
_TASKS_A_RANK = 2
_BYTES_A_RANK = 1 << 20
_PROC = Path("/proc")
_CONTROL_GROUPS = Path("/sys/fs/cgroup")


def refuse_more(ranks: int) -> None:
    """Raises UsageError if so many ranks exceed this machine's limits."""
    room, limit = min(_limits(), default=(math.inf, ""))
    if ranks > room:
        raise UsageError(
            f"-n {ranks}: this machine has room for only {int(room):,} ranks, limited by {limit}; give a "
            "smaller -n, or simulate with --on sim:NETWORK"
        )


def _limits() -> Iterator[tuple[float, str]]:
    """Yields (number of ranks that fit, name) for each limit."""
    tasks = _number(_PROC / "loadavg", 3, after="/", default=0)
    for name in ("threads-max", "pid_max"):
        most = _number(_PROC / "sys" / "kernel" / name)
        yield (most - tasks) / _TASKS_A_RANK, f"kernel.{name} ({most:.0f})"
    own = resource.getrlimit(resource.RLIMIT_NPROC)[0]
    if own != resource.RLIM_INFINITY and os.geteuid() != 0:  # does not bind root
        yield own / _TASKS_A_RANK, f"'ulimit -u' ({own})"
    for group in _control_groups():
        most = _number(group / "pids.max")
        left = most - _number(group / "pids.current", default=0)
        yield left / _TASKS_A_RANK, f"{group / 'pids.max'} ({most:.0f})"
    free = memory.free_bytes()
    yield free / _BYTES_A_RANK, f"its free memory ({free / 1e9:.1f} GB; a rank takes at least 1 MB)"


def _control_groups() -> Iterator[Path]:
    """Yields this process's control group and those above it (version 2)."""
    try:
        lines = (_PROC / "self" / "cgroup").read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return
    for line in lines:
        if line.startswith("0::/"):
            inside = Path(line.removeprefix("0::/"))
            yield from (_CONTROL_GROUPS / part for part in (inside, *inside.parents))


def _number(file: Path, word: int = 0, after: str = "", default: float = math.inf) -> float:
    """Returns the number in this word of a file, or in its part after `after`; `default` if there is none."""
    try:
        text = file.read_text(encoding="ascii").split()[word]
        return float(int(text.rpartition(after)[2] if after else text))
    except (OSError, ValueError, IndexError):
        return default
