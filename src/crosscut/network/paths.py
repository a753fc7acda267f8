"""A network as `crosscut-core network ways` writes it: everything that a lab is built from."""

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
    """Its edges: adapter k is the k-th."""
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
    """What the capacity bounds. `through`: each frame once, whichever port it enters by; `host-facing`: what
    enters from hosts, and what leaves to them, each apart."""
    latency_seconds: float
    capacity_bits_per_second: float = math.inf
    """Infinite: none but its links'."""

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
    """Rate of all its cables together, from a to b; infinite: no limit of its own."""
    back_bits_per_second: float = math.inf

    def rate_from(self, vertex: int) -> float:
        return self.bits_per_second if vertex == self.a else self.back_bits_per_second


class Hop(NamedTuple):
    """At host `at`: leave by edge `edge` for host `next`, which is entered by its adapter `entering`."""

    at: int
    edge: int
    next: int
    entering: int


@dataclass(frozen=True)
class NextHops:
    """All hosts' next hops to a host's adapter; adapter -1: a host that forwards, by whichever."""

    host: int
    adapter: int
    hops: tuple[Hop, ...]


@dataclass(frozen=True)
class Segment:
    """At switches: by which edge frames for a host's adapter leave. (switch vertex, edge) each."""

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
    """0: the file gives no frame format."""
    framing: int
    equal_ways: bool
    """The file spreads flows over equal ways by a hash; these tables go by the destination's number."""
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
    """The core's word on a file, or a name of the catalogue; UsageError with the file's mistakes."""
    found: dict[str, Any] = json.loads(description.ask("ways", file, "--json").stdout)
    return found


def load(file: str) -> Ways:
    return parse(ask(file))


def parse(document: Mapping[str, Any]) -> Ways:
    """A lane is one direction of an edge: 2 k and 2 k + 1 are of edge k."""
    routes = [
        one | {"hops": [(at, lane // 2, *rest) for at, lane, *rest in one["at"]]}
        for one in document["routes"]
    ]
    segments = [
        one | {"leaving": [(at, lane // 2) for at, lane in one["at"]]} for one in document["segments"]
    ]
    flat = {**document["protocol"], **document, "routes": routes, "segments": segments}
    return records.parse(flat, Ways)
