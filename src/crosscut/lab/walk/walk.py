"""Walks every route of a lab and compares it with the tables that the lab was built from."""

from __future__ import annotations

import contextlib
import socket
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from crosscut.base import spelling, units
from crosscut.base.errors import UsageError
from crosscut.lab import holder, state
from crosscut.lab.kernel import namespaces
from crosscut.lab.plan import addresses
from crosscut.lab.walk import probe as probing
from crosscut.lab.walk.probe import Probe, Way
from crosscut.network import paths
from crosscut.network.paths import Ways

_ENDS = {
    probing.SILENT: "then no node answered",
    probing.NO_ROUTE: "which has no route to it",
    probing.CIRCLE: "in a circle",
    probing.TOO_LONG: f"and so on, for more than {probing.MOST_HOPS} hops",
    probing.NOT_WALKED: "and then time was up",
}


@dataclass(frozen=True)
class WalkedPath:
    """A walked path in node names; an adapter other than the first is written `n3/eth1`."""

    source: str
    to: str
    computed: tuple[str, ...]
    """Nodes along the path; the last is `to`."""
    found: tuple[str, ...]
    end: str
    """End of the walk: a constant of probe.py."""
    not_sent: str = ""
    """Why the last packet could not be sent."""

    @property
    def is_as_computed(self) -> bool:
        return self.end == probing.THERE and self.found == self.computed

    @property
    def ends(self) -> set[str]:
        return {self.source, self.to.partition("/")[0]}

    @property
    def nodes(self) -> set[str]:
        """Nodes of the computed path, including both ends."""
        return self.ends | {name.partition("/")[0] for name in self.computed}

    @property
    def gateways(self) -> int:
        return len(self.found) - 1


@dataclass(frozen=True)
class Walked:
    routes: tuple[WalkedPath, ...]
    seconds: float

    @property
    def unlike(self) -> list[WalkedPath]:
        """Routes that took another path or did not arrive."""
        return [one for one in self.routes if not one.is_as_computed and one.end != probing.NOT_WALKED]

    @property
    def not_walked(self) -> int:
        return sum(one.end == probing.NOT_WALKED for one in self.routes)

    def spoilt(self) -> list[str]:
        """Nodes without a sound route from them, to them, or computed to pass through them.

        A node is left out if some other node is an end of all its bad routes, and so may be the cause.
        """
        sound = {node for one in self.routes if one.is_as_computed for node in one.nodes}
        suspects: dict[str, set[str]] = {}
        for one in self.unlike:
            for node in one.nodes - sound:
                others = one.ends - {node}
                suspects[node] = suspects.get(node, others) & others
        return sorted(node for node, others in suspects.items() if not others)

    def by_gateways(self) -> dict[int, int]:
        """Number of routes that arrived, by how many nodes forwarded them."""
        found = Counter(one.gateways for one in self.routes if one.end == probing.THERE)
        return dict(sorted(found.items()))


def computed(network: Ways) -> dict[Probe, tuple[str, ...]]:
    """Addresses along the path from every host to every adapter of every other, according to the tables."""
    found: dict[Probe, tuple[str, ...]] = {}
    for route in network.routes:
        after = {hop.at: hop.next for hop in route.hops}
        last = addresses.ip(route.host, route.adapter)
        for source, first in after.items():
            way: list[str] = []
            at = first
            while at != route.host and at in after and len(way) < len(network.hosts):
                way.append(addresses.ip(at, -1))
                at = after[at]
            found[Probe(source, last)] = (*way, last)
    return found


def names_of(network: Ways) -> dict[str, str]:
    """Node or adapter name for each address."""
    return {
        addresses.ip(number, adapter): host.name + (f"/{addresses.interface(adapter)}" if adapter else "")
        for number, host in enumerate(network.hosts)
        for adapter in range(1 if host.forwards != "no" else len(host.adapters))
    }


