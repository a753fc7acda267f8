"""Adds many neighbours, forwarding entries, routes and queue classes at once.

A lab of n nodes has n (n - 1) neighbour entries. This module composes messages byte by byte (rtnetlink(7),
pkt_sched.h, pkt_cls.h), which is many times faster than a request for each.

Queues below a token bucket serve senders in turn. In a first-in-first-out queue a flow's share of the link
is its share of the queue. On a host that forwards, Linux limits local senders to about 1 ms of queue (TCP
small queues) while forwarded traffic fills the rest, so the host's own messages starve until the others are
through. Every sender therefore has its own queue, served round robin by bytes (Shreedhar and Varghese 1995),
as in fq_codel, the default of most distributions. The queues are HTB classes that never exceed their rate, so
only their turns matter.

Short packets go first, as sparse flows do in fq_codel. Otherwise acknowledgements wait behind their host's
own data, and a flow without any competitor is slow to reach its rate, or stalls while the queue of the
opposite direction drains (Zhang, Shenker, Clark 1991).
"""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

_NEWNEIGH, _NEWROUTE, _ERROR = 28, 24, 2
_REQUEST, _ACK, _REPLACE, _CREATE = 0x1, 0x4, 0x100, 0x400
_HEADER = struct.Struct("=IHHII")
_NEIGHBOUR = struct.Struct("=BxxxiHBB")
_ROUTE = struct.Struct("=BBBBBBBBI")
_NDA_DST, _NDA_LLADDR = 1, 2
_RTA_DST, _RTA_OIF, _RTA_GATEWAY = 1, 4, 5
_PERMANENT, _NOARP = 0x80, 0x40
_NTF_MASTER = 0x04
_TABLE_MAIN, _PROTOCOL_STATIC, _SCOPE_UNIVERSE, _SCOPE_LINK, _UNICAST = 254, 4, 0, 253, 1
_RTNH_F_ONLINK = 4
_AT_ONCE = 300
"""Messages to send at once. At about 100 bytes each, they fit a socket's buffer."""

MOST_CLASSES = 64
"""More senders share classes by the last bits of their numbers (stochastic fair queueing: McKenney 1990)."""
QUEUES_IN_ONE = 16
"""The bucket's room is that of so many senders' queues."""
_NEWQDISC, _NEWCLASS, _NEWFILTER = 36, 40, 44
BUCKET = 0x10000
"""Handle of every bucket. Reusing it lets the rate change while the queues below stay in place."""
_TURNS = 0x20000
_TCM = struct.Struct("=BxxxiIII")
_KIND, _OPTIONS = 1, 2
_HTB_PARAMETERS, _HTB_INIT = 1, 2
_HTB_VERSION, _RATE_TO_QUANTUM = 3, 10
_RATE = struct.Struct("=BBHhHI")
_ETHERNET = 1  # a link layer for which the kernel needs no rate table
_BYTES_PER_SECOND = 2**32 - 1
_ONE_SECOND_TICKS = 10**9 // 64
_U32_CLASS, _U32_SELECTOR = 1, 5
_U32_TERMINAL = 1
_LENGTH_IN_IPV4, _SOURCE_IN_IPV4 = 0, 12  # RFC 791; the length is the lower half of the first word
_ETH_P_IP = 0x0800
_SHORT_BYTES = 128
"""Shorter packets go first. An acknowledgement has 52 bytes, or 80 with three SACK blocks (RFC 2018)."""
_SHORT = MOST_CLASSES
"""Class number of short packets."""

Message = tuple[int, bytes]
"""Message type, and the bytes after the header."""


def neighbour(index: int, ip: str, mac: str) -> Message:
    """A permanent entry, which needs no ARP: the kernel's table for ARP is bounded over all namespaces."""
    body = _NEIGHBOUR.pack(socket.AF_INET, index, _PERMANENT, 0, 0)
    return _NEWNEIGH, body + attribute(_NDA_DST, socket.inet_aton(ip)) + attribute(_NDA_LLADDR, _bytes(mac))


def forwarding(port: int, mac: str) -> Message:
    """An entry of the port's bridge: frames for `mac` leave by this port."""
    body = _NEIGHBOUR.pack(socket.AF_BRIDGE, port, _NOARP, _NTF_MASTER, 0)
    return _NEWNEIGH, body + attribute(_NDA_LLADDR, _bytes(mac))


def route(index: int, to: str, via: str) -> Message:
    """A route to one host; with `via` empty it is a neighbour."""
    scope, flags = (_SCOPE_UNIVERSE, _RTNH_F_ONLINK) if via else (_SCOPE_LINK, 0)
    body = _ROUTE.pack(socket.AF_INET, 32, 0, 0, _TABLE_MAIN, _PROTOCOL_STATIC, scope, _UNICAST, flags)
    body += attribute(_RTA_DST, socket.inet_aton(to)) + attribute(_RTA_OIF, struct.pack("=i", index))
    return _NEWROUTE, body + (attribute(_RTA_GATEWAY, socket.inet_aton(via)) if via else b"")


