"""Jobs in, results out: the client of a session (docs/reference/session-protocol.md)."""

from __future__ import annotations

import contextlib
import json
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from queue import SimpleQueue
from types import FrameType, TracebackType

from crosscut.base.errors import Interrupted, RanksLost, SessionError, UsageError
from crosscut.base.job import Event, Job
from crosscut.places.base import Launched

# A line longer than this is no event; the ready event of 10,000 nodes is well below it.
LARGEST_LINE_BYTES = 16 << 20

# MPICH's launcher takes eight to say that a process was killed.
_STDERR_LINES_SHOWN = 8
_STRAY_LINES_SHOWN = 12

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
    """What the events of one job have said so far."""

    warnings: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    lost_nodes: list[str] = field(default_factory=list)


class _Ended(SessionError):
    """The ranks are gone, without having said why."""

    def __init__(self, text: str, node: str = "") -> None:
        """`node`: of the conductor, where it was lost."""
        super().__init__(text)
        self.node = node


class _Signal:
    """In the queue of events: a signal arrived."""


class _EndOfStream:
    """In the queue of events: the session closed its output."""


class Session:
    """Ranks that are running and take jobs. A context manager: leaving it ends them."""

    def __init__(self, launched: Launched, listener: Listener | None = None) -> None:
        self._launched = launched
        self._listener = listener or _deaf
        self._queue: SimpleQueue[type[_Signal | _EndOfStream] | bytes] = SimpleQueue()
        self._interruptions = 0
        self._measuring = False
        self._conductor_node = ""  # where rank 0 is
        self.ranks_of_nodes: tuple[tuple[int, ...], ...] = ()  # known once all ranks have joined
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> int:
        """Ends the session and everything that was started for it; returns the exit status."""
        if self.alive:
            with contextlib.suppress(SessionError, Interrupted):
                self._request({"do": "end"})
        return self._shut(patience_seconds=10.0)

    def _shut(self, patience_seconds: float) -> int:
        """Ends what was started, and lets go of its output."""
        status = self._launched.close(patience_seconds)
        self._reader.join(timeout=1.0)  # longer only where a stray process still holds the pipe
        if not self._reader.is_alive() and self._launched.process.stdout is not None:
            self._launched.process.stdout.close()
        return status

    def stop(self) -> None:
        """Ends the job in work after the block in flight."""
        with contextlib.suppress(SessionError):
            self._request({"do": "stop"})

    @property
    def interrupted(self) -> bool:
        """True if a signal asked for an end."""
        return self._interruptions > 0

    @property
    def alive(self) -> bool:
        """True if the ranks can take another job."""
        return self._launched.process.poll() is None

    def wait_ready(self) -> Event:
        """Until all ranks have joined; returns the `ready` event."""
        with self._remarked():
            for event in self._events():
                if event["event"] == "ready":
                    return event
                if event["event"] == "error":
                    raise _error_of(event)
                if event["event"] == "failed-rank":
                    raise SessionError(_failure(event) or "a rank was lost")
        raise AssertionError("the stream of events ends by an exception")

    def run(self, job: Job) -> JobOutcome:
        """Measures; returns when the job's run is closed. Raises what the session refused or lost."""
        added = self._launched.hooks.attributes()
        if added:
            job = replace(job, metadata={**job.metadata, **added})
        self._request({"do": "run", "job": job.as_json()})
        self._measuring = True
        try:
            with self._remarked():
                outcome = self._follow(job)
                if outcome.state != "complete" and not self.interrupted and self._launched.hooks.gone():
                    raise SessionError("the ranks were told to end")
                return outcome
        finally:
            self._measuring = False

    def ask(self, request: Mapping[str, object]) -> Iterator[Event]:
        """Hands in a request that is no job of measuring; its events, until the caller has what it wants.
        Raises what the session refused or lost."""
        self._request(dict(request))
        self._measuring = True
        try:
            with self._remarked():
                for event in self._events():
                    if event["event"] == "error":
                        raise _error_of(event)
                    yield event
        finally:
            self._measuring = False

    def remark(self) -> str:
        """What the place knows that may explain what is measured; empty: nothing."""
        return self._launched.hooks.remark()

    @contextlib.contextmanager
    def _remarked(self) -> Iterator[None]:
        """Adds the place's remark to a failure, or says that the place is gone, whatever it looked like."""
        try:
            yield
        except SessionError as error:
            if gone := self._launched.hooks.gone():
                raise SessionError(gone) from error
            if remark := self.remark():
                error.args = (f"{error}\n  {remark}",)
            raise

    def _follow(self, job: Job) -> JobOutcome:
        """Takes the job's events until its run is closed."""
        collected = _Collected()
        try:
            return self._outcome_of(job, collected)
        except _Ended as ended:
            # Who was lost explains the end better than the end itself.
            text = "\n  ".join([*collected.failures, str(ended)])
            nodes = [*collected.lost_nodes, *([ended.node] if ended.node else [])]
            raise RanksLost(text, tuple(nodes)) from ended

    def _outcome_of(self, job: Job, collected: _Collected) -> JobOutcome:
        for event in self._events():
            kind = event["event"]
            if kind == "warning":
                collected.warnings.append(str(event.get("message", "")))
            elif (failure := _failure(event)) is not None:
                collected.failures.append(failure)
                if kind == "failed-rank":
                    collected.lost_nodes.append(str(event.get("node", "")))
            elif kind == "error":
                error = _error_of(event, collected.failures)
                if collected.lost_nodes and isinstance(error, SessionError):
                    raise RanksLost(str(error), tuple(collected.lost_nodes))
                if self.interrupted and isinstance(error, SessionError):  # it stopped before it began
                    raise Interrupted(str(error))
                raise error
            elif kind == "finished" and Path(str(event.get("out", job.out))) == job.out:
                return _outcome(job, event, collected)
        raise AssertionError("the stream of events ends by an exception")

    def _request(self, request: dict[str, object]) -> None:
        stdin = self._launched.process.stdin
        try:
            assert stdin is not None
            stdin.write(json.dumps(request).encode() + b"\n")
            stdin.flush()
        except (OSError, ValueError) as error:
            raise self._died() from error

    def _read(self) -> None:
        """Runs in a thread, so that the main thread can wait for an event or a signal."""
        stdout = self._launched.process.stdout
        assert stdout is not None
        with contextlib.suppress(OSError, ValueError):
            while line := stdout.readline(LARGEST_LINE_BYTES):
                self._queue.put(line)
        self._queue.put(_EndOfStream)

    def _events(self) -> Iterator[Event]:
        """Events as they come; raises SessionError when there can be no more."""
        while True:
            item = self._queue.get()
            if item is _Signal:
                self._on_signal()
                continue
            if not isinstance(item, bytes):
                raise self._died()
            try:
                event = _parse(item)
            except SessionError as error:
                raise self._strayed(error) from error
            if event["event"] == "ready":
                self._conductor_node = _node_of_rank_0(event)
                self.ranks_of_nodes = _ranks_of_nodes(event)
            self._launched.hooks.observe(event)
            self._listener(event)
            yield event
            if event["event"] == "ended":
                raise self._died()

    def _on_signal(self) -> None:
        if not self._measuring:
            raise Interrupted("interrupted before anything was measured")
        if self._interruptions > 1:
            self._launched.kill(signal.SIGTERM)
            raise Interrupted("interrupted twice: ended at once; finished blocks are on disk")
        self._listener({"event": "stopping"})
        self.stop()

    def _died(self) -> SessionError | Interrupted:
        status = self._shut(patience_seconds=2.0)
        if self.interrupted:
            return Interrupted("interrupted")
        lines = [line for line in self._launched.stderr_tail() if line.strip()]
        if (lost := self._without_conductor(status, lines)) is not None:
            return lost
        text = f"the ranks ended unexpectedly (exit status {status})"
        return _Ended("\n  ".join([text + (", saying:" if lines else ""), *lines[-_STDERR_LINES_SHOWN:]]))

    def _without_conductor(self, status: int, stderr: list[str]) -> _Ended | None:
        """Where the other ranks say that rank 0 is gone. A launcher has more to say of its own end."""
        said = [line for line in stderr if line.startswith("crosscut-core")]
        if not self._conductor_node or not any("the conductor (rank 0) is gone" in line for line in said):
            return None
        lost = f"rank 0 on node {self._conductor_node}, which conducts, was lost"
        text = f"{lost} (exit status {status}), saying:"
        return _Ended("\n  ".join([text, *said[-_STDERR_LINES_SHOWN:]]), self._conductor_node)

    def _strayed(self, error: SessionError) -> SessionError | Interrupted:
        """What is no event is mostly a launcher's word about a rank that died: the rest of it follows."""
        status = self._shut(patience_seconds=2.0)
        if self.interrupted:
            return Interrupted("interrupted")
        if (lost := self._without_conductor(status, self._launched.stderr_tail())) is not None:
            return lost
        lines = []
        while not self._queue.empty():
            item = self._queue.get()
            if isinstance(item, bytes):
                lines.append(item)
        shown = [_shown(line) for line in lines if line.strip(b"= \n") and not line.startswith(b"{")]
        return _Ended("\n  ".join([f"{error} (exit status {status})", *shown[:_STRAY_LINES_SHOWN]]))

    @contextlib.contextmanager
    def interruptible(self) -> Iterator[None]:
        """While inside, SIGINT and SIGTERM stop the job in order; a second one ends at once."""

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


