"""Orders worth a replay: METIS with several seeds and weights, scipy's quadratic assignment, and blocks.

Placing ranks is the quadratic assignment problem (Koopmans and Beckmann, Econometrica 25, 1957): flows
between ranks, costs between places. scipy's FAQ (Vogelstein et al., PLOS ONE 10, 2015) and exchanges of two
improve what METIS finds where there are few ranks.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import quadratic_assignment

from crosscut.ordering import partition
from crosscut.ordering.terrain import Floats, Terrain
from crosscut.ordering.traffic import RankTraffic

# scipy takes seconds beyond: cubic, and with exchanges of the fourth power of the number of ranks.
_MOST_FOR_FAQ, _MOST_FOR_EXCHANGES = 512, 64


@dataclass(frozen=True)
class TriedOrder:
    order: tuple[int, ...]
    made_by: str


@dataclass(frozen=True)
class _Objective:
    says: str
    flow: Floats
    """[from rank, to rank]"""
    cost: Floats
    """[from host, to host]"""


def found(traffic: RankTraffic, terrain: Terrain, places: Sequence[int], tries: int) -> list[TriedOrder]:
    """Returns orders that differ in what a message costs, the cheapest first. All use the same places."""
    own = np.sort(np.asarray(places))
    hosts = terrain.indices(own)
    known: dict[bytes, tuple[float, TriedOrder]] = {}
    objectives = list(_objectives(traffic, terrain))
    far = _scaled(terrain.cost) + _scaled(terrain.latency)
    for order, made_by in _tried(objectives, own, hosts, tries):
        at = terrain.indices(order)
        alike = hashlib.sha256(np.round(far[np.ix_(at, at)], 9).tobytes()).digest()
        price = float((objectives[0].flow * objectives[0].cost[np.ix_(at, at)]).sum())
        known.setdefault(alike, (price, TriedOrder(tuple(order.tolist()), made_by)))
    return [candidate for _, candidate in sorted(known.values(), key=lambda one: one[0])]


def _scaled(values: Floats) -> Floats:
    most = float(values.max())
    return values / most if most > 0 else values


def _objectives(traffic: RankTraffic, terrain: Terrain) -> Iterator[_Objective]:
    """Yields bytes first; messages count only if they take time by themselves."""
    yield _Objective("bytes", traffic.bytes, terrain.cost)
    apart = ~np.eye(len(terrain.used), dtype=bool)
    latency, cost = terrain.latency[apart].mean(), terrain.cost[apart].mean()
    if latency > 0 and cost > 0:
        # A message costs as much as the bytes that pass in its latency.
        weighed = traffic.bytes + traffic.messages * (latency / cost)
        yield _Objective("bytes and messages", weighed, terrain.cost)
        yield _Objective("messages", traffic.messages, terrain.latency)


def _tried(
    objectives: Sequence[_Objective], own: NDArray[np.int64], hosts: NDArray[np.int64], tries: int
) -> Iterator[tuple[NDArray[np.int64], str]]:
    """Yields ([rank] its place, how it was made). `own`: places, ascending; `hosts`: their hosts."""
    yield own, "blocks"
    ranks = len(own)
    room = np.bincount(hosts)
    for one in objectives:
        spread = one.cost[np.ix_(hosts, hosts)]
        tree = partition.groups(one.cost)
        for seed in range(1, tries + 1):
            host_of = partition.assigned(one.flow + one.flow.T, tree, room.tolist(), seed)
            # Ranks in the order of their hosts take the places in theirs.
            taken = np.empty(ranks, np.int64)
            taken[np.argsort(host_of, kind="stable")] = np.arange(ranks)
            yield own[taken], f"METIS, {one.says}"
            if ranks <= _MOST_FOR_EXCHANGES:
                guess = np.column_stack([np.arange(ranks), taken])
                better = _quadratic(one.flow, spread, "2opt", partial_guess=guess)
                yield own[better], f"METIS and exchanges, {one.says}"
        if ranks <= _MOST_FOR_FAQ:
            yield own[_quadratic(one.flow, spread, "faq")], f"quadratic assignment, {one.says}"


def _quadratic(flow: Floats, cost: Floats, method: str, **options: object) -> NDArray[np.int64]:
    """Returns [rank] the index of its place."""
    # Neither method draws at random here, but both would ask for numpy's global generator.
    chosen = {"rng": np.random.default_rng(1), **options}
    found = quadratic_assignment(flow, cost, method=method, options=chosen)
    return np.asarray(found.col_ind, np.int64)
