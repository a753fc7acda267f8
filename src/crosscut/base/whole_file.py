"""Writes files that appear whole or not at all, even after a power loss."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path


def write(path: Path, content: bytes) -> None:
    """Replaces the file. If that raises OSError, the old file stays as it was."""
    unfinished = path.with_name(f".{path.name}.{os.urandom(4).hex()}.unfinished")
    try:
        with unfinished.open("xb") as file:  # exclusive: never follows somebody's link
            file.write(content)
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
