"""Shows the progress of copies, always on standard error: a bar on a terminal, lines elsewhere. It follows
the node that has the least, since all are done when that one is."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TextIO

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, TaskProgressColumn, TextColumn

from crosscut.base import units
from crosscut.base.job import Event
from crosscut.base.printable import printable
from crosscut.session.client import number, worded
from crosscut.session.progress import LogLines, Reporter, TerminalBar, terminal_of

_NOTICES = {
    "warning": "warning: {message}",
    "failed-rank": "lost {node} (rank {rank}): {reason}",
    "stopping": "stopping; what has arrived is kept (interrupt again to end at once)",
}


def _number(event: Event, key: str) -> float:
    return number(event, key, 0.0)


def notice(event: Event) -> str:
    """Returns a line about an event; empty if there is nothing to tell."""
    return worded(_NOTICES, event)


def share(event: Event) -> float:
    """Returns the share that the least complete copy holds, from a progress event."""
    whole = _number(event, "bytes")
    return min(1.0, _number(event, "held_bytes") / whole) if whole > 0 else 1.0


def position(event: Event) -> str:
    """Formats `furthest behind: n07 (rank 7) with 256 MB  81.0 MB/s  ETA 4.6 s`, or the share checked."""
    held, whole, rate = (_number(event, name) for name in ("held_bytes", "bytes", "rate"))
    who = f"{event.get('node')} (rank {event.get('rank')})"
    if held >= whole:
        checked = _number(event, "checked_bytes") / whole if whole > 0 else 1.0
        return f"{who} is checking: {units.percent(min(1.0, checked))}"
    parts = [f"furthest behind: {who} with {units.size(held)}"]
    if rate > 0:
        parts += [units.rate(rate), f"ETA {units.duration((whole - held) / rate)}"]
    return "  ".join(parts)


class CloneProgressLines(LogLines):
    """Lines for a log: notices, and progress at intervals unless quiet."""

    def __init__(self, stream: TextIO, quiet: bool, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(stream, clock)
        self._quiet = quiet
        self._last = clock()  # no progress line for a copy shorter than an interval

    def __call__(self, event: Event) -> None:
        if line := notice(event):
            self._print(line)
        if event["event"] == "progress" and self._is_due() and not self._quiet:
            self._last = self._clock()
            self._print(f"{units.percent(share(event))}  {position(event)}")


class CloneProgressBar(TerminalBar):
    def __init__(self, console: Console) -> None:
        super().__init__(
            console,
            TextColumn("[bold]{task.description}"),
            BarColumn(bar_width=24),
            TaskProgressColumn(),
            TextColumn("{task.fields[position]}"),
        )
        self._task = self._progress.add_task("starting", total=None, position="")

    def __call__(self, event: Event) -> None:
        kind = event["event"]
        if line := notice(event):
            self._notice(line)
        elif kind == "ready":
            self._progress.update(self._task, description="preparing")
        elif kind == "cloning":
            self._progress.update(self._task, description="cloning", total=1.0)
        elif kind == "progress":
            self._progress.update(
                self._task, completed=share(event), position=escape(printable(position(event)))
            )


def reporter(quiet: bool, stream: TextIO | None = None) -> Reporter:
    """Returns the reporter that suits the stream; without one, standard error."""
    stream = stream or sys.stderr
    console = None if quiet else terminal_of(stream)
    return CloneProgressLines(stream, quiet) if console is None else CloneProgressBar(console)