def _bytes(mac: str) -> bytes:
    return bytes.fromhex(mac.replace(":", ""))


def attribute(kind: int, value: bytes) -> bytes:
    return struct.pack("=HH", 4 + len(value), kind) + value + bytes(-len(value) % 4)


def send(messages: Iterable[Message]) -> None:
    """Sends to the kernel, for this process's network namespace. Raises OSError if it refuses a message."""
    waiting = iter(messages)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as kernel:
        kernel.bind((0, 0))
        while chunk := list(islice(waiting, _AT_ONCE)):
            _exchange(kernel, chunk)


def _exchange(kernel: socket.socket, chunk: Sequence[Message]) -> None:
    """Sends one chunk. The kernel reports an error for any message, but acknowledges only the last."""
    data = b""
    for left, (kind, body) in zip(reversed(range(len(chunk))), chunk, strict=True):
        flags = _REQUEST | _CREATE | _REPLACE | (0 if left else _ACK)
        data += _HEADER.pack(_HEADER.size + len(body), kind, flags, left, 0) + body
    kernel.send(data)
    while True:
        answer = kernel.recv(1 << 16)
        at = 0
        while at < len(answer):
            length, kind, _, left, _ = _HEADER.unpack_from(answer, at)
            if kind == _ERROR:
                (code,) = struct.unpack_from("=i", answer, at + _HEADER.size)
                if code != 0:
                    raise OSError(-code, f"the kernel refuses one of many entries: {os.strerror(-code)}")
                if left == 0:
                    return
            at += (length + 3) & ~3


def in_turn(index: int, senders: int, quantum_bytes: int, limit_bytes: int) -> Iterator[Message]:
    """Queues that serve senders in turn, below the bucket of device `index`.

    Each of `senders` gets a class whose queue has the device's length; short packets get a class with a queue
    of `limit_bytes`. Existing classes are replaced, because the kernel cannot change them.
    """
    yield first_come(index, 0)
    classes = min(senders, MOST_CLASSES)
    init = struct.pack("=5I", _HTB_VERSION, _RATE_TO_QUANTUM, 1, 0, 0)
    yield _NEWQDISC, _tc(index, _TURNS, BUCKET | 1, 0, attribute(_HTB_INIT, init))
    for number in [*range(classes), _SHORT]:
        options = _parameters(quantum_bytes, last=number != _SHORT)
        yield _NEWCLASS, _tc(index, _class(number), _TURNS, 0, options)
    yield _queue(index, _class(_SHORT), limit_bytes)
    lengths = 0xFFFF & ~(_SHORT_BYTES - 1)
    yield _filter(index, 1, _selector(_SHORT, lengths, 0, _LENGTH_IN_IPV4))
    if classes > 1:
        bits = MOST_CLASSES - 1 if classes == MOST_CLASSES else 0xFFFF
        for number in range(classes):  # host 0 has address 1 (addresses.py)
            yield _filter(index, 2, _selector(number, bits, (number + 1) & bits, _SOURCE_IN_IPV4))


def first_come(index: int, limit_bytes: int) -> Message:
    """One queue of `limit_bytes` below the bucket of device `index`."""
    return _queue(index, BUCKET | 1, limit_bytes)


def _queue(index: int, parent: int, limit_bytes: int) -> Message:
    return _NEWQDISC, _tc(index, 0, parent, 0, struct.pack("=I", limit_bytes), kind=b"bfifo\0")


def _class(number: int) -> int:
    return _TURNS | (number + 1)


def _tc(index: int, handle: int, parent: int, info: int, options: bytes, kind: bytes = b"htb\0") -> bytes:
    body = _TCM.pack(0, index, handle, parent, info)
    return body + attribute(_KIND, kind) + attribute(_OPTIONS, options)


def _filter(index: int, turn: int, options: bytes) -> Message:
    """A filter of a device. Filters with a lower `turn` are tried first."""
    info = turn << 16 | struct.unpack("=H", struct.pack("!H", _ETH_P_IP))[0]
    return _NEWFILTER, _tc(index, 0, _TURNS, info, options, kind=b"u32\0")


def _parameters(quantum_bytes: int, last: bool) -> bytes:
    """Parameters of an HTB class. `last`: it is served only while the class of short packets is empty."""
    rate = _RATE.pack(0, _ETHERNET, 0, 0, 0, _BYTES_PER_SECOND)
    limits = struct.pack("=5I", _ONE_SECOND_TICKS, _ONE_SECOND_TICKS, quantum_bytes, 0, int(last))
    return attribute(_HTB_PARAMETERS, rate + rate + limits)


def _selector(number: int, mask: int, value: int, offset_bytes: int) -> bytes:
    """Selects a class for packets whose four bytes at an offset of the IPv4 header, masked, equal `value`."""
    key = struct.pack("!II", mask, value) + struct.pack("=ii", offset_bytes, 0)
    selector = struct.pack("=BBBxHHhhI", _U32_TERMINAL, 0, 1, 0, 0, 0, 0, 0) + key
    return attribute(_U32_CLASS, struct.pack("=I", _class(number))) + attribute(_U32_SELECTOR, selector)
