"""Path lengths between a run's nodes, if the run contains its network's description."""

from __future__ import annotations

import tempfile
from collections.abc import Container, Mapping
from pathlib import Path

import numpy as np

from crosscut.analysis.figures.hops import NO_WAY, Lengths
from crosscut.base.errors import CrosscutError
from crosscut.network import paths
from crosscut.network.paths import Ways

# The tables of all paths grow with hosts times switches.
MOST_HOSTS = 1024


def of_run(attributes: Mapping[str, object], nodes: tuple[str, ...]) -> Lengths | None:
    """Returns path lengths by node; None if the run's network is missing, too large or unreadable."""
    described = attributes.get("network")
    if not isinstance(described, Mapping):
        return None
    text, hosts = described.get("description"), described.get("hosts")
    if not isinstance(text, str) or not isinstance(hosts, int) or hosts > MOST_HOSTS:
        return None
    with tempfile.TemporaryDirectory(prefix="crosscut-network-") as folder:
        file = Path(folder) / "network.toml"
        try:
            file.write_text(text, encoding="utf-8")
            network = paths.load(str(file))
            found = lengths(network)
        except (CrosscutError, KeyError, TypeError, ValueError):  # from an older crosscut, or damaged
            return None
    place = {host.name: at for at, host in enumerate(network.hosts)}
    at = np.array([place.get(node, NO_WAY) for node in nodes], np.int64)
    known = (at >= 0)[:, None] & (at >= 0)[None, :]
    between = np.ix_(at, at)
    return Lengths(*(np.where(known, table[between], NO_WAY) for table in (found.switches, found.hosts)))


def lengths(network: Ways) -> Lengths:
    """Returns path lengths between all pairs of hosts, from the network's routing tables."""
    count = len(network.hosts)
    through = _through_switches(network)
    switches, hosts = np.full((count, count), NO_WAY), np.full((count, count), NO_WAY)
    for route in network.routes:
        hops = {hop.at: hop for hop in route.hops}
        ahead = {hop.at: hop.next for hop in route.hops}
        known = {route.host: (0, NO_WAY)}  # host: (switches, hosts) still to pass, not counting the end
        for source in hops:
            for at in _way(source, ahead, known):
                passed, between = known[ahead[at]]
                inside = through.get((ahead[at], hops[at].entering), {}).get(hops[at].edge)
                if inside is None:
                    break
                known[at] = (passed + inside, between + 1)
        for source, (passed, between) in known.items():
            if source != route.host and (
                switches[source, route.host] == NO_WAY or passed < switches[source, route.host]
            ):
                switches[source, route.host], hosts[source, route.host] = passed, between
    np.fill_diagonal(switches, 0)
    np.fill_diagonal(hosts, 0)
    return Lengths(switches, hosts)


def _way(source: int, ahead: Mapping[int, int], known: Container[int]) -> list[int]:
    """Returns the vertices between a known one and `source`, which is last.

    Each vertex leads to the one `ahead` of it. Returns none if a loop or a gap lies between.
    """
    chain: list[int] = []
    while source not in known:
        if source not in ahead or len(chain) > len(ahead):
            return []
        chain.append(source)
        source = ahead[source]
    return chain[::-1]


def _through_switches(network: Ways) -> dict[tuple[int, int], dict[int, int]]:
    """Maps (host, adapter) to {edge of a sending host: switches on the path}."""
    found = {}
    ends = [(edge.a, edge.b) for edge in network.edges]
    at_host = [
        (number, b if network.is_host(a) else a)
        for number, (a, b) in enumerate(ends)
        if network.is_host(a) or network.is_host(b)
    ]
    for segment in network.segments:
        ahead = {switch: b if switch == a else a for switch, edge in segment.leaving for a, b in [ends[edge]]}
        passed = {segment.host: 0}
        for switch in ahead:
            for vertex in _way(switch, ahead, passed):
                passed[vertex] = passed[ahead[vertex]] + 1
        found[segment.host, segment.adapter] = {
            number: 0 if network.is_host(vertex) else passed[vertex]
            for number, vertex in at_host
            if network.is_host(vertex) or vertex in passed
        }
    return found
