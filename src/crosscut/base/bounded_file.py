"""Reads an untrusted file up to a bound in bytes."""

from __future__ import annotations

from pathlib import Path

from crosscut.base.errors import UsageError, plainly


def read(path: Path, most_bytes: int, expected: str) -> bytes:
    """Returns the whole file. Raises UsageError if it cannot be read or is too long. `expected` says what the
    file should be: `a host file`."""
    try:
        with path.open("rb") as file:
            content = file.read(most_bytes + 1)
    except OSError as error:
        raise UsageError(f"{path}: {plainly(error)}") from error
    if len(content) > most_bytes:
        raise UsageError(f"{path}: larger than {most_bytes >> 20} MiB; is it {expected}?")
    return content
