"""Finds the links that a message passes, from the forwarding tables of a network's description. Follows hosts
that forward; the destination's number chooses among equal paths."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from crosscut.base.errors import CrosscutError
from crosscut.network import paths
from crosscut.network.paths import NextHops, Ways

# Limits the tables of all paths, whose size grows with hosts times switches.
MOST_HOSTS = 1024
Step = tuple[int, int]
Way = Callable[[int, int], Sequence[Step]]
"""Maps (source host, destination host) to the links on the path, as pairs of vertices; may be empty."""


def of_file(file: str, *, by_tables: bool) -> Way | None:
    """Returns the paths in a network file, or None if the description alone does not determine them.

    A hash that spreads messages over equal paths leaves them undetermined, unless the measured network
    forwards by tables (`by_tables`), as emulated clusters do. A file that cannot be read also gives None.
    """
    try:
        network = paths.load(file)
    except (CrosscutError, KeyError, TypeError, ValueError):  # from an older crosscut, or damaged
        return None
    return None if network.equal_ways and not by_tables else of_tables(network)


def of_tables(network: Ways) -> Way:
    routes: dict[int, NextHops] = {}
    for route in network.routes:  # a host with several adapters is reached by its first
        routes.setdefault(route.host, route)
    hops = {host: {hop.at: hop for hop in route.hops} for host, route in routes.items()}
    leaving = {(one.host, one.adapter): dict(one.leaving) for one in network.segments}
    ends = [(edge.a, edge.b) for edge in network.edges]

    def way(source: int, destination: int) -> Sequence[Step]:
        found: list[Step] = []
        at = source
        while at != destination:
            hop = hops.get(destination, {}).get(at)
            if hop is None or len(found) > len(ends):
                return []  # no next hop, or a loop
            part = _across(at, hop.edge, hop.next, leaving.get((hop.next, hop.entering), {}), ends)
            if not part:
                return []
            found += part
            at = hop.next
        return found

    return way


def _across(
    at: int, edge: int, next_host: int, leaving: Mapping[int, int], ends: Sequence[tuple[int, int]]
) -> list[Step]:
    """Returns the links from one host to the next, over the switches between; empty if none lead there."""
    found: list[Step] = []
    while True:
        a, b = ends[edge]
        after = b if at == a else a
        found.append((at, after))
        if after == next_host:
            return found
        if after not in leaving or len(found) > len(ends):
            return []
        at, edge = after, leaving[after]
