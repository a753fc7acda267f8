"""Reads the counters that libcrosscut-profile.so leaves for each rank (docs/reference/profile-format.md).

A file may come from a program that crashed or from another machine, or be no profile at all. So all of it is
checked, and errors name the file and the byte.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from crosscut.base import bounded_file
from crosscut.base.errors import UsageError

MAGIC = b"xc-prof\n"
VERSIONS = (1, 2)
LARGEST_FILE_BYTES = 1 << 30
KINDS = (
    "setup", "point", "persistent", "wait", "probe", "collective", "neighbour", "one-sided",
    "synchronisation", "groups", "persistent collective", "persistent neighbour",
)  # fmt: skip
STATES = ("starting", "running", "finalized", "aborted")
WAYS = ("point", "one-sided", "collective")
FINALIZED, ABORTED = 2, 3

_HEADER = struct.Struct("<8s10I10Q2I2Q64s256s256s")
_SECTIONS = struct.Struct("<3Q")
"""Version 2 has it after the header of version 1."""
_NAME = struct.Struct("<44sI")
_MOST_CALLS, _MOST_DECADES, _MOST_SLOTS, _MOST_RANKS = 4096, 32, 1 << 24, 1 << 26
Counts = NDArray[np.uint64]


@dataclass(frozen=True)
class RankProfile:
    """Counters of one rank."""

    file: Path
    rank: int
    ranks: int
    state: int
    threaded: bool
    """Several threads were in MPI at once, so their times add up."""
    error_code: int
    host: str
    program: str
    library: str
    seconds_per_tick: float
    seconds: float
    """From the start of MPI_Init to the end of the last call, less the time in which nothing was counted."""
    sections: int
    """Times that the program began to count, by MPI_Pcontrol(1)."""
    current_call: int | None
    """The call in progress; None if there was none."""
    names: tuple[str, ...]
    kinds: tuple[str, ...]
    calls: Counts
    """[call]: number of calls."""
    call_seconds: NDArray[np.float64]
    longest_seconds: NDArray[np.float64]
    as_called: Counts
    """[call, decade, messages or bytes]"""
    decomposed: Counts
    """[call, decade, messages or bytes]: collective calls, split into messages by MPICH 1.2's algorithms."""
    peers: NDArray[np.int64]
    """World ranks; -1 stands for all others together."""
    traffic: Counts
    """[peer, way, messages or bytes]"""


def read(file: Path) -> RankProfile:
    """Reads a file. Raises UsageError unless it is a complete profile of this version."""
    data = bounded_file.read_regular(file, LARGEST_FILE_BYTES, "a rank's profile")
    if len(data) < _HEADER.size:
        raise UsageError(_short(file, data, _HEADER.size))
    if data[:8] != MAGIC:
        raise UsageError(f"{file}: byte 0: not a rank's profile (it would begin with {MAGIC!r})")
    return _rank(_Header(file, data), data)


def _short(file: Path, data: bytes, header: int) -> str:
    return f"{file}: ends at byte {len(data)}, within its header of {header}: not a complete profile"


