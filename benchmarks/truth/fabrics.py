"""Further families: today's fabrics, and unequal hosts.

Each is a function of a random generator. The `parts` of a network are what can be slow besides hosts: a cable
of several that a hash chooses from, a single route, half of a host's hash buckets.
"""

from __future__ import annotations

import numpy as np

from benchmarks.truth.parts import (
    END_TO_END_SECONDS,
    HOST_RATE,
    SWITCH_SECONDS,
    Builder,
    Part,
    Truth,
    idle_of,
    labels_of,
    shape,
    taper,
    uplinks,
)

# Rate within a node over the rate of its adapter.
_WITHIN_NODE = 9.0
_ROUTES = 8


def three_levels(random: np.random.Generator) -> Truth:
    """Leaves, rows of leaves, and a root. Only rows limit the traffic that leaves them, not leaves."""
    rows, leaves, each = int(random.integers(3, 6)), int(random.integers(2, 5)), int(random.integers(4, 13))
    b = Builder.of(labels_of(rows * leaves, each, random))
    leaf, row = b.labels, b.labels // leaves
    rate = leaves * each * HOST_RATE / max(taper(random), 1.3 / (1 - 1 / rows))
    limits: dict[tuple[str, int, int], float] = {}
    up, down = [b.add(rate) for _ in range(rows)], [b.add(rate) for _ in range(rows)]
    for number in range(rows):
        limits["leaving", number, -1], limits["entering", number, -1] = rate, rate
    b.through(lambda s, d: [up[row[s]], down[row[d]]] if row[s] != row[d] else [])
    switch = float(random.uniform(*SWITCH_SECONDS))
    passed = 1 + 2 * (leaf[:, None] != leaf) + 2 * (row[:, None] != row)
    idle = np.asarray(END_TO_END_SECONDS + switch * passed)
    return Truth("three levels", b.ranks, row, b.padded(), np.array(b.capacities), idle, limits, ())


def tapered_twice(random: np.random.Generator) -> Truth:
    """Leaves, rows of leaves, and a root. Leaves limit the traffic that leaves them; a row's limit is less
    than the sum of its leaves'. Any of these may have lost capacity."""
    rows, leaves, each = int(random.integers(3, 6)), int(random.integers(2, 5)), int(random.integers(4, 13))
    b = Builder.of(labels_of(rows * leaves, each, random))
    leaf, row = b.labels, b.labels // leaves
    of_leaf = each * HOST_RATE / float(random.uniform(1.3, 2.5))
    of_row = leaves * of_leaf / float(random.uniform(1.3, 2.5))
    limits: dict[tuple[str, int, int], float] = {}
    parts: list[Part] = []

    def trunks(groups: int, rate: float, kind: str, words: str) -> list[tuple[int, int]]:
        """Adds trunks and returns their capacities by group: out, in."""
        found = []
        for group in range(groups):
            found.append((b.add(rate), b.add(rate)))
            for reach, way, capacity in zip(("leaving", "entering"), ("out", "in"), found[-1], strict=True):
                limit = (words + reach, group, -1)
                limits[limit] = rate
                parts.append(Part(kind, group, way, capacity, limit))
        return found

    of_leaves = trunks(rows * leaves, of_leaf, "inner trunk", "inner ")
    of_rows = trunks(rows, of_row, "trunk", "")

    def passes(s: int, d: int) -> list[int]:
        way = [of_leaves[leaf[s]][0], of_leaves[leaf[d]][1]] if leaf[s] != leaf[d] else []
        return way + ([of_rows[row[s]][0], of_rows[row[d]][1]] if row[s] != row[d] else [])

    b.through(passes)
    switch = float(random.uniform(*SWITCH_SECONDS))
    passed = 1 + 2 * (leaf[:, None] != leaf) + 2 * (row[:, None] != row)
    idle = np.asarray(END_TO_END_SECONDS + switch * passed)
    return Truth(
        "tapered twice", b.ranks, row, b.padded(), np.array(b.capacities), idle, limits, (),
        parts=tuple(parts), inner=leaf,
    )  # fmt: skip


def dragonfly(random: np.random.Generator) -> Truth:
    """Kim, Dally, Scott and Abts (ISCA 2008), minimal routing: a cable between any two routers of a group,
    and between any two groups."""
    routers, hosts = int(random.integers(2, 6)), int(random.integers(1, 4))
    groups = int(random.integers(3, 2 + routers * hosts))
    while routers * hosts * groups < 16:
        groups += 1
    b = Builder.of(labels_of(groups, routers * hosts, random))
    group = b.labels
    router = np.zeros(b.ranks, np.int64)
    for number in range(groups):
        router[group == number] = np.repeat(np.arange(routers), hosts)
    local = {
        (g, x, y): b.add(HOST_RATE)
        for g in range(groups) for x in range(routers) for y in range(routers) if x != y
    }  # fmt: skip
    far = {(g, h): b.add(HOST_RATE) for g in range(groups) for h in range(groups) if g != h}

    def passes(s: int, d: int) -> list[int]:
        here, there = int(group[s]), int(group[d])
        if here == there:
            stops = [(here, int(router[s]), int(router[d]))]
            between = []
        else:
            leaves, arrives = (there - here) % groups % routers, (here - there) % groups % routers
            stops = [(here, int(router[s]), leaves), (there, arrives, int(router[d]))]
            between = [far[here, there]]
        return [local[stop] for stop in stops if stop[1] != stop[2]] + between

    b.through(passes)
    return Truth(
        "dragonfly", b.ranks, group, b.padded(), np.array(b.capacities), idle_of(group, 2, random), {}, (),
        spread=True,
    )  # fmt: skip


