"""The plan of a lab: a pure function of the network and a few choices. Builds nothing."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from crosscut.base.errors import UsageError
from crosscut.lab import enter
from crosscut.lab.plan import addresses, shaping
from crosscut.network.paths import Edge, Ways
from crosscut.network.switch_choice import Queues

# Host names are case-insensitive; these are in lower case.
_RESERVED = {
    enter.FABRIC: "that name stands for the lab's switches (crosscut lab exec)",
    "localhost": "on every node that name means the node itself",
}


@dataclass(frozen=True)
class End:
    """One end of a cable; with `host` None, a port of the bridge `bridge`."""

    vertex: int
    host: int | None
    bridge: int
    name: str
    bits_per_second: float
    """Rate at which frames leave by this end; not shaped if infinite."""


@dataclass(frozen=True)
class Cable:
    number: int
    """Number of the network's edge."""
    a: End
    b: End
    half_duplex: bool

    @property
    def ends(self) -> tuple[End, End]:
        return self.a, self.b

    def end_at(self, vertex: int) -> End:
        return self.a if self.a.vertex == vertex else self.b


@dataclass(frozen=True)
class SwitchCapacity:
    """A switch's own capacity: one bucket for all traffic through these ports (one each way, unless
    `is_through`)."""

    name: str
    bits_per_second: float
    is_through: bool
    ports: tuple[str, ...]


class Entry(NamedTuple):
    """One line of a bridge's forwarding database."""

    port: str
    mac: str


class Neighbour(NamedTuple):
    host: int
    adapter: int
    ip: str
    mac: str


class IpRoute(NamedTuple):
    host: int
    to: str
    via: str
    """Empty: the destination is a neighbour."""
    adapter: int


@dataclass(frozen=True)
class LabPlan:
    hosts: tuple[str, ...]
    adapters: tuple[int, ...]
    """Number of adapters of each host."""
    forwarding: frozenset[int]
    bridges: tuple[str, ...]
    cables: tuple[Cable, ...]
    capacities: tuple[SwitchCapacity, ...]
    entries: tuple[Entry, ...]
    neighbours: tuple[Neighbour, ...]
    routes: tuple[IpRoute, ...]
    frames: shaping.Frames
    segments: int
    dilation: float
    queues: Queues = Queues.ROUTERS

    def serves_in_turn(self, host: int | None) -> bool:
        """True if queues at this host's adapters (None: at switches) serve senders in turn."""
        return self.queues is Queues.FAIR or (self.queues is Queues.ROUTERS and host in self.forwarding)

    def bucket(self, bits_per_second: float, where: str) -> shaping.Bucket:
        return shaping.bucket(bits_per_second, self.frames, self.segments, where)

    def host_number(self, name: str) -> int | None:
        return self.hosts.index(name) if name in self.hosts else None

    def cables_of(self, host: int) -> list[Cable]:
        return [cable for cable in self.cables if host in (cable.a.host, cable.b.host)]


def plan(
    ways: Ways, dilation: float = 1.0, *, shaped: bool = True, queues: Queues = Queues.ROUTERS
) -> LabPlan:
    """Plans a lab. Raises UsageError, with the reason, if it cannot be built here.

    Not `shaped`: crosscut-switch carries the lab, so the limits of the kernel's buckets do not matter.
    """
    _check(ways)
    bridge = bridge_of_switch(ways)
    cables = tuple(_cables(ways, bridge, dilation))
    rates = [end.bits_per_second for cable in cables for end in cable.ends]
    capacities = tuple(_capacities(ways, cables, dilation))
    rates += [capacity.bits_per_second for capacity in capacities]
    frames = shaping.frames(ways.mtu, ways.framing, ways.efficiency)
    made = LabPlan(
        hosts=tuple(host.name for host in ways.hosts),
        adapters=tuple(len(host.adapters) for host in ways.hosts),
        forwarding=frozenset(i for i, host in enumerate(ways.hosts) if host.forwards != "no"),
        bridges=_bridge_names(ways, bridge),
        cables=cables,
        capacities=capacities,
        entries=tuple(_entries(ways, {cable.number: cable for cable in cables})),
        neighbours=tuple(dict.fromkeys(_neighbours(ways))),
        routes=tuple(_ip_routes(ways)),
        frames=frames,
        segments=shaping.segments(min(rates), frames.mtu_bytes, host_bits_per_second(cables), dilation)
        if shaped
        else 1,
        dilation=dilation,
        queues=queues,
    )
    if shaped:
        _check_rates(ways, made)
    return made


