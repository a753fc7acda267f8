"""A measurement under way, of which a test harms a part: which process holds which rank, and what is left."""

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

# Long enough for any machine; what should end ends much sooner.
PATIENCE_SECONDS = 40


def private_core(folder: Path, monkeypatch_environment: Callable[[str, str], None]) -> Path:
    """Copies of the executables, by which the processes of one test are known; the core's folder."""
    binaries = folder / "bin"
    binaries.mkdir()
    for name in (core.CORE, core.CORE_MPI):
        if (executable := core.find_executable(name)) is not None:
            shutil.copy(executable, binaries / name)
            # The libraries are, as seen from the copy, where those of the original are.
            with contextlib.suppress(FileExistsError):
                (folder / "lib").symlink_to(executable.parent.parent / "lib")
    monkeypatch_environment("CROSSCUT_CORE", str(binaries / core.CORE))
    core.load.cache_clear()
    return binaries


@dataclass
class Measurement:
    """One job in a thread of its own, so that the test can act meanwhile."""

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
        """Waits for it; what the error says, empty where there was none."""
        self.thread.join(PATIENCE_SECONDS)
        assert not self.thread.is_alive(), "it did not end"
        return str(self.error or "")

    def lost(self) -> list[tuple[object, object]]:
        """Ranks that events name as lost, with their nodes."""
        lost = [event for event in self.events if event["event"] == "failed-rank"]
        return [(event["rank"], event["node"]) for event in lost]


@contextlib.contextmanager
def measuring(job: Job, launch: Launch, binaries: Path) -> Iterator[Measurement]:
    """Ends the session when left; no process of it may then be left."""
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
        # What is stopped must not outlast a test that failed.
        session.close()
        for name in (core.CORE, core.CORE_MPI):
            await_none(binaries / name)


def rank_processes(executable: Path, ranks: int) -> tuple[int, list[int]]:
    """The node's process, and the ranks' in order: they are forked in it."""
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