def torus(random: np.random.Generator) -> Truth:
    """Three dimensions, routed in order; one host per switch, cables as fast as hosts."""
    extents = [int(random.integers(2, 6)) for _ in range(3)]
    while not 16 <= np.prod(extents) <= 128:
        extents = [int(random.integers(2, 6)) for _ in range(3)]
    ranks = int(np.prod(extents))
    b = Builder.of(np.zeros(ranks, np.int64))
    place = random.permutation(ranks)
    at = np.stack(np.unravel_index(place, extents), axis=1)
    cable = {
        (switch, dimension, step): b.add(HOST_RATE)
        for switch in range(ranks) for dimension in range(3) for step in (1, -1)
    }  # fmt: skip
    hops = np.zeros((ranks, ranks))

    def passes(s: int, d: int) -> list[int]:
        here, way = at[s].copy(), []
        for dimension, extent in enumerate(extents):
            ahead = (at[d][dimension] - here[dimension]) % extent
            step = 1 if 2 * ahead <= extent else -1
            while here[dimension] != at[d][dimension]:
                way.append(cable[int(np.ravel_multi_index(tuple(here), extents)), dimension, step])
                here[dimension] = (here[dimension] + step) % extent
        hops[s, d] = len(way)
        return way

    b.through(passes)
    idle = END_TO_END_SECONDS + float(random.uniform(*SWITCH_SECONDS)) * (1 + hops)
    return Truth(
        "torus", ranks, b.labels, b.padded(), np.array(b.capacities), idle, {}, (), spread=True
    )  # fmt: skip


