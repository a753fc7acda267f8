"""Writes files that appear whole or not at all, even after a power loss."""

from __future__ import annotations

import contextlib
import os
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from crosscut.base.errors import CrosscutError, UsageError, plainly

_HEAD_BYTES = 4096


def need_folder(option: str, path: Path) -> None:
    """Raises UsageError, before any work, if the folder of the path that `option` names does not exist."""
    if lacks := _lacking_folder(path):
        raise UsageError(f"{option} {path}: {lacks}")


def need_place(option: str, path: Path) -> None:
    """Raises UsageError, before any work, if no file can have the path that `option` names."""
    need_folder(option, path)
    if path.is_dir():
        raise UsageError(f"{option} {path}: this is a folder; name a file in it")


def need_own(option: str, path: Path, marks: bytes) -> None:
    """Raises UsageError, before any work, for a file without `marks`: somebody else's, not to be replaced."""
    need_place(option, path)
    if not path.is_file():
        return
    head = b""
    with contextlib.suppress(OSError), path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    if marks not in head:
        raise UsageError(f"{option} {path}: this file exists, and crosscut did not make it; name another")


def _lacking_folder(path: Path) -> str:
    folder = path.absolute().parent
    if folder.is_dir():
        return ""
    if folder.exists():
        return f"{folder} is not a folder; name a file in a folder"
    return (
        f"the folder {folder} does not exist; make it (mkdir -p {shlex.quote(str(folder))}) or name another"
    )


def write(path: Path, content: bytes) -> None:
    """Replaces the file. If that raises OSError, the old file stays as it was."""
    with _opened(path) as file:
        file.write(content)


@contextlib.contextmanager
def output(path: Path) -> Iterator[IO[bytes]]:
    """Opens a file that a person named for output; it replaces the old one only once it is complete.

    A device or a pipe, such as /dev/stdout, is written to. Raises CrosscutError if writing fails.
    """
    try:
        with path.open("wb") if is_special(path) else _opened(path) as file:
            yield file
    except BrokenPipeError:
        raise
    except OSError as error:
        raise CrosscutError(f"cannot write {path}: {_lacking_folder(path) or plainly(error)}") from error


def write_output(path: Path, content: bytes) -> None:
    """Writes a file that a person named, as `output` does."""
    with output(path) as file:
        file.write(content)


def is_special(path: Path) -> bool:
    """True for a device, a pipe or a socket, which a file must not replace."""
    return path.exists() and not (path.is_file() or path.is_dir())


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    unfinished = path.with_name(f".{path.name}.{os.urandom(4).hex()}.unfinished")
    try:
        with unfinished.open("xb") as file:  # exclusive: never follows somebody's link
            yield file
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
        _sync_folder(path.parent)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def _sync_folder(folder: Path) -> None:
    """Syncs the folder, without which the new name may be lost. Raises no error: the file is in place."""
    # Some file systems cannot sync folders, and need not; a folder that may not be read cannot be opened.
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
