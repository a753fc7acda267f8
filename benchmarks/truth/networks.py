"""Networks drawn from seeds: module chassis, trees with taper, leaves and spines, meta-nodes; with faults.

The generators' names and meanings are those of docs/reference/networks.md; hosts are numbered at random.
fabrics.py has further families.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from benchmarks.truth import fabrics
from benchmarks.truth.parts import (
    END_TO_END_SECONDS,
    FORWARD_SECONDS,
    HOST_RATE,
    SWITCH_SECONDS,
    Builder,
    Fault,
    Integers,
    Part,
    Truth,
    idle_of,
    labels_of,
    shape,
    taper,
    uplinks,
)


def chassis(random: np.random.Generator) -> Truth:
    """Modules, each wired to every other, or all to a backplane."""
    groups, each = shape(random)
    b = Builder.of(labels_of(groups, each, random))
    limits: dict[tuple[str, int, int], float] = {}
    of = b.labels
    if random.random() < 0.5:
        # The average that a random permutation sends from one module to another, over the taper.
        rate = each / groups * HOST_RATE / taper(random)
        index = {}
        for x in range(groups):
            for y in range(groups):
                if x != y:
                    index[x, y] = b.add(rate)
                    limits["between", x, y] = rate
        b.through(lambda s, d: [index[of[s], of[d]]] if of[s] != of[d] else [])
    else:
        uplinks(b, each * (1 - 1 / groups) * HOST_RATE / taper(random), limits)
    return Truth(
        "module chassis", b.ranks, of, b.padded(), np.array(b.capacities), idle_of(of, 2, random), limits, ()
    )


def tree(random: np.random.Generator) -> Truth:
    """Leaves under a root, with trunked uplinks; hosts of a leaf have `taper` times the uplink's rate."""
    groups, each = shape(random)
    labels = labels_of(groups, each, random)
    return tree_with(labels, each * HOST_RATE / max(taper(random), 1.3 / (1 - 1 / groups)), random)


def tree_of(groups: int, each: int, trunk_rate: float, random: np.random.Generator) -> Truth:
    """A tree of `groups` leaves with `each` hosts."""
    return tree_with(labels_of(groups, each, random), trunk_rate, random)


def tree_with(labels: Integers, trunk_rate: float, random: np.random.Generator) -> Truth:
    b = Builder.of(labels)
    limits: dict[tuple[str, int, int], float] = {}
    uplinks(b, trunk_rate, limits)
    idle = idle_of(labels, 2, random)
    return Truth("tree with taper", b.ranks, labels, b.padded(), np.array(b.capacities), idle, limits, ())


def crossbar(ranks: int, random: np.random.Generator) -> Truth:
    """A switch that limits nothing."""
    b = Builder.of(np.zeros(ranks, np.int64))
    return Truth(
        "crossbar", ranks, b.labels, b.padded(), np.array(b.capacities), idle_of(b.labels, 0, random), {}, ()
    )


def fat_tree(random: np.random.Generator) -> Truth:
    """Leaves and spines; a hash of source and destination picks the spine."""
    groups, each = shape(random)
    spines = max(2, round(each / float(random.choice([1.0, 1.0, 1.5, 2.0]))))
    b = Builder.of(labels_of(groups, each, random))
    of = b.labels
    up = [[b.add(HOST_RATE) for _ in range(spines)] for _ in range(groups)]
    down = [[b.add(HOST_RATE) for _ in range(spines)] for _ in range(groups)]
    spine = random.integers(0, spines, (b.ranks, b.ranks))
    b.through(lambda s, d: [up[of[s]][spine[s, d]], down[of[d]][spine[s, d]]] if of[s] != of[d] else [])
    return Truth(
        "fat tree",
        b.ranks,
        of,
        b.padded(),
        np.array(b.capacities),
        idle_of(of, 2, random),
        {},
        (),
        spread=True,
    )


