"""Which algorithm a library's collective operation sends like, by what the nodes' adapters counted."""

from __future__ import annotations

import math
from collections.abc import Container, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

# Two phases send alike if the bytes and the frames of most nodes differ by at most this factor. TCP
# acknowledges by chance: bytes of short messages vary by up to a twentieth, frames by up to a tenth.
MOST_APART = 1.15
# So many nodes must send alike; the others may have had other traffic. In trees half of the nodes are leaves,
# which hardly send, whatever the tree.
_MOST_NODES = 0.8
# Some node sends at least about half of the vector in any operation. Adapters that count less at the largest
# size do not see what the library sends. At smaller sizes than this, barriers alone may send as much.
LEAST_LARGEST_BYTES = 4000

Sent = dict[tuple[int, int], NDArray[np.float64]]
"""By size and phase: [2, node] bytes and frames for each call."""


def sent_like(
    value: object, library: int, algorithms: Sequence[int], nodes: Container[str]
) -> dict[int, tuple[int, ...]]:
    """Returns by size, ascending, the algorithms that the library's call sends like: none, one, or several
    that do not differ. `value` is a run's attribute `sent_by_adapters`; the phases are numbers as in the run;
    `nodes` are those with ranks that take part.

    A size is missing if not all phases were counted, as after a resume. Empty if the adapters did not see the
    messages.
    """
    taking_part = (
        {node: rows for node, rows in value.items() if node in nodes} if isinstance(value, dict) else {}
    )
    sent, phases = _sent(taking_part), (library, *algorithms)
    sizes = sorted(
        size for size, phase in sent if phase == library and all((size, p) in sent for p in phases)
    )
    if not sizes or sizes[-1] < LEAST_LARGEST_BYTES or sent[sizes[-1], library][0].max() < 0.4 * sizes[-1]:
        return {}
    most = np.log(MOST_APART)
    return {
        size: tuple(
            one for one in algorithms if bool((_apart(sent[size, library], sent[size, one]) <= most).all())
        )
        for size in sizes
    }


def _apart(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    """[2] logarithm of the largest factor between the bytes and the frames of most nodes."""
    apart = np.sort(np.abs(np.log(one / other)), axis=1)
    largest: NDArray[np.float64] = apart[:, math.ceil(_MOST_NODES * apart.shape[1]) - 1]
    return largest


def _sent(value: Mapping[str, object]) -> Sent:
    """Reads what all nodes counted; skips damage."""
    by_node = [
        {(size, phase): (sent / calls, frames / calls) for size, phase, calls, sent, frames in _rows(rows)}
        for rows in value.values()
    ]
    if len(by_node) < 2:
        return {}
    everywhere = set.intersection(*map(set, by_node))
    return {key: np.array([node[key] for node in by_node], float).T for key in everywhere}


def _rows(value: object) -> Iterator[tuple[int, int, int, int, int]]:
    for row in value if isinstance(value, list) else []:
        if isinstance(row, list) and len(row) == 5 and all(type(n) is int for n in row):
            size, phase, calls, sent, frames = row
            if size >= 0 and min(calls, sent, frames) > 0:
                yield size, phase, calls, sent, frames
