"""Runs a copy that a test can disturb."""

from __future__ import annotations

import functools
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from under_way import PATIENCE_SECONDS, wait_until

from crosscut.base.errors import CrosscutError
from crosscut.base.job import Event
from crosscut.clone import places
from crosscut.clone.clone import CloneOutcome, Order, clone
from crosscut.session.client import Session
from crosscut.session.measure import Launch, open_session

UNFINISHED = ".crosscut-clone"
# Small, so that a copy of a few megabytes takes many steps.
CHUNK_BYTES = 4 << 10


def image(path: Path, size: int) -> Path:
    path.write_bytes(os.urandom(size))
    return path


def unfinished(target: Path) -> Path:
    return target.with_name(target.name + UNFINISHED)


def copies(folder: Path, processes: int) -> list[Path]:
    """Returns the targets of `order`, for ranks 1, 2, …"""
    return [folder / f"copy-{rank}" for rank in range(1, processes)]


def order(source: Path, *, overwrite: bool = False, resume: bool = False) -> Order:
    return Order(str(source), str(source.parent / "copy-{rank}"), overwrite, resume, CHUNK_BYTES)


class Copying:
    """Copies in its own thread from `begin` on, so that the test can act meanwhile."""

    def __init__(self, session: Session, order: Order, events: list[Event]) -> None:
        self.events = events
        self.outcome: CloneOutcome | None = None
        self.error: CrosscutError | None = None
        self._session, self._order = session, order
        self._thread = threading.Thread(target=self._run, daemon=True)

    def begin(self) -> None:
        self._thread.start()

    def _run(self) -> None:
        try:
            self.outcome = clone(self._session, self._order)
        except CrosscutError as error:
            self.error = error

    def end(self) -> CloneOutcome:
        self._thread.join(PATIENCE_SECONDS)
        assert not self._thread.is_alive(), "it did not end"
        if self.error is not None:
            raise self.error
        assert self.outcome is not None
        return self.outcome

    def said(self) -> list[object]:
        return [event["event"] for event in self.events]

    def lost(self) -> list[object]:
        return [event["rank"] for event in self.events if event["event"] == "failed-rank"]


@contextmanager
def copying(order: Order, launch: Launch) -> Iterator[Copying]:
    """Starts the ranks; the copy itself has yet to begin."""
    events: list[Event] = []
    with places.decided(launch) as decided:
        session = open_session(decided, events.append)
    try:
        session.wait_ready()
        yield Copying(session, order, events)
    finally:
        session.close()


def copied(order: Order, launch: Launch) -> CloneOutcome:
    with copying(order, launch) as under_way:
        under_way.begin()
        return under_way.end()


class TooLate(Exception):
    """The copy that was to be disturbed had ended before the test could: the machine is very busy."""


def again_if_too_late(test: Callable[..., None]) -> Callable[..., None]:
    """Repeats a test with an empty `folder`, at most four times, while it is too late."""

    @functools.wraps(test)
    def tried(**fixtures: Any) -> None:
        for left in range(4, -1, -1):
            try:
                return test(**fixtures)
            except TooLate:
                if left == 0:
                    raise
                for file in fixtures["folder"].iterdir():
                    file.unlink()
        raise AssertionError

    return tried


def stop(pid: int) -> None:
    """Stops a rank. Raises TooLate if it has ended."""
    try:
        os.kill(pid, signal.SIGSTOP)
    except ProcessLookupError:
        raise TooLate(pid) from None


def wait_for_bytes(file: Path, least: int = 1) -> None:
    """Waits until `least` bytes have been written to an unfinished copy. Raises TooLate if it is finished."""

    def has_some() -> bool:
        if file.with_name(file.name.removesuffix(UNFINISHED)).exists():
            raise TooLate(file)
        try:
            return file.stat().st_blocks * 512 >= least
        except OSError:
            return False

    wait_until(has_some, f"{file} did not grow")
