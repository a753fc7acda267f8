"""A network as an order of ranks sees it: the cost of a byte between hosts, and the ways that hosts share."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from crosscut.base.errors import UsageError
from crosscut.network import message_paths
from crosscut.network.message_paths import Step
from crosscut.network.paths import Edge, Ways

Floats = NDArray[np.float64]
# A way that carries this much less than the hosts behind it can send is narrow.
NARROW = 1.01


@dataclass(frozen=True)
class SharedWay:
    """One direction of a link, or a switch's own capacity."""

    name: str
    bytes_per_second: float
    """Payload."""
    narrowness: float
    """What the hosts that use it can send together, over its rate."""

    @property
    def is_narrow(self) -> bool:
        return self.narrowness > NARROW


@dataclass(frozen=True)
class Terrain:
    """Hosts of a network, and each host's ranks. Place p is the rank p % per_host of host p // per_host."""

    network: str
    hosts: tuple[str, ...]
    """All of the network."""
    per_host: int
    used: tuple[int, ...]
    """Numbers of the hosts that ranks are on; the indices of `cost` and `latency`."""
    cost: Floats
    """[from host, to host] seconds that a byte takes if every host that uses its ways sends at once."""
    latency: Floats
    """[from host, to host] seconds"""
    ways: tuple[SharedWay, ...]
    passes: csr_array
    """[from host x to host, way] 1 if messages between them pass it."""
    spreads: bool
    """The network spreads messages over equal paths by a hash; here the destination's number chooses."""

    def indices(self, order: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
        """Returns [rank] the index in `used` of its host."""
        return np.searchsorted(self.used, np.asarray(order) // self.per_host)

    def between(self, sent: Floats, order: Sequence[int]) -> Floats:
        """Returns [from host x to host] the bytes between hosts. `sent`: [from rank, to rank] bytes."""
        hosts, at = len(self.used), self.indices(order)
        found = np.zeros((hosts, hosts))
        np.add.at(found, (at[:, None], at[None, :]), sent)
        return found.ravel()

    @property
    def narrow(self) -> NDArray[np.bool_]:
        """[way]"""
        return np.array([way.is_narrow for way in self.ways], bool)


def survey(network: Ways, per_host: int, used: Sequence[int]) -> Terrain:
    """Raises UsageError if the paths between the hosts are not known."""
    found = _Surveyed(network, tuple(used))
    cost, latency, ways, passes = found.matrices()
    names = tuple(host.name for host in network.hosts)
    return Terrain(
        network.name, names, per_host, tuple(used), cost, latency, ways, passes, network.equal_ways
    )


class _Surveyed:
    """Collects the ways between each two hosts."""

    def __init__(self, network: Ways, used: tuple[int, ...]) -> None:
        self.network, self.used = network, used
        self.edges: dict[Step, Edge] = {}
        for edge in network.edges:
            self.edges.setdefault((edge.a, edge.b), edge)
            self.edges.setdefault((edge.b, edge.a), edge)
        self.steps: dict[Step, tuple[tuple[int, ...], float]] = {}
        self.numbers: dict[str, int] = {}
        self.rates: list[float] = []
        self.users: list[tuple[set[int], set[int]]] = []
        """[way] indices of the hosts that send into it, and of those that receive from it."""

    def matrices(self) -> tuple[Floats, Floats, tuple[SharedWay, ...], csr_array]:
        hosts = len(self.used)
        latency = np.zeros((hosts, hosts))
        rows, columns = [], []
        way = message_paths.of_tables(self.network)
        for s, source in enumerate(self.used):
            for d, destination in enumerate(self.used):
                if s == d:
                    continue
                steps = way(source, destination)
                if not steps:
                    raise UsageError(
                        f"{self.network.file}: the path from {self.network.vertex_name(source)} to "
                        f"{self.network.vertex_name(destination)} is not known"
                    )
                for numbers, seconds in map(self._passed, steps):
                    latency[s, d] += seconds
                    for number in numbers:
                        rows.append(s * hosts + d)
                        columns.append(number)
                        self.users[number][0].add(s)
                        self.users[number][1].add(d)
        shape = (hosts * hosts, len(self.rates))
        passes = csr_array((np.ones(len(rows)), (rows, columns)), shape=shape)
        senders = np.array([min(map(len, both)) for both in self.users])
        cost = (
            (passes @ (senders / np.array(self.rates))).reshape(hosts, hosts) if self.rates else latency * 0
        )
        for at, host in enumerate(self.used):
            cost[at, at] = 8 / self.network.hosts[host].memory_bits_per_second
        return cost, latency, self._ways(), passes

    def _passed(self, step: Step) -> tuple[tuple[int, ...], float]:
        """Returns the capacities of a link and of the switches at its ends, and the seconds to beyond it."""
        if step not in self.steps:
            to = step[1] - len(self.network.hosts)
            beyond = self.network.switches[to].latency_seconds if to >= 0 else 0.0
            self.steps[step] = tuple(self._capacities(*step)), self.edges[step].latency_seconds + beyond
        return self.steps[step]

    def _capacities(self, a: int, b: int) -> Iterator[int]:
        network, hosts = self.network, len(self.network.hosts)
        edge = self.edges[a, b]
        # Both directions of a half-duplex link are one capacity.
        one, other = (edge.a, edge.b) if edge.half_duplex else (a, b)
        words = "between {} and {}" if edge.half_duplex else "from {} to {}"
        names = network.vertex_name(one), network.vertex_name(other)
        yield from self._numbered(words.format(*names), edge.rate_from(a))
        for inside, outside, words in ((b, a, "from the hosts of"), (a, b, "to the hosts of")):
            if inside < hosts:
                continue
            switch = network.switches[inside - hosts]
            if switch.is_through:
                # Once for each message: as it enters.
                if inside == b:
                    yield from self._numbered(f"through {switch.name}", switch.capacity_bits_per_second)
            elif outside < hosts:
                yield from self._numbered(f"{words} {switch.name}", switch.capacity_bits_per_second)

    def _numbered(self, name: str, bits_per_second: float) -> Iterator[int]:
        if not math.isfinite(bits_per_second):
            return
        if name not in self.numbers:
            self.numbers[name] = len(self.rates)
            self.rates.append(bits_per_second * self.network.efficiency / 8)
            self.users.append((set(), set()))
        yield self.numbers[name]

    def _ways(self) -> tuple[SharedWay, ...]:
        fastest = max(self.rates, default=1.0)
        # A host's own rate is that of the ways which only it uses.
        out, into = defaultdict[int, float](lambda: fastest), defaultdict[int, float](lambda: fastest)
        for rate, (sources, destinations) in zip(self.rates, self.users, strict=True):
            for those, own in ((sources, out), (destinations, into)):
                if len(those) == 1:
                    (host,) = those
                    own[host] = min(own[host], rate)
        return tuple(
            SharedWay(
                name, rate, min(sum(out[s] for s in sources), sum(into[d] for d in destinations)) / rate
            )
            for name, rate, (sources, destinations) in zip(self.numbers, self.rates, self.users, strict=True)
        )
