"""Many neighbours, forwarding entries, routes and classes of queues at once.

A lab of n nodes has n (n - 1) neighbours. These messages are written here, byte by byte (rtnetlink(7)), many
times as fast as one request each.
"""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterable

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
_CHUNK_BYTES = 32_000


def neighbour(index: int, ip: str, mac: str) -> tuple[int, bytes]:
    """A permanent one, for which nobody asks: the kernel's table is one for all namespaces, and bounded."""
    body = _NEIGHBOUR.pack(socket.AF_INET, index, _PERMANENT, 0, 0)
    return _NEWNEIGH, body + attribute(_NDA_DST, socket.inet_aton(ip)) + attribute(_NDA_LLADDR, _bytes(mac))


def forwarding(port: int, mac: str) -> tuple[int, bytes]:
    """At the port's bridge, frames for `mac` leave by it."""
    body = _NEIGHBOUR.pack(socket.AF_BRIDGE, port, _NOARP, _NTF_MASTER, 0)
    return _NEWNEIGH, body + attribute(_NDA_LLADDR, _bytes(mac))


def route(index: int, to: str, via: str) -> tuple[int, bytes]:
    """To one host; `via` empty: it is the neighbour itself."""
    scope, flags = (_SCOPE_UNIVERSE, _RTNH_F_ONLINK) if via else (_SCOPE_LINK, 0)
    body = _ROUTE.pack(socket.AF_INET, 32, 0, 0, _TABLE_MAIN, _PROTOCOL_STATIC, scope, _UNICAST, flags)
    body += attribute(_RTA_DST, socket.inet_aton(to)) + attribute(_RTA_OIF, struct.pack("=i", index))
    return _NEWROUTE, body + (attribute(_RTA_GATEWAY, socket.inet_aton(via)) if via else b"")


def _bytes(mac: str) -> bytes:
    return bytes.fromhex(mac.replace(":", ""))


def attribute(kind: int, value: bytes) -> bytes:
    return struct.pack("=HH", 4 + len(value), kind) + value + bytes(-len(value) % 4)


def send(messages: Iterable[tuple[int, bytes]]) -> None:
    """To the kernel of this process's network namespace; OSError of the first that it refuses."""
    flags = _REQUEST | _CREATE | _REPLACE
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as kernel:
        kernel.bind((0, 0))
        chunk = b""
        for kind, body in messages:
            if len(chunk) > _CHUNK_BYTES:
                _exchange(kernel, chunk)
                chunk = b""
            chunk += _HEADER.pack(_HEADER.size + len(body), kind, flags, 1, 0) + body
        if chunk:
            _exchange(kernel, chunk)


def _exchange(kernel: socket.socket, chunk: bytes) -> None:
    """Errors come for every message, an acknowledgement for the last alone."""
    last = _last_start(chunk)
    length, kind, flags, sequence, port = _HEADER.unpack_from(chunk, last)
    marked = _HEADER.pack(length, kind, flags | _ACK, 2, port)
    kernel.send(chunk[:last] + marked + chunk[last + _HEADER.size :])
    while True:
        answer = kernel.recv(1 << 16)
        at = 0
        while at < len(answer):
            length, kind, _, sequence, _ = _HEADER.unpack_from(answer, at)
            if kind == _ERROR:
                (code,) = struct.unpack_from("=i", answer, at + _HEADER.size)
                if code != 0:
                    raise OSError(-code, f"the kernel refuses one of many entries: {os.strerror(-code)}")
                if sequence == 2:
                    return
            at += (length + 3) & ~3


def _last_start(chunk: bytes) -> int:
    at = last = 0
    while at < len(chunk):
        last = at
        at += (int(_HEADER.unpack_from(chunk, at)[0]) + 3) & ~3
    return last
