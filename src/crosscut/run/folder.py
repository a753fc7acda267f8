"""Lists a run's folder, and finds entries that are not part of the run."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from crosscut.base.errors import UsageError
from crosscut.run.files import Problem
from crosscut.run.format import RunGroup

# Levels from the run to a file of a five-dimensional array, and one more.
_LEVELS = 8

Kind = Literal["folder", "file", "link", "special"]

_NOT_READ = "crosscut does not read it, but other programs may, and may run code in it; remove it"
_NO_LINKS = "crosscut does not follow links out of a run; replace the link with the file itself"


def entries(path: Path, levels: int = _LEVELS) -> Iterator[tuple[Path, Kind]]:
    """Yields everything in a folder and in the folders below it; follows no links."""
    with os.scandir(path) as found:
        for entry in sorted(found, key=lambda entry: entry.name):
            if entry.is_symlink():
                yield Path(entry.path), "link"
            elif not entry.is_dir(follow_symlinks=False):
                yield Path(entry.path), "file" if entry.is_file(follow_symlinks=False) else "special"
            else:
                yield Path(entry.path), "folder"
                if levels > 1:
                    yield from entries(Path(entry.path), levels - 1)


def unfinished(path: Path) -> list[Path]:
    """Returns the files of a killed writer: each would have replaced the file without the suffix."""
    return [file for file, _ in entries(path) if file.name.endswith(".unfinished")]


def refuse_links(path: Path) -> None:
    """Raises UsageError if writing to the run could write elsewhere."""
    for file, kind in entries(path):
        if kind in ("link", "special"):
            what = "a symbolic link" if kind == "link" else "a pipe or device"
            raise UsageError(
                f"{file} is {what}; crosscut does not write to a run that contains one. Remove it first"
            )


def strangers(group: RunGroup) -> Iterator[Problem]:
    """Yields entries that other Zarr readers could take for part of the run, and links out of it."""
    document = group.path / "zarr.json"
    for name in sorted(set(group.inline) - set(group.arrays)):
        yield Problem(document, f"describes an array {name[:100]!r}, which no run has", _NOT_READ)
    for entry, kind in entries(group.path):
        parts = entry.relative_to(group.path).parts
        if not _belongs(group, parts[:-1]):
            continue
        if kind == "link":
            yield Problem(entry, "is a symbolic link", _NO_LINKS)
        elif kind == "special":
            yield Problem(entry, "is a pipe or device, not a regular file", "it is not read; remove it")
        elif kind == "folder" and not _belongs(group, parts):
            yield Problem(entry, "belongs to no array of this run", _NOT_READ)
        elif kind == "file" and _foreign_metadata(parts):
            yield Problem(entry, "is metadata of no array of this run", _NOT_READ)


def _foreign_metadata(file: tuple[str, ...]) -> bool:
    """True for Zarr 2 metadata, and for metadata in folders that need none."""
    return file[-1].startswith(".z") or (file[-1] == "zarr.json" and len(file) > 2)


def _belongs(group: RunGroup, folder: tuple[str, ...]) -> bool:
    """True for the run's own folder and those of its arrays: `status`, `status/c`, `status/c/0`."""
    if not folder:
        return True
    chunks = all(part.isdecimal() for part in folder[2:])
    return folder[0] in group.arrays and folder[1:2] in ((), ("c",)) and chunks
