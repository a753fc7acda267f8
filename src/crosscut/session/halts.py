"""Notices that a process on this machine, through which a session would be heard, stays stopped."""

from __future__ import annotations

import math
import time

from crosscut.base import process_group


class Halts:
    """Looks at the processes below one, while nothing is heard of a session."""

    def __init__(self, pid: int, silence_seconds: float, *, expects_answer: bool) -> None:
        """`silence_seconds`: how long a launcher may be stopped.

        `expects_answer`: a request was sent, and nothing was heard since. Under MPI, ranks notice a silent
        rank 0 only while they measure. Before, a stopped one is given up after twice that time: by then the
        conductor has named any other.
        """
        self._pid = pid
        self._limits = {False: silence_seconds} | ({True: 2 * silence_seconds} if expects_answer else {})
        self._since = dict.fromkeys(self._limits, math.inf)

    def look(self) -> tuple[int, float] | None:
        """Returns a process that has been stopped for too long, and the limit in seconds; else None."""
        now = time.monotonic()
        for leaves, limit in self._limits.items():
            stopped = process_group.stopped(self._pid, leaves=leaves)
            self._since[leaves] = math.inf if stopped is None else min(self._since[leaves], now)
            if stopped is not None and now - self._since[leaves] > limit:
                return stopped, limit
        return None
