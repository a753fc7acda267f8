"""Divides ranks among groups of hosts, by METIS: as few bytes as possible between the groups.

Costs between hosts give the groups, a tree. From the widest apart to the nearest, METIS divides the ranks of
a group among its parts (dual recursive bipartitioning: Pellegrini, "Static mapping by dual recursive
bipartitioning of process and architecture graphs", SHPCC 1994; METIS: Karypis and Kumar, SIAM Journal on
Scientific Computing 20, 1998).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import average
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array
from scipy.spatial.distance import squareform

from crosscut.base.errors import UsageError
from crosscut.ordering.terrain import Floats

# Heights of groups that differ by less are one level.
_SAME_LEVEL = 1e-6
# METIS adds weights in 32 bits.
_ALL_WEIGHT = 1e9
_CUTS = 4
"""Partitions that METIS makes of each graph, of which it returns the best."""


@dataclass(frozen=True)
class HostGroup:
    hosts: tuple[int, ...]
    parts: tuple[HostGroup, ...] = ()
    """Empty for a single host."""


def metis() -> Any:
    """Returns the module. Raises UsageError if it is not installed."""
    try:
        import pymetis
    except ImportError as error:
        raise UsageError("crosscut place needs METIS: pip install 'crosscut[place]'") from error
    return pymetis


def groups(cost: Floats) -> HostGroup:
    """Returns the tree of groups of hosts. `cost`: [from, to]."""
    hosts = len(cost)
    nodes = [HostGroup((host,)) for host in range(hosts)]
    if hosts == 1:
        return nodes[0]
    both = (cost + cost.T) / 2
    np.fill_diagonal(both, 0)
    heights = [0.0] * hosts
    for a, b, height, _ in average(squareform(both, checks=False)):
        parts: list[HostGroup] = []
        for one in (int(a), int(b)):
            same = nodes[one].parts and height - heights[one] <= _SAME_LEVEL * height
            parts += nodes[one].parts if same else (nodes[one],)
        nodes.append(HostGroup(tuple(sorted(h for part in parts for h in part.hosts)), tuple(parts)))
        heights.append(height)
    return nodes[-1]


def assigned(weights: Floats, tree: HostGroup, room: Sequence[int], seed: int) -> NDArray[np.int64]:
    """Returns [rank] its host. `weights`: [rank, rank], symmetric; `room`: [host] places; they add up to the
    number of ranks."""
    host_of = np.zeros(len(weights), np.int64)

    def divide(ranks: NDArray[np.int64], group: HostGroup) -> None:
        if not group.parts:
            host_of[ranks] = group.hosts[0]
            return
        sizes = [sum(room[host] for host in part.hosts) for part in group.parts]
        part_of = _divided(weights[np.ix_(ranks, ranks)], sizes, seed)
        for number, part in enumerate(group.parts):
            divide(ranks[part_of == number], part)

    divide(np.arange(len(weights)), tree)
    return host_of


def _divided(weights: Floats, sizes: Sequence[int], seed: int) -> NDArray[np.int64]:
    """Returns [rank] its part; part p has exactly sizes[p] ranks."""
    blocks = np.repeat(np.arange(len(sizes)), sizes)
    graph = csr_array(weights)
    if len(sizes) == 1 or not graph.nnz or max(sizes) == 1:
        return blocks
    scaled = np.maximum(graph.data * (_ALL_WEIGHT / graph.data.sum()), 1).astype(np.int32)
    library = metis()
    _, parts = library.part_graph(
        len(sizes), library.CSRAdjacency(graph.indptr, graph.indices), eweights=scaled,
        tpwgts=[size / len(weights) for size in sizes],
        recursive=True, options=library.Options(seed=seed, ncuts=_CUTS, ufactor=1),
    )  # fmt: skip
    return _exact(weights, np.asarray(parts, np.int64), sizes)


def _exact(weights: Floats, part_of: NDArray[np.int64], sizes: Sequence[int]) -> NDArray[np.int64]:
    """METIS balances only roughly. Moves the fewest ranks to the parts with room, those that lose least."""
    ranks, parts = len(weights), len(sizes)
    if (np.bincount(part_of, minlength=parts) == sizes).all():
        return part_of
    near = np.zeros((ranks, parts))
    np.add.at(near.T, part_of, weights)
    stays = weights.sum() + 1
    near[np.arange(ranks), part_of] += stays
    blocks = np.repeat(np.arange(parts), sizes)
    _, places = linear_sum_assignment(near[:, blocks], maximize=True)
    return np.asarray(blocks[places], np.int64)
