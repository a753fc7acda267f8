"""Checks a time-independent trace before it is replayed.

SimGrid aborts at the first action that it does not understand, and replays an incomplete trace until every
rank waits for ever. So every line is checked first, and errors name the file and line.

The actions and their parameters are those of src/smpi/internals/smpi_replay.cpp in SimGrid 3.32. Counts are
in bytes, which is what a bare `init` means; traces that count in MPI datatypes (smpirun -trace-ti) are
refused.
"""

from __future__ import annotations

import itertools
import math
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, NoReturn

from crosscut.base import units
from crosscut.base.errors import UsageError, plainly
from crosscut.base.regular_file import open_regular
from crosscut.places.smpi import MOST_RANKS
from crosscut.profile import tit

# SimGrid stores counts, tags and ranks in an int.
LARGEST = 2**31 - 1
# Tags from here on are reserved for the messages of collective calls (lowering.py).
FIRST_OWN_TAG = 2**30
# The longest action is an all-to-all of MOST_RANKS blocks in each direction, at up to 20 digits a block.
LONGEST_LINE_BYTES = 1 << 18
_SHOWN_BYTES = 40

Channel = tuple[int, int, int]
"""Source, destination, tag."""
Call = tuple[str, int]
"""A collective call: name, root."""


class BadAction(Exception):
    """An action has invalid parameters; the message says why."""


@dataclass(frozen=True, slots=True)
class ActionShape:
    """Properties of an action that the checks of a whole trace need."""

    amount: float = 0
    """Operations computed, seconds slept, or bytes of a message."""
    partner: int = -1
    """The other rank of a message; the source of a wait."""
    root: int = -1
    """The root of a collective call; the destination of a wait."""
    tag: int = 0


def _count(word: bytes) -> int:
    if word.isdigit() and len(word) <= 10 and (value := int(word)) <= LARGEST:
        return value
    raise BadAction("not a count from 0 to 2^31 - 1")


def _rank(word: bytes, ranks: int) -> int:
    if (value := _count(word)) >= ranks:
        raise BadAction(f"rank {value}, but there are {ranks} ranks")
    return value


def _tag(word: bytes) -> int:
    if (value := _count(word)) >= FIRST_OWN_TAG:
        raise BadAction(f"tag {value}: tags from {FIRST_OWN_TAG} on are reserved for collective calls")
    return value


def _needs(parameters: Sequence[bytes], least: int, optional: int) -> None:
    if not least <= len(parameters) <= least + optional:
        most = "" if not optional else f" or {least + optional}"
        raise BadAction(
            f"{units.count(len(parameters), 'number')} after the name, but it takes {least}{most} (counts "
            "are in bytes, without datatypes)"
        )


def _ignored(parameters: Sequence[bytes], ranks: int) -> ActionShape:  # noqa: ARG001
    """An action that a replay ignores."""
    return ActionShape()


def _amount(parameters: Sequence[bytes], ranks: int) -> ActionShape:  # noqa: ARG001
    _needs(parameters, 1, 0)
    try:
        value = float(parameters[0])
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise BadAction("not an amount of 0 or more")
    return ActionShape(value)


def _message(parameters: Sequence[bytes], ranks: int) -> ActionShape:
    _needs(parameters, 3, 0)
    return ActionShape(_count(parameters[2]), partner=_rank(parameters[0], ranks), tag=_tag(parameters[1]))


def _wait(parameters: Sequence[bytes], ranks: int) -> ActionShape:
    _needs(parameters, 3, 0)
    return ActionShape(
        partner=_rank(parameters[0], ranks), root=_rank(parameters[1], ranks), tag=_tag(parameters[2])
    )


def _counts(counts: int, lists: int, *, rooted: bool) -> Callable[[Sequence[bytes], int], ActionShape]:
    """Makes a check for `counts` counts and `lists` lists of one count per rank, then an optional root."""

    def check(parameters: Sequence[bytes], ranks: int) -> ActionShape:
        expected = counts + lists * ranks
        _needs(parameters, expected, int(rooted))
        for word in parameters[:expected]:
            _count(word)
        if not rooted:
            return ActionShape()
        return ActionShape(root=_rank(parameters[expected], ranks) if len(parameters) > expected else 0)

    return check


