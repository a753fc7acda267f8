"""What all listeners to a session share that show people what they hear: lines of a log, or a bar on a
terminal. What they say of an event is their own (`progress`, `clone_progress`)."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import Protocol, Self, TextIO

from rich.console import Console
from rich.markup import escape
from rich.progress import Progress, ProgressColumn

from crosscut.base.job import Event

# Seconds between two lines about progress in a log.
PLAIN_INTERVAL_SECONDS = 10.0


class Reporter(Protocol):
    """A listener to a session that shows what it hears, while it is entered."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def __call__(self, event: Event) -> None: ...


class LogLines:
    """Lines that name crosscut, for a log."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream, self._clock = stream, clock
        self._last = float("-inf")
        """When progress was told last."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def _is_due(self) -> bool:
        return self._clock() - self._last >= PLAIN_INTERVAL_SECONDS

    def _print(self, line: str) -> None:
        print(f"crosscut: {line}", file=self._stream, flush=True)


class TerminalBar:
    """A bar that is gone at the end, with notices above it."""

    def __init__(self, console: Console, *columns: ProgressColumn) -> None:
        self._progress = Progress(*columns, console=console, transient=True)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def _notice(self, line: str) -> None:
        self._progress.console.print(f"[yellow]{escape(line)}", highlight=False)


def terminal_of(stream: TextIO) -> Console | None:
    """Where a bar can be drawn; None: lines it must be."""
    console = Console(file=stream)
    return console if console.is_terminal and not console.is_dumb_terminal else None


def number(event: Event, key: str, otherwise: float) -> float:
    """A member of an event; what is missing or no number is `otherwise`."""
    value = event.get(key)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else otherwise
