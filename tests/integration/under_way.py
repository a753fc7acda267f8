"""Runs a measurement that a test can disturb, and finds its processes and ranks."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from processes import await_none, children, parent, running

from crosscut.base import core
from crosscut.base.errors import CrosscutError
from crosscut.base.job import Event, Job
from crosscut.session.client import JobOutcome, Session
from crosscut.session.measure import Launch, decide, open_session

# Long enough for any machine; normally processes end much sooner.
PATIENCE_SECONDS = 40


def private_core(folder: Path, monkeypatch_environment: Callable[[str, str], None]) -> Path:
    """Copies the executables, so that a test can identify its processes. Returns the core's folder."""
    binaries = folder / "bin"
    binaries.mkdir()
    for name in (core.CORE, core.CORE_MPI):
        if (executable := core.find_executable(name)) is not None:
            shutil.copy(executable, binaries / name)
            # The copy finds its libraries by relative path, like the original.
            with contextlib.suppress(FileExistsError):
                (folder / "lib").symlink_to(executable.parent.parent / "lib")
    monkeypatch_environment("CROSSCUT_CORE", str(binaries / core.CORE))
    core.load.cache_clear()
    return binaries


@dataclass
class Measurement:
    """Runs one job in its own thread, so that the test can act meanwhile."""

    session: Session
    job: Job
    events: list[Event]
    started: threading.Event
    outcome: JobOutcome | None = None
    error: CrosscutError | None = None
    thread: threading.Thread = field(init=False)

    def __post_init__(self) -> None:
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()
        assert self.started.wait(PATIENCE_SECONDS), "nothing was started"

    def _run(self) -> None:
        try:
            self.outcome = self.session.run(self.job)
        except CrosscutError as error:
            self.error = error
        finally:
            self.started.set()

    def end(self) -> str:
        """Waits for the job. Returns the error's message; empty without an error."""
        self.thread.join(PATIENCE_SECONDS)
        assert not self.thread.is_alive(), "it did not end"
        return str(self.error or "")

    def lost(self) -> list[tuple[object, object]]:
        """Returns the ranks that events report as lost, with their nodes."""
        lost = [event for event in self.events if event["event"] == "failed-rank"]
        return [(event["rank"], event["node"]) for event in lost]


@contextlib.contextmanager
def measuring(job: Job, launch: Launch, binaries: Path) -> Iterator[Measurement]:
    """Runs the job. Ends the session at the end, and fails if any process is left."""
    events: list[Event] = []
    started = threading.Event()

    def hear(event: Event) -> None:
        events.append(event)
        if event["event"] == "started":
            started.set()

    session = open_session(decide(core.load(), launch), hear)
    try:
        session.wait_ready()
        yield Measurement(session, job, events, started)
    finally:
        # Stopped processes must not outlast a failed test.
        session.close()
        for name in (core.CORE, core.CORE_MPI):
            await_none(binaries / name)


def rank_processes(executable: Path, ranks: int) -> tuple[int, list[int]]:
    """Returns the node's process, and the ranks' in rank order: the order in which they are forked."""
    everyone = running(executable)
    (node,) = [pid for pid in everyone if parent(pid) not in everyone]
    processes = children(node)
    assert len(processes) == ranks, processes
    return node, processes


def signal_all(processes: list[int], number: signal.Signals) -> None:
    for pid in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def wait_until(condition: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.005)
