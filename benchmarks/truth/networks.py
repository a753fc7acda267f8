"""Networks from seeds: module chassis, trees with taper, leaves and spines, meta-nodes; with planted faults.

The names of generators and what they stand for are those of docs/reference/networks.md; hosts are numbered at
random.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
HOST_RATE = 12.5e6  # bytes per second: Fast Ethernet; only ratios matter
# Salmon, Stein and Sterling, SC98, section 3: from end to end without a switch, and what a host adds that
# forwards. What a switch adds they give as 19 to 30 us; here also less, down to what noise hides.
END_TO_END_SECONDS, FORWARD_SECONDS = 100e-6, 75e-6
SWITCH_SECONDS = (1e-6, 30e-6)


@dataclass(frozen=True)
class Fault:
    kind: str
    """`host` or `trunk`"""
    subject: int
    """Rank, or number of the group."""
    direction: str
    """`out` or `in`"""
    share: float
    """What is left of the capacity."""


@dataclass(frozen=True)
class Truth:
    family: str
    ranks: int
    labels: Integers
    """[rank] group"""
    ways: Integers
    """[source, destination, step] capacities, -1: none"""
    capacities: NDArray[np.float64]
    idle_seconds: NDArray[np.float64]
    """[source, destination] of a short message."""
    limits: dict[tuple[str, int, int], float]
    """(reach, group, other group or -1): bytes per second, of limits that can be told"""
    faults: tuple[Fault, ...]
    spread: bool = False
    """Messages keep to one of several cables."""


@dataclass
class _Builder:
    ranks: int
    labels: Integers
    capacities: list[float]
    ways: list[list[list[int]]]

    @classmethod
    def of(cls, labels: Integers) -> _Builder:
        """Hosts with a link of their own: capacity h out, ranks + h in."""
        ranks = len(labels)
        ways = [[[s, ranks + d] for d in range(ranks)] for s in range(ranks)]
        return cls(ranks, labels, [HOST_RATE] * (2 * ranks), ways)

    def add(self, capacity: float) -> int:
        self.capacities.append(capacity)
        return len(self.capacities) - 1

    def through(self, passes: Callable[[int, int], list[int]]) -> None:
        for s in range(self.ranks):
            for d in range(self.ranks):
                if s != d:
                    self.ways[s][d] += passes(s, d)

    def padded(self) -> Integers:
        steps = max(len(way) for row in self.ways for way in row)
        table = np.full((self.ranks, self.ranks, steps), -1, np.int64)
        for s, row in enumerate(self.ways):
            for d, way in enumerate(row):
                table[s, d, : len(way)] = way
        return table


def _labels(groups: int, each: int, random: np.random.Generator) -> Integers:
    return random.permutation(np.repeat(np.arange(groups), each)).astype(np.int64)


def _shape(random: np.random.Generator) -> tuple[int, int]:
    """Groups and hosts of each: 16 to 256 hosts."""
    while True:
        groups, each = int(random.integers(2, 13)), int(random.choice([4, 6, 8, 9, 12, 16, 24, 32, 48]))
        if 16 <= groups * each <= 256:
            return groups, each


def _taper(random: np.random.Generator) -> float:
    return float(random.uniform(1.3, 4.0))


def chassis(random: np.random.Generator) -> Truth:
    """Modules, each wired to each other, or all to a backplane."""
    groups, each = _shape(random)
    b = _Builder.of(_labels(groups, each, random))
    limits: dict[tuple[str, int, int], float] = {}
    of = b.labels
    if random.random() < 0.5:
        # What a random permutation sends from one module to another, on average, over the taper.
        rate = each / groups * HOST_RATE / _taper(random)
        index = {}
        for x in range(groups):
            for y in range(groups):
                if x != y:
                    index[x, y] = b.add(rate)
                    limits["between", x, y] = rate
        b.through(lambda s, d: [index[of[s], of[d]]] if of[s] != of[d] else [])
    else:
        _uplinks(b, each * (1 - 1 / groups) * HOST_RATE / _taper(random), limits)
    return Truth(
        "module chassis", b.ranks, of, b.padded(), np.array(b.capacities), _idle(of, 2, random), limits, ()
    )


def _idle(labels: Integers, more: int, random: np.random.Generator) -> NDArray[np.float64]:
    """One switch within a group, `more` of them to another."""
    switch = float(random.uniform(*SWITCH_SECONDS))
    apart = labels[:, None] != labels[None, :]
    return np.asarray(END_TO_END_SECONDS + switch * (1 + more * apart))


def _uplinks(b: _Builder, rate: float | Sequence[float], limits: dict[tuple[str, int, int], float]) -> None:
    """`rate`: bytes per second of each group's, or of all."""
    of = b.labels
    groups = int(of.max()) + 1
    rates = [rate] * groups if isinstance(rate, float) else rate
    up, down = [b.add(each) for each in rates], [b.add(each) for each in rates]
    for x, each in enumerate(rates):
        limits["leaving", x, -1], limits["entering", x, -1] = each, each
    b.through(lambda s, d: [up[of[s]], down[of[d]]] if of[s] != of[d] else [])


def tree(random: np.random.Generator) -> Truth:
    """Leaves under a root, uplinks trunked; hosts of a leaf have `taper` times what the uplink carries."""
    groups, each = _shape(random)
    labels = _labels(groups, each, random)
    return _tree(labels, each * HOST_RATE / max(_taper(random), 1.3 / (1 - 1 / groups)), random)


def tree_of(groups: int, each: int, trunk_rate: float, random: np.random.Generator) -> Truth:
    """A tree of so many leaves of so many hosts."""
    return _tree(_labels(groups, each, random), trunk_rate, random)