def meta_nodes(random: np.random.Generator) -> Truth:
    """Salmon, Stein and Sterling (SC98): switches with hosts; each host forwards, and has a wire to a host of
    another switch."""
    groups = int(random.integers(3, 9))
    each = (groups - 1) * int(random.integers(1, 1 + max(1, 24 // (groups - 1))))
    while groups * each < 16:
        each += groups - 1
    b = Builder.of(labels_of(groups, each, random))
    of = b.labels
    members = [np.nonzero(of == x)[0] for x in range(groups)]
    wires: dict[tuple[int, int], list[tuple[int, int, int]]] = {}  # (gateway, gateway beyond, capacity)
    for x in range(groups):
        for y in range(groups):
            if x == y:
                continue
            here = members[x][(y - x) % groups - 1 :: groups - 1]
            there = members[y][(x - y) % groups - 1 :: groups - 1]
            wires[x, y] = [(int(g), int(h), b.add(HOST_RATE)) for g, h in zip(here, there, strict=True)]
    ranks, switch = b.ranks, float(random.uniform(*SWITCH_SECONDS))
    idle = np.full((ranks, ranks), END_TO_END_SECONDS + switch)
    for s in range(ranks):
        for d in range(ranks):
            if of[s] == of[d]:
                continue
            to = wires[int(of[s]), int(of[d])]
            gateway, beyond, wire = to[s % len(to)]
            way = [wire]
            forwarding = int(s != gateway) + int(d != beyond)
            idle[s, d] = END_TO_END_SECONDS + forwarding * (switch + FORWARD_SECONDS)
            if s != gateway:
                way += [s, ranks + gateway]  # to the gateway through the switch
            if d != beyond:
                way += [beyond, ranks + d]
            b.ways[s][d] = way
    limits = {("between", x, y): len(w) * HOST_RATE for (x, y), w in wires.items()}
    return Truth("meta-nodes", ranks, of, b.padded(), np.array(b.capacities), idle, limits, (), spread=True)


def any_crossbar(random: np.random.Generator) -> Truth:
    """A crossbar of 16 to 256 hosts."""
    return crossbar(int(random.integers(16, 257)), random)


def uneven_tree(random: np.random.Generator) -> Truth:
    """Leaves of 4 to 40 hosts under a root, with the same uplink rate per host."""
    sizes = random.integers(4, 41, size=int(random.integers(3, 9)))
    while not 16 <= sizes.sum() <= 256:
        sizes = random.integers(4, 41, size=int(random.integers(3, 9)))
    b = Builder.of(random.permutation(np.repeat(np.arange(len(sizes)), sizes)).astype(np.int64))
    limits: dict[tuple[str, int, int], float] = {}
    uplinks(b, (sizes * HOST_RATE / taper(random)).tolist(), limits)
    idle = idle_of(b.labels, 2, random)
    return Truth("uneven leaves", b.ranks, b.labels, b.padded(), np.array(b.capacities), idle, limits, ())


FAMILIES = (chassis, tree, fat_tree, meta_nodes)
ALL_FAMILIES = (*FAMILIES, any_crossbar, uneven_tree, *fabrics.FAMILIES)


def make(seed: int, *, healthy: bool = False) -> Truth:
    """Draws a network of one of the first families, in turn. Every third round has no fault."""
    random = np.random.default_rng(seed)
    truth = FAMILIES[seed % len(FAMILIES)](random)
    return with_faults(
        truth, 0 if healthy or seed // len(FAMILIES) % 3 == 0 else int(random.integers(1, 4)), random
    )


def with_fault_of_any_size(truth: Truth, random: np.random.Generator, *, healthy: bool) -> Truth:
    return with_faults(truth, 0 if healthy else 1, random, *_ALL_SIZES)


# Shares left of a capacity: faults that are easy to see; and (of hosts, of parts) all that the search is for.
_PLAIN = (0.25, 0.5)
_ALL_SIZES = ((0.3, 0.85), (0.2, 0.7))
# How often a fault is in a part.
_OF_TRUNKS, _OF_PARTS = 0.3, 0.6


def with_faults(
    truth: Truth, count: int, random: np.random.Generator, of_hosts: tuple[float, float] = _PLAIN,
    of_parts: tuple[float, float] = _PLAIN,
) -> Truth:  # fmt: skip
    """Plants faults: hosts with a slow link in one direction, and at most one slow trunk, cable or route."""
    capacities, limits = truth.capacities.copy(), dict(truth.limits)
    faults: list[Fault] = []
    parts, often = (truth.parts, _OF_PARTS) if truth.parts else (_trunks(truth), _OF_TRUNKS)
    if truth.nodes:
        often = 1.0  # ranks have nothing of their own that could be slow
    taken: set[int] = set()
    for _ in range(count):
        place = float(random.random())  # within the range of sizes
        if parts and random.random() < often and all(fault.kind == "host" for fault in faults):
            share = of_parts[0] + place * (of_parts[1] - of_parts[0])
            part = parts[int(random.integers(len(parts)))]
            capacities[part.capacity] *= share
            if part.limit is not None:
                limits[part.limit] = float(capacities[part.capacity])
            faults.append(Fault(part.kind, part.subject, part.direction, share))
            continue
        share = of_hosts[0] + place * (of_hosts[1] - of_hosts[0])
        rank = int(random.choice([r for r in range(truth.ranks) if r not in taken]))
        taken.add(rank)
        direction = "out" if random.random() < 0.5 else "in"
        capacities[rank + (truth.ranks if direction == "in" else 0)] *= share
        faults.append(Fault("host", rank, direction, share))
    return replace(truth, capacities=capacities, limits=limits, faults=tuple(faults))


def _trunks(truth: Truth) -> tuple[Part, ...]:
    """Returns the trunks; their capacities follow those of hosts, all up, then all down. With two groups no
    trunk can be told to be slow, as only one other resembles it."""
    groups = int(truth.labels.max()) + 1
    return tuple(
        Part("trunk", group, "out", 2 * truth.ranks + group, (reach, group, -1))
        if reach == "leaving"
        else Part("trunk", group, "in", 2 * truth.ranks + groups + group, (reach, group, -1))
        for reach, group, _ in truth.limits
        if reach in ("leaving", "entering") and groups > 2
    )
