"""Asks other programs about themselves."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path


def said(words: Sequence[str | Path], seconds: float = 10.0) -> str:
    """Returns a program's standard output, whatever its status; empty if it does not start or end in time."""
    try:
        done = subprocess.run(words, capture_output=True, timeout=seconds, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode("utf-8", "replace")
