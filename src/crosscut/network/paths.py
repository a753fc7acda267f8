"""A network as `crosscut-core network ways` writes it, from which a lab is built."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from crosscut.base import records
from crosscut.network import description


@dataclass(frozen=True)
class Host:
    name: str
    adapters: tuple[int, ...]
    """The edge of each adapter."""
    ranks: int
    forwards: str
    """`no`, `ip` or `hardware`"""
    forward_latency_seconds: float
    overhead_seconds: float
    memory_bits_per_second: float = math.inf


@dataclass(frozen=True)
class Switch:
    name: str
    bounds: str
    """What its capacity limits. `through`: each frame once, whichever port it enters by; `host-facing`:
    frames from hosts, and frames to hosts, separately."""
    latency_seconds: float
    capacity_bits_per_second: float = math.inf
    """Infinite if only its links limit it."""

    @property
    def is_through(self) -> bool:
        return self.bounds == "through"


@dataclass(frozen=True)
class Edge:
    a: int
    b: int
    half_duplex: bool
    cables: int
    latency_seconds: float
    bits_per_second: float = math.inf
    """Rate of all its cables together, from a to b; infinite if it sets no limit of its own."""
    back_bits_per_second: float = math.inf

    def rate_from(self, vertex: int) -> float:
        return self.bits_per_second if vertex == self.a else self.back_bits_per_second


class Hop(NamedTuple):
    """A step from host `at`: by edge `edge` to host `next`, where it arrives at adapter `entering`."""

    at: int
    edge: int
    next: int
    entering: int


@dataclass(frozen=True)
class NextHops:
    """Next hops from all hosts to one adapter of a host; adapter -1: to a forwarding host, by any adapter."""

    host: int
    adapter: int
    hops: tuple[Hop, ...]


@dataclass(frozen=True)
class Segment:
    """The edges by which switches forward frames to a host's adapter, as pairs (switch vertex, edge)."""

    host: int
    adapter: int
    leaving: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Ways:
    name: str
    title: str
    kind: str
    file: str
    efficiency: float
    mtu: int
    """0 if the file gives no frame format."""
    framing: int
    equal_ways: bool
    """The file spreads flows over equal paths by a hash; these tables choose by the destination's number."""
    hosts: tuple[Host, ...]
    switches: tuple[Switch, ...]
    edges: tuple[Edge, ...]
    routes: tuple[NextHops, ...]
    segments: tuple[Segment, ...]

    def is_host(self, vertex: int) -> bool:
        return vertex < len(self.hosts)

    def vertex_name(self, vertex: int) -> str:
        return (
            self.hosts[vertex].name if self.is_host(vertex) else self.switches[vertex - len(self.hosts)].name
        )


def ask(file: str) -> dict[str, Any]:
    """Returns the core's answer about a file or catalogue name. Raises UsageError with the mistakes."""
    found: dict[str, Any] = json.loads(description.ask("ways", file, "--json").stdout)
    return found


def load(file: str) -> Ways:
    return parse(ask(file))


def parse(document: Mapping[str, Any]) -> Ways:
    """Parses the core's answer. Lanes 2 k and 2 k + 1 are the directions of edge k."""
    routes = [
        one | {"hops": [(at, lane // 2, *rest) for at, lane, *rest in one["at"]]}
        for one in document["routes"]
    ]
    segments = [
        one | {"leaving": [(at, lane // 2) for at, lane in one["at"]]} for one in document["segments"]
    ]
    flat = {**document["protocol"], **document, "routes": routes, "segments": segments}
    return records.parse(flat, Ways)
