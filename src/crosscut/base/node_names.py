"""Names of a run's nodes: a list, or for very many nodes only the first, the last and the count."""

from __future__ import annotations

import re
from collections.abc import Mapping

# The most ranks that a run can have: a damaged count must not exhaust the machine's memory.
MOST_NODES = 1 << 24
# Only the last 15 digits are the number, because Python refuses to convert thousands.
_NUMBERED = re.compile(r"(.*?)([0-9]{1,15})")


def node_names(nodes: object) -> list[str]:
    """Returns the names in the attribute `nodes`, "" for a node without one; empty if it is malformed."""
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
    """Returns names numbered consecutively from first to last; empty if their number is not `count`."""
    low, high = _NUMBERED.fullmatch(first), _NUMBERED.fullmatch(last)
    if low is None or high is None or low[1] != high[1] or int(high[2]) - int(low[2]) + 1 != count:
        return []
    return [f"{low[1]}{number:0{len(low[2])}d}" for number in range(int(low[2]), int(high[2]) + 1)]