def hashed_cables(random: np.random.Generator) -> Truth:
    """Leaves and spines in full bisection: a route's messages keep to one cable. One cable may be slow."""
    groups, each = shape(random)
    spines = max(2, each // int(random.integers(1, 3)))
    rate = HOST_RATE * each / spines
    b = Builder.of(labels_of(groups, each, random))
    of = b.labels
    up = [[b.add(rate) for _ in range(spines)] for _ in range(groups)]
    down = [[b.add(rate) for _ in range(spines)] for _ in range(groups)]
    spine = random.integers(0, spines, (b.ranks, b.ranks))
    b.through(lambda s, d: [up[of[s]][spine[s, d]], down[of[d]][spine[s, d]]] if of[s] != of[d] else [])
    cables = [
        Part("cable", group, way, trunk[group][number])
        for way, trunk in (("out", up), ("in", down)) for group in range(groups) for number in range(spines)
    ]  # fmt: skip
    return Truth(
        "hashed cables", b.ranks, of, b.padded(), np.array(b.capacities), idle_of(of, 2, random), {}, (),
        spread=True, parts=tuple(cables),
    )  # fmt: skip


def rails(random: np.random.Generator) -> Truth:
    """Nodes with an adapter per rank, and a switch per rail; one adapter may be slow."""
    nodes = _nodes(random)
    b = Builder.of(np.concatenate([np.arange(len(nodes[0]))] * len(nodes)))
    _within(b, nodes)
    parts = [
        Part("host", node, way, rank + (b.ranks if way == "in" else 0))
        for node, ranks in enumerate(nodes) for rank in ranks for way in ("out", "in")
    ]  # fmt: skip
    return _of_nodes("rails", b, nodes, parts, random)


def nodes_of_ranks(random: np.random.Generator) -> Truth:
    """A crossbar of nodes, each with several ranks that share its adapter; an adapter may be slow."""
    nodes = _nodes(random)
    node = np.repeat(np.arange(len(nodes)), len(nodes[0]))
    b = Builder.of(np.zeros(len(node), np.int64))
    b.capacities = [_WITHIN_NODE * HOST_RATE] * (2 * b.ranks)
    out, back = ([b.add(HOST_RATE) for _ in nodes] for _ in range(2))
    b.through(lambda s, d: [out[node[s]], back[node[d]]] if node[s] != node[d] else [])
    parts = [
        Part("host", number, way, adapters[number])
        for way, adapters in (("out", out), ("in", back)) for number in range(len(nodes))
    ]  # fmt: skip
    return _of_nodes("ranks of nodes", b, nodes, parts, random)


def _nodes(random: np.random.Generator) -> tuple[tuple[int, ...], ...]:
    """Draws 8 to 32 nodes of 2, 4 or 8 ranks. Returns the ranks of each, in order."""
    nodes, each = int(random.integers(8, 33)), int(random.choice([2, 4, 8]))
    return tuple(tuple(range(first, first + each)) for first in range(0, nodes * each, each))


def _of_nodes(
    family: str,
    b: Builder,
    nodes: tuple[tuple[int, ...], ...],
    parts: list[Part],
    random: np.random.Generator,
) -> Truth:
    node = np.repeat(np.arange(len(nodes)), len(nodes[0]))
    idle = np.full((b.ranks, b.ranks), END_TO_END_SECONDS + float(random.uniform(*SWITCH_SECONDS)))
    idle[node[:, None] == node] = END_TO_END_SECONDS / _WITHIN_NODE
    return Truth(
        family, b.ranks, np.zeros(len(nodes), np.int64), b.padded(), np.array(b.capacities), idle, {}, (),
        parts=tuple(parts), nodes=nodes,
    )  # fmt: skip


def _within(b: Builder, nodes: tuple[tuple[int, ...], ...]) -> None:
    """Keeps messages between ranks of a node within it."""
    for ranks in nodes:
        for s in ranks:
            within = b.add(_WITHIN_NODE * HOST_RATE)
            for d in ranks:
                if s != d:
                    b.ways[s][d] = [within]


def two_classes(random: np.random.Generator) -> Truth:
    """A crossbar of hosts with two kinds of adapters."""
    ranks = int(random.integers(16, 257))
    b = Builder.of(np.zeros(ranks, np.int64))
    slow = random.permutation(ranks)[: int(ranks * random.uniform(0.2, 0.5))]
    share = float(random.uniform(0.1, 0.6))
    for rank in slow.tolist():
        b.capacities[rank] *= share
        b.capacities[ranks + rank] *= share
    return Truth(
        "two classes",
        ranks,
        b.labels,
        b.padded(),
        np.array(b.capacities),
        idle_of(b.labels, 0, random),
        {},
        (),
    )


def slow_routes(random: np.random.Generator) -> Truth:
    """A crossbar with a route that may be slow."""
    ranks = int(random.integers(16, 257))
    b = Builder.of(np.zeros(ranks, np.int64))
    routes: list[Part] = []
    while len(routes) < _ROUTES:
        s, d = (int(end) for end in random.integers(ranks, size=2))
        if s != d and len(b.ways[s][d]) == 2:
            b.ways[s][d].append(b.add(HOST_RATE))
            routes.append(Part("route", s * ranks + d, "out", b.ways[s][d][-1]))
    return Truth(
        "slow routes", ranks, b.labels, b.padded(), np.array(b.capacities), idle_of(b.labels, 0, random), {},
        (), parts=tuple(routes),
    )  # fmt: skip


def half_buckets(random: np.random.Generator) -> Truth:
    """A crossbar of hosts with two bonded cables each; a hash of the route picks one."""
    ranks = int(random.integers(16, 257))
    b = Builder.of(np.zeros(ranks, np.int64))
    picked = random.integers(2, size=(ranks, ranks))
    cables = np.array([[b.add(HOST_RATE) for _ in range(2)] for _ in range(ranks)])
    b.through(lambda s, d: [int(cables[s, picked[s, d]])])
    parts = tuple(Part("bucket", rank, "out", int(cables[rank, 0])) for rank in range(ranks))
    return Truth(
        "half buckets", ranks, b.labels, b.padded(), np.array(b.capacities), idle_of(b.labels, 0, random), {},
        (), parts=parts,
    )  # fmt: skip


def over_tcp(random: np.random.Generator) -> Truth:
    """Small clusters whose latencies reveal nothing, over TCP: a crossbar, leaves whose uplinks are equal
    or in proportion to their hosts, or modules with a cable between any two."""
    kind, groups = int(random.integers(4)), int(random.integers(2, 5))
    sizes = np.full(groups, int(random.integers(4, 11)))
    if kind == 1:
        sizes = random.integers(4, 15, size=groups)
    b = Builder.of(random.permutation(np.repeat(np.arange(groups), sizes)).astype(np.int64))
    limits: dict[tuple[str, int, int], float] = {}
    of, rate = b.labels, float(sizes.mean()) * HOST_RATE / float(random.uniform(1.1, 3.0))
    if kind == 0:
        b = Builder.of(np.zeros(b.ranks, np.int64))
    elif kind == 1:
        alike = random.random() < 0.5
        uplinks(b, [rate] * groups if alike else (sizes / sizes.mean() * rate).tolist(), limits)
    elif kind == 2:
        uplinks(b, rate, limits)
    else:
        rate *= float(random.uniform(0.5, 1.0)) / (groups - 1) * 2
        between = {(x, y): b.add(rate) for x in range(groups) for y in range(groups) if x != y}
        limits |= {("between", x, y): rate for x, y in between}
        b.through(lambda s, d: [between[of[s], of[d]]] if of[s] != of[d] else [])
    idle = np.full((b.ranks, b.ranks), END_TO_END_SECONDS)
    return Truth(
        "over TCP", b.ranks, b.labels, b.padded(), np.array(b.capacities), idle, limits, (),
        unevenness=float(random.uniform(0.03, 0.3)),
    )  # fmt: skip


FAMILIES = (
    three_levels, tapered_twice, dragonfly, torus, hashed_cables, rails, nodes_of_ranks, two_classes,
    slow_routes, half_buckets, over_tcp,
)  # fmt: skip
