"""Placement of a network's vertices in a drawing, computed from the graph alone.

There are three layouts: rows of switches over their hosts (trees), groups around a circle (modules,
meta-nodes, dragonflies), and spectral, with the two smoothest functions on the graph as coordinates (rings,
tori, hypercubes; Hall 1970, "An r-dimensional quadratic placement algorithm").
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crosscut.network.description import Graph

# With more hosts than this in the network, a row layout draws the hosts of each switch as one box.
HOSTS_IN_A_ROW = 128
_DENSE_LIMIT = 3000  # vertices; the eigenvectors of a dense matrix this large take seconds


@dataclass(frozen=True)
class Bundle:
    """Hosts of one switch, drawn as one box."""

    switch: int
    hosts: tuple[int, ...]


@dataclass(frozen=True)
class Layout:
    """Positions in the unit square, y downwards. NaN marks a vertex that is not drawn by itself."""

    kind: str  # "rows", "circle", "spectral"
    at: NDArray[np.float64]  # [vertex, (x, y)]
    bundles: tuple[Bundle, ...] = ()
    bundle_at: NDArray[np.float64] | None = None  # [bundle, (x, y)]
    rows: int = 1


def lay_out(graph: Graph) -> Layout:
    if not graph.vertices:
        return Layout("rows", np.zeros((0, 2)))
    levels = {vertex.level for vertex in graph.vertices if not vertex.is_host}
    groups = {vertex.group for vertex in graph.vertices if vertex.group is not None}
    if len(levels) > 1 or (levels and len(graph.vertices) - graph.hosts == 1):
        return _rows(graph)
    if len(groups) > 2:
        return _circle(graph)
    if levels:
        return _rows(graph)
    return _spectral(graph)


def switch_of(graph: Graph) -> dict[int, int]:
    """Returns the first switch of each host that has one."""
    found: dict[int, int] = {}
    for edge in graph.edges:
        host, other = min(edge.a, edge.b), max(edge.a, edge.b)
        if host < graph.hosts <= other:
            found.setdefault(host, other)
    return found


def _spaced(count: int) -> NDArray[np.float64]:
    return (np.arange(count) + 0.5) / max(count, 1)


def _rows(graph: Graph) -> Layout:
    """Places one row per level, hosts at the bottom. Vertex numbers give the order, as generators intend."""
    at = np.full((len(graph.vertices), 2), np.nan)
    top = max((vertex.level for vertex in graph.vertices if not vertex.is_host), default=0)
    rows = top + 2
    by_level: defaultdict[int, list[int]] = defaultdict(list)
    for index, vertex in enumerate(graph.vertices):
        if not vertex.is_host:
            by_level[vertex.level].append(index)
    for level, members in by_level.items():
        at[members, 0] = _spaced(len(members))
        at[members, 1] = (top - level + 0.5) / rows
    bottom = (rows - 0.5) / rows
    if graph.hosts <= HOSTS_IN_A_ROW:
        at[: graph.hosts, 0] = _spaced(graph.hosts)
        at[: graph.hosts, 1] = bottom
        return Layout("rows", at, rows=rows)
    of_switch: defaultdict[int, list[int]] = defaultdict(list)
    for host, switch in sorted(switch_of(graph).items()):
        of_switch[switch].append(host)
    bundles = tuple(Bundle(switch, tuple(hosts)) for switch, hosts in sorted(of_switch.items()))
    places = np.array([(at[bundle.switch, 0], bottom) for bundle in bundles])
    return Layout("rows", at, bundles, places, rows)


def _circle(graph: Graph) -> Layout:
    """Places groups around a circle, with each group's switches on the inside and hosts on the outside."""
    members: defaultdict[int, list[int]] = defaultdict(list)
    for index, vertex in enumerate(graph.vertices):
        members[-1 if vertex.group is None else vertex.group].append(index)
    at = np.full((len(graph.vertices), 2), np.nan)
    count = len(members)
    for place, (_, indices) in enumerate(sorted(members.items())):
        middle = 2 * math.pi * place / count - math.pi / 2
        width = 2 * math.pi / count * 0.8
        for is_host, radius in ((False, 0.30), (True, 0.46)):
            ones = [index for index in indices if graph.vertices[index].is_host == is_host]
            angles = middle + (_spaced(len(ones)) - 0.5) * width
            at[ones, 0] = 0.5 + radius * np.cos(angles)
            at[ones, 1] = 0.5 + radius * np.sin(angles)
    return Layout("circle", at)


def _spectral(graph: Graph) -> Layout:
    count = len(graph.vertices)
    if count <= 2 or count > _DENSE_LIMIT:
        angles = 2 * math.pi * np.arange(count) / count - math.pi / 2
        return Layout("circle", 0.5 + 0.44 * np.column_stack([np.cos(angles), np.sin(angles)]))
    laplacian = np.zeros((count, count))
    for (a, b), cables in Counter((min(e.a, e.b), max(e.a, e.b)) for e in graph.edges).items():
        laplacian[a, b] -= cables
        laplacian[b, a] -= cables
    np.fill_diagonal(laplacian, -laplacian.sum(axis=1))
    # A tiny term by vertex number splits multidimensional eigenspaces deterministically.
    laplacian += np.diag(np.linspace(0, 1e-6, count))
    _, vectors = np.linalg.eigh(laplacian)
    at = vectors[:, 1:3]
    ends = [end for edge in graph.edges for end in (edge.a, edge.b)]
    if len(set(np.bincount(ends, minlength=count).tolist())) == 1:
        # In a regular graph such as a torus, several axes share an eigenvalue. Further pairs of eigenvectors
        # are added with decreasing weight, so that no vertex hides another.
        for pair, weight in ((3, 0.33), (5, 0.11)):
            if count > pair + 1:
                at = at + weight * vectors[:, pair : pair + 2]
    span = np.ptp(at, axis=0)
    return Layout("spectral", 0.06 + 0.88 * (at - at.min(axis=0)) / np.where(span > 0, span, 1))
