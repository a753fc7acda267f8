"""An unloaded pair of nodes: what the lab does when nobody asks much of it.

One process holds both ends: a socket stays in the network namespace in which it was made.
"""

from __future__ import annotations

import contextlib
import select
import socket
import statistics
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from crosscut.base.errors import CrosscutError
from crosscut.lab import holder, state
from crosscut.lab.kernel import namespaces
from crosscut.lab.plan import addresses
from crosscut.lab.plan.plan import LabPlan

_TIMEOUT_SECONDS = 2.0
_PINGS = 40
_PINGING_SECONDS = 0.1
# Slow start is over by then at 100 Mbit/s; buckets that were full are empty.
_WARM_UP_SECONDS = 0.05
_STREAM_SECONDS = 0.15
# Bytes over a slow link, at least: bursts of frames must not decide.
_STREAM_LEAST_BYTES = 100_000
_STREAM_MOST_SECONDS = 0.6
_SEND_BYTES, _RECEIVE_BYTES = 16_384, 1 << 18


def pair(made: LabPlan, faults: tuple[Mapping[str, object], ...]) -> tuple[int, int]:
    """The first two hosts that no fault is planted on; else the first two."""
    broken: set[object] = set()
    for fault in faults:
        nodes = fault.get("nodes")
        broken |= set(nodes) if isinstance(nodes, list | tuple) else set()
    sound = [host for host, name in enumerate(made.hosts) if name not in broken]
    first, second = sound[:2] if len(sound) > 1 else (0, 1)
    return first, second


def measure(record: state.Record, made: LabPlan, hosts: tuple[int, int]) -> dict[str, object]:
    """Round trip of a byte and rate of a stream, or why there is none."""
    try:
        return holder.inside(record, partial(_measure, made, state.folder(record.name), hosts))
    except CrosscutError as error:
        return {"error": str(error)}


def _measure(made: LabPlan, folder: Path, hosts: tuple[int, int]) -> dict[str, object]:
    # The hosts' first addresses; a host that forwards has no other.
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
    """Median."""
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