_nothing = _counts(0, 0, rooted=False)
# Each function takes an action's parameters and the number of ranks; raises BadAction.
ACTIONS: dict[bytes, Callable[[Sequence[bytes], int], ActionShape]] = {
    b"init": _nothing,
    b"finalize": _nothing,
    b"comm_size": _ignored,
    b"comm_split": _ignored,
    b"comm_dup": _ignored,
    b"location": _ignored,
    b"compute": _amount,
    b"sleep": _amount,
    b"send": _message,
    b"isend": _message,
    b"recv": _message,
    b"irecv": _message,
    b"wait": _wait,
    b"test": _wait,
    b"waitall": _nothing,
    b"barrier": _nothing,
    b"bcast": _counts(1, 0, rooted=True),
    b"reduce": _counts(2, 0, rooted=True),
    b"allreduce": _counts(2, 0, rooted=False),
    b"alltoall": _counts(2, 0, rooted=False),
    b"gather": _counts(2, 0, rooted=True),
    b"scatter": _counts(2, 0, rooted=True),
    b"allgather": _counts(2, 0, rooted=False),
    b"gatherv": _counts(1, 1, rooted=True),
    b"allgatherv": _counts(1, 1, rooted=False),
    b"scatterv": _counts(1, 1, rooted=True),
    b"reducescatter": _counts(1, 1, rooted=False),
    b"alltoallv": _counts(2, 2, rooted=False),
}
_COLLECTIVE = (b"barrier", b"bcast", b"reduce", b"all", b"gather", b"scatter")
COLLECTIVE = frozenset(name for name in ACTIONS if name.startswith(_COLLECTIVE))


@dataclass(frozen=True)
class Trace:
    index: Path
    """Lists the ranks' files."""
    files: tuple[Path, ...]
    """By rank."""
    operations: tuple[float, ...]
    """Operations computed by each rank."""
    asleep_seconds: tuple[float, ...]
    """Time that each rank slept; independent of the processor."""
    actions: int
    messages: int
    """Point-to-point messages, without those of collective calls."""
    message_bytes: int
    collectives: int
    """Number of collective calls, each counted once for all ranks."""

    @property
    def ranks(self) -> int:
        return len(self.files)


@dataclass
class _Whole:
    """State shared by the readers of all ranks."""

    ranks: int
    balance: Counter[Channel] = field(default_factory=Counter)
    """Messages sent minus messages received."""
    first_seen: dict[Channel, str] = field(default_factory=dict)
    collectives: list[tuple[Call, str]] = field(default_factory=list)
    """Rank 0's collective calls, each with its file and line."""
    messages: int = 0
    message_bytes: int = 0
    actions: int = 0


def read(named: Path) -> Trace:
    """Reads and checks a trace: a folder from `crosscut profile --trace`, or the list of the ranks' files.

    Raises UsageError.
    """
    index = named / tit.LIST if named.is_dir() else named
    files = _files(index, named)
    whole = _Whole(len(files))
    readers = [_Reader(rank, file, whole).read() for rank, file in enumerate(files)]
    for channel, left in whole.balance.items():
        if left:
            source, destination, _ = channel
            what = "received" if left > 0 else "sent"
            raise UsageError(
                f"{whole.first_seen[channel]}: a message from rank {source} to rank {destination} that is "
                f"never {what} ({abs(left)} with this tag): the trace is incomplete, and a replay would "
                "wait for ever"
            )
    return Trace(
        index=index,
        files=files,
        operations=tuple(one.operations for one in readers),
        asleep_seconds=tuple(one.asleep_seconds for one in readers),
        actions=whole.actions,
        messages=whole.messages,
        message_bytes=whole.message_bytes,
        collectives=len(whole.collectives),
    )


def _files(index: Path, named: Path) -> tuple[Path, ...]:
    try:
        with open_regular(index, follow=True, buffering=-1) as stream:
            lines = []
            for number, line in itertools.islice(_lines(stream, index), MOST_RANKS + 1):
                lines.append((number, line))
                if b"\0" in line:  # an executable, say, whose last line has no end
                    break
    except OSError as error:
        hint = "; crosscut profile --trace makes one" if named.is_dir() else ""
        raise UsageError(f"{index}: {plainly(error)}{hint}") from error
    files: list[Path] = []
    for number, line in lines:
        # Bytes that are no UTF-8 are part of names on disk, too.
        file = index.parent / os.fsdecode(line.strip())
        if "\0" in str(file) or not file.is_file():
            if not files:  # it is no list of files
                raise UsageError(
                    f"{index} is not a trace: line {number} names no file of a rank ({_shown(line)}); "
                    "crosscut profile --trace makes one"
                )
            raise UsageError(f"{index}:{number}: there is no file {file}, the trace of rank {len(files)}")
        files.append(file.absolute())
    if not files:
        raise UsageError(f"{index}: names no files of ranks; is it empty?")
    if len(files) > MOST_RANKS:
        raise UsageError(f"{index}: more than {MOST_RANKS} ranks: SimGrid needs a route for every pair")
    return tuple(files)


