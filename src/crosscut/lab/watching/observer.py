"""Watches a lab while a session measures on it, and records in each run how far the lab could be trusted.

Before and after each run, an unloaded pair of nodes shows how the lab performs at rest. One process holds
both ends: a socket stays in the network namespace in which it was made.
"""

from __future__ import annotations

import contextlib
import json
import select
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from crosscut.base import process_group, spelling, whole_file
from crosscut.base.errors import CrosscutError
from crosscut.base.job import Event
from crosscut.lab import describe, holder, lifecycle, state
from crosscut.lab.kernel import namespaces
from crosscut.lab.plan import addresses
from crosscut.lab.plan.plan import LabPlan
from crosscut.lab.switch import program
from crosscut.lab.watching import trust
from crosscut.run import lock
from crosscut.run.format import load_json

_PATIENCE_SECONDS = 5.0
# A reference measured after one run also serves as `before` of a run that begins within this time.
_REFERENCE_SECONDS = 1.0
_TIMEOUT_SECONDS = 2.0
_PINGS = 40
_PINGING_SECONDS = 0.1
# Long enough at 100 Mbit/s for slow start to end and for initially full buckets to drain.
_WARM_UP_SECONDS = 0.05
_STREAM_SECONDS = 0.15
# The least to receive over a slow link, so that bursts of frames do not decide the rate.
_STREAM_LEAST_BYTES = 100_000
_STREAM_MOST_SECONDS = 0.6
_SEND_BYTES, _RECEIVE_BYTES = 16_384, 1 << 18


@dataclass
class Observer:
    """Watches one session, whose jobs run one after another."""

    name: str
    """Name of the lab."""
    ranks_per_host: int
    _watcher: subprocess.Popen[str] | None = field(init=False, default=None)
    _begin: float = field(init=False, default=0.0)
    _marks: list[trust.ProgressMark] = field(init=False, default_factory=list)
    _before: dict[str, object] = field(init=False, default_factory=dict)
    _measured_at: float = field(init=False, default=-1e9)
    _switch: Mapping[str, Any] = field(init=False, default_factory=dict)

    def begin(self) -> Mapping[str, object]:
        """Starts watching before a job, and returns what its run records about the lab."""
        record = state.read(self.name)
        if time.monotonic() - self._measured_at > _REFERENCE_SECONDS:
            self._before = self._reference(record)
        self._switch = _statistics(record)
        self._marks = []
        self.end()
        self._watcher = _watch()
        self._begin = time.monotonic()
        return describe.attributes(record, self.ranks_per_host)

    def observe(self, event: Event) -> None:
        """Handles every event of the session."""
        if event["event"] == "progress":
            numbers = [event.get(key) for key in ("size", "phase", "repetition")]
            size, phase, repetition = (number if isinstance(number, int) else 0 for number in numbers)
            self._marks.append(trust.ProgressMark(time.monotonic(), size, phase, repetition))
        elif event["event"] == "finished" and self._watcher is not None:
            with contextlib.suppress(CrosscutError):  # a run is worth more than a judgement of the lab
                self._record(Path(str(event["out"])))
        elif event["event"] == "error":
            self.end()

    def end(self) -> dict[str, Any]:
        """Stops watching and returns what was seen; empty if nothing was watched."""
        watcher, self._watcher = self._watcher, None
        if watcher is None:
            return {}
        try:
            said, _ = watcher.communicate(timeout=_PATIENCE_SECONDS)
            found: dict[str, Any] = json.loads(said)
            return found
        except (subprocess.TimeoutExpired, ValueError):
            watcher.kill()
            watcher.communicate()
            return {}

    def _reference(self, record: state.Record) -> dict[str, object]:
        made = lifecycle.plan_of(record)
        hosts = pair(made, record.faults)
        measured = measure(record, made, hosts)
        self._measured_at = time.monotonic()
        return {"nodes": [made.hosts[host] for host in hosts], **measured}

    def _record(self, out: Path) -> None:
        end = time.monotonic()
        document = self.end()
        record = state.read(self.name)
        about: dict[str, Any] = {"error": "the machine was not watched"}
        if document:
            seen = trust.parse(document)
            first, last = _phases(out)
            limited = trust.limited_phases(seen, self._begin, self._marks, first, last)
            about = trust.figures(seen, self._begin, end) | {
                "limited": [
                    {"size": size, "phases": spelling.spans(limited[size])} for size in sorted(limited)
                ]
            }
        after, before = _statistics(record), self._switch
        if before and after:
            about["switch"] = trust.of_switch(before, after)
        about["reference_before"], self._before = self._before, self._reference(record)
        about["reference_after"] = self._before
        _append(out, about)


def _watch() -> subprocess.Popen[str]:
    """Starts the watcher, which ends when its standard input closes."""
    pipe = subprocess.PIPE
    words = [sys.executable, "-m", "crosscut.lab.watching.watch"]
    watcher = process_group.start(
        words, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True, process_group=0
    )
    assert watcher.stdout is not None
    if select.select([watcher.stdout], [], [], _PATIENCE_SECONDS)[0]:
        watcher.stdout.readline()  # it has begun to watch
    return watcher


