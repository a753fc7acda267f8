"""Shared memory that an MPI library leaves on this machine if its ranks die while they start."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

FOLDER = Path("/dev/shm")  # noqa: S108
# MPICH and UCX remove the names of their files as soon as all ranks of a node have opened them.
PREFIXES = ("mpich_shm_", "ucx_shm_")
_ROUNDING_SECONDS = 1.0


def remove_orphans(since: float, folder: Path = FOLDER) -> list[str]:
    """Removes MPI's files that this user's processes made since then and that none of them uses; returns
    their names. Removes nothing if it cannot see all processes of this user.

    `since`: seconds since the epoch. A file that a program has just made is open or mapped there.
    """
    orphans = {}
    with contextlib.suppress(OSError):
        for path in folder.iterdir():
            if path.name.startswith(PREFIXES):
                status = path.lstat()
                is_own = stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid()
                if is_own and status.st_ctime >= since - _ROUNDING_SECONDS:
                    orphans[status.st_dev, status.st_ino] = path
    if not orphans:
        return []
    try:
        for used in _used():
            orphans.pop(used, None)
    except PermissionError:
        return []
    for path in orphans.values():
        path.unlink(missing_ok=True)
    return sorted(path.name for path in orphans.values())


def _used() -> Iterator[tuple[int, int]]:
    """Yields (device, inode) of each file that a process of this user has open or mapped."""
    for process in Path("/proc").glob("[0-9]*"):
        if process.name == "1":  # init may hide what it uses, but is no rank
            continue
        # It may end at any time.
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            if process.stat().st_uid != os.geteuid():
                continue
            for link in (process / "fd").iterdir():
                with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                    status = link.stat()
                    yield status.st_dev, status.st_ino
            for line in (process / "maps").read_text(errors="replace").splitlines():
                _, _, _, device, inode, *_ = line.split(maxsplit=5)  # proc_pid_maps(5)
                major, minor = device.split(":")
                yield os.makedev(int(major, 16), int(minor, 16)), int(inode)
