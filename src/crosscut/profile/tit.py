"""Writes a traced program in SimGrid's time-independent format, which `smpirun -replay` reads.

A file for each rank, one action per line (src/smpi/internals/smpi_replay.cpp of SimGrid): `0 compute 1e6`,
`0 isend 1 4096 1000` (peer, tag, bytes), `0 wait 0 1 4096` (source, destination, tag), `0 bcast 8 0` …
Computing is given in floating-point operations: the seconds measured times a stated rate.

The replay tells requests apart only by source, destination and tag, and forgets one of two that agree in all
three. So messages get new tags. The MPI standard orders messages: the n-th one sent for a pair, communicator
and tag is the n-th received, so both ends number it n modulo IN_FLIGHT.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from crosscut.base import units
from crosscut.base.errors import UsageError
from crosscut.profile.format import RankProfile
from crosscut.profile.program import Profile
from crosscut.profile.trace import CANCELLED, NO_ONE, CollectivePattern, Event, EventKind, events

LIST = "trace.txt"
NETWORK = "network.toml"
"""Description of the network on which the program was traced, if it was named."""
IN_FLIGHT = 4096
# SimGrid keeps counts in an int.
LARGEST_BYTES = 2**31 - 1
_LEAST_FLOPS = 1.0


@dataclass(frozen=True)
class Written:
    """The trace made from a profile."""

    file: Path
    """Names the ranks' files, one per line, relative to its own folder."""
    flops_per_second: float
    actions: int


@dataclass
class _Channels:
    """Tags of messages, on which sender and receiver must agree: numbers for (communicator, tag)."""

    numbers: dict[tuple[int, int], int] = field(default_factory=dict)

    def tag(self, group: int, tag: int, index: int) -> int:
        channel = self.numbers.setdefault((group, tag), len(self.numbers))
        return channel * IN_FLIGHT + index % IN_FLIGHT


def write(profile: Profile, flops_per_second: float) -> Written:
    """Writes the trace beside the profile; removes the events. Raises UsageError if they are incomplete."""
    if profile.missing:
        raise UsageError(
            f"{profile.folder}: {len(profile.missing)} ranks left no profile, so there is no trace"
        )
    channels = _Channels()
    actions = 0
    names = []
    for one in profile.found:
        source = one.file.with_suffix(".events")
        target = one.file.with_suffix(".tit")
        staged = target.with_name(f".{target.name}.{os.getpid()}")
        rate = flops_per_second * one.seconds_per_tick
        try:
            with staged.open("w", encoding="ascii") as file:
                for line in _actions(one, source, channels, rate):
                    file.write(f"{one.rank} {line}\n")
                    actions += 1
            staged.replace(target)
        finally:
            staged.unlink(missing_ok=True)
        names.append(target.name)
    index = profile.folder / LIST
    index.write_text("".join(f"{name}\n" for name in names), encoding="utf-8")
    for one in profile.found:
        one.file.with_suffix(".events").unlink()
    return Written(index, flops_per_second, actions)


def lacks(profile: Profile) -> str:
    """Returns the operations that the trace lacks, in words; empty if none are known."""
    operations, amount = (int(number) for number in profile.sizes("one-sided").sum(axis=0))
    if not operations:
        return ""
    return (
        f"{units.count(operations, 'one-sided operation')} ({units.about_size(amount)} in total), which the "
        "format cannot express"
    )


def _actions(one: RankProfile, source: Path, channels: _Channels, flops_per_tick: float) -> Iterator[str]:
    ends = {
        event.serial: event
        for event in events(source, one.rank, one.ranks)
        if event.kind is EventKind.COMPLETE
    }
    writer = _ActionWriter(one.rank, one.ranks, channels, ends)
    yield "init"
    for event in events(source, one.rank, one.ranks):
        if (flops := event.ticks * flops_per_tick) >= _LEAST_FLOPS:
            yield f"compute {flops:.0f}"
        for line in writer.lines(event):
            if event.bytes > LARGEST_BYTES and event.kind is not EventKind.STEP:
                raise UsageError(
                    f"{source}: one message of {event.bytes:,} bytes; SimGrid's format allows less than 2 "
                    "GiB per message"
                )
            yield line
    yield "finalize"