def _lines(stream: BinaryIO, file: Path) -> Iterator[tuple[int, bytes]]:
    """Yields (number, line), skipping empty lines and those that start with `#`, as SimGrid does."""
    for number in itertools.count(1):
        line = stream.readline(LONGEST_LINE_BYTES)
        if not line:
            return
        if not line.endswith(b"\n"):
            why = "is too long" if len(line) == LONGEST_LINE_BYTES else "has no end: the file is truncated"
            raise UsageError(f"{file}:{number}: the line {why}: {_shown(line)}")
        if line.strip() and not line.lstrip().startswith(b"#"):
            yield number, line


class _Reader:
    """Reads and checks the actions of one rank."""

    def __init__(self, rank: int, file: Path, whole: _Whole) -> None:
        self.rank, self.file, self.whole = rank, file, whole
        self.number = 0
        self.operations = 0.0
        self.asleep_seconds = 0.0
        self.open: Counter[Channel] = Counter()
        """Requests started but not yet waited for."""
        self.calls = 0
        self.ended = False

    def read(self) -> _Reader:
        begun = False
        try:
            with open_regular(self.file, follow=True, buffering=-1) as stream:
                for number, line in _lines(stream, self.file):
                    self.number = number
                    if self.ended:
                        self._fail("goes on after finalize")
                    name = self._action(line)
                    if not begun and name != b"init":
                        self._fail("does not begin with init")
                    begun = True
        except OSError as error:
            raise UsageError(f"{self.file}: {plainly(error)}") from error
        if not self.ended:
            self._fail(
                "is the last line, before finalize: the trace is truncated" if begun else "has no actions"
            )
        if self.rank and self.calls < len(self.whole.collectives):
            what, place = self.whole.collectives[self.calls]
            self._fail(f"ended before the collective call {what[0]} of {place}: the trace is incomplete")
        return self

    def _fail(self, why: str) -> NoReturn:
        raise UsageError(f"{self.place}: {why}")

    @property
    def place(self) -> str:
        return f"{self.file}:{self.number}"

    def _action(self, line: bytes) -> bytes:
        words = line.split()
        if len(words) < 2 or words[0] != b"%d" % self.rank:
            self._fail(f"no action of rank {self.rank}: {_shown(line)}")
        name, parameters = words[1], words[2:]
        if name not in ACTIONS:
            self._fail(f"there is no action {_shown(name)}")
        try:
            found = ACTIONS[name](parameters, self.whole.ranks)
        except BadAction as error:
            self._fail(f"{error}: {_shown(line)}")
        self.whole.actions += 1
        self._take(name, found)
        return name

    def _take(self, name: bytes, found: ActionShape) -> None:
        if name == b"compute":
            self.operations += found.amount
        elif name == b"sleep":
            self.asleep_seconds += found.amount
        elif name == b"finalize":
            self.ended = True
        elif name in COLLECTIVE:
            self._collective((name.decode(), found.root))
        elif name in (b"send", b"isend", b"recv", b"irecv"):
            self._message(name, found)
        elif name == b"wait":
            channel = (found.partner, found.root, found.tag)
            if not self.open[channel]:
                self._fail("waits for a request that was not started")
            self.open[channel] -= 1
        elif name == b"waitall":
            self.open.clear()

    def _message(self, name: bytes, found: ActionShape) -> None:
        sends = name.endswith(b"send")
        ends = (self.rank, found.partner) if sends else (found.partner, self.rank)
        channel = (*ends, found.tag)
        whole = self.whole
        whole.balance[channel] += 1 if sends else -1
        whole.first_seen.setdefault(channel, self.place)
        if name.startswith(b"i"):
            self.open[channel] += 1
        if sends:
            whole.messages += 1
            whole.message_bytes += int(found.amount)

    def _collective(self, what: Call) -> None:
        known = self.whole.collectives
        if self.rank == 0:
            known.append((what, self.place))
        elif self.calls >= len(known):
            self._fail(f"{what[0]}: rank 0 makes {len(known)} collective calls, and this is one more")
        elif known[self.calls][0] != what:
            other, place = known[self.calls]
            self._fail(f"{_words(what)} where rank 0 has {_words(other)} ({place})")
        self.calls += 1


def _words(what: Call) -> str:
    name, root = what
    return name if root == -1 else f"{name} with root {root}"


def _shown(text: bytes) -> str:
    """Shortens and quotes text from a trace; to protect the terminal, escapes all but printable ASCII."""
    short = text.strip()[:_SHOWN_BYTES]
    shown = "".join(chr(byte) if 32 <= byte < 127 else f"\\x{byte:02x}" for byte in short)
    return f"'{shown}{'…' if len(text.strip()) > _SHOWN_BYTES else ''}'"