def host_bits_per_second(cables: tuple[Cable, ...]) -> float:
    """Returns the bits per second that all hosts together may send: the load on this machine."""
    rates = (end.bits_per_second for cable in cables for end in cable.ends if end.host is not None)
    return sum(rate for rate in rates if not math.isinf(rate))


def _check(ways: Ways) -> None:
    if len(ways.hosts) > addresses.MOST_HOSTS:
        raise UsageError(f"{ways.file}: {len(ways.hosts)} hosts; a lab has at most {addresses.MOST_HOSTS}")
    for host in ways.hosts:
        if len(host.adapters) > addresses.MOST_ADAPTERS:
            raise UsageError(
                f"{ways.file}: host {host.name} has more than {addresses.MOST_ADAPTERS} adapters"
            )
        if (reason := _RESERVED.get(host.name.lower())) is not None:
            raise UsageError(
                f"{ways.file}: a host of a lab cannot be called {host.name}: {reason}; give it another name"
            )
        if len(host.name) > 63:  # a label of a host name: RFC 1035, section 2.3.4
            raise UsageError(f"{ways.file}: {host.name}: a host's name has at most 63 characters")


def _check_rates(ways: Ways, made: LabPlan) -> None:
    for cable in made.cables:
        for end in cable.ends:
            if not math.isinf(end.bits_per_second):
                made.bucket(end.bits_per_second, f"{ways.file}: link {_link_name(ways, cable)}")
    shared = {port for capacity in made.capacities for port in capacity.ports}
    for cable in made.cables:
        if cable.half_duplex and shared & {cable.a.name, cable.b.name}:
            raise UsageError(
                f"{ways.file}: link {_link_name(ways, cable)}: a half-duplex link at a switch with "
                "a capacity of its own cannot be emulated: the kernel redirects a port's traffic only once"
            )
    for capacity in made.capacities:
        made.bucket(capacity.bits_per_second, f"{ways.file}: switch {capacity.name}")


def _link_name(ways: Ways, cable: Cable) -> str:
    return " - ".join(ways.vertex_name(end.vertex) for end in cable.ends)


def _cables(ways: Ways, bridge: tuple[int, ...], dilation: float) -> Iterator[Cable]:
    for number, edge in enumerate(ways.edges):
        a, b = (_end(ways, bridge, number, edge, vertex, dilation) for vertex in (edge.a, edge.b))
        if a.host is None and b.host is None and a.bridge == b.bridge:
            continue  # between switches that form one bridge
        yield Cable(number, a, b, edge.half_duplex and not _bounded_anyway(ways, edge))


def _bounded_anyway(ways: Ways, edge: Edge) -> bool:
    """True if a switch at an end carries no more than the link, so both directions share that already."""
    switches = [
        ways.switches[vertex - len(ways.hosts)] for vertex in (edge.a, edge.b) if not ways.is_host(vertex)
    ]
    return any(
        switch.is_through and switch.capacity_bits_per_second <= edge.bits_per_second for switch in switches
    )


def _end(ways: Ways, bridge: tuple[int, ...], number: int, edge: Edge, vertex: int, dilation: float) -> End:
    # A one-way link has rate 0 in the other direction. No path goes there, so it need not be shaped.
    rate = edge.rate_from(vertex) / dilation or math.inf
    if ways.is_host(vertex):
        adapter = ways.hosts[vertex].adapters.index(number)
        return End(vertex, vertex, -1, addresses.interface(adapter), rate)
    name = addresses.port(number, "a" if vertex == edge.a else "b")
    return End(vertex, None, bridge[vertex - len(ways.hosts)], name, rate)


def _bridge_names(ways: Ways, bridge: tuple[int, ...]) -> tuple[str, ...]:
    """For each bridge, the names of its switches."""
    names: dict[int, list[str]] = {}
    for switch, number in zip(ways.switches, bridge, strict=True):
        names.setdefault(number, []).append(switch.name)
    return tuple("+".join(names[number]) for number in sorted(names))


