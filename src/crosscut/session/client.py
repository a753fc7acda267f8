"""Client of a session: sends jobs, receives results (docs/reference/session-protocol.md)."""

from __future__ import annotations

import contextlib
import json
import math
import os
import signal
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from queue import Empty, SimpleQueue
from types import FrameType

from crosscut.base import process_group
from crosscut.base.errors import Interrupted, RanksLost, SessionError, UsageError
from crosscut.base.job import Event, Job
from crosscut.places.base import Launched
from crosscut.session.halts import Halts
from crosscut.session.tuning import tuning_variables

# Longer lines are not events; the `ready` event of 10,000 nodes is well below this.
LARGEST_LINE_BYTES = 16 << 20

# MPICH's launcher needs eight lines to say that a process was killed.
_STDERR_LINES_SHOWN = 8
_STRAY_LINES_SHOWN = 12
_LOOK_SECONDS = 1.0
"""How often to look whether a silent process was stopped."""
_SILENT_SECONDS = 5.0
"""Silence at the start after which people read what the ranks may be waiting for."""

Listener = Callable[[Event], None]


@dataclass(frozen=True)
class JobOutcome:
    """How a job ended."""

    out: Path
    state: str
    """`complete`, `stopped` or `failed`"""
    elapsed_seconds: float
    warnings: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()
    """Lost ranks and wrong bytes, one sentence each."""


@dataclass
class _Collected:
    """Warnings and failures from the events of one job so far."""

    warnings: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    lost_nodes: list[str] = field(default_factory=list)


class _Ended(SessionError):
    """The ranks are gone, and did not say why."""

    def __init__(self, text: str, node: str = "") -> None:
        """`node`: the conductor's, if the conductor was lost."""
        super().__init__(text)
        self.node = node


class _Signal:
    """Marks in the queue of events that a signal arrived."""


class _EndOfStream:
    """Marks in the queue of events that the session closed its output."""


