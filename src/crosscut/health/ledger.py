"""The ledger: what every search found, one line of JSON each, so that no node is drained on one of them.

A search is on disk before anything follows from it. A line that a crash cut short is left out when reading,
and the next search takes its place. A ledger that has grown too large forgets its older half.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from crosscut.base import records, whole_file
from crosscut.base.errors import CrosscutError, UsageError, plainly

LARGEST_BYTES = 64 << 20
_HALF_A_DAY = timedelta(hours=12)


@dataclass(frozen=True)
class NodeFault:
    node: str
    kind: str
    """The kind of the finding, or one of the four below."""
    says: str
    """A clause with the figure: `receives 4.7 MB/s, 40 % of …`."""
    share: float = math.nan
    """Share left of the rate that the node should reach; NaN: unknown."""
    where: str = ""
    """Adapter and cable."""


PROMISE = "promise"
OWN_HISTORY = "own history"
LINK_DOWN = "link down"
WIRE_ERRORS = "wire errors"


@dataclass(frozen=True)
class HealthSearch:
    time: str
    """ISO 8601, UTC: when the run started."""
    sound: tuple[str, ...]
    """Nodes that reached what they should."""
    faults: tuple[NodeFault, ...] = ()
    run: str = ""
    """The run, if it was kept."""
    size_bytes: int = 0
    """Size of the messages whose rates were judged."""
    reached: Mapping[str, int] = field(default_factory=dict)
    """Bytes per second of each node, in its slower direction, with the best quarter of the others."""

    @property
    def night(self) -> str:
        """The day on whose noon (UTC) the night began."""
        return (datetime.fromisoformat(self.time) - _HALF_A_DAY).date().isoformat()

    def of(self, node: str) -> list[NodeFault]:
        return [fault for fault in self.faults if fault.node == node]


def now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def read(path: Path) -> list[HealthSearch]:
    """Returns all searches, in the order of their times; none if there is no ledger yet."""
    try:
        if path.stat().st_size > 2 * LARGEST_BYTES:
            raise UsageError(f"{path}: is no ledger: it is larger than {2 * LARGEST_BYTES >> 20} MiB")
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        return []
    except OSError as error:
        raise CrosscutError(f"{path}: {plainly(error)}") from error
    return sorted(_parsed(path, lines[:-1]), key=lambda one: one.time)


def _parsed(path: Path, lines: Iterable[bytes]) -> Iterator[HealthSearch]:
    for number, line in enumerate(lines, 1):
        try:
            search = records.parse(json.loads(line), HealthSearch)
            _ = search.night
        except (ValueError, TypeError) as error:
            raise UsageError(
                f"{path}:{number}: is no search: {plainly(error)}; remove the line, or name another --ledger"
            ) from error
        yield search


def add(path: Path, search: HealthSearch) -> None:
    """Appends a search, on disk when this returns."""
    text = json.dumps(records.plain(search), allow_nan=False).encode() + b"\n"
    with locked(path) as descriptor:
        content = path.read_bytes()
        whole = content.rfind(b"\n") + 1
        if whole > LARGEST_BYTES:
            whole_file.write(path, content[content.index(b"\n", whole // 2) + 1 : whole] + text)
            return
        os.ftruncate(descriptor, whole)
        os.write(descriptor, text)
        os.fsync(descriptor)


@contextlib.contextmanager
def locked(path: Path) -> Iterator[int]:
    """Locks the ledger, which is made if there is none; yields its descriptor."""
    if path.exists() and not path.is_file():
        raise UsageError(f"{path} is not a plain file; name another --ledger")
    try:
        path.absolute().parent.mkdir(parents=True, exist_ok=True)
        descriptor = _lock(path)
    except OSError as error:
        raise CrosscutError(
            f"{path}: {plainly(error)}; name a file that can be written with --ledger"
        ) from error
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _lock(path: Path) -> int:
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(descriptor), path.stat()):
                return descriptor
        os.close(descriptor)  # replaced by another process meanwhile
