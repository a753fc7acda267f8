"""Reads an untrusted file up to a bound in bytes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from crosscut.base.errors import UsageError, plainly
from crosscut.base.regular_file import open_regular


def read(path: Path, most_bytes: int, expected: str) -> bytes:
    """Returns the whole file. Raises UsageError if it cannot be read or is too long. `expected` says what the
    file should be: `a host file`."""
    return _read(lambda: path.open("rb"), path, most_bytes, expected)


def read_regular(path: Path, most_bytes: int, expected: str) -> bytes:
    """As `read`, for a file in somebody's folder: refuses a pipe, which would block, and a device."""
    return _read(lambda: open_regular(path, follow=True), path, most_bytes, expected)


def _read(opened: Callable[[], BinaryIO], path: Path, most_bytes: int, expected: str) -> bytes:
    try:
        with opened() as file:
            content = file.read(most_bytes + 1)
    except IsADirectoryError as error:
        raise UsageError(f"{path} is a directory; name {expected}") from error
    except OSError as error:
        raise UsageError(f"{path}: {plainly(error)}") from error
    if len(content) > most_bytes:
        raise UsageError(f"{path}: larger than {most_bytes >> 20} MiB; is it {expected}?")
    return content