class Session(contextlib.AbstractContextManager["Session"]):
    """Running ranks that take jobs. A context manager: leaving it ends them."""

    def __init__(self, launched: Launched, listener: Listener | None = None) -> None:
        self._launched = launched
        self._listener = listener or (lambda _: None)
        self._queue: SimpleQueue[type[_Signal | _EndOfStream] | bytes] = SimpleQueue()
        self._interruptions = 0
        self._ready = False  # True once all ranks have joined
        self._measuring = False
        self._expects_answer = False  # to a request, of which nothing has been heard
        self._conductor_node = ""  # where rank 0 is
        self.ranks_of_nodes: tuple[tuple[int, ...], ...] = ()  # known once all ranks have joined
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> int:
        """Ends the session and all processes started for it; returns the exit status."""
        was_asked = False
        if self.alive:
            with contextlib.suppress(SessionError, Interrupted):
                self._request({"do": "end"})
                was_asked = True
        return self._shut(patience_seconds=10.0, was_asked=was_asked)

    def _shut(self, patience_seconds: float, was_asked: bool = False) -> int:
        """Ends the processes and closes their output; returns the exit status."""
        status = self._launched.close(patience_seconds, was_asked)
        self._reader.join(timeout=1.0)  # times out only if a stray process still holds the pipe
        if not self._reader.is_alive() and self._launched.process.stdout is not None:
            self._launched.process.stdout.close()
        return status

    def stop(self) -> None:
        """Ends the running job after the block in flight."""
        with contextlib.suppress(SessionError):
            self._request({"do": "stop"})

    @property
    def process_id(self) -> int:
        """The process that passes requests and events on: a launcher, or the node of the ranks."""
        return self._launched.process.pid

    @property
    def interrupted(self) -> bool:
        """True if a signal asked to stop."""
        return self._interruptions > 0

    @property
    def alive(self) -> bool:
        """True if the ranks can take another job."""
        return self._launched.process.poll() is None

    def wait_ready(self) -> Event:
        """Waits until all ranks have joined; returns the `ready` event. Raises SessionError if they fail or
        take longer than the place allows."""
        with self._remarked():
            for event in self._events(self._launched.hooks.start_seconds, self._launched.hooks.waiting):
                if event["event"] == "ready":
                    return event
                if event["event"] == "error":
                    raise _error_of(event)
                if event["event"] == "failed-rank":
                    raise SessionError(worded(_FAILURES, event))
        raise AssertionError("the stream of events ends by an exception")

    def run(self, job: Job) -> JobOutcome:
        """Measures; returns once the job's run is closed. Raises UsageError if the session refused the job,
        SessionError if ranks were lost, Interrupted if a signal ended it early."""
        added = {"environment": tuning_variables(), **self._launched.hooks.attributes()}
        job = replace(job, metadata={**job.metadata, **added})
        with self._at_work({"do": "run", "job": job.as_json()}):
            outcome = self._follow(job)
            if outcome.state != "complete" and not self.interrupted and self._launched.gone():
                raise SessionError("the ranks were asked to end")
            return outcome

    def ask(self, request: Mapping[str, object]) -> Iterator[Event]:
        """Sends a request other than a measuring job; yields its events until the caller has what it wants.
        Raises UsageError if the session refused the request, SessionError if ranks were lost."""
        with self._at_work(request):
            for event in self._events():
                if event["event"] == "error":
                    raise _error_of(event)
                yield event

    @contextlib.contextmanager
    def _at_work(self, request: Mapping[str, object]) -> Iterator[None]:
        """Sends the request; while inside, a signal stops what it began."""
        self._request(request)
        self._measuring = True
        try:
            with self._remarked():
                yield
        finally:
            self._measuring = False

    def remark(self) -> str:
        """Returns what the place knows that may explain a measurement; empty if nothing."""
        return self._launched.hooks.remark()

    @contextlib.contextmanager
    def _remarked(self) -> Iterator[None]:
        """Adds the place's remark to a failure; if the place is gone, reports that instead."""
        try:
            yield
        except SessionError as error:
            if gone := self._launched.gone():
                raise SessionError(gone) from error
            if remark := self.remark():
                error.args = (f"{error}\n  {remark}",)
            raise

    def _follow(self, job: Job) -> JobOutcome:
        """Follows the job's events until its run is closed."""
        collected = _Collected()
        try:
            return self._outcome_of(job, collected)
        except _Ended as ended:
            # A lost node explains the end better than an exit status does.
            text = "\n  ".join([*collected.failures, str(ended)])
            nodes = [*collected.lost_nodes, *([ended.node] if ended.node else [])]
            raise RanksLost(text, tuple(nodes)) from ended

    def _outcome_of(self, job: Job, collected: _Collected) -> JobOutcome:
        for event in self._events():
            kind = event["event"]
            if kind == "warning":
                collected.warnings.append(str(event.get("message", "")))
            elif failure := worded(_FAILURES, event):
                collected.failures.append(failure)
                if kind == "failed-rank":
                    collected.lost_nodes.append(str(event.get("node", "")))
            elif kind == "error":
                error = _error_of(event, collected.failures)
                if collected.lost_nodes and isinstance(error, SessionError):
                    raise RanksLost(str(error), tuple(collected.lost_nodes))
                if self.interrupted and isinstance(error, SessionError):  # stopped before it began
                    raise Interrupted(str(error))
                raise error
            elif kind == "finished" and Path(str(event.get("out", job.out))) == job.out:
                state, elapsed = str(event.get("state", "failed")), number(event, "elapsed", 0.0)
                warnings, failures = tuple(collected.warnings), tuple(collected.failures)
                return JobOutcome(job.out, state, elapsed, warnings, failures)
        raise AssertionError("the stream of events ends by an exception")

    def _request(self, request: Mapping[str, object]) -> None:
        stdin = self._launched.process.stdin
        try:
            assert stdin is not None
            stdin.write(json.dumps(dict(request)).encode() + b"\n")
            stdin.flush()
        except (OSError, ValueError) as error:
            raise self._died() from error
        self._expects_answer = True

    def _read(self) -> None:
        """Queues lines in a thread, so that the main thread can wait for an event or a signal."""
        stdout = self._launched.process.stdout
        assert stdout is not None
        with contextlib.suppress(OSError, ValueError):
            while line := stdout.readline(LARGEST_LINE_BYTES):
                self._queue.put(line)
        self._queue.put(_EndOfStream)

    def _events(self, within_seconds: float = math.inf, waiting: str = "") -> Iterator[Event]:
        """Yields events as they come. `waiting`: a note for the listener if none comes for some seconds.

        Raises SessionError if the session ended, if none comes in time, or if the process that passes them on
        stays stopped.
        """
        deadline = time.monotonic() + within_seconds
        silent = time.monotonic() + _SILENT_SECONDS if waiting else math.inf
        while True:
            item = self._next(min(deadline, silent))
            if item is None and silent < deadline:
                self._listener({"event": "note", "message": waiting})
                silent = math.inf
                continue
            silent = math.inf
            if item is None:
                raise self._overdue(within_seconds)
            if item is _Signal:
                self._on_signal()
                continue
            if not isinstance(item, bytes):
                raise self._died()
            try:
                event = _parse(item)
            except SessionError as error:
                raise self._strayed(item, error) from error
            if event["event"] == "ready":
                self._ready = True
                self._conductor_node = _node_of_rank_0(event)
                self.ranks_of_nodes = _ranks_of_nodes(event)
            self._launched.hooks.observe(event)
            self._listener(event)
            yield event
            if event["event"] == "ended":
                raise self._died()

    def _next(self, deadline: float) -> type[_Signal | _EndOfStream] | bytes | None:
        """Returns the next item of the queue; None if nothing came in time. Raises SessionError if a process
        without which nothing can come has been stopped for too long."""
        silence = self._launched.silence_seconds
        halts = Halts(self.process_id, silence, expects_answer=self._expects_answer)
        while (now := time.monotonic()) < deadline:
            with contextlib.suppress(Empty):
                item = self._queue.get(timeout=min(_LOOK_SECONDS, deadline - now))
                self._expects_answer &= item is _Signal
                return item
            if (found := halts.look()) is not None:
                raise self._halted(*found)
        return None

    def _halted(self, stopped: int, seconds: float) -> SessionError | Interrupted:
        text = (
            f"{process_group.name(stopped)} (process {stopped}) was stopped for {seconds:g} s, by ctrl-Z or "
            "SIGSTOP, so nothing was heard of the ranks"
        )
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(stopped, signal.SIGCONT)  # a stopped process would not pass the end on to the ranks
        return self._ending(lambda _status, _lines: [text])

    def _overdue(self, seconds: float) -> SessionError | Interrupted:
        def says(_: int, lines: list[str]) -> list[str]:
            text = f"the ranks were not ready within {seconds:.0f} s; one of them may have died"
            return [text + (". Their last output:" if lines else ""), *lines[-_STDERR_LINES_SHOWN:]]

        return self._ending(says)

    def _on_signal(self) -> None:
        if not self._measuring:
            raise Interrupted("interrupted before anything was measured")
        if self._interruptions > 1:
            self._launched.kill(signal.SIGTERM)
            raise Interrupted("interrupted twice: ended at once; finished blocks are on disk")
        self._listener({"event": "stopping"})
        self.stop()

    def _died(self) -> SessionError | Interrupted:
        def says(status: int, lines: list[str]) -> list[str]:
            if not self._ready:
                text, colon = f"cannot start the ranks (exit status {status})", ":"
            else:
                text, colon = f"the ranks ended unexpectedly (exit status {status})", ", saying:"
            return [text + (colon if lines else ""), *lines[-_STDERR_LINES_SHOWN:]]

        return self._ending(says)

    def _ending(self, says: Callable[[int, list[str]], list[str]]) -> SessionError | Interrupted:
        """Ends the session; returns the error to raise. `says` makes its lines from the exit status and the
        lines written for people, unless the loss of rank 0 is known to be the cause."""
        status = self._shut(patience_seconds=2.0)
        if self.interrupted:
            return Interrupted("interrupted")
        lines = [line for line in self._launched.stderr_tail() if line.strip()]
        return self._without_conductor(status, lines) or _Ended("\n  ".join(says(status, lines)))

    def _without_conductor(self, status: int, stderr: list[str]) -> _Ended | None:
        """Returns an error, without the launcher's lines, if other ranks report that rank 0 is gone."""
        said = [line for line in stderr if line.startswith("crosscut-core")]
        if not self._conductor_node or not any("the conductor (rank 0) is gone" in line for line in said):
            return None
        lost = f"rank 0 on node {self._conductor_node}, the conductor, was lost"
        text = f"{lost} (exit status {status}), saying:"
        return _Ended("\n  ".join([text, *said[-_STDERR_LINES_SHOWN:]]), self._conductor_node)

    def _strayed(self, first: bytes, error: SessionError) -> SessionError | Interrupted:
        """Returns the error for a line that is not an event. Such a line is usually the first of a launcher's
        report that a rank died, so the lines after it are shown, too."""
        launcher = "" if first.startswith(b"{") else self._launched.hooks.launcher

        def says(status: int, _: list[str]) -> list[str]:
            queued = [self._queue.get() for _ in range(self._queue.qsize())]
            lines = [line for line in queued if isinstance(line, bytes) and not line.startswith(b"{")]
            words = [_shown(line) for line in ([first] if launcher else []) + lines if line.strip(b"= \n")]
            said = f"{launcher} ended (exit status {status}), saying:" if launcher else None
            return [said or f"{error} (exit status {status})", *words[:_STRAY_LINES_SHOWN]]

        return self._ending(says)

    @contextlib.contextmanager
    def interruptible(self) -> Iterator[None]:
        """While inside, SIGINT and SIGTERM stop the job in order; a second signal ends it at once."""

        def note(_number: int, _frame: FrameType | None) -> None:
            self._interruptions += 1
            self._queue.put(_Signal)  # SimpleQueue.put is reentrant: safe in a signal handler

        numbers = (signal.SIGINT, signal.SIGTERM)
        before = [signal.signal(number, note) for number in numbers]
        try:
            yield
        finally:
            for number, handler in zip(numbers, before, strict=True):
                signal.signal(number, handler)


