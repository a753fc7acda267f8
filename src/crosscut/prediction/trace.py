"""A time-independent trace, looked through before it is replayed.

SimGrid stops at the first action that it does not understand with an abort, and replays half a trace until
everybody waits for ever. Here every line is read first, and what is wrong is named by file and line.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, NoReturn

from crosscut.base.errors import UsageError, plainly
from crosscut.places.smpi import MOST_RANKS
from crosscut.prediction.actions import ACTIONS, COLLECTIVE, ActionShape, BadAction
from crosscut.profile import tit

# The longest action is an all-to-all of MOST_RANKS blocks out and in: 20 digits each.
LONGEST_LINE_BYTES = 1 << 18
_SHOWN_BYTES = 40

Channel = tuple[int, int, int]
"""Source, destination, tag."""
Call = tuple[str, int]
"""A collective one: its name, its root."""


@dataclass(frozen=True)
class Trace:
    index: Path
    """Names the files of the ranks."""
    files: tuple[Path, ...]
    """By rank."""
    operations: tuple[float, ...]
    """Operations computed, by rank."""
    asleep_seconds: tuple[float, ...]
    """By rank; no processor makes them shorter."""
    actions: int
    messages: int
    """From rank to rank; those of collective calls are the simulator's to make."""
    message_bytes: int
    collectives: int
    """Calls, each counted once."""

    @property
    def ranks(self) -> int:
        return len(self.files)


@dataclass
class _Whole:
    """What is known of all ranks."""

    ranks: int
    balance: Counter[Channel] = field(default_factory=Counter)
    """Messages sent less messages received."""
    first_seen: dict[Channel, str] = field(default_factory=dict)
    collectives: list[tuple[Call, str]] = field(default_factory=list)
    """Rank 0's collective calls: what each is, and its place."""
    messages: int = 0
    message_bytes: int = 0
    actions: int = 0


def read(named: Path) -> Trace:
    """A folder that `crosscut profile --trace` left, or the file that names the ranks' files. UsageError."""
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
                f"never {what} ({abs(left)} of this tag): the trace is not whole, and a replay would wait "
                "for ever"
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
        with index.open("rb") as stream:
            lines = list(itertools.islice(_lines(stream, index), MOST_RANKS + 1))
    except OSError as error:
        hint = "; crosscut profile --trace makes one" if named.is_dir() else ""
        raise UsageError(f"{index}: {plainly(error)}{hint}") from error
    files: list[Path] = []
    for number, line in lines:
        try:
            file = index.parent / line.strip().decode("utf-8")
        except UnicodeDecodeError as error:
            raise UsageError(f"{index}:{number}: not the name of a file: {_shown(line)}") from error
        if "\0" in str(file) or not file.is_file():
            # The trace was copied in part, or this is no trace: the first line is no file's name.
            hint = "" if files else "; is it a trace at all? crosscut profile --trace makes one"
            raise UsageError(
                f"{index}:{number}: there is no file {file}, the trace of rank {len(files)}{hint}"
            )
        files.append(file.absolute())
    if not files:
        raise UsageError(f"{index}: names no files of ranks; is it empty?")
    if len(files) > MOST_RANKS:
        raise UsageError(f"{index}: more than {MOST_RANKS} ranks: SimGrid gets the way of every pair")
    return tuple(files)


def _lines(stream: BinaryIO, file: Path) -> Iterator[tuple[int, bytes]]:
    """Those that say something, with their numbers; as SimGrid, which skips `#` and empty ones."""
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
    """The actions of one rank."""

    def __init__(self, rank: int, file: Path, whole: _Whole) -> None:
        self.rank, self.file, self.whole = rank, file, whole
        self.number = 0
        self.operations = 0.0
        self.asleep_seconds = 0.0
        self.open: Counter[Channel] = Counter()
        """Requests started and not yet waited for."""
        self.calls = 0
        self.ended = False

    def read(self) -> _Reader:
        begun = False
        try:
            with self.file.open("rb") as stream:
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
            self._fail(f"ended before the collective call {what[0]} of {place}: the trace is not whole")
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
                self._fail("waits for what was not started")
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
    return name if root == -1 else f"{name} of root {root}"


def _shown(text: bytes) -> str:
    """So that it harms no terminal."""
    short = text.strip()[:_SHOWN_BYTES]
    shown = "".join(chr(byte) if 32 <= byte < 127 else f"\\x{byte:02x}" for byte in short)
    return f"'{shown}{'…' if len(text.strip()) > _SHOWN_BYTES else ''}'"
