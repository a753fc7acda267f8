"""Ends what was started in a process group of its own."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess

END_SECONDS = 5


def end(process: subprocess.Popen[bytes]) -> None:
    """SIGTERM first: launchers and scripts hand it on, also to other nodes. Then what is left of it."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if process.poll() is not None:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=END_SECONDS)
