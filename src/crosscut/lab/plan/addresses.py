"""Numbers of nodes as names for the kernel. The same in every lab, as labs never meet."""

from __future__ import annotations

PREFIX_LENGTH = 16
MOST_HOSTS = 1024
MOST_ADAPTERS = 200


def ip(host: int, adapter: int) -> str:
    """10.ADAPTER.0.0/16; adapter -1 is that of a host that forwards: it has one address for all."""
    number = host + 1
    return f"10.{max(adapter, 0)}.{number >> 8}.{number & 255}"


def mac(host: int, adapter: int) -> str:
    """Locally administered."""
    return f"02:63:{adapter:02x}:00:{host >> 8:02x}:{host & 255:02x}"


def interface(adapter: int) -> str:
    return f"eth{adapter}"


def port(cable: int, end: str) -> str:
    """A switch's port: the end `a` or `b` of a cable."""
    return f"p{cable}{end}"
