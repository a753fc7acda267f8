"""Measures a run in the place of an existing one, which is kept until the new one holds samples."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from crosscut.base.errors import CrosscutError, UsageError, plainly
from crosscut.run.agreement import holds_samples
from crosscut.run.format import read_group
from crosscut.run.launches import is_launches, load


def refuse(path: Path) -> None:
    """Raises UsageError if what is at `path` is not a run, or launches, that `--force` may replace."""
    if path.is_symlink():
        raise UsageError(f"{path} is a symbolic link; --force replaces only runs")
    try:
        runs = load(path).there if is_launches(path) else (path,)
        for run in runs:
            read_group(run)
    except CrosscutError as error:
        raise UsageError(f"--force replaces only runs: {error}") from error
    for run in runs:
        if _is_being_written(run):
            raise UsageError(f"{run} is being written by another process")


def _is_being_written(run: Path) -> bool:
    """True if a writer holds the lock of the run's folder (core/src/store)."""
    folder = os.open(run, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # a file system without locks; the core writes there all the same
        return False
    finally:
        os.close(folder)
    return False


@contextmanager
def set_aside(path: Path) -> Iterator[None]:
    """Moves the run at `path` aside while its successor is measured there. Then removes it, or puts it back
    if the successor holds no samples."""
    old = path.with_name(f".{path.name}.{os.urandom(4).hex()}.old")
    refuse(path)
    try:
        path.rename(old)
    except OSError as error:
        raise CrosscutError(f"cannot replace {path}: {plainly(error)}") from error
    try:
        yield
    finally:
        if begun(path):
            shutil.rmtree(old, ignore_errors=True)
        else:
            shutil.rmtree(path, ignore_errors=True)
            old.rename(path)


def begun(path: Path) -> bool:
    """True if a run, or any of the launches, holds samples."""
    try:
        return any(map(holds_samples, load(path).there)) if is_launches(path) else holds_samples(path)
    except CrosscutError:
        return False
