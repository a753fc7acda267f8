"""Namespaces through the kernel's own calls (Python has them since 3.12), and work done inside them.

Only child processes (`in_child`) leave the namespaces in which crosscut was started.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
import os
import pickle
import resource
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from crosscut.base import process_group
from crosscut.base.errors import CrosscutError, Interrupted

Result = TypeVar("Result")

NEW_MOUNT, NEW_UTS, NEW_IPC, NEW_USER, NEW_NET = 0x20000, 0x4000000, 0x8000000, 0x10000000, 0x40000000
_MS_BIND, _MS_REC, _MS_PRIVATE, _MNT_DETACH = 0x1000, 0x4000, 1 << 18, 2
_LOOK_SECONDS, _STOPPED_SECONDS = 1.0, 10.0
_PIECE_BYTES = 1 << 16

_libc = ctypes.CDLL(None, use_errno=True)


def _checked(status: int, what: str) -> None:
    if status != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def unshare(flags: int) -> None:
    _checked(_libc.unshare(flags), "cannot make a namespace")


def enter(path: Path | str, flag: int) -> None:
    with opened(path) as descriptor:
        enter_descriptor(descriptor, flag)


def enter_descriptor(descriptor: int, flag: int) -> None:
    _checked(_libc.setns(descriptor, flag), "cannot enter a namespace")


@contextlib.contextmanager
def opened(path: Path | str) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def make_room(descriptors: int) -> None:
    """Raises the limit on open files to this many, and some for Python and the kernel's sockets."""
    least = descriptors + 64
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < least:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(least, hard), hard))


def set_host_name(name: str) -> None:
    encoded = name.encode()
    _checked(_libc.sethostname(encoded, len(encoded)), "cannot set a host name")


def pin(kind: str, path: Path) -> None:
    """Keeps this process's namespace (`net`, `uts`, `ipc`) alive through a mount after the process ends."""
    path.touch(mode=0o444)
    source = f"/proc/self/ns/{kind}".encode()
    _checked(_libc.mount(source, str(path).encode(), None, _MS_BIND, None), f"cannot keep {path}")


def make_mounts_private() -> None:
    _checked(_libc.mount(b"none", b"/", None, _MS_REC | _MS_PRIVATE, None), "cannot make mounts private")


def unmount(path: Path | str) -> None:
    """Unmounts lazily, so that a mount in use goes, too."""
    _checked(_libc.umount2(os.fsencode(path), _MNT_DETACH), f"cannot unmount {path}")


def in_child(work: Callable[[], Result]) -> Result:
    """Runs `work` in a child that may enter other namespaces; returns its result or raises its error.

    The child dies with this process, and so does every namespace that it has not pinned.
    """
    parent = os.getpid()
    reading, writing = os.pipe()
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _run_child(work, parent, writing)
    os.close(writing)
    try:
        said = _answer_of(child, reading)
    except BaseException:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        raise
    finally:
        os.close(reading)
        _, status = os.waitpid(child, 0)
    if not said:
        raise CrosscutError(f"a helper process ended without an answer (wait status {status})")
    good, value = pickle.loads(said)  # noqa: S301  # from our own child
    if good:
        result: Result = value
        return result
    raise value


def _answer_of(child: int, reading: int) -> bytes:
    """Reads all that the child writes. Raises CrosscutError if the child stays stopped."""
    said, stopped_at = b"", math.inf
    while True:
        if select.select([reading], [], [], _LOOK_SECONDS)[0]:
            if not (piece := os.read(reading, _PIECE_BYTES)):
                return said
            said += piece
            continue
        is_stopped = process_group.stopped(child) is not None
        stopped_at = min(stopped_at, time.monotonic()) if is_stopped else math.inf
        if time.monotonic() - stopped_at > _STOPPED_SECONDS:
            raise CrosscutError(f"a helper process ({child}) was stopped, by SIGSTOP or ctrl-Z")


def _run_child(work: Callable[[], Result], parent: int, writing: int) -> None:
    answer: tuple[bool, object]
    try:
        process_group.end_with_parent(signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)
        answer = (True, work())
    except CrosscutError as error:
        answer = (False, error)
    except KeyboardInterrupt:
        answer = (False, Interrupted("interrupted"))
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        answer = (False, CrosscutError(f"{where}{error.strerror or error}"))
    except BaseException as error:  # noqa: BLE001  # a child must never return into its parent's code
        traceback.print_exc()
        answer = (False, CrosscutError(f"{type(error).__name__}: {error}"))
    try:
        with os.fdopen(writing, "wb") as stream:
            pickle.dump(answer, stream)
    finally:
        os._exit(0)
