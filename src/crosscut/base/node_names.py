"""Names of a run's nodes: listed one by one, or, where they are very many, by the first and the last."""

from __future__ import annotations

import re
from collections.abc import Mapping

# More than a run can have ranks: a damaged count must not take the memory of the machine.
MOST_NODES = 1 << 24
_NUMBERED = re.compile(r"(.*?)(\d+)")


def node_names(nodes: object) -> list[str]:
    """Names in the attribute `nodes`; "" for a node without one."""
    if isinstance(nodes, list):
        return [_name(node) for node in nodes]
    if not isinstance(nodes, Mapping):
        return []
    count = nodes.get("count")
    if type(count) is not int or not 0 < count <= MOST_NODES:
        return []
    first, last = _name(nodes.get("first")), _name(nodes.get("last"))
    return _between(first, last, count) or [first, *[""] * (count - 2), last][:count]


def _name(node: object) -> str:
    name = node.get("name") if isinstance(node, Mapping) else None
    return name if isinstance(name, str) else ""


def _between(first: str, last: str, count: int) -> list[str]:
    """Names that are numbered throughout, as those that generators make; else none."""
    low, high = _NUMBERED.fullmatch(first), _NUMBERED.fullmatch(last)
    if low is None or high is None or low[1] != high[1] or int(high[2]) - int(low[2]) + 1 != count:
        return []
    return [f"{low[1]}{number:0{len(low[2])}d}" for number in range(int(low[2]), int(high[2]) + 1)]
