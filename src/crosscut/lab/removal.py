"""Takes a lab down from any state: first processes, then mounts, then files.

Devices need no removal: they vanish with their namespaces, once these are unpinned and no process is inside.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path

from crosscut.base.errors import CrosscutError
from crosscut.lab import state
from crosscut.lab.holder import keeps
from crosscut.lab.kernel import namespaces

PATIENCE_SECONDS = 2.0
_KILLING_ROUNDS = 3
_OCTAL = re.compile(r"\\([0-7]{3})")


def clear(folder: Path, holder: state.Process | None) -> None:
    """Removes everything but the folder itself, which the caller has locked."""
    _end_processes(folder, holder)
    for path in reversed(mounts_under(folder)):  # without root, they vanished with the holder
        namespaces.unmount(path)
    for entry in folder.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()


def remove(folder: Path, holder: state.Process | None) -> None:
    clear(folder, holder)
    folder.rmdir()
    for above in (folder.parent, folder.parent.parent):
        with contextlib.suppress(OSError):  # holds other labs, or is not ours
            above.rmdir()


def mounts_under(folder: Path, holder: state.Process | None = None) -> list[str]:
    """Mount points under a folder, as this process or the holder sees them."""
    try:
        return _mounts_of(str(holder.pid) if holder else "self", folder)
    except OSError:  # the holder ended just now
        return []


def _mounts_of(process: str, folder: Path) -> list[str]:
    """Mount points from mountinfo (proc(5): the fifth field, with blanks as octal escapes)."""
    found = []
    table = Path(f"/proc/{process}/mountinfo").read_text(encoding="utf-8", errors="surrogateescape")
    for line in table.splitlines():
        if folder.name not in line:  # a cheap test, as other labs may have thousands of mounts
            continue
        path = _OCTAL.sub(lambda match: chr(int(match[1], 8)), line.split()[4])
        if Path(path).is_relative_to(folder):
            found.append(path)
    return found


def processes(folder: Path, holder: state.Process | None) -> list[int]:
    """Processes in the lab: in one of its network namespaces, or in its holder's user namespace.

    Excludes this process.
    """
    found = []
    is_inside = _membership(folder, holder)
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with contextlib.suppress(OSError):  # another user's process, or gone
                # A zombie keeps its user namespace until its parent reaps it, which may never happen.
                if is_inside(entry) and state.start_ticks(int(entry.name)) is not None:
                    found.append(int(entry.name))
    return sorted(found)


def contains(folder: Path, holder: state.Process | None, process: state.Process) -> bool:
    """True if `process` runs and is in the lab (see `processes`); false if that cannot be seen."""
    with contextlib.suppress(OSError):
        return _membership(folder, holder)(Path(f"/proc/{process.pid}")) and process.alive()
    return False


def _membership(folder: Path, holder: state.Process | None) -> Callable[[Path], bool]:
    """Returns a test of whether a process, given its folder in /proc, is in the lab.

    The test raises OSError if that cannot be seen. Without root, only processes in a lab see its mounts,
    which identify them once the holder is gone, when its namespace's number may have been reused.
    """
    if os.geteuid() == 0:
        pinned = _pinned(folder)
        return lambda entry: _namespace(entry, "net") in pinned
    if holder is not None and keeps(holder):
        with contextlib.suppress(OSError):
            of_holder = _namespace(Path(f"/proc/{holder.pid}"), "user")
            return lambda entry: _namespace(entry, "user") == of_holder
    # Membership depends on the mount namespace alone, so each is read once. Ours has no mounts of the lab.
    known = {_namespace(Path("/proc/self"), "mnt"): False}

    def sees_mounts(entry: Path) -> bool:
        namespace = _namespace(entry, "mnt")
        if namespace not in known:
            known[namespace] = bool(_mounts_of(entry.name, folder))
        return known[namespace]

    return sees_mounts


def _namespace(entry: Path, kind: str) -> int:
    return (entry / "ns" / kind).stat().st_ino


def _pinned(folder: Path) -> set[int]:
    """Inode numbers of the namespaces pinned in the lab's folder."""
    found = set()
    for path in mounts_under(folder):
        with contextlib.suppress(OSError):
            found.add(Path(path).stat().st_ino)
    return found


def _end_processes(folder: Path, holder: state.Process | None) -> None:
    """Sends SIGTERM, later SIGKILL, in rounds, because new processes may appear meanwhile."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    killed = 0
    while found := processes(folder, holder):
        late = time.monotonic() > deadline
        # On a busy machine a round takes long.
        if killed > _KILLING_ROUNDS and time.monotonic() > deadline + 5 * PATIENCE_SECONDS:
            raise CrosscutError(
                f"processes {', '.join(map(str, found))} of the lab in {folder} cannot be ended"
            )
        killed += late
        # The sleeping holder goes last: without it no namespace can be entered.
        others = [pid for pid in found if holder is None or pid != holder.pid]
        for pid in others or found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL if late else signal.SIGTERM)
        time.sleep(0.02)
