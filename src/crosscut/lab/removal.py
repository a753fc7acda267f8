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

from crosscut.base.errors import CrosscutError
from crosscut.lab import state
from crosscut.lab.holder import keeps
from crosscut.lab.kernel import namespaces

PATIENCE_SECONDS = 2.0
_KILLING_ROUNDS = 3
_OCTAL = re.compile(r"\\([0-7]{3})")


def clear(folder: Path, holder: state.Process | None) -> None:
    """All but the folder itself. Whoever calls holds its lock."""
    _end_processes(folder, holder)
    for path in reversed(mounts_under(folder)):  # without root they went with the holder
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
    """Mount points under a folder, as this process or the holder sees them."""
    try:
        return _mounts_of(str(holder.pid) if holder else "self", folder)
    except OSError:  # the holder ended just now
        return []


def _mounts_of(process: str, folder: Path) -> list[str]:
    """As mountinfo has them (proc(5): the fifth field, blanks as octal numbers)."""
    found = []
    table = Path(f"/proc/{process}/mountinfo").read_text(encoding="utf-8", errors="surrogateescape")
    for line in table.splitlines():
        if folder.name not in line:  # there may be thousands of other labs'
            continue
        path = _OCTAL.sub(lambda match: chr(int(match[1], 8)), line.split()[4])
        if Path(path).is_relative_to(folder):
            found.append(path)
    return found


def processes(folder: Path, holder: state.Process | None) -> list[int]:
    """Everybody who is in the lab: in one of its network namespaces, or in its holder's user namespace."""
    if os.geteuid() == 0:
        pinned = _pinned(folder)
        return sorted(_with_namespace("net", pinned)) if pinned else []
    if holder is not None and keeps(holder):
        with contextlib.suppress(OSError):
            return sorted(_with_namespace("user", {Path(f"/proc/{holder.pid}/ns/user").stat().st_ino}))
    return sorted(_who_sees_mounts(folder))


def contains(folder: Path, holder: state.Process | None, process: state.Process) -> bool:
    """True if one process runs and is in the lab, as `processes` has it. False where that cannot be seen."""
    of_process = Path(f"/proc/{process.pid}/ns")
    with contextlib.suppress(OSError):
        if os.geteuid() == 0:
            inside = (of_process / "net").stat().st_ino in _pinned(folder)
        elif holder is not None and keeps(holder):
            inside = os.path.samestat(
                (of_process / "user").stat(), Path(f"/proc/{holder.pid}/ns/user").stat()
            )
        else:
            inside = bool(_mounts_of(str(process.pid), folder))
        return inside and process.alive()
    return False


def _pinned(folder: Path) -> set[int]:
    """Numbers of the namespaces that mounts keep here."""
    found = set()
    for path in mounts_under(folder):
        with contextlib.suppress(OSError):
            found.add(Path(path).stat().st_ino)
    return found


def _who_sees_mounts(folder: Path) -> Iterator[int]:
    """Without root, what is mounted in a lab is seen by those who are in it, and by nobody else: so they are
    found when their holder is gone. The number of its namespace may be another's by then."""
    # Whether it is one of the lab, by the number of a namespace of mounts. Here nothing of it is seen.
    known = {Path("/proc/self/ns/mnt").stat().st_ino: False}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):  # another user's, or gone
                namespace = (entry / "ns" / "mnt").stat().st_ino
                if namespace not in known:
                    known[namespace] = bool(_mounts_of(entry.name, folder))
                if known[namespace]:
                    yield int(entry.name)


def _with_namespace(kind: str, inodes: set[int]) -> Iterator[int]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with contextlib.suppress(OSError):
                # A corpse keeps its user namespace until its parent looks, which may be never.
                inside = (entry / "ns" / kind).stat().st_ino in inodes
                if inside and state.start_ticks(int(entry.name)) is not None:
                    yield int(entry.name)


def _end_processes(folder: Path, holder: state.Process | None) -> None:
    """Asks, then kills. New ones may be born meanwhile, hence by rounds."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    killed = 0
    while found := processes(folder, holder):
        late = time.monotonic() > deadline
        # A round takes long on a busy machine.
        if killed > _KILLING_ROUNDS and time.monotonic() > deadline + 5 * PATIENCE_SECONDS:
            raise CrosscutError(
                f"processes {', '.join(map(str, found))} of the lab in {folder} cannot be ended"
            )
        killed += late
        # The sleeping holder goes last: without it nothing can be entered any more.
        others = [pid for pid in found if holder is None or pid != holder.pid]
        for pid in others or found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL if late else signal.SIGTERM)
        time.sleep(0.02)
