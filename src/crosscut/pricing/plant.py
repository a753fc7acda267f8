"""What there is to buy for a network of so many nodes: hosts, adapters, cables, switches by their ports."""

from __future__ import annotations

import math
import tempfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from crosscut.base import toml_fields
from crosscut.base.errors import CrosscutError, UsageError
from crosscut.network import description as network
from crosscut.network.description import Graph
from crosscut.pricing.book import Traits
from crosscut.pricing.resizing import NotResizable, resized

MOST_NODES = 1 << 24


@dataclass(frozen=True)
class Wiring:
    """Wiring of the whole design; a size between two has a few ports more than are in use."""

    switch_ports: Mapping[int, int]
    """So many switches have so many wired ports."""
    trunk_cables: int
    """Between switches."""


@dataclass(frozen=True)
class Plant:
    """A network with a number of nodes, its own or another."""

    file: str
    figures: Mapping[str, Any]
    nodes: int

    @property
    def own_nodes(self) -> int:
        return int(self.figures["counts"]["hosts"])

    @property
    def adapters(self) -> int:
        """Ports that nodes occupy."""
        return round(self.nodes * float(self.figures["counts"]["adapters"]) / self.own_nodes)

    @property
    def ports(self) -> int:
        """By which a step of a price is chosen. Where hosts are wired to each other a node is one, however
        many ends of cables it has."""
        return self.adapters if self.has_switches else self.nodes

    @property
    def has_switches(self) -> bool:
        return int(self.figures["counts"]["switches"]) > 0

    @cached_property
    def traits(self) -> Traits:
        protocol = self.figures.get("protocol") or {}
        return Traits(
            name=str(self.figures["name"]),
            kind=str(self.figures.get("kind", "")),
            protocol=str(protocol.get("name", "")),
            bits_per_second=_host_link_rate(self.file, self.figures),
            processors=int(self.figures["counts"]["processors"]) // self.own_nodes,
        )

    @cached_property
    def wiring(self) -> Wiring:
        """The design's wiring at this size; NotResizable if it has none."""
        with tempfile.TemporaryDirectory(prefix="crosscut-price-") as folder:
            description = self.description(Path(folder))
            try:
                graph = network.load(description, graph=True).graph
            except CrosscutError as error:
                if self.nodes == self.own_nodes and (full := _all_full(self.figures)):
                    return full
                raise NotResizable(
                    f"{self.figures['name']}: its switches cannot be counted: {error}"
                ) from error
        assert graph is not None
        return _wiring(graph)

    def description(self, folder: Path) -> str:
        """A description with so many nodes, or a few more: the network's own, or one written to `folder`."""
        if self.nodes == self.own_nodes:
            return self.file
        try:
            text = resized(Path(str(self.figures["file"])), self.nodes)
        except NotResizable as error:
            raise NotResizable(
                f"{self.figures['name']} with {self.nodes:,} nodes in place of {self.own_nodes:,}: {error}"
            ) from error
        path = folder / f"{self.figures['name']}.toml"
        path.write_text(text, encoding="utf-8")
        return str(path)


def plant(file: str, nodes: int | None) -> Plant:
    figures = network.load(file).figures
    own = int(figures["counts"]["hosts"])
    if nodes is not None and not 1 <= nodes <= MOST_NODES:
        raise UsageError(f"--nodes {nodes}: between 1 and {MOST_NODES:,}")
    return Plant(file, figures, nodes or own)


def _wiring(graph: Graph) -> Wiring:
    """Chips, modules and backplane of a chassis, which no cable joins, are one switch to buy."""
    box = _boxes(graph)
    ports: Counter[int] = Counter()
    trunks: dict[int, Counter[int]] = {each: Counter() for each in box[graph.hosts :]}
    has_hosts = set()
    for edge in graph.edges:
        a, b = box[edge.a], box[edge.b]
        for end, other in ((a, b), (b, a)):
            if end >= graph.hosts and end != other:
                ports[end] += edge.cables
                if other < graph.hosts:
                    has_hosts.add(end)
                else:
                    trunks[end][other] += edge.cables
    _prune(trunks, ports, has_hosts)
    sizes = Counter(ports[each] for each in trunks if ports[each])
    return Wiring(sizes, sum(sum(cables.values()) for cables in trunks.values()) // 2)


def _all_full(figures: Mapping[str, Any]) -> Wiring | None:
    """Wiring of a network too large to list: if as many ports are wired as all switches of its radix have,
    each has that many."""
    try:
        document = toml_fields.document(Path(str(figures["file"])), "a network")
    except UsageError:
        return None
    generator, counts = document.values.get("generator"), figures["counts"]
    radix = generator.get("radix") if isinstance(generator, dict) else None
    if type(radix) is not int or counts["switch_ports"] != radix * counts["switches"]:
        return None
    return Wiring({radix: counts["switches"]}, counts["cables"] - counts["host_links"])


def _boxes(graph: Graph) -> list[int]:
    """For each vertex the one that stands for its box."""
    box = list(range(len(graph.vertices)))

    def root(vertex: int) -> int:
        while box[vertex] != vertex:
            box[vertex] = box[box[vertex]]
            vertex = box[vertex]
        return vertex

    for edge in graph.edges:
        if edge.cables == 0 and min(edge.a, edge.b) >= graph.hosts:
            box[root(edge.a)] = root(edge.b)
    return [root(vertex) for vertex in range(len(box))]


def _prune(trunks: dict[int, Counter[int]], ports: Counter[int], has_hosts: set[int]) -> None:
    """A switch without hosts that leads to one other only carries nothing, and nobody buys it: the root of a
    tree whose nodes all fit one leaf."""
    idle = [each for each in trunks if each not in has_hosts and len(trunks[each]) <= 1]
    while idle:
        gone = idle.pop()
        for other in trunks.pop(gone):
            ports[other] -= trunks[other].pop(gone)
            if other not in has_hosts and len(trunks[other]) <= 1:
                idle.append(other)


def _host_link_rate(file: str, figures: Mapping[str, Any]) -> float:
    """0: unknown. Of a network that is too large to be listed, as its bisection tells."""
    try:
        graph = network.load(file, graph=True).graph
    except CrosscutError:
        bisection = figures.get("bisection") or {}
        links = float(bisection.get("host_links") or 0)
        return float(bisection.get("bits_per_second") or 0) / links if links else 0.0
    assert graph is not None
    rates = (edge.bits_per_second for edge in graph.edges if min(edge.a, edge.b) < graph.hosts)
    return max((rate for rate in rates if math.isfinite(rate)), default=0.0)
