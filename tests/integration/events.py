"""Reads the events of a session that a test drives by hand."""

from __future__ import annotations

import json
import os
import select
import time
from typing import Any

from crosscut.places.base import Launched

PATIENCE_SECONDS = 60


class Events:
    def __init__(self, launched: Launched) -> None:
        assert launched.process.stdout is not None
        self._launched = launched
        self._fd = launched.process.stdout.fileno()
        self._unread = b""
        self.seen: list[dict[str, Any]] = []

    def next(self) -> dict[str, Any] | None:
        """Returns the next event; None at the end of the stream."""
        end = time.monotonic() + PATIENCE_SECONDS
        while b"\n" not in self._unread:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self._fd], [], [], left)[0]:
                raise AssertionError(f"no event within {PATIENCE_SECONDS} s after {self.seen}")
            chunk = os.read(self._fd, 65536)
            if not chunk:
                return None
            self._unread += chunk
        line, _, self._unread = self._unread.partition(b"\n")
        event: dict[str, Any] = json.loads(line)
        self.seen.append(event)
        self._launched.hooks.observe(event)
        return event

    def until(self, name: str) -> dict[str, Any]:
        """Returns the next event of that name; fails at the end of the stream."""
        while (event := self.next()) is not None:
            if event["event"] == name:
                return event
        said = self._launched.stderr_tail()
        raise AssertionError(f"the session ended without `{name}`; events {self.seen}; standard error {said}")


def close_streams(launched: Launched) -> None:
    """Ends the session if it still runs, and closes its pipes."""
    launched.close(patience_seconds=1)
    launched.stderr_tail()  # waits for the thread that reads standard error
    for stream in (launched.process.stdout, launched.process.stderr):
        if stream is not None:
            stream.close()