def _tree(labels: Integers, trunk_rate: float, random: np.random.Generator) -> Truth:
    b = _Builder.of(labels)
    limits: dict[tuple[str, int, int], float] = {}
    _uplinks(b, trunk_rate, limits)
    idle = _idle(labels, 2, random)
    return Truth("tree with taper", b.ranks, labels, b.padded(), np.array(b.capacities), idle, limits, ())


def crossbar(ranks: int, random: np.random.Generator) -> Truth:
    """A switch that limits nothing."""
    b = _Builder.of(np.zeros(ranks, np.int64))
    return Truth(
        "crossbar", ranks, b.labels, b.padded(), np.array(b.capacities), _idle(b.labels, 0, random), {}, ()
    )


def fat_tree(random: np.random.Generator) -> Truth:
    """Leaves and spines; a message keeps to the spine that a hash of its ends picks."""
    groups, each = _shape(random)
    spines = max(2, round(each / float(random.choice([1.0, 1.0, 1.5, 2.0]))))
    b = _Builder.of(_labels(groups, each, random))
    of = b.labels
    up = [[b.add(HOST_RATE) for _ in range(spines)] for _ in range(groups)]
    down = [[b.add(HOST_RATE) for _ in range(spines)] for _ in range(groups)]
    spine = random.integers(0, spines, (b.ranks, b.ranks))
    b.through(lambda s, d: [up[of[s]][spine[s, d]], down[of[d]][spine[s, d]]] if of[s] != of[d] else [])
    return Truth(
        "fat tree", b.ranks, of, b.padded(), np.array(b.capacities), _idle(of, 2, random), {}, (), spread=True
    )


def meta_nodes(random: np.random.Generator) -> Truth:
    """Salmon, Stein and Sterling (SC98): switches of hosts; each host has a wire to a host of another switch,
    and forwards."""
    groups = int(random.integers(3, 9))
    each = (groups - 1) * int(random.integers(1, 1 + max(1, 24 // (groups - 1))))
    while groups * each < 16:
        each += groups - 1
    b = _Builder.of(_labels(groups, each, random))
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
    """Leaves of 4 to 40 hosts under a root, each with as much uplink a host."""
    sizes = random.integers(4, 41, size=int(random.integers(3, 9)))
    while not 16 <= sizes.sum() <= 256:
        sizes = random.integers(4, 41, size=int(random.integers(3, 9)))
    b = _Builder.of(random.permutation(np.repeat(np.arange(len(sizes)), sizes)).astype(np.int64))
    limits: dict[tuple[str, int, int], float] = {}
    _uplinks(b, (sizes * HOST_RATE / _taper(random)).tolist(), limits)
    idle = _idle(b.labels, 2, random)
    return Truth("uneven leaves", b.ranks, b.labels, b.padded(), np.array(b.capacities), idle, limits, ())


FAMILIES = (chassis, tree, fat_tree, meta_nodes)
ALL_FAMILIES = (*FAMILIES, any_crossbar, uneven_tree)


def make(seed: int, *, healthy: bool = False, all_sizes: bool = False) -> Truth:
    """One of the families in turn. Every third is healthy as well. `all_sizes`: of all families, with
    faults of all sizes."""
    random, families = np.random.default_rng(seed), ALL_FAMILIES if all_sizes else FAMILIES
    truth = families[seed % len(families)](random)
    count = 0 if healthy or seed // len(families) % 3 == 0 else int(random.integers(1, 4))
    return with_faults(truth, count, random, *(_ALL_SIZES if all_sizes else ()))


# What is left of a host's link, and of a trunk: faults that are plain to see, and all that the search is for.
_PLAIN = (0.25, 0.5)
_ALL_SIZES = ((0.3, 0.85), (0.2, 0.7))


def with_faults(
    truth: Truth, count: int, random: np.random.Generator, of_hosts: tuple[float, float] = _PLAIN,
    of_trunks: tuple[float, float] = _PLAIN,
) -> Truth:  # fmt: skip
    """Hosts with a slow link, in one direction; trunks that lost cables, where trunks can be told apart."""
    capacities, limits = truth.capacities.copy(), dict(truth.limits)
    faults: list[Fault] = []
    trunks = [key for key in limits if key[0] in ("leaving", "entering")]
    if int(truth.labels.max()) < 2:
        trunks = []  # of two groups each trunk is the other's only like
    taken: set[int] = set()
    for _ in range(count):
        place = float(random.random())  # in the range of sizes
        if trunks and random.random() < 0.3 and not any(fault.kind == "trunk" for fault in faults):
            share = of_trunks[0] + place * (of_trunks[1] - of_trunks[0])
            reach, subject, _ = trunks[int(random.integers(len(trunks)))]
            # Capacities of trunks follow those of hosts: all up, then all down.
            groups = int(truth.labels.max()) + 1
            at = 2 * truth.ranks + subject + (groups if reach == "entering" else 0)
            capacities[at] *= share
            limits[reach, subject, -1] = float(capacities[at])
            faults.append(Fault("trunk", subject, "out" if reach == "leaving" else "in", share))
            continue
        share = of_hosts[0] + place * (of_hosts[1] - of_hosts[0])
        rank = int(random.choice([r for r in range(truth.ranks) if r not in taken]))
        taken.add(rank)
        direction = "out" if random.random() < 0.5 else "in"
        capacities[rank + (truth.ranks if direction == "in" else 0)] *= share
        faults.append(Fault("host", rank, direction, share))
    return Truth(
        truth.family,
        truth.ranks,
        truth.labels,
        truth.ways,
        capacities,
        truth.idle_seconds,
        limits,
        tuple(faults),
        truth.spread,
    )
