"""Addresses and device names for the nodes' numbers. All labs use the same ones: no two are connected."""

from __future__ import annotations

PREFIX_LENGTH = 16
MOST_HOSTS = 1024
MOST_ADAPTERS = 200


def ip(host: int, adapter: int) -> str:
    """An address in 10.ADAPTER.0.0/16. Adapter -1 stands for the only address of a host that forwards."""
    number = host + 1
    return f"10.{max(adapter, 0)}.{number >> 8}.{number & 255}"


def mac(host: int, adapter: int) -> str:
    """A locally administered address."""
    return f"02:63:{adapter:02x}:00:{host >> 8:02x}:{host & 255:02x}"


def interface(adapter: int) -> str:
    return f"eth{adapter}"


def port(cable: int, end: str) -> str:
    """The switch port at end `a` or `b` of a cable."""
    return f"p{cable}{end}"