def _deaf(_event: Event) -> None:
    """A listener that does nothing."""


def _ranks_of_nodes(ready: Event) -> tuple[tuple[int, ...], ...]:
    """Empty where the event does not list nodes, as of very many simulated hosts."""
    nodes = ready.get("nodes")
    return tuple(tuple(node["ranks"]) for node in nodes) if isinstance(nodes, list) else ()


def _node_of_rank_0(ready: Event) -> str:
    """Its name; empty where the event does not say."""
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
        raise SessionError(f"the ranks wrote something that is no event: {shown!r}") from error
    if not isinstance(event, dict) or not isinstance(event.get("event"), str):
        raise SessionError(f"the ranks wrote JSON that is no event: {shown!r}")
    return event


def _error_of(event: Event, failures: list[str] | None = None) -> UsageError | SessionError:
    text = str(event.get("message", "the session gave no reason"))
    # A lost rank is in the message already; wrong bytes may be not.
    text = "\n  ".join([text, *(failure for failure in failures or [] if failure.startswith("wrong"))])
    return UsageError(text) if event.get("kind") == "usage" else SessionError(text)


def _failure(event: Event) -> str | None:
    """What a `failed-rank` or `verify-failed` event says, as a sentence."""
    if event["event"] == "failed-rank":
        return f"rank {event.get('rank')} on {event.get('node')} was lost: {event.get('reason')}"
    if event["event"] == "verify-failed":
        return (
            f"wrong byte on route {event.get('source')} -> {event.get('destination')}, phase "
            f"{event.get('phase')}, size {event.get('size')}: at offset {event.get('offset')} expected "
            f"{event.get('expected')}, found {event.get('found')}"
        )
    return None


def _outcome(job: Job, event: Event, collected: _Collected) -> JobOutcome:
    elapsed = event.get("elapsed", 0.0)
    return JobOutcome(
        out=job.out,
        state=str(event.get("state", "failed")),
        elapsed_seconds=float(elapsed) if isinstance(elapsed, int | float) else 0.0,
        warnings=tuple(collected.warnings),
        failures=tuple(collected.failures),
    )