def _statistics(record: state.Record) -> Mapping[str, Any]:
    """The statistics of crosscut-switch; empty if it does not carry this lab or does not answer."""
    if record.switch_process is None:
        return {}
    try:
        return program.statistics(record)
    except CrosscutError:
        return {}


def _phases(out: Path) -> tuple[int, int]:
    """First and last phase of the run, in the pattern's numbering."""
    value: object = load_json(out / "zarr.json")
    for key in ("attributes", "job", "phases"):
        value = value.get(key) if isinstance(value, dict) else None
    chosen = value
    if isinstance(chosen, list) and len(chosen) == 2 and all(isinstance(number, int) for number in chosen):
        return chosen[0], chosen[1]
    shape = load_json(out / "phase" / "zarr.json").get("shape")
    return 1, shape[0] if isinstance(shape, list) and shape and isinstance(shape[0], int) else 1


def _append(out: Path, about: Mapping[str, Any]) -> None:
    """Adds an entry to the run's `trust`, which has one for each session that measured a part of it.

    Replaces the file atomically, as the core does, and waits for the core, which reports the end of a run a
    moment before it releases the run.
    """
    path = out / "zarr.json"
    with lock.alone(out, _PATIENCE_SECONDS):
        document = load_json(path)
        attributes = document.get("attributes")
        if not isinstance(attributes, dict):
            return
        before = attributes.get("trust")
        attributes["trust"] = [*(before if isinstance(before, list) else []), about]
        whole_file.write(path, (json.dumps(document, indent=2, allow_nan=False) + "\n").encode())


def pair(made: LabPlan, faults: tuple[Mapping[str, object], ...]) -> tuple[int, int]:
    """The first two hosts without a planted fault; failing that, the first two."""
    broken: set[object] = set()
    for fault in faults:
        nodes = fault.get("nodes")
        broken |= set(nodes) if isinstance(nodes, list | tuple) else set()
    sound = [host for host, name in enumerate(made.hosts) if name not in broken]
    first, second = sound[:2] if len(sound) > 1 else (0, 1)
    return first, second


def measure(record: state.Record, made: LabPlan, hosts: tuple[int, int]) -> dict[str, object]:
    """Round trip of a byte and rate of a stream, or an error."""
    try:
        return holder.inside(record, partial(_measure, made, state.folder(record.name), hosts))
    except CrosscutError as error:
        return {"error": str(error)}


def _measure(made: LabPlan, folder: Path, hosts: tuple[int, int]) -> dict[str, object]:
    # Uses the hosts' first addresses; a host that forwards has no other.
    where = [folder / "net" / made.hosts[host] for host in hosts]
    with contextlib.ExitStack() as stack:
        namespaces.enter(where[0], namespaces.NEW_NET)
        listener = stack.enter_context(socket.create_server((addresses.ip(hosts[0], 0), 0)))
        listener.settimeout(_TIMEOUT_SECONDS)
        namespaces.enter(where[1], namespaces.NEW_NET)
        sender = stack.enter_context(
            socket.create_connection(listener.getsockname(), timeout=_TIMEOUT_SECONDS)
        )
        receiver = stack.enter_context(listener.accept()[0])
        for end in (sender, receiver):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            end.settimeout(_TIMEOUT_SECONDS)
        return {
            "round_trip_seconds": _round_trip(sender, receiver),
            "bytes_per_second": _rate(sender, receiver),
        }


def _round_trip(one: socket.socket, other: socket.socket) -> float:
    """Median, in seconds."""
    times: list[float] = []
    end = time.monotonic() + _PINGING_SECONDS
    while len(times) < _PINGS and (len(times) < 3 or time.monotonic() < end):
        began = time.monotonic()
        one.sendall(b"x")
        other.recv(1)
        other.sendall(b"x")
        one.recv(1)
        times.append(time.monotonic() - began)
    return statistics.median(times)


def _rate(sender: socket.socket, receiver: socket.socket) -> float:
    sender.setblocking(False)
    receiver.setblocking(False)
    data = bytes(_SEND_BYTES)
    poll = select.poll()
    poll.register(sender, select.POLLOUT)
    poll.register(receiver, select.POLLIN)
    opened = time.monotonic()
    began, counted = 0.0, 0
    while True:
        if not poll.poll(1000 * _TIMEOUT_SECONDS):
            raise CrosscutError("nothing arrives")
        with contextlib.suppress(BlockingIOError):
            sender.send(data)
        with contextlib.suppress(BlockingIOError):
            counted += len(receiver.recv(_RECEIVE_BYTES))
        now = time.monotonic()
        if not began and now > opened + _WARM_UP_SECONDS:
            began, counted = now, 0
        enough = counted >= _STREAM_LEAST_BYTES and now > began + _STREAM_SECONDS
        if began and (enough or now > began + _STREAM_MOST_SECONDS):
            return counted / (now - began)
