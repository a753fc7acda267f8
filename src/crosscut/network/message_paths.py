"""Which links a message passes, by the tables of a network's description: also where hosts forward, and
where of several equal ways the destination's number chooses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from crosscut.base.errors import CrosscutError
from crosscut.network import paths
from crosscut.network.paths import NextHops, Ways

# The tables of all ways grow with hosts times switches.
MOST_HOSTS = 1024
Step = tuple[int, int]
Way = Callable[[int, int], Sequence[Step]]
"""From (source host, destination host) to the links between vertices on the way; empty where there is
none."""


def of_file(file: str, *, by_tables: bool) -> Way | None:
    """None where the description alone does not say which of several ways a message takes: spread by a
    hash, unless `by_tables` says that what was measured goes by tables, as emulated clusters do."""
    try:
        network = paths.load(file)
    except (CrosscutError, KeyError, TypeError, ValueError):  # of an older crosscut, or damaged
        return None
    return None if network.equal_ways and not by_tables else of_tables(network)


def of_tables(network: Ways) -> Way:
    routes: dict[int, NextHops] = {}
    for route in network.routes:  # of a host with several adapters by the first
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
                return []  # nobody knows further, or a circle
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
    """From one host to the next, over the switches between."""
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
