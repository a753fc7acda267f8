"""Run on a node: finds the hops to each address like traceroute. It sends UDP to a port without listener. The
gateway where a packet's time to live ends answers (ICMP time exceeded), and so does the destination
(unreachable)."""

from __future__ import annotations

import json
import socket
import struct
import sys

IP_RECVERR, MSG_ERRQUEUE = 11, 0x2000
TIME_EXCEEDED, UNREACHABLE = 11, 3  # ICMP, RFC 792
MOST_HOPS = 32
WAIT_SECONDS = 2.0


def hop(to: str, ttl: int) -> tuple[str, bool]:
    """Returns the address that answers, and whether it is the destination."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        udp.setsockopt(socket.IPPROTO_IP, IP_RECVERR, 1)
        udp.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, ttl)
        udp.settimeout(WAIT_SECONDS)
        udp.connect((to, 33434))
        udp.send(b"way?")
        try:
            udp.recv(64)
        except TimeoutError:
            return "", False
        except OSError:
            pass
        _, ancillary, _, _ = udp.recvmsg(512, 512, MSG_ERRQUEUE)
        for level, kind, data in ancillary:
            if level == socket.IPPROTO_IP and kind == IP_RECVERR:
                _, _, icmp, _, _, _, _ = struct.unpack_from("=IBBBBII", data)
                return socket.inet_ntoa(data[20:24]), icmp == UNREACHABLE
    return "", False


def way(to: str) -> list[str]:
    found = []
    for ttl in range(1, MOST_HOPS):
        who, is_end = hop(to, ttl)
        found.append(who)
        if is_end or not who:
            break
    return found


if __name__ == "__main__":
    print(json.dumps({to: way(to) for to in sys.argv[1:]}))
