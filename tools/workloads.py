"""Runs `make workloads`: every workload in classes S and W on each valid number of ranks up to 16, Linpack if
hpcc is installed, and a copy down a chain. Each step verifies its result. A summary at the end lists what ran
and what was skipped. Exit status: 1 if a step failed, 130 if interrupted.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from crosscut.base import units
from crosscut.reports.terminal.screen import Rows, screen_for
from crosscut.workloads.hpl import program

COMMAND = (sys.executable, "-m", "crosscut")
MOST_RANKS = 16
IMAGE_BYTES, COPYING_RANKS = 64 << 20, 4
INTERRUPTED = 130


@dataclass(frozen=True)
class Step:
    name: str
    what: str
    words: tuple[str, ...]
    lacking: str = ""
    """Why the step cannot run here; empty if it can."""


def steps(folder: Path) -> Iterator[Step]:
    yield Step(
        "workloads",
        f"classes S and W, on each valid number of ranks from 1 to {MOST_RANKS}",
        ("workload", "run", "all", "--class", "S,W", "-n", f"1-{MOST_RANKS}"),
    )
    yield Step(
        "Linpack",
        "2,000 equations, two ring broadcasts",
        ("workload", "hpl"),
        program.unavailable() or "",
    )
    source = folder / "image"
    source.write_bytes(os.urandom(IMAGE_BYTES))
    yield Step(
        "clone",
        f"{units.size(IMAGE_BYTES)} to {COPYING_RANKS - 1} ranks, SHA-256 of each",
        ("clone", str(source), f"{folder}/copy-{{rank}}", "--on", f"local:{COPYING_RANKS}"),
    )


def done(words: tuple[str, ...]) -> int:
    """Runs a command and returns its status. Ctrl-C reaches the command too, which gets time to clean up."""
    with subprocess.Popen([*COMMAND, *words]) as process:
        while True:
            try:
                return process.wait()
            except KeyboardInterrupt:
                continue


def verdict(status: int) -> str:
    return "verified" if status == 0 else f"NOT verified: exit status {status}"


@contextmanager
def told(rows: Rows) -> Iterator[None]:
    """Prints the table of steps at the end, even after an exception."""
    began = time.monotonic()
    try:
        yield
    finally:
        screen = screen_for()
        screen.title(f"make workloads: {units.duration(time.monotonic() - began)}")
        screen.table(rows)


def main() -> int:
    rows = Rows("<step", "<details", "<result", "time")
    failed = False
    with told(rows), tempfile.TemporaryDirectory(prefix="crosscut-workloads-") as folder:
        for step in steps(Path(folder)):
            if step.lacking:
                rows.add(step.name, step.what, f"skipped: {step.lacking}", "", style="yellow")
                continue
            began = time.monotonic()
            status = done(step.words)
            taken = units.duration(time.monotonic() - began)
            rows.add(step.name, step.what, verdict(status), taken, style="" if status == 0 else "red")
            failed = failed or status != 0
            if status == INTERRUPTED:
                return INTERRUPTED
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
