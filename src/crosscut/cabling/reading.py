"""Reads files and folders of cabling, and tells their formats apart by their content."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from crosscut.base import bounded_file
from crosscut.base.errors import UsageError
from crosscut.cabling import ibnetdiscover, inventory, lldp, slurm_topology
from crosscut.cabling.model import Cabling, merged

LARGEST_FILE_BYTES = 64 << 20
MOST_FILES = 100_000
# The first setting of Slurm's topology.conf: `SwitchName=`, `BlockName=` or `BlockSizes=`.
_SETTING = re.compile(r"\w+\s*=")


def read(paths: Sequence[Path]) -> Cabling:
    """Reads and merges all files. A folder stands for its files, such as lldpctl's output on each host.
    Raises UsageError with file and line."""
    return merged(_of_file(file) for path in paths for file in _files(path))


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    found = sorted(entry for entry in path.iterdir() if entry.is_file() and not entry.name.startswith("."))
    if not found:
        raise UsageError(f"{path}: no file in this folder")
    if len(found) > MOST_FILES:
        raise UsageError(f"{path}: more than {MOST_FILES} files")
    return found


def _of_file(path: Path) -> Cabling:
    content = bounded_file.read(path, LARGEST_FILE_BYTES, "a list of cables")
    text = content.decode("utf-8-sig", "replace")
    name, host = str(path), path.name.removesuffix(".json").removesuffix(".lldp").removesuffix(".txt")
    lines = map(str.strip, text.splitlines())
    first = next((line for line in lines if line and not line.startswith("#")), "")
    if not first:
        raise UsageError(f"{path}: it is empty")
    if first.startswith("{"):
        return lldp.parse_json(text, name, host)
    if first.startswith("lldp."):
        return lldp.parse_keyvalue(text, host)
    if first.startswith(("vendid=", "Switch\t", "Switch ", "Ca\t", "Ca ", "devid=")):
        return ibnetdiscover.parse(text, name)
    if _SETTING.match(first):
        return slurm_topology.parse(text, name)
    return inventory.parse(text, name)
