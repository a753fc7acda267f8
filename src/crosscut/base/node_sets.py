"""Names of nodes as ranges: `n[0000-0041]`, by ClusterShell's NodeSet, which clusters' own tools use, too."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet

# Characters of a list of hosts in a sentence.
LIST_WIDTH = 48
# Characters with a meaning for NodeSet are never taken from a run: a name could otherwise expand to billions.
_PLAIN = re.compile(r"[A-Za-z0-9._:-]+")


def folded(names: Sequence[str], most: int = 0) -> str:
    """Returns the names as ranges, or as a list if they are no plain names.

    `most`: characters, after which a range that begins is left out for "…"; 0: any number.
    """
    if all(map(_PLAIN.fullmatch, names)):
        ranges = str(NodeSet.fromlist(names, resolver=RESOLVER_NOGROUP))
        parts = re.findall(r"(?:[^,\[]|\[[^\]]*\])+", ranges)
    else:
        parts = list(names)
    if not most:
        return ", ".join(parts)
    shown: list[str] = []
    length = 0
    for part in parts:
        length += len(part) + 2
        if shown and length > most:
            return f"{', '.join(shown)}, …"
        shown.append(part)
    return ", ".join(shown)