def _capacities(ways: Ways, cables: tuple[Cable, ...], dilation: float) -> Iterator[SwitchCapacity]:
    for index, switch in enumerate(ways.switches):
        if math.isinf(switch.capacity_bits_per_second):
            continue
        vertex = len(ways.hosts) + index
        ports = (
            end.name
            for cable in cables
            for end, other in (cable.ends, cable.ends[::-1])
            if end.vertex == vertex and (switch.is_through or other.host is not None)
        )
        rate = switch.capacity_bits_per_second / dilation
        yield SwitchCapacity(switch.name, rate, switch.is_through, tuple(ports))


def _entries(ways: Ways, cables: dict[int, Cable]) -> Iterator[Entry]:
    for segment in ways.segments:
        mac = addresses.mac(segment.host, segment.adapter)
        for vertex, edge in segment.leaving:
            if edge in cables:  # else it stays within the bridge
                yield Entry(cables[edge].end_at(vertex).name, mac)


def _neighbours(ways: Ways) -> Iterator[Neighbour]:
    """Each host's next hop on each route, with the addresses by which the host knows it."""
    for route in ways.routes:
        for hop in route.hops:
            adapter = ways.hosts[hop.at].adapters.index(hop.edge)
            # A host that forwards has a single address; any other has one for each adapter.
            known_by = route.adapter if hop.next == route.host else -1
            ip, mac = addresses.ip(hop.next, known_by), addresses.mac(hop.next, hop.entering)
            yield Neighbour(hop.at, adapter, ip, mac)


def _ip_routes(ways: Ways) -> Iterator[IpRoute]:
    """Routes that the addresses do not imply.

    Hosts that forward need one to every host; others, one to each adapter that theirs of the same number does
    not reach directly.
    """
    for route in ways.routes:
        for hop in route.hops:
            adapter = ways.hosts[hop.at].adapters.index(hop.edge)
            implied = ways.hosts[hop.at].forwards == "no" and adapter == route.adapter
            if implied and hop.next == route.host:
                continue
            via = "" if hop.next == route.host else addresses.ip(hop.next, -1)
            yield IpRoute(hop.at, addresses.ip(route.host, route.adapter), via, adapter)


def bridge_of_switch(ways: Ways) -> tuple[int, ...]:
    """The bridge's number for each switch.

    Switches joined by links without a limit (the ASICs of a line card) form one bridge: each bridge along a
    path costs this machine time, and there is nothing to shape between them.
    """
    merged = _merged(ways)
    return merged if _agree(ways, merged) else tuple(range(len(ways.switches)))


def _merged(ways: Ways) -> tuple[int, ...]:
    hosts = len(ways.hosts)
    leader = list(range(len(ways.switches)))

    def find(switch: int) -> int:
        while leader[switch] != switch:
            switch = leader[switch]
        return switch

    for edge in ways.edges:
        if ways.is_host(edge.a) or ways.is_host(edge.b):
            continue
        bounded = not (math.isinf(edge.bits_per_second) and math.isinf(edge.back_bits_per_second))
        # A backplane counts traffic at its ports, including those that lead to other switches.
        through = any(ways.switches[vertex - hosts].is_through for vertex in (edge.a, edge.b))
        if not bounded and not through:
            a, b = find(edge.a - hosts), find(edge.b - hosts)
            leader[max(a, b)] = min(a, b)
    leaders = sorted({find(switch) for switch in range(len(leader))})
    return tuple(leaders.index(find(switch)) for switch in range(len(leader)))


def _agree(ways: Ways, bridge: tuple[int, ...]) -> bool:
    """True if the tables of merged switches name a single way out for each destination."""
    hosts = len(ways.hosts)
    inside = {
        number
        for number, edge in enumerate(ways.edges)
        if not (ways.is_host(edge.a) or ways.is_host(edge.b))
        and bridge[edge.a - hosts] == bridge[edge.b - hosts]
    }
    for segment in ways.segments:
        port: dict[int, int] = {}
        for vertex, edge in segment.leaving:
            if edge not in inside and port.setdefault(bridge[vertex - hosts], edge) != edge:
                return False
    return True
