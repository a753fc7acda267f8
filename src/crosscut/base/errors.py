"""What may go wrong, and the exit status that says so. A person sees the text, never a traceback."""

from __future__ import annotations

import json

EXIT_OK = 0
EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_INTERRUPTED = 130  # 128 + SIGINT, as shells have it

EXIT_CODES = (
    "exit status: 0 done; 1 the measurement or the machine failed; 2 wrong usage or unreadable input; "
    "130 interrupted"
)


class CrosscutError(Exception):
    """Something a person can act on: what was wrong, where, what to do."""

    exit_code = EXIT_FAILED


def plainly(error: Exception) -> str:
    """What an error of Python's says to a person: no number of errno, no words of a decoder."""
    if isinstance(error, OSError):
        return error.strerror or "it cannot be read"
    if isinstance(error, json.JSONDecodeError):
        return f"it is not JSON from line {error.lineno}, column {error.colno} on"
    if isinstance(error, UnicodeDecodeError):
        return f"it is not UTF-8 text from byte {error.start} on"
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if isinstance(error, KeyError):
        return f"it has no member {error}"
    return str(error)


class UsageError(CrosscutError):
    """The input (option, file, run) is wrong."""

    exit_code = EXIT_USAGE


class SessionError(CrosscutError):
    """The ranks did not start, died, or spoke something other than the session protocol."""


class RanksLost(SessionError):
    """Ranks died, and with them the session; what was measured is on disk."""

    def __init__(self, text: str, nodes: tuple[str, ...] = ()) -> None:
        """`nodes`: on which they were, as far as that is known."""
        super().__init__(text)
        self.nodes = nodes


class PlaceError(CrosscutError):
    """A place cannot start what was asked; the text says why and what to do."""


class Interrupted(CrosscutError):
    """Asked to stop by a signal; what was measured is on disk."""

    exit_code = EXIT_INTERRUPTED
