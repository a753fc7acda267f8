"""The lock of a run's writer; the core takes it, too (core/src/store/store_create.cpp)."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path

from crosscut.base.errors import UsageError

_LOOK_SECONDS = 0.01


def is_held(path: Path) -> bool:
    """True if a process on this machine is writing the run."""
    try:
        with _opened(path) as descriptor:
            return not _taken(descriptor, fcntl.LOCK_SH)
    except OSError:
        return False


@contextlib.contextmanager
def alone(path: Path, patience_seconds: float = 0.0) -> Iterator[None]:
    """While inside, no other process on this machine writes the run. Raises OSError, or UsageError if another
    still writes it after `patience_seconds`."""
    deadline = time.monotonic() + patience_seconds
    with _opened(path) as descriptor:
        while not _taken(descriptor, fcntl.LOCK_EX):
            if time.monotonic() >= deadline:
                raise UsageError(f"{path} is being written: wait until that is done")
            time.sleep(_LOOK_SECONDS)
        yield


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _taken(descriptor: int, kind: int) -> bool:
    """Tries to take the lock; True also on file systems without locks."""
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        pass
    return True
