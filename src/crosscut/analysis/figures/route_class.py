"""Classes of routes: within a node, within a group of nodes that share a switch, between groups."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

WITHIN_NODE = "within node"
WITHIN_GROUP = "within group"
BETWEEN_GROUPS = "between groups"
BETWEEN_NODES = "between nodes"
CLASSES = (WITHIN_NODE, WITHIN_GROUP, BETWEEN_GROUPS, BETWEEN_NODES)


@dataclass(frozen=True)
class Groups:
    """[rank] number of its group, -1 if it has none; and what a group is called (module, pod, leaf)."""

    labels: Ints
    word: str = "group"
    source: str = ""
    """Where the groups come from, in words such as `the network's description`."""

    @property
    def known(self) -> bool:
        return bool((self.labels >= 0).any())


NO_GROUPS = Groups(np.zeros(0, np.int64))


def members(name: str, source: Ints, destination: Ints, node: Ints, groups: Groups) -> NDArray[np.bool_]:
    """[route] True if it is of the class `name`. No route is within or between unknown groups."""
    same_node = node[source] == node[destination]
    if name == WITHIN_NODE:
        return np.asarray(same_node)
    if name == BETWEEN_NODES:
        return np.asarray(~same_node)
    if not groups.known:
        return np.zeros(len(source), bool)
    one, other = groups.labels[source], groups.labels[destination]
    there = ~same_node & (one >= 0) & (other >= 0)
    return np.asarray(there & ((one == other) if name == WITHIN_GROUP else (one != other)))
