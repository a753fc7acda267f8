"""Queues that serve senders in turn, below a token bucket.

First in, first out gives a flow the share of a link that it has of the queue. At a host that forwards, Linux
keeps its own senders to about 1 ms of queue (TCP small queues), and what it forwards for others fills the
rest: its own messages starve until those of others are through. So there every sender has a queue, served
round robin by bytes (Shreedhar and Varghese 1995), as the distributions' default, fq_codel, does. Here it is
made of HTB's classes, of which none is ever over its rate, so that only their turns matter.

All messages are written as bytes (pkt_sched.h, pkt_cls.h): there may be thousands.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from crosscut.lab.bulk import attribute

MOST_CLASSES = 64
"""Senders beyond share one, by the last bits of their number (stochastic fair queueing: McKenney 1990)."""
_NEWQDISC, _NEWCLASS, _NEWFILTER = 36, 40, 44
_BUCKET = 0x10000  # kernel.py: the handle of every bucket
_TURNS = 0x20000
_TCM = struct.Struct("=BxxxiIII")
_KIND, _OPTIONS = 1, 2
_HTB_PARAMETERS, _HTB_INIT = 1, 2
_HTB_VERSION, _RATE_TO_QUANTUM = 3, 10
_RATE = struct.Struct("=BBHhHI")
_ETHERNET = 1  # a link layer for which the kernel needs no table of rates
_BYTES_PER_SECOND = 2**32 - 1
_ONE_SECOND_TICKS = 10**9 // 64
_U32_CLASS, _U32_SELECTOR = 1, 5
_U32_TERMINAL = 1
_SOURCE_IN_IPV4 = 12  # RFC 791
_ETH_P_IP = 0x0800
_PRIORITY = 10


def in_turn(index: int, senders: int, quantum_bytes: int) -> Iterator[tuple[int, bytes]]:
    """For bulk.send: below the bucket of device `index`, a class for each of so many senders. In place of
    classes that are there, which the kernel would not change."""
    yield first_come(index, 0)
    classes = min(senders, MOST_CLASSES)
    init = struct.pack("=5I", _HTB_VERSION, _RATE_TO_QUANTUM, 1, 0, 0)
    yield _NEWQDISC, _message(index, _TURNS, _BUCKET | 1, 0, attribute(_HTB_INIT, init))
    for number in range(classes):
        yield _NEWCLASS, _message(index, _class(number), _TURNS, 0, _parameters(quantum_bytes))
    info = _PRIORITY << 16 | struct.unpack("=H", struct.pack("!H", _ETH_P_IP))[0]
    if classes > 1:
        for number in range(classes):
            yield _NEWFILTER, _message(index, 0, _TURNS, info, _selector(number, classes), kind=b"u32\0")


def first_come(index: int, limit_bytes: int) -> tuple[int, bytes]:
    """For bulk.send: below the bucket of device `index`, one queue of so many bytes."""
    body = _TCM.pack(0, index, 0, _BUCKET | 1, 0)
    return _NEWQDISC, body + attribute(_KIND, b"bfifo\0") + attribute(
        _OPTIONS, struct.pack("=I", limit_bytes)
    )


def _class(number: int) -> int:
    return _TURNS | (number + 1)


def _message(
    index: int, handle: int, parent: int, info: int, options: bytes, kind: bytes = b"htb\0"
) -> bytes:
    body = _TCM.pack(0, index, handle, parent, info)
    return body + attribute(_KIND, kind) + attribute(_OPTIONS, options)


def _parameters(quantum_bytes: int) -> bytes:
    rate = _RATE.pack(0, _ETHERNET, 0, 0, 0, _BYTES_PER_SECOND)
    limits = struct.pack("=5I", _ONE_SECOND_TICKS, _ONE_SECOND_TICKS, quantum_bytes, 0, 0)
    return attribute(_HTB_PARAMETERS, rate + rate + limits)


def _selector(number: int, classes: int) -> bytes:
    """Of packets whose sender's number (its IPv4 address, addresses.py) ends in these bits."""
    bits = MOST_CLASSES - 1 if classes == MOST_CLASSES else 0xFFFF
    # Host 0 has address 1.
    key = struct.pack("!II", bits, (number + 1) & bits) + struct.pack("=ii", _SOURCE_IN_IPV4, 0)
    selector = struct.pack("=BBBxHHhhI", _U32_TERMINAL, 0, 1, 0, 0, 0, 0, 0) + key
    return attribute(_U32_CLASS, struct.pack("=I", _class(number))) + attribute(_U32_SELECTOR, selector)
