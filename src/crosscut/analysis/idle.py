"""Which ranks are near each other, from the latency of a network that is as good as idle.

Short messages hardly load anything, so all ranks may send one at once, and what a message takes is its way:
each switch adds its latency, and a host that forwards adds more (Salmon, Stein and Sterling, SC98, section 3:
19 to 30 us for a switch, about 75 us for a host). Ranks of one switch are the nearest; the model that tells
groups is the same as for rates, with `far` in place of `slow`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crosscut.analysis import grouping
from crosscut.analysis.grouping import Grouping
from crosscut.analysis.observed import Integers, Observed
from crosscut.analysis.unshared import unshared

# Of routes within a group, those that may be far: a late message, not another switch.
_FAR_WITHIN_AT_MOST = 0.05
# Every rank surely in its group: as for rates.
SURE = 0.999


@dataclass(frozen=True)
class Nearness:
    grouping: Grouping
    sure: bool
    """Ranks of a group are near, all others far, and no rank might as well be elsewhere."""


def nearness(idle: Observed) -> Nearness:
    """`idle`: short messages, their `rate` one over the seconds that each took."""
    alone = unshared(idle)
    far = alone.slowness(idle) < alone.threshold
    slow, total = _table(idle, far), _table(idle, np.ones(len(idle), bool))
    found = grouping.group(slow, total)
    within = grouping.slow_within(slow, total, found.labels)
    smallest = int(np.bincount(found.labels).min())
    sure = found.count > 1 and smallest > 1 and within <= _FAR_WITHIN_AT_MOST
    return Nearness(found, bool(sure and found.confidence.min() > SURE))


def _table(idle: Observed, counted: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Integers:
    table = np.zeros((idle.ranks, idle.ranks), np.int64)
    np.add.at(table, (idle.source, idle.destination), counted.astype(np.int64))
    return table
