"""Shows a session's progress: a bar on a terminal, plain lines elsewhere. Always on standard error, because
standard output belongs to results.

Listeners to sessions that do not measure use `LogLines` and `TerminalBar`, too, with words of their own
(`clone/progress.py`).
"""

from __future__ import annotations

import math
import sys
import time
from abc import abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Self, TextIO

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, ProgressColumn, TaskID, TaskProgressColumn, TextColumn

from crosscut.base import units
from crosscut.base.job import Event
from crosscut.base.printable import drawn_on, printable
from crosscut.session.client import number, worded

_SIZES_NAMED = 8
# A sweep of more sizes than this prints lines only at intervals.
_MOST_SIZES_WITH_LINES = 16
# Seconds between two progress lines in a log.
PLAIN_INTERVAL_SECONDS = 10.0
_NOTICES = {
    "warning": "warning: {message}",
    "note": "{message}",
    "failed-rank": "lost rank {rank} on {node}: {reason}",
    "verify-failed": "wrong byte: {source} -> {destination}, phase {phase}, offset {offset}",
    "stopping": "stopping after the block in flight (interrupt again to end at once)",
}


class Reporter(AbstractContextManager["Reporter"]):
    """Base class of session listeners that print while their context is open."""

    def __exit__(self, *_: object) -> None:
        return None

    @abstractmethod
    def __call__(self, event: Event) -> None: ...


class LogLines(Reporter):
    """A listener that prints lines for a log, each prefixed with `crosscut: `."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream, self._clock = stream, clock
        self._last = float("-inf")
        """Time of the last progress line, by the clock."""

    def _is_due(self) -> bool:
        return self._clock() - self._last >= PLAIN_INTERVAL_SECONDS

    def _print(self, line: str) -> None:
        print(f"crosscut: {line}", file=self._stream, flush=True)


class TerminalBar(Reporter):
    """A bar that disappears at the end, with notices above it."""

    def __init__(self, console: Console, *columns: ProgressColumn) -> None:
        self._progress = Progress(*columns, console=console, transient=True)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def _notice(self, line: str) -> None:
        self._progress.console.print(f"[yellow]{escape(printable(line))}", highlight=False)


def terminal_of(stream: TextIO) -> Console | None:
    """Returns a console on which a bar can be drawn; None if the stream takes only lines."""
    console = Console(file=drawn_on(stream))
    return console if console.is_terminal and not console.is_dumb_terminal else None


def _number(event: Event, key: str) -> float:
    return number(event, key, math.nan)


def _whole(event: Event, key: str) -> str:
    value = event.get(key)
    return str(value) if isinstance(value, int) else "?"


def position(event: Event) -> str:
    """Formats `1 MB  phase 12/63  repetition 3/20`."""
    size = _number(event, "size")
    named = units.size(size) if math.isfinite(size) else "?"
    phase = f"phase {_whole(event, 'phase')}/{_whole(event, 'phases')}"
    return f"{named}  {phase}  repetition {_whole(event, 'repetition')}/{_whole(event, 'repetitions')}"


def pace(event: Event) -> str:
    """Formats `81.0 MB/s  ETA 4.6 s`: the rate of the slowest rank in the newest phase, and the time left."""
    rate, eta = _number(event, "rate"), _number(event, "eta")
    parts = []
    if rate > 0:
        parts.append(units.rate(rate))
    if eta >= 0:
        parts.append(f"ETA {units.duration(eta)}")
    return "  ".join(parts)


def notice(event: Event) -> str:
    """Returns a line for people, or "" if the event needs none. `note` and `stopping` are crosscut's own."""
    return worded(_NOTICES, event)


def step(event: Event) -> str:
    """Formats `3/9 `: which of several jobs is running (crosscut's own event, not the session's)."""
    return f"{_whole(event, 'index')}/{_whole(event, 'count')} "


class Quiet(LogLines):
    """Shows only warnings and failures."""

    def __call__(self, event: Event) -> None:
        if (line := notice(event)) and event["event"] not in ("note", "stopping"):
            self._print(line)


def _is_size(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


class Plain(LogLines):
    """Lines for a log file: one for each size unless there are very many, and more at intervals."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(stream, clock)
        self._size: object = None
        self._coming: list[int] = []
        self._sweeping = False
        self._title = ""
        self._step = ""
        self._ended_midway = False
        """The job is complete, and its last line shows it under way."""
        self._midway = False
        """The last line shows a job under way."""

    def __exit__(self, *_: object) -> None:
        if self._ended_midway:
            self._print(f"{self._title}  done")

    def __call__(self, event: Event) -> None:
        if line := notice(event):
            self._print(line)
        elif event["event"] == "started":
            self._title = f"{self._step}{event.get('pattern')}"
            self._size, self._last = None, float("-inf")
            self._ended_midway = False
            sizes = event.get("sizes")
            self._coming = list(filter(_is_size, sizes)) if isinstance(sizes, list) else []
            self._sweeping = len(self._coming) > _MOST_SIZES_WITH_LINES
        elif event["event"] == "finished" and event.get("state") == "complete":
            self._pass_over(len(self._coming))
            self._ended_midway = self._midway
        elif event["event"] == "step":
            self._step = step(event)
        elif event["event"] == "progress":
            self._progress(event)

    def _progress(self, event: Event) -> None:
        if self._is_due() or (event.get("size") != self._size and not self._sweeping):
            size = event.get("size")
            if isinstance(size, int) and size in self._coming:
                self._pass_over(self._coming.index(size))
                del self._coming[0]
            self._size, self._last = size, self._clock()
            done = _number(event, "done")
            share = units.percent(done) if math.isfinite(done) else ""
            self._print(f"{self._title}  {position(event)}  {share}  {pace(event)}".rstrip())
            self._midway = True

    def _pass_over(self, count: int) -> None:
        """Names sizes that had no progress event: too fast for one, or done before a resume."""
        if passed := self._coming[:count]:
            del self._coming[:count]
            named = [units.size(size) for size in passed]
            shown = ", ".join(named) if len(named) <= _SIZES_NAMED else f"{named[0]} … {named[-1]}"
            self._print(f"{self._title}  {shown}  done")
            self._midway = False


class ProgressBar(TerminalBar):
    """A bar for each job, with notices above it."""

    def __init__(self, console: Console) -> None:
        super().__init__(
            console,
            TextColumn("[bold]{task.description}"),
            BarColumn(bar_width=None),
            TaskProgressColumn(),
            TextColumn("{task.fields[position]}"),
            TextColumn("[cyan]{task.fields[pace]}"),
        )
        self._task: TaskID | None = None
        self._step = ""

    def __enter__(self) -> Self:
        super().__enter__()
        self._show("starting ranks", None)
        return self

    def _show(self, description: str, total: float | None) -> None:
        if self._task is not None:
            self._progress.remove_task(self._task)
        self._task = self._progress.add_task(printable(description), total=total, position="", pace="")

    def __call__(self, event: Event) -> None:
        kind = event["event"]
        if line := notice(event):
            self._notice(line)
        elif kind == "started":
            self._show(f"{self._step}{event.get('pattern')}", 1.0)
        elif kind == "step":
            self._step = step(event)
        elif kind == "progress" and self._task is not None:
            self._progress.update(
                self._task, completed=_number(event, "done"), position=position(event), pace=pace(event)
            )


def reporter(quiet: bool, stream: TextIO | None = None) -> Reporter:
    """Returns the reporter that suits the stream; without one, standard error."""
    stream = stream or sys.stderr
    if quiet:
        return Quiet(stream)
    console = terminal_of(stream)
    return Plain(stream) if console is None else ProgressBar(console)
