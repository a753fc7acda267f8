"""Labs without root: a user namespace with root's rights, kept alive by a process that sleeps."""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn, TypeVar

from crosscut.base.errors import CrosscutError
from crosscut.lab.kernel import namespaces
from crosscut.lab.state import Process, Record, start_ticks

Result = TypeVar("Result")

_GO = b"g"


def needed() -> bool:
    return os.geteuid() != 0


def keeps(process: Process) -> bool:
    """True if a process can be a holder: it runs, is this user's, and is in a user namespace other than ours.

    A record may name any process, and `down` ends every process in a holder's namespace.
    """
    with contextlib.suppress(OSError):
        here, of_process = Path("/proc/self/ns/user").stat(), Path(f"/proc/{process.pid}/ns/user").stat()
        is_mine = Path(f"/proc/{process.pid}").stat().st_uid == os.geteuid()
        # The start time is checked last, so the rest was seen of this process, not of a later one.
        return is_mine and not os.path.samestat(here, of_process) and process.alive()
    return False


def start(note: Callable[[Process], None] | None = None) -> Process:
    """Starts a holder and waits for its namespace. Raises CrosscutError if the kernel allows none.

    `note` records the holder. Until then the holder ends with this process, as `down` could not find it.
    """
    reading, writing = os.pipe()
    waiting, going = os.pipe()
    identity = (os.geteuid(), os.getegid())
    child = os.fork()
    if child == 0:
        _close_but(writing, waiting)  # a lock of this process must not live on in the child
        _run(identity, writing, waiting)
    os.close(writing)
    os.close(waiting)
    try:
        with os.fdopen(reading, "rb") as stream:
            said = stream.read()
        if said != b"up":
            why = said.decode() or "the process that keeps the lab ended"
            raise CrosscutError(f"{why}; a lab needs root, or sysctl user.max_user_namespaces > 0")
        keeper = Process(child, start_ticks(child) or 0)
        if note is not None:
            note(keeper)
        os.write(going, _GO)
    except BaseException:
        os.close(going)
        os.waitpid(child, 0)
        raise
    os.close(going)
    return keeper


def _close_but(*kept: int) -> None:
    """Closes every other descriptor of this process beyond the standard three."""
    for low, high in itertools.pairwise((2, *sorted(kept), os.sysconf("SC_OPEN_MAX"))):
        os.closerange(low + 1, high)


def _run(identity: tuple[int, int], writing: int, waiting: int) -> NoReturn:
    try:
        os.setsid()
        _settle(*identity)
        os.write(writing, b"up")
        os.close(writing)
        if os.read(waiting, 1) == _GO:
            os.close(waiting)
            _sleep()
    except OSError as error:
        with contextlib.suppress(OSError):  # already closed if the holder was up but could not sleep
            os.write(writing, f"no user namespace can be made here: {error.strerror}".encode())
    finally:
        os._exit(1)


def _settle(user: int, group: int) -> None:
    namespaces.unshare(namespaces.NEW_USER | namespaces.NEW_MOUNT)
    Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
    Path("/proc/self/uid_map").write_text(f"0 {user} 1", encoding="ascii")
    Path("/proc/self/gid_map").write_text(f"0 {group} 1", encoding="ascii")
    namespaces.make_mounts_private()


def _sleep() -> None:
    """Turns this process into one that sleeps and outlives the terminal; never returns."""
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.chdir("/")
    os.execvp("sleep", ["crosscut-lab", "infinity"])  # noqa: S606  # this process is meant


def inside(record: Record, work: Callable[[], Result]) -> Result:
    """Runs `work` in a child process, inside the lab's user and mount namespaces if it has a holder."""

    def go() -> Result:
        if record.holder is not None:
            if not keeps(record.holder):
                raise CrosscutError(
                    f"the process that keeps lab {record.name} is gone; crosscut lab down {record.name}"
                )
            base = f"/proc/{record.holder.pid}/ns"
            with namespaces.opened(f"{base}/user") as user, namespaces.opened(f"{base}/mnt") as mounts:
                namespaces.enter_descriptor(user, namespaces.NEW_USER)
                namespaces.enter_descriptor(mounts, namespaces.NEW_MOUNT)
        return work()

    return namespaces.in_child(go)
