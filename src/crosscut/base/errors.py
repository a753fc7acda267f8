"""Exceptions, each with its exit status. People see the message, never a traceback."""

from __future__ import annotations

import json
from pathlib import Path

from crosscut.base.spelling import missing

EXIT_OK = 0
EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_INTERRUPTED = 130  # 128 + SIGINT, as in shells


def _exit_codes(more: str = "") -> str:
    return (
        f"exit status: 0 done; 1 the measurement or the machine failed{more}; 2 wrong usage or unreadable "
        "input; 130 interrupted"
    )


EXIT_CODES = _exit_codes()
# For commands that have --fail-on-fault.
EXIT_CODES_OF_FAULTS = _exit_codes(", or --fail-on-fault found a fault")


class CrosscutError(Exception):
    """An error that a person can act on: the message says what was wrong, where, and what to do."""

    exit_code = EXIT_FAILED


def plainly(error: Exception) -> str:
    """Returns a Python error in plain words, without errno numbers or decoder jargon."""
    if isinstance(error, OSError):
        absent = isinstance(error, FileNotFoundError) and isinstance(error.filename, str)
        return missing(Path(error.filename)) if absent else error.strerror or "it cannot be read"
    if isinstance(error, json.JSONDecodeError):
        return f"it is not valid JSON (line {error.lineno}, column {error.colno})"
    if isinstance(error, UnicodeDecodeError):
        return f"it is not UTF-8 text (byte {error.start})"
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if isinstance(error, KeyError):
        return f"it has no member {error}"
    return str(error)


class UsageError(CrosscutError):
    """An option, a file or a run is wrong."""

    exit_code = EXIT_USAGE


class SessionError(CrosscutError):
    """Ranks did not start, died, or broke the session protocol."""


class RanksLost(SessionError):
    """Ranks died and took the session with them; the data measured until then is on disk."""

    def __init__(self, text: str, nodes: tuple[str, ...] = ()) -> None:
        """`nodes`: the nodes of these ranks, as far as known."""
        super().__init__(text)
        self.nodes = nodes


class PlaceError(CrosscutError):
    """A place cannot start the ranks or the program; the message says why and what to do."""


class Interrupted(CrosscutError):
    """A signal stopped the command; the data measured until then is on disk."""

    exit_code = EXIT_INTERRUPTED