class _ActionWriter:
    """Turns a rank's events into actions."""

    def __init__(self, rank: int, ranks: int, channels: _Channels, ends: dict[int, Event]) -> None:
        self.rank, self.ranks, self.channels, self.ends = rank, ranks, channels, ends
        self.counted: dict[tuple[bool, int, int, int], int] = defaultdict(int)
        self.waited: dict[int, str] = {}
        """By serial: the `wait` action to write when the operation completes."""

    def lines(self, event: Event) -> Iterator[str]:
        match event.kind:
            case EventKind.SEND | EventKind.START_SEND:
                yield from self._send(event)
            case EventKind.RECEIVE:
                if event.peer != self.rank:
                    tag = self._tag(event, event.peer, sends=False)
                    yield f"recv {event.peer} {tag} {_room(event.bytes)}"
            case EventKind.START_RECEIVE:
                yield from self._start_receive(event)
            case EventKind.COMPLETE:
                if (waited := self.waited.pop(event.serial, None)) is not None:
                    yield waited
            case EventKind.STEP:
                yield from self._step(event)
            case EventKind.COLLECTIVE:
                yield _collective(event, self.rank, self.ranks)
            case EventKind.END:
                pass

    def _tag(self, event: Event, peer: int, *, sends: bool, tag: int | None = None) -> int:
        wanted = event.tag if tag is None else tag
        key = (sends, peer, event.group, wanted)
        index = self.counted[key]
        self.counted[key] = index + 1
        return self.channels.tag(event.group, wanted, index)

    def _send(self, event: Event) -> Iterator[str]:
        if event.peer == self.rank:  # stays in memory; the network sees nothing of it
            return
        tag = self._tag(event, event.peer, sends=True)
        starts = event.kind is EventKind.START_SEND
        if starts:
            self.waited[event.serial] = f"wait {self.rank} {event.peer} {tag}"
        yield f"{'isend' if starts else 'send'} {event.peer} {tag} {event.bytes}"

    def _start_receive(self, event: Event) -> Iterator[str]:
        """Takes the source of a wildcard receive from its completion. Omits a receive that was cancelled."""
        end = self.ends.get(event.serial)
        source, tag = event.peer, event.tag
        if end is not None:  # MPICH 5.0 gives MPI_Isendrecv no status, so the source asked for comes first
            source = end.peer if source == NO_ONE or end.peer == CANCELLED else source
            tag = end.tag if tag < 0 else tag
        if source in (NO_ONE, CANCELLED, self.rank):
            return
        number = self._tag(event, source, sends=False, tag=tag)
        self.waited[event.serial] = f"wait {source} {self.rank} {number}"
        yield f"irecv {source} {number} {_room(event.bytes)}"

    def _step(self, event: Event) -> Iterator[str]:
        """One message out and one in (-1: none) of a collective call, with a tag that no program can use."""
        target, source = event.peer, event.tag
        out = into = None
        if source not in (NO_ONE, self.rank):
            into = self._tag(event, source, sends=False, tag=-1)
            yield f"irecv {source} {into} {_room(event.serial)}"
        if target not in (NO_ONE, self.rank):
            out = self._tag(event, target, sends=True, tag=-1)
            yield f"isend {target} {out} {event.bytes}"
        if out is not None:
            yield f"wait {self.rank} {target} {out}"
        if into is not None:
            yield f"wait {source} {self.rank} {into}"


def _room(count: int) -> int:
    """Returns at least 1: a receive of 0 bytes would probe, that is wait for the message."""
    return max(count, 1)


def _collective(event: Event, rank: int, ranks: int) -> str:
    """Counts are in MPI_BYTE, the format's default. Reductions take no operations: their time is in MPI."""
    count, root = event.bytes, event.peer
    if event.serial:
        return _varied(event, rank, ranks)
    simple = {
        CollectivePattern.BARRIER: "barrier",
        CollectivePattern.BROADCAST: f"bcast {count} {root}",
        CollectivePattern.REDUCE: f"reduce {count} 0 {root}",
        CollectivePattern.ALL_REDUCE: f"allreduce {count} 0",
        CollectivePattern.SCATTER: f"scatter {count} {count} {root}",
        CollectivePattern.GATHER: f"gather {count} {count} {root}",
        CollectivePattern.ALL_GATHER: f"allgather {count} {count}",
        CollectivePattern.ALL_TO_ALL: f"alltoall {count // ranks} {count // ranks}",
    }
    if event.tag not in simple:
        raise UsageError(f"rank {rank}: a collective call of unknown pattern {event.tag}")
    return simple[CollectivePattern(event.tag)]


def _varied(event: Event, rank: int, ranks: int) -> str:
    """A collective call with blocks of different sizes; in a gather, only the root knows them."""
    blocks = event.numbers
    expected: dict[int, int] = {
        CollectivePattern.GATHER: ranks if event.peer == rank else 0,
        CollectivePattern.ALL_GATHER: ranks,
        CollectivePattern.ALL_TO_ALL: 2 * ranks,
    }
    if len(blocks) != expected.get(event.tag, -1):
        raise UsageError(f"rank {rank}: {len(blocks)} blocks for a collective call of pattern {event.tag}")
    if event.tag == CollectivePattern.ALL_TO_ALL:
        out, into = blocks[:ranks], blocks[ranks:]
        return f"alltoallv {sum(out)} {_words(out)} {sum(into)} {_words(into)}"
    if event.tag == CollectivePattern.ALL_GATHER:
        return f"allgatherv {event.bytes} {_words(blocks)}"
    return f"gatherv {event.bytes} {_words(blocks or (0,) * ranks)} {event.peer}"


def _words(numbers: tuple[int, ...]) -> str:
    return " ".join(map(str, numbers))
