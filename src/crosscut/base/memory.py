"""The memory that reading runs may take: an array beyond the limit is refused before it is read."""

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


def set_limit(limit_bytes: int | None) -> None:
    """The process may take so many bytes in all; None: what it has when it first reads, and half of what is
    free then."""
    global _limit  # noqa: PLW0603  the limit is the process's, as its memory is
    _limit = limit_bytes


def hold(wanted_bytes: int, what: str, copies: int = 0) -> None:
    """Raises UsageError where `what`, and so many copies, do not fit beside all that this process has."""
    if _limit is None:
        set_limit(taken_bytes() + free_bytes() // 2)
    assert _limit is not None
    taken = taken_bytes()
    needed = taken + wanted_bytes * (1 + copies)
    if needed <= _limit:
        return
    with_copies = f", {units.about_size(wanted_bytes * (1 + copies))} to work with" if copies else ""
    raise UsageError(
        f"{what} takes {units.exact_bytes(wanted_bytes)} of memory{with_copies}, and crosscut has "
        f"{units.about_size(taken)} already; the limit is {units.about_size(_limit)}. {advice(needed)}"
    )


def advice(bytes_in_all: int | None = None) -> str:
    """What a person can do where memory does not suffice."""
    wanted = f"{math.ceil(bytes_in_all / 1e6)}MB" if bytes_in_all is not None else "SIZE"
    return f"If you trust the run and this machine has the memory, allow more: --memory {wanted}"


def taken_bytes() -> int:
    """Memory of this process, without pages of files."""
    try:
        _, resident, shared = Path("/proc/self/statm").read_text(encoding="ascii").split()[:3]
    except (OSError, ValueError):
        return 0
    return (int(resident) - int(shared)) * os.sysconf("SC_PAGE_SIZE")


def free_bytes() -> int:
    """Memory that this process can still take: of the machine, its control group and its own limits."""
    return max(0, min(_bounds(), default=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")))


def _bounds() -> Iterator[int]:
    with suppress(OSError, ValueError, IndexError):
        for line in Path("/proc/meminfo").read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith("MemAvailable:"):
                yield int(line.split()[1]) * 1024
    with suppress(OSError, ValueError, IndexError):
        pages = [int(word) for word in Path("/proc/self/statm").read_text(encoding="ascii").split()]
        for kind, used in ((resource.RLIMIT_AS, pages[0]), (resource.RLIMIT_DATA, pages[5])):
            limit = resource.getrlimit(kind)[0]
            if limit != resource.RLIM_INFINITY:
                yield limit - used * os.sysconf("SC_PAGE_SIZE")
    yield from _control_groups()


def _control_groups() -> Iterator[int]:
    """Limits of this process's control group and of all around it, in version 1 and 2 (cgroups(7))."""
    root = Path("/sys/fs/cgroup")
    with suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text(encoding="utf-8", errors="replace").splitlines():
            _, controllers, group = line.split(":", 2)
            if controllers not in ("", "memory"):
                continue
            name = "memory.limit_in_bytes" if controllers else "memory.max"
            inner = root / controllers / group.lstrip("/")
            for folder in (inner, *inner.parents):
                with suppress(OSError, ValueError):
                    yield int((folder / name).read_text(encoding="ascii"))
                if folder == root:
                    break
