"""Counts what a network of a given size needs: hosts, adapters, cables, and switches by ports."""

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
    """Wiring of a design, which may have a few more ports than its nodes need."""

    switch_ports: Mapping[int, int]
    """Number of switches for each number of wired ports."""
    trunk_cables: int
    """Cables between switches."""


@dataclass(frozen=True)
class Plant:
    """A network with `nodes` nodes, which may differ from the number in its file."""

    file: str
    figures: Mapping[str, Any]
    nodes: int

    @property
    def own_nodes(self) -> int:
        return int(self.figures["counts"]["hosts"])

    @property
    def adapters(self) -> int:
        """Number of ports that the nodes occupy."""
        return round(self.nodes * float(self.figures["counts"]["adapters"]) / self.own_nodes)

    @property
    def ports(self) -> int:
        """The size that selects a price step.

        Without switches a node counts once, however many cables end at it.
        """
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
        """The design's wiring at this size. Raises NotResizable if it has none."""
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
        """A network file with at least `nodes` nodes: the network's own, or one written to `folder`."""
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
        raise UsageError(f"--nodes {nodes}: must be between 1 and {MOST_NODES:,}")
    return Plant(file, figures, nodes or own)


def _wiring(graph: Graph) -> Wiring:
    """Counts the ports of boxes. Chips, modules and backplane joined without cables are one box to buy."""
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
    """Wiring of a network too large to list; None if unknown.

    If the switches' wired ports add up to their radix times their number, every switch uses all its ports.
    """
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
    """For each vertex, the vertex that represents its box."""
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
    """Removes idle switches: those without hosts and with at most one neighbour, which nobody would buy.

    An example is the root of a tree whose nodes all fit one leaf.
    """
    idle = [each for each in trunks if each not in has_hosts and len(trunks[each]) <= 1]
    while idle:
        gone = idle.pop()
        for other in trunks.pop(gone):
            ports[other] -= trunks[other].pop(gone)
            if other not in has_hosts and len(trunks[other]) <= 1:
                idle.append(other)


def _host_link_rate(file: str, figures: Mapping[str, Any]) -> float:
    """Rate of the hosts' links in bits per second; 0 if unknown.

    For a network too large to list, it follows from the bisection.
    """
    try:
        graph = network.load(file, graph=True).graph
    except CrosscutError:
        bisection = figures.get("bisection") or {}
        links = float(bisection.get("host_links") or 0)
        return float(bisection.get("bits_per_second") or 0) / links if links else 0.0
    assert graph is not None
    rates = (edge.bits_per_second for edge in graph.edges if min(edge.a, edge.b) < graph.hosts)
    return max((rate for rate in rates if math.isfinite(rate)), default=0.0)
