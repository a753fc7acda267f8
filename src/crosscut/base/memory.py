"""Limits the memory for reading runs: an array beyond the limit is refused before it is read."""

from __future__ import annotations

import math
import os
import resource
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from crosscut.base import units
from crosscut.base.errors import UsageError

_limit: int | None = None
_PROC = Path("/proc")
_CONTROL_GROUPS = Path("/sys/fs/cgroup")


def set_limit(limit_bytes: int | None) -> None:
    """Limits the memory of the process. None: its use at the first read plus half of the memory then free."""
    global _limit  # noqa: PLW0603  one limit per process, because memory is counted per process
    _limit = limit_bytes


def hold(wanted_bytes: int, what: str, copies: int = 0) -> None:
    """Raises UsageError if `what` and its copies do not fit within the limit, given the memory in use."""
    if _limit is None:
        set_limit(taken_bytes() + free_bytes() // 2)
    assert _limit is not None
    taken = taken_bytes()
    needed = taken + wanted_bytes * (1 + copies)
    if needed <= _limit:
        return
    with_copies = f", {units.about_size(wanted_bytes * (1 + copies))} to work with" if copies else ""
    raise UsageError(
        f"{what} takes {units.exact_bytes(wanted_bytes)} of memory{with_copies}, and crosscut already "
        f"uses {units.about_size(taken)}; the limit is {units.about_size(_limit)}. {advice(needed)}"
    )


def advice(bytes_in_all: int | None = None) -> str:
    """Returns advice to show when the memory does not suffice."""
    wanted = f"{math.ceil(bytes_in_all / 1e6)}MB" if bytes_in_all is not None else "SIZE"
    return f"If you trust the run and this machine has the memory, allow more: --memory {wanted}"


def taken_bytes() -> int:
    """Returns this process's resident memory, without file and shared pages; 0 if unknown."""
    try:
        _, resident, shared = (_PROC / "self/statm").read_text(encoding="ascii").split()[:3]
    except (OSError, ValueError):
        return 0
    return (int(resident) - int(shared)) * os.sysconf("SC_PAGE_SIZE")


def free_bytes() -> int:
    """Returns how much more memory the machine, the control groups and its own limits grant this process."""
    return max(0, min(_bounds(), default=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")))


def _bounds() -> Iterator[int]:
    with suppress(OSError, ValueError, IndexError):
        for line in (_PROC / "meminfo").read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith("MemAvailable:"):
                yield int(line.split()[1]) * 1024
    with suppress(OSError, ValueError, IndexError):
        pages = [int(word) for word in (_PROC / "self/statm").read_text(encoding="ascii").split()]
        for kind, used in ((resource.RLIMIT_AS, pages[0]), (resource.RLIMIT_DATA, pages[5])):
            limit = resource.getrlimit(kind)[0]
            if limit != resource.RLIM_INFINITY:
                yield limit - used * os.sysconf("SC_PAGE_SIZE")
    yield from _control_groups()


def _control_groups() -> Iterator[int]:
    """Yields the memory left in this process's control group and its ancestors, v1 or v2 (cgroups(7))."""
    with suppress(OSError):
        for line in (_PROC / "self/cgroup").read_text(encoding="utf-8", errors="replace").splitlines():
            _, controllers, group = line.split(":", 2)
            if controllers not in ("", "memory"):
                continue
            inner = _CONTROL_GROUPS / controllers / group.lstrip("/")
            for folder in (inner, *inner.parents):
                with suppress(OSError, ValueError, IndexError):
                    yield _left(folder, is_version_1=bool(controllers))
                if folder == _CONTROL_GROUPS:
                    break


def _left(group: Path, is_version_1: bool) -> int:
    """Returns a group's limit minus its processes' use. Raises OSError or ValueError if it has no limit."""
    names = ("limit_in_bytes", "usage_in_bytes") if is_version_1 else ("max", "current")
    limit, used = (int((group / f"memory.{name}").read_text(encoding="ascii")) for name in names)
    # File pages count as used, but the kernel drops them when memory is short.
    pages = {f"{'total_' if is_version_1 else ''}{name}" for name in ("active_file", "inactive_file")}
    lines = (group / "memory.stat").read_text(encoding="ascii").splitlines()
    return limit - used + sum(int(line.split()[1]) for line in lines if line.split()[0] in pages)
