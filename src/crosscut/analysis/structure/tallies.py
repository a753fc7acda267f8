"""How often each rank's routes to and from each group were slow, kept up to date while ranks move."""

from __future__ import annotations

import numpy as np

from crosscut.analysis.stats.intervals import Floats
from crosscut.analysis.structure.observed import Integers


def counts(values: Integers, labels: Integers, groups: int) -> Integers:
    """[group, group] sums of [rank, rank] counts."""
    members = _members(labels, groups)
    # Products of floating point numbers use the processor's vectors; sums of counts below 2^53 are exact.
    return np.asarray(np.rint(members.T @ values.astype(np.float64) @ members), np.int64)


def _members(labels: Integers, groups: int) -> Floats:
    members = np.zeros((len(labels), groups))
    members[np.arange(len(labels)), labels] = 1.0
    return members


class Tallies:
    """Sums over one [source, destination] table of counts, without its diagonal."""

    def __init__(self, values: Integers, labels: Integers, groups: int) -> None:
        self._values = values
        members, floats = _members(labels, groups), values.astype(np.float64)
        self.out = np.asarray(np.rint(floats @ members), np.int64)
        """[rank, group] of its routes to members of the group"""
        self.back = np.asarray(np.rint(floats.T @ members), np.int64)
        self.between = np.asarray(np.rint(members.T @ self.out), np.int64)
        """[group, group]"""

    def without(self, rank: int, group: int) -> Integers:
        """`between` as it would be if `rank` were not in `group`, where it is."""
        left = self.between.copy()
        left[group] -= self.out[rank]
        left[:, group] -= self.back[rank]
        return left

    def without_each(self, ranks: Integers, groups: Integers) -> Integers:
        """[rank, group, group] `between` without one rank each, which is in the group given."""
        left, each = np.repeat(self.between[None], len(ranks), axis=0), np.arange(len(ranks))
        left[each, groups] -= self.out[ranks]
        left[each, :, groups] -= self.back[ranks]
        return left

    def move(self, rank: int, before: int, after: int) -> None:
        self.between = self.without(rank, before)
        for table, row in ((self.out, self._values[:, rank]), (self.back, self._values[rank])):
            table[:, before] -= row
            table[:, after] += row
        self.between[after] += self.out[rank]
        self.between[:, after] += self.back[rank]
