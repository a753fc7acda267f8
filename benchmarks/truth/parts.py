"""Networks of known truth: capacities, routes over them, latencies, limits, and parts that can be slow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
HOST_RATE = 12.5e6  # bytes per second: Fast Ethernet; only ratios matter
# Salmon, Stein and Sterling, SC98, section 3: end to end without a switch, and added by a host that forwards.
# They give 19 to 30 us per switch; here the range extends down to latencies that noise hides.
END_TO_END_SECONDS, FORWARD_SECONDS = 100e-6, 75e-6
SWITCH_SECONDS = (1e-6, 30e-6)
# A short frame on a link of a host's rate, scaled to END_TO_END_SECONDS: from 84 bytes at 100 Gbit/s between
# hosts of 1.5 us (6.7 ns) to Fast Ethernet.
FRAME_SECONDS = (0.4e-6, 7e-6)


@dataclass(frozen=True)
class Fault:
    kind: str
    """`host`, `trunk`, `inner trunk` (of an inner group), `cable` (one of several that a hash chooses from),
    `route`, or `bucket` (half of a host's hash buckets)"""
    subject: int
    """Rank; number of the group; for a route source times ranks plus destination."""
    direction: str
    """`out` or `in`"""
    share: float
    """Share left of the capacity."""


@dataclass(frozen=True)
class Part:
    """A part of the network, other than a host's link, that can lose capacity."""

    kind: str
    subject: int
    direction: str
    capacity: int
    limit: tuple[str, int, int] | None = None
    """Its key in `Truth.limits`."""


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
    """(reach, group, other group or -1): bytes per second; limits of inner groups have "inner " before the
    reach."""
    faults: tuple[Fault, ...]
    spread: bool = False
    """Routes keep to one of several cables; limits are then not scored."""
    parts: tuple[Part, ...] = ()
    inner: Integers | None = None
    """[rank] inner group, numbered across all groups; None if inner groups have no limits."""
    nodes: tuple[tuple[int, ...], ...] = ()
    """[node] its ranks, if several; `labels` and subjects of faults are then nodes."""
    unevenness: float = 0.0
    """Standard deviation of the logarithm of the weights by which messages share a link, as over TCP; 0: they
    share it equally."""

    def with_frames(self, random: np.random.Generator) -> Truth:
        """Adds the time of a short frame on each link to `idle_seconds`.

        Capacity is lost by a lower speed. That of several hosts' links is one cable, or, in half of the
        networks, a bundle of cables of a host's rate each.
        """
        low, high = np.log(FRAME_SECONDS)
        frame = np.exp(random.uniform(low, high))
        bundles = bool(random.integers(2))
        speed = np.minimum(self.capacities, HOST_RATE) if bundles else self.capacities
        seconds = frame * np.append(HOST_RATE / speed, 0)
        return replace(self, idle_seconds=self.idle_seconds + seconds[self.ways].sum(axis=2))


@dataclass
class Builder:
    ranks: int
    labels: Integers
    capacities: list[float]
    ways: list[list[list[int]]]

    @classmethod
    def of(cls, labels: Integers) -> Builder:
        """Hosts with a link each: capacity h is out, ranks + h is in."""
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


def labels_of(groups: int, each: int, random: np.random.Generator) -> Integers:
    return random.permutation(np.repeat(np.arange(groups), each)).astype(np.int64)


def shape(random: np.random.Generator) -> tuple[int, int]:
    """Draws a number of groups, and of hosts in each: 16 to 256 hosts in all."""
    while True:
        groups, each = int(random.integers(2, 13)), int(random.choice([4, 6, 8, 9, 12, 16, 24, 32, 48]))
        if 16 <= groups * each <= 256:
            return groups, each


def taper(random: np.random.Generator) -> float:
    return float(random.uniform(1.3, 4.0))


def idle_of(labels: Integers, more: int, random: np.random.Generator) -> NDArray[np.float64]:
    """Latencies with one switch within a group, and `more` on the way to another."""
    switch = float(random.uniform(*SWITCH_SECONDS))
    apart = labels[:, None] != labels[None, :]
    return np.asarray(END_TO_END_SECONDS + switch * (1 + more * apart))


def uplinks(b: Builder, rate: float | Sequence[float], limits: dict[tuple[str, int, int], float]) -> None:
    """Adds an uplink to each group. `rate`: bytes per second, one for all groups or one each."""
    of = b.labels
    groups = int(of.max()) + 1
    rates = [rate] * groups if isinstance(rate, float) else rate
    up, down = [b.add(each) for each in rates], [b.add(each) for each in rates]
    for x, each in enumerate(rates):
        limits["leaving", x, -1], limits["entering", x, -1] = each, each
    b.through(lambda s, d: [up[of[s]], down[of[d]]] if of[s] != of[d] else [])