class _Header:
    """The header's fields, each checked against the file."""

    def __init__(self, file: Path, data: bytes) -> None:
        fields = _HEADER.unpack_from(data)
        (_, version, header_bytes, self.rank, self.ranks, self.calls, self.decades, self.slots, self.state,
         self.thread_level, self.error_code) = fields[:11]  # fmt: skip
        (self.names_at, self.calls_at, self.peers_at, file_bytes, self.begin_ticks, self.begin_ns,
         self.later_ticks, self.later_ns, self.last_ticks, self.current_ticks, self.current_call,
         _reserved, _begin_unix_ns, _process) = fields[11:25]  # fmt: skip
        self.host, self.program, self.library = (_text(field) for field in fields[25:])
        self.file = file
        known = " and ".join(map(str, VERSIONS))
        self._need(version in VERSIONS, 8, f"is version {version}; this crosscut reads {known}")
        size = _HEADER.size + (_SECTIONS.size if version > 1 else 0)
        if len(data) < size:
            raise UsageError(_short(file, data, size))
        self._need(header_bytes == size, 12, f"header of {header_bytes} bytes, not {size}")
        self.sections, self.paused_ticks, self.paused_since = (
            _SECTIONS.unpack_from(data, _HEADER.size) if version > 1 else (0, 0, 0)
        )
        self._need(self.ranks <= _MOST_RANKS and self.rank < self.ranks, 16,
                   f"rank {self.rank} of {self.ranks}")  # fmt: skip
        self._need(0 < self.calls <= _MOST_CALLS, 24, f"{self.calls} calls")
        self._need(0 < self.decades <= _MOST_DECADES, 28, f"{self.decades} sizes")
        self._need(0 < self.slots <= _MOST_SLOTS, 32, f"{self.slots} peers")
        self._need(self.state < len(STATES), 36, f"state {self.state}")
        self._need(
            self.names_at == size
            and self.calls_at == self.names_at + self.calls * _NAME.size
            and self.peers_at == self.calls_at + self.calls * self.call_bytes
            and file_bytes == self.peers_at + self.slots * 64,
            48, "the places of its tables do not fit their sizes",
        )  # fmt: skip
        if len(data) != file_bytes:
            raise UsageError(
                f"{file}: ends at byte {len(data)}, where its header says {file_bytes}: "
                "truncated, or still being written"
            )
        self._need(self.current_call <= self.calls, 128, f"in call {self.current_call}")

    @property
    def call_bytes(self) -> int:
        return 32 + 2 * int(self.decades) * 16

    def _need(self, true: bool, byte: int, wrong: str) -> None:
        if not true:
            raise UsageError(f"{self.file}: byte {byte}: {wrong}: not a profile that crosscut wrote")

    @property
    def seconds_per_tick(self) -> float:
        ticks = self.later_ticks - self.begin_ticks
        self._need(ticks > 0 and self.later_ns > self.begin_ns, 80, "its clock stands still")
        return float((self.later_ns - self.begin_ns) * 1e-9 / ticks)


def _text(field: bytes) -> str:
    return field.partition(b"\0")[0].decode("utf-8", "replace")


def _rank(header: _Header, data: bytes) -> RankProfile:
    names, kinds = _names(header, data)
    table = np.frombuffer(data, "<u8", header.calls * header.call_bytes // 8, header.calls_at)
    table = table.reshape(header.calls, -1)
    amounts = table[:, 4:].reshape(header.calls, 2, header.decades, 2)
    slots = np.frombuffer(data, "<u8", header.slots * 8, header.peers_at).reshape(-1, 8)
    peers = slots[:, 0].astype(np.int64) - 1
    wrong = np.flatnonzero((peers < -1) | (peers >= header.ranks))
    if len(wrong):
        at = header.peers_at + int(wrong[0]) * 64
        raise UsageError(f"{header.file}: byte {at}: has counts for rank {peers[wrong[0]]} of {header.ranks}")
    used = (peers >= 0) | (slots[:, 1:7].any(axis=1))
    per_tick = header.seconds_per_tick
    end = max(header.last_ticks, header.begin_ticks)
    paused = header.paused_ticks + (max(0, end - header.paused_since) if header.paused_since else 0)
    as_written = ("file", "rank", "ranks", "state", "error_code", "host", "program", "library", "sections")
    return RankProfile(
        **{name: getattr(header, name) for name in as_written},
        threaded=header.thread_level == 3,
        seconds_per_tick=per_tick,
        seconds=max(0, end - header.begin_ticks - paused) * per_tick,
        current_call=header.current_call - 1 if header.current_call else None,
        names=names,
        kinds=kinds,
        calls=table[:, 0],
        call_seconds=table[:, 1] * per_tick,
        longest_seconds=table[:, 2] * per_tick,
        as_called=amounts[:, 0],
        decomposed=amounts[:, 1],
        peers=peers[used],
        traffic=slots[used, 1:7].reshape(-1, len(WAYS), 2),
    )


def _names(header: _Header, data: bytes) -> tuple[tuple[str, ...], tuple[str, ...]]:
    names, kinds = [], []
    for index in range(header.calls):
        at = header.names_at + index * _NAME.size
        raw, kind = _NAME.unpack_from(data, at)
        name = _text(raw)
        if not (name.isascii() and name.isidentifier()) or kind >= len(KINDS):
            raise UsageError(f"{header.file}: byte {at}: not the name of a function")
        names.append(name)
        kinds.append(KINDS[kind])
    return tuple(names), tuple(kinds)
