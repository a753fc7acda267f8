"""Reads, one by one, the events that libcrosscut-profile.so leaves for each rank with `--trace`."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import BinaryIO

from crosscut.base.errors import UsageError, plainly
from crosscut.base.regular_file import open_regular

MAGIC = b"xc-trace"
VERSION = 1
NO_ONE, CANCELLED = -1, -2
_HEADER = struct.Struct("<8s4I")
_RECORD = struct.Struct("<2H2iI4Q")
_MOST_NUMBERS = 1 << 22


class EventKind(IntEnum):
    SEND = 1
    RECEIVE = 2
    START_SEND = 3
    START_RECEIVE = 4
    COMPLETE = 5
    COLLECTIVE = 6
    STEP = 7
    END = 8


class CollectivePattern(IntEnum):
    """How a collective call exchanges messages (enum pattern in profiler/profile.h)."""

    BARRIER = 0
    BROADCAST = 1
    GATHER = 2
    SCATTER = 3
    ALL_GATHER = 4
    ALL_TO_ALL = 5
    REDUCE = 6
    ALL_REDUCE = 7


@dataclass(frozen=True, slots=True)
class Event:
    kind: EventKind
    peer: int
    """World rank; for COLLECTIVE the root, for STEP the receiver; -1: nobody, or anybody; -2: cancelled."""
    tag: int
    """The message's tag; for COLLECTIVE the pattern, for STEP the sender."""
    group: int
    bytes: int
    serial: int
    """The operation's number; for STEP the bytes received; for COLLECTIVE 1 if blocks vary."""
    ticks: int
    """Ticks of computing before it."""
    numbers: tuple[int, ...]
    """Bytes of each block of a v-collective."""


def events(file: Path, rank: int, ranks: int) -> Iterator[Event]:
    """Yields a rank's events. Raises UsageError, with the byte, unless this is its complete trace."""
    try:
        with open_regular(file, follow=True, buffering=-1) as stream:
            yield from _events(file, stream, rank, ranks)
    except OSError as error:
        raise UsageError(f"{file}: {plainly(error)}") from error


def _events(file: Path, stream: BinaryIO, rank: int, ranks: int) -> Iterator[Event]:
    header = stream.read(_HEADER.size)
    if len(header) < _HEADER.size or header[:8] != MAGIC:
        raise UsageError(f"{file}: byte 0: not a rank's trace (it would begin with {MAGIC!r})")
    _, version, its_rank, its_ranks, record_bytes = _HEADER.unpack(header)
    if version != VERSION or record_bytes != _RECORD.size:
        raise UsageError(f"{file}: byte 8: version {version}, records of {record_bytes} bytes; this crosscut "
                         f"reads version {VERSION}, of {_RECORD.size}")  # fmt: skip
    if (its_rank, its_ranks) != (rank, ranks):
        raise UsageError(
            f"{file}: byte 12: belongs to rank {its_rank} of {its_ranks}, not to rank {rank} of {ranks}"
        )
    at = _HEADER.size
    while data := stream.read(_RECORD.size):
        if len(data) < _RECORD.size:
            raise _truncated(file, at + len(data))
        event, size = _event(file, stream, data, at, ranks)
        yield event
        at += size
        if event.kind is EventKind.END:
            if event.peer != 1:
                raise UsageError(
                    f"{file}: byte {at}: the rank called MPI_Abort; its trace cannot be replayed"
                )
            if stream.read(1):
                raise UsageError(f"{file}: byte {at}: goes on after its end")
            return
    raise _truncated(file, at)


def _truncated(file: Path, at: int) -> UsageError:
    return UsageError(
        f"{file}: ends at byte {at}, before MPI_Finalize: the program did not finish, and an incomplete "
        "trace cannot be replayed"
    )


def _event(file: Path, stream: BinaryIO, data: bytes, at: int, ranks: int) -> tuple[Event, int]:
    number, _call, peer, tag, extra, group, count, serial, ticks = _RECORD.unpack(data)
    if not EventKind.SEND <= number <= EventKind.END or extra > _MOST_NUMBERS:
        raise UsageError(f"{file}: byte {at}: not an event (kind {number}, {extra} numbers)")
    kind = EventKind(number)
    sources = (peer, tag) if kind is EventKind.STEP else (peer,)
    if kind is not EventKind.END and not all(CANCELLED <= one < ranks for one in sources):
        raise UsageError(f"{file}: byte {at}: names rank {max(sources)} of {ranks}")
    numbers: tuple[int, ...] = ()
    if extra:
        more = stream.read(8 * extra)
        if len(more) < 8 * extra:
            raise _truncated(file, at + len(data) + len(more))
        numbers = struct.unpack(f"<{extra}Q", more)
    return Event(kind, peer, tag, group, count, serial, ticks, numbers), len(data) + 8 * extra
