"""What `make workloads` does: every workload in classes S and W on all numbers of ranks up to 16 that it
takes, Linpack where there is an hpcc, a copy down a chain. Each verifies what it made; at the end stands what
ran and what did not. Exit status 1 where something was not right.
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
    """Why it cannot be done here."""


def steps(folder: Path) -> Iterator[Step]:
    yield Step(
        "workloads",
        f"classes S and W, on all of 1 to {MOST_RANKS} ranks that each takes",
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
    """Ctrl-C reaches the command, too; it is given the time to end what it started."""
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
    """At the end, however it comes, what was done."""
    began = time.monotonic()
    try:
        yield
    finally:
        screen = screen_for()
        screen.title(f"make workloads: {units.duration(time.monotonic() - began)}")
        screen.table(rows)


def main() -> int:
    rows = Rows("<what", "<of it", "<result", "time")
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
