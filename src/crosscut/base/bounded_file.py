"""A file of which nobody knows yet whether it is what it should be: never more of it than such a file has."""

from __future__ import annotations

from pathlib import Path

from crosscut.base.errors import UsageError, plainly


def read(path: Path, most_bytes: int, expected: str) -> bytes:
    """Raises UsageError. `expected`: `a host file`."""
    try:
        with path.open("rb") as file:
            content = file.read(most_bytes + 1)
    except OSError as error:
        raise UsageError(f"{path}: {plainly(error)}") from error
    if len(content) > most_bytes:
        raise UsageError(f"{path}: larger than {most_bytes >> 20} MiB; is it {expected}?")
    return content
