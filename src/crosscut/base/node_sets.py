"""Names of nodes as ranges: `n[0000-0041]`, by ClusterShell's NodeSet, which clusters' own tools use, too."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Sequence

from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet, NodeSetException

# Characters of a list of hosts in a sentence.
LIST_WIDTH = 48
# Characters with a meaning for NodeSet are never taken from a run: a name could otherwise expand to billions.
_PLAIN = re.compile(r"[A-Za-z0-9._:-]{1,255}")


def folded(names: Sequence[str], most: int = 0) -> str:
    """Returns the names as ranges, or as a list if they are no plain names.

    `most`: characters, beyond which ranges are left out for "…"; 0: any number.
    """
    parts = list(names)
    # NodeSet refuses numbers of more than 100 digits.
    with contextlib.suppress(NodeSetException):
        if all(map(_PLAIN.fullmatch, names)):
            ranges = str(NodeSet.fromlist(names, resolver=RESOLVER_NOGROUP))
            parts = re.findall(r"(?:[^,\[]|\[[^\]]*\])+", ranges)
    text = ", ".join(parts)
    if not most or len(text) <= most or "," not in text:
        return text
    kept = text[: text.rfind(",", 0, most) if "," in text[:most] else text.index(",")]
    return f"{kept},…]" if kept.count("[") > kept.count("]") else f"{kept}, …"