def _ranks_of_nodes(ready: Event) -> tuple[tuple[int, ...], ...]:
    """Returns the ranks of each node; empty if the event lists none, as with very many simulated hosts."""
    nodes = ready.get("nodes")
    return tuple(tuple(node["ranks"]) for node in nodes) if isinstance(nodes, list) else ()


def _node_of_rank_0(ready: Event) -> str:
    """Returns the name of rank 0's node; empty if the event does not say."""
    nodes = ready.get("nodes")
    for node in nodes if isinstance(nodes, list) else ():
        if isinstance(node, dict) and 0 in (node.get("ranks") or ()):
            return str(node.get("name", ""))
    return ""


def _shown(line: bytes) -> str:
    return line[:120].decode("utf-8", "replace").rstrip()


def _parse(line: bytes) -> Event:
    shown = _shown(line)
    try:
        event = json.loads(line)
    except ValueError as error:
        raise SessionError(f"the ranks wrote something that is not an event: {shown!r}") from error
    if not isinstance(event, dict) or not isinstance(event.get("event"), str):
        raise SessionError(f"the ranks wrote JSON that is not an event: {shown!r}")
    return event


def _error_of(event: Event, failures: list[str] | None = None) -> UsageError | SessionError:
    text = str(event.get("message", "the session gave no reason"))
    # The message already names a lost rank, but perhaps not the wrong bytes.
    text = "\n  ".join([text, *(failure for failure in failures or [] if failure.startswith("wrong"))])
    return UsageError(text) if event.get("kind") == "usage" else SessionError(text)


_FAILURES = {
    "failed-rank": "rank {rank} on {node} was lost: {reason}",
    "verify-failed": (
        "wrong byte on route {source} -> {destination}, phase {phase}, size {size}: at offset {offset} "
        "expected {expected}, found {found}"
    ),
}


def worded(sentences: Mapping[str, str], event: Event) -> str:
    """Returns the sentence for this kind of event, with its members filled in; empty if there is none."""
    return sentences.get(str(event["event"]), "").format_map(defaultdict(lambda: None, event))


def number(event: Event, key: str, otherwise: float) -> float:
    """Returns a member of an event, or `otherwise` if it is missing or not a number."""
    value = event.get(key)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else otherwise
