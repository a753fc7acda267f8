"""A network as `crosscut-core network ways` writes it: everything that a lab is built from."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

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
    memory_bits_per_second: float


@dataclass(frozen=True)
class Switch:
    name: str
    capacity_bits_per_second: float
    """Infinite: none but its links'."""
    is_through: bool
    """The capacity bounds each frame once, whichever port it enters by; else what enters from hosts, and what
    leaves to them, each apart."""
    latency_seconds: float


@dataclass(frozen=True)
class Edge:
    a: int
    b: int
    bits_per_second: float
    """Rate of all its cables together, from a to b; infinite: no limit of its own."""
    back_bits_per_second: float
    half_duplex: bool
    cables: int
    latency_seconds: float

    def rate_from(self, vertex: int) -> float:
        return self.bits_per_second if vertex == self.a else self.back_bits_per_second


@dataclass(frozen=True)
class Hop:
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
    protocol = document["protocol"]
    return Ways(
        name=document["name"],
        title=document["title"],
        kind=document["kind"],
        file=document["file"],
        efficiency=protocol["efficiency"],
        mtu=protocol["mtu"],
        framing=protocol["framing"],
        equal_ways=document["equal_ways"],
        hosts=tuple(map(_host, document["hosts"])),
        switches=tuple(map(_switch, document["switches"])),
        edges=tuple(map(_edge, document["edges"])),
        routes=tuple(
            NextHops(
                entry["host"],
                entry["adapter"],
                tuple(Hop(at, lane // 2, after, entering) for at, lane, after, entering in entry["at"]),
            )
            for entry in document["routes"]
        ),
        segments=tuple(
            Segment(entry["host"], entry["adapter"], tuple((at, lane // 2) for at, lane in entry["at"]))
            for entry in document["segments"]
        ),
    )


def _rate(value: float | None) -> float:
    """JSON knows no infinity."""
    return math.inf if value is None else value


def _host(entry: Mapping[str, Any]) -> Host:
    return Host(
        name=entry["name"],
        adapters=tuple(entry["adapters"]),
        ranks=entry["ranks"],
        forwards=entry["forwards"],
        forward_latency_seconds=entry["forward_latency_seconds"],
        overhead_seconds=entry["overhead_seconds"],
        memory_bits_per_second=_rate(entry["memory_bits_per_second"]),
    )


def _switch(entry: Mapping[str, Any]) -> Switch:
    return Switch(
        name=entry["name"],
        capacity_bits_per_second=_rate(entry["capacity_bits_per_second"]),
        is_through=entry["bounds"] == "through",
        latency_seconds=entry["latency_seconds"],
    )


def _edge(entry: Mapping[str, Any]) -> Edge:
    return Edge(
        a=entry["a"],
        b=entry["b"],
        bits_per_second=_rate(entry["bits_per_second"]),
        back_bits_per_second=_rate(entry["back_bits_per_second"]),
        half_duplex=entry["half_duplex"],
        cables=entry["cables"],
        latency_seconds=entry["latency_seconds"],
    )
