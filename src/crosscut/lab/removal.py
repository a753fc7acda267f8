"""Taking a lab down, whatever state it is in: processes, mounts, files, in this order.

Devices need no removal: they go with their namespaces, and these when nothing pins them and nobody is inside.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path

from crosscut.errors import CrosscutError
from crosscut.lab import namespaces, state

PATIENCE_SECONDS = 2.0
_OCTAL = re.compile(r"\\([0-7]{3})")


def clear(folder: Path, holder: state.Process | None) -> None:
    """All but the folder itself. Whoever calls holds its lock."""
    _end_processes(folder, holder)
    if holder is None:
        for path in reversed(mounts_under(folder)):
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
        with contextlib.suppress(OSError):  # other labs, or not ours
            above.rmdir()


def mounts_under(folder: Path, holder: state.Process | None = None) -> list[str]:
    """As mountinfo has them, of this process or the holder (proc(5): the fifth field, blanks as octal
    numbers)."""
    found = []
    table = Path(f"/proc/{holder.pid if holder else 'self'}/mountinfo")
    try:
        lines = table.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:  # the holder ended just now
        return []
    for line in lines:
        path = _OCTAL.sub(lambda match: chr(int(match[1], 8)), line.split()[4])
        if Path(path).is_relative_to(folder):
            found.append(path)
    return found


def processes(folder: Path, holder: state.Process | None) -> list[int]:
    """Everybody who is in the lab: in one of its network namespaces, or in its holder's user namespace."""
    if holder is not None:
        with contextlib.suppress(OSError):
            return sorted(_with_namespace("user", {Path(f"/proc/{holder.pid}/ns/user").stat().st_ino}))
        return []
    pinned = set()
    for path in mounts_under(folder):
        with contextlib.suppress(OSError):
            pinned.add(Path(path).stat().st_ino)
    return sorted(_with_namespace("net", pinned)) if pinned else []


def _with_namespace(kind: str, inodes: set[int]) -> Iterator[int]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with contextlib.suppress(OSError):
                if (entry / "ns" / kind).stat().st_ino in inodes:
                    yield int(entry.name)


def _end_processes(folder: Path, holder: state.Process | None) -> None:
    """Asks, then kills. New ones may be born meanwhile, hence by rounds."""
    if holder is not None and not holder.alive():
        return
    deadline = time.monotonic() + PATIENCE_SECONDS
    number = signal.SIGTERM
    while found := processes(folder, holder):
        late = time.monotonic() > deadline
        if time.monotonic() > deadline + 5 * PATIENCE_SECONDS:
            raise CrosscutError(
                f"processes {', '.join(map(str, found))} of the lab in {folder} cannot be ended"
            )
        # The sleeping holder goes last: without it nothing can be entered any more.
        others = [pid for pid in found if holder is None or pid != holder.pid]
        for pid in others or found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL if late else number)
            # Where this process started it (the holder, the switch), it is found until it was waited for.
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
        time.sleep(0.02)
