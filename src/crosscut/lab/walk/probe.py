"""Finds paths the way traceroute does: UDP packets with a rising TTL, and the ICMP errors that come back.

A socket stays in the network namespace in which it was made, so one process probes from all nodes at once.
"""

from __future__ import annotations

import errno
import os
import select
import socket
import struct
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

MOST_HOPS = 64
# The first port of the 1988 traceroute. The offset from it is the TTL with which a packet was sent.
FIRST_PORT = 33434
WAITS_SECONDS = (0.25, 0.5, 1.0)
"""Time to wait for an answer to the first, second and third packet. After three losses the hop is silent."""
# Limits the probes in flight: answers wait in a bounded queue (SO_RCVBUF), and a slow link has a queue too.
AT_ONCE = 16
_TIME_EXCEEDED, _UNREACHABLE = 11, 3  # ICMP types: RFC 792
_IP_RECVERR = 11  # linux/in.h
_ORIGIN_ICMP = 2  # linux/errqueue.h

THERE, SILENT, NO_ROUTE, CIRCLE, TOO_LONG, NOT_WALKED = (
    "there", "silent", "no route", "circle", "too long", "not walked",
)  # fmt: skip

Sockets = Mapping[int, socket.socket]
"""Keyed by host number."""


@dataclass
class Way:
    """The addresses that answered, in order, and how the walk ended."""

    hops: list[str] = field(default_factory=list)
    end: str = ""
    not_sent: str = ""
    """Why the last packet could not be sent."""


@dataclass(frozen=True)
class Probe:
    source: int
    """Host number."""
    to: str


def walk(sockets: Sockets, wanted: Iterable[Probe], until: float) -> dict[Probe, Way]:
    """Walks all paths hop by hop. Those not finished by `until` (monotonic seconds) end as NOT_WALKED."""
    ways: dict[Probe, Way] = {probe: Way() for probe in wanted}
    for ttl in range(1, MOST_HOPS + 1):
        going = [probe for probe, way in ways.items() if not way.end]
        for some in _portions(going):
            _hop(sockets, {probe: ways[probe] for probe in some}, ttl, until)
    for way in ways.values():
        way.end = way.end or TOO_LONG
    return ways


def _portions(going: Sequence[Probe]) -> Iterator[list[Probe]]:
    """Splits the probes into batches with at most AT_ONCE from each source."""
    by_source: dict[int, list[Probe]] = {}
    for probe in going:
        by_source.setdefault(probe.source, []).append(probe)
    for first in range(0, max(map(len, by_source.values()), default=0), AT_ONCE):
        yield [probe for probes in by_source.values() for probe in probes[first : first + AT_ONCE]]


def _hop(sockets: Sockets, ways: dict[Probe, Way], ttl: int, until: float) -> None:
    """Advances each of these paths by one hop."""
    missing = dict(ways)
    for wait in WAITS_SECONDS:
        if time.monotonic() >= until:
            for way in missing.values():
                way.end = NOT_WALKED
            return
        for probe in [*missing]:
            error = _send(sockets[probe.source], probe.to, ttl)
            missing[probe].not_sent = os.strerror(error) if error else ""
            if error == errno.ENETUNREACH:
                missing.pop(probe).end = NO_ROUTE
        _collect(sockets, missing, ttl, min(time.monotonic() + wait, until))
        if not missing:
            return
    for way in missing.values():
        way.end = SILENT


def _send(sender: socket.socket, to: str, ttl: int) -> int:
    """Returns 0 or an errno. ENETUNREACH means that the node itself has no route."""
    control = [(socket.IPPROTO_IP, socket.IP_TTL, struct.pack("i", ttl))]
    number = 0
    for _ in range(8):
        try:
            sender.sendmsg([b"which way?"], control, 0, (to, FIRST_PORT + ttl))
            return 0
        except OSError as error:
            # sendmsg also reports the ICMP error for an earlier packet, which stays in the error queue.
            number = error.errno or errno.EIO
            if number == errno.ENETUNREACH and not _has_answer(sender):
                return number
    return errno.EAGAIN if number == errno.ENETUNREACH else number  # treated as lost, so it is sent again


def _has_answer(there: socket.socket) -> bool:
    try:
        there.recvmsg(1, 0, socket.MSG_ERRQUEUE | socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except OSError:
        return False
    return True


def _collect(sockets: Sockets, missing: dict[Probe, Way], ttl: int, until: float) -> None:
    """Collects answers until none is missing or `until` has passed. Removes their probes from `missing`."""
    poll = select.poll()
    sources = {sockets[probe.source].fileno(): probe.source for probe in missing}
    for descriptor in sources:
        poll.register(descriptor, 0)  # POLLERR, which signals the error queue, is always reported
    left = 1.0
    while missing and left > 0:
        left = max(0.0, until - time.monotonic())  # looks once, however late
        for descriptor, _ in poll.poll(1000 * left):
            source = sources[descriptor]
            for to, sent_ttl, who, is_end in _answers(sockets[source]):
                if sent_ttl == ttl and (way := missing.pop(Probe(source, to), None)) is not None:
                    _note(way, to, who, is_end)


def _note(way: Way, to: str, who: str, is_end: bool) -> None:
    if is_end and who != to:
        way.end = NO_ROUTE
    elif is_end:
        way.end = THERE
    elif who in way.hops:
        way.end = CIRCLE
    way.hops.append(who)


def _answers(there: socket.socket) -> Iterator[tuple[str, int, str, bool]]:
    """Yields (destination, TTL, who answered, whether it ends there) for each queued ICMP error."""
    while True:
        try:
            _, control, _, (to, port) = there.recvmsg(64, 512, socket.MSG_ERRQUEUE | socket.MSG_DONTWAIT)
        except OSError:
            return
        for level, kind, data in control:
            if level == socket.IPPROTO_IP and kind == _IP_RECVERR and len(data) >= 24:
                # struct sock_extended_err, then the sockaddr_in of the ICMP message's sender: ip(7).
                _, origin, icmp, _, _, _, _ = struct.unpack_from("=IBBBBII", data)
                if origin == _ORIGIN_ICMP and icmp in (_TIME_EXCEEDED, _UNREACHABLE):
                    yield to, port - FIRST_PORT, socket.inet_ntoa(data[20:24]), icmp == _UNREACHABLE


def opened() -> socket.socket:
    """Opens a probing socket in this process's network namespace."""
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.setblocking(False)
    udp.setsockopt(socket.IPPROTO_IP, _IP_RECVERR, 1)
    return udp
