"""Hosts of the E7's configurations, numbered at random, and the truth about them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.processes import BenchmarkError
from crosscut.network import description as network

Integers = NDArray[np.int64]
MBIT = 1e6
# TR 391, section 5.1: limits of a pair of modules, and of what an ASIC's hosts send or receive.
PAIR_BITS_PER_SECOND, ASIC_BITS_PER_SECOND, HOST_BITS_PER_SECOND = 800 * MBIT, 1600 * MBIT, 100 * MBIT


@dataclass(frozen=True)
class Cluster:
    name: str
    about: str
    network: str
    """Its name in the catalogue, in which hosts fill one ASIC after another."""
    hosts: tuple[int, ...]
    emulated: bool = False
    """Small enough to be emulated on two cores, slowed down."""
    least_phases: int = 0
    """For `--least-phases`; 0: the search decides."""


def _chips(*chips: int) -> tuple[int, ...]:
    """Returns the hosts of these ASICs of configuration 1, with 16 hosts each."""
    return tuple(16 * chip + host for chip in chips for host in range(16))


_FIRST, _SECOND = "xibalba-e7-config1", "xibalba-e7-config2"
CLUSTERS = (
    Cluster("config1", "configuration 1", _FIRST, tuple(range(128))),
    Cluster("config2-96", "configuration 2, two modules of 48", _SECOND, tuple(range(96)), emulated=True),
    Cluster("config1-64", "configuration 1, two modules of 32", _FIRST, _chips(0, 1, 2, 3), emulated=True),
    # One random permutation in eight sends more than eight messages from one module of 16 to another.
    Cluster("config1-48", "configuration 1, three modules of 16", _FIRST, _chips(0, 2, 4), True, 24),
)


@dataclass(frozen=True)
class Truth:
    modules: Integers
    """[rank]"""
    asics: Integers
    """[rank]"""

    @property
    def ranks(self) -> int:
        return len(self.modules)

    def limits(self) -> Mapping[tuple[str, int, int], float]:
        """Returns the bits per second of the limits that the hosts can fill, by (kind, from, to or -1)."""
        found = {
            ("pair", a, b): PAIR_BITS_PER_SECOND
            for a, b in permutations(range(int(self.modules.max()) + 1), 2)
            if self._sent(self.modules, a) > PAIR_BITS_PER_SECOND
        }
        for asic in range(int(self.asics.max()) + 1):
            if self._sent(self.asics, asic) > ASIC_BITS_PER_SECOND:
                found["sent", asic, -1] = found["received", asic, -1] = ASIC_BITS_PER_SECOND
        return found

    def _sent(self, labels: Integers, group: int) -> float:
        return int((labels == group).sum()) * HOST_BITS_PER_SECOND


def shuffled(cluster: Cluster, path: Path, seed: int) -> Truth:
    """Writes a network file of these hosts, in random order and with meaningless names."""
    graph = network.load(cluster.network, graph=True).graph
    if graph is None:
        raise BenchmarkError(f"{cluster.network}: its graph is unknown")
    order = np.random.default_rng(seed).permutation(np.array(cluster.hosts)).tolist()
    path.write_text("\n".join(_lines(graph, order)) + "\n", encoding="ascii")
    asic_of = {edge.a: graph.vertices[edge.b].name for edge in graph.edges if edge.a < graph.hosts}
    asics = [asic_of[host] for host in order]
    return Truth(_numbered([asic.split(".")[0] for asic in asics]), _numbered(asics))


def _lines(graph: network.Graph, order: list[int]) -> Iterator[str]:
    names = {host: f"r{rank:03}" for rank, host in enumerate(order)}
    for name in names.values():
        yield f'[[hosts]]\nnames = "{name}"'
    for at, vertex in enumerate(graph.vertices[graph.hosts :], graph.hosts):
        names[at] = vertex.name
        yield f'[[switches]]\nnames = "{vertex.name}"'
        if vertex.capacity_bits_per_second:
            yield f'capacity = "{vertex.capacity_bits_per_second / MBIT:g} Mbit/s"'
    for edge in graph.edges:
        if edge.a in names and edge.b in names:
            # No limit between an ASIC and its module is known, so the ASIC's own stands in.
            rate = min(edge.bits_per_second, ASIC_BITS_PER_SECOND) / MBIT
            yield f'[[links]]\nbetween = ["{names[edge.a]}", "{names[edge.b]}"]\nrate = "{rate:g} Mbit/s"'


def _numbered(names: list[str]) -> Integers:
    return np.asarray(np.unique(names, return_inverse=True)[1], np.int64)