def walk(record: state.Record, source: str, to: str, seconds: float) -> Walked:
    """Walks from `source` to the node or adapter `to`; an empty string stands for all.

    Stops after `seconds`. Raises UsageError if no route matches.
    """
    network = paths.parse(state.read_network(record.name))
    names = names_of(network)
    expected = {
        probe: way
        for probe, way in computed(network).items()
        if source in ("", network.hosts[probe.source].name) and is_meant(names[probe.to], to)
    }
    if not expected:
        raise UsageError(f"lab {record.name} {nothing_to_walk(network, source, to)}")
    nodes = [host.name for host in network.hosts]
    began = time.monotonic()
    found = holder.inside(record, partial(_walk, state.folder(record.name), nodes, [*expected], seconds))
    took = time.monotonic() - began
    return Walked(tuple(_routes(expected, found, nodes, names)), took)


def is_meant(name: str, to: str) -> bool:
    """True if `to` selects this address.

    `n3` selects a node with all its adapters; `n3/eth0` only the first, whose address has the node's name.
    """
    node, _, adapter = to.partition("/")
    if not adapter:
        return to in ("", name.partition("/")[0])
    return name == (node if adapter == addresses.interface(0) else to)


def nothing_to_walk(network: Ways, source: str, to: str) -> str:
    """Explains why no route matches, and what to write instead."""
    hosts = {host.name for host in network.hosts}
    node = to.partition("/")[0]
    if source.partition("/")[0] in hosts and "/" in source:
        return f"has no node {source}: --from takes a node, not an adapter: {source.partition('/')[0]}"
    if wrong := [name for name in (source, node) if name and name not in hosts]:
        first, *_, last = [host.name for host in (*network.hosts, *network.hosts[-1:])]
        return f"has no node {wrong[0]}; known: {first} to {last}{spelling.hint(wrong[0], sorted(hosts))}"
    known = [name for name in names_of(network).values() if name.partition("/")[0] == node]
    if to and not any(is_meant(name, to) for name in known):
        return f"has no address of its own for {to}; known: {', '.join(known)}"
    if not source and not to:
        return f"has {units.count(len(hosts), 'node')} and no route between any two: there is nothing to walk"
    return f"has no route from {source or 'any other node'} to {to or 'any other node'}"


def _routes(
    expected: Mapping[Probe, tuple[str, ...]], found: Mapping[Probe, Way], nodes: Sequence[str],
    names: Mapping[str, str],
) -> Iterator[WalkedPath]:  # fmt: skip
    for probe, way in sorted(expected.items(), key=lambda pair: (pair[0].source, names[pair[0].to])):
        hops = found[probe].hops
        yield WalkedPath(
            source=nodes[probe.source],
            to=names[probe.to],
            computed=tuple(names[address] for address in way),
            found=tuple(names.get(address, address) for address in hops),
            end=found[probe].end,
            not_sent=found[probe].not_sent,
        )


def _walk(folder: Path, nodes: Sequence[str], wanted: Sequence[Probe], seconds: float) -> dict[Probe, Way]:
    """Runs in a child process, which enters the nodes' namespaces one after another."""
    sources = sorted({probe.source for probe in wanted})
    namespaces.make_room(len(sources))
    with contextlib.ExitStack() as stack:
        sockets: dict[int, socket.socket] = {}
        for source in sources:
            namespaces.enter(folder / "net" / nodes[source], namespaces.NEW_NET)
            sockets[source] = stack.enter_context(probing.opened())
        return probing.walk(sockets, wanted, time.monotonic() + seconds)


def sentence(one: WalkedPath) -> str:
    """Returns `n0 → n1 → n2`; if that is not the computed path, also how it ended and the computed one."""
    text = " → ".join([one.source, *one.found])
    if one.is_as_computed:
        return text
    if one.end != probing.THERE:
        text = f"{one.source} to {one.to}: {text}, {_ENDS[one.end]}"
        if one.not_sent:
            text += f" (the last packet could not be sent: {one.not_sent})"
    return f"{text}; computed: {' → '.join([one.source, *one.computed])}"
