"""Counts of how often routes were measured and how often they were slow, and sums of these over groups."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from crosscut.analysis.stats.intervals import Floats
from crosscut.analysis.structure.observed import Integers, Observed

SLOW, ALL = 0, 1
"""Indices of the rows of counts."""


@dataclass(frozen=True)
class RouteCounts:
    """Counts of the measured routes only: a thousand ranks measure few of their million routes."""

    ranks: int
    source: Integers
    """[route] source rank, in ascending order."""
    destination: Integers
    counts: Integers
    """[SLOW or ALL, route]"""

    @classmethod
    def of(cls, observed: Observed, slow: NDArray[np.bool_]) -> RouteCounts:
        """`slow`: [message] True if slow."""
        routes, at = np.unique(observed.source * observed.ranks + observed.destination, return_inverse=True)
        counts = np.array([np.bincount(at, weights=slow), np.bincount(at)], np.int64)
        return cls(observed.ranks, *np.divmod(routes, observed.ranks), counts)

    def among(self, members: Integers) -> RouteCounts:
        """Returns the routes between `members`, which are renumbered in their order."""
        number = np.full(self.ranks, -1)
        number[members] = np.arange(len(members))
        source, destination = number[self.source], number[self.destination]
        kept = (source >= 0) & (destination >= 0)
        return RouteCounts(len(members), source[kept], destination[kept], self.counts[:, kept])

    def without(self, left_out: NDArray[np.bool_]) -> RouteCounts:
        """`left_out`: [route] True to drop it."""
        kept = ~left_out
        return RouteCounts(self.ranks, self.source[kept], self.destination[kept], self.counts[:, kept])

    def between(self, labels: Integers, groups: int) -> Integers:
        """Returns [SLOW or ALL, source group, destination group] counts."""
        return _sums(labels[self.source], labels[self.destination], self.counts, (groups, groups))

    def within(self, labels: Integers, groups: int) -> Integers:
        """Returns [SLOW or ALL, group] counts of the routes within each group."""
        inner = labels[self.source] == labels[self.destination]
        group = labels[self.source[inner]]
        return _sums(np.zeros_like(group), group, self.counts[:, inner], (1, groups))[:, 0]

    def across(self, labels: Integers, groups: int) -> Integers:
        """Returns [SLOW or ALL, pair] counts for the ordered pairs of different groups that have routes.

        Needs little memory if groups are many: a thousand have a million pairs.
        """
        outer = labels[self.source] != labels[self.destination]
        first, second = labels[self.source[outer]], labels[self.destination[outer]]
        pairs, pair = np.unique(first * groups + second, return_inverse=True)
        return _sums(np.zeros_like(pair), pair, self.counts[:, outer], (1, len(pairs)))[:, 0]

    def to_groups(self, labels: Integers, groups: int) -> Integers:
        """Returns [SLOW or ALL, rank, group] counts of each rank's routes to members of the group."""
        return _sums(self.source, labels[self.destination], self.counts, (self.ranks, groups))

    def from_groups(self, labels: Integers, groups: int) -> Integers:
        """Returns [SLOW or ALL, rank, group] counts of the routes from members of the group to each rank."""
        return _sums(self.destination, labels[self.source], self.counts, (self.ranks, groups))

    def dense(self, counted: NDArray[np.bool_]) -> NDArray[np.float32]:
        """Returns [source, destination] 1 for the routes `counted` ([route]), 0 for all others."""
        table = np.zeros((self.ranks, self.ranks), np.float32)
        table[self.source[counted], self.destination[counted]] = 1
        return table

    @cached_property
    def by_source(self) -> list[Integers]:
        """[rank] indices of its routes to others."""
        return _by(self.source, self.ranks)

    @cached_property
    def by_destination(self) -> list[Integers]:
        """[rank] indices of the routes to it."""
        return _by(self.destination, self.ranks)


def _by(ends: Integers, ranks: int) -> list[Integers]:
    order = np.argsort(ends, kind="stable")
    return np.split(order, np.searchsorted(ends[order], np.arange(1, ranks)))


def _sums(first: Integers, second: Integers, counts: Integers, shape: tuple[int, int]) -> Integers:
    """Returns [SLOW or ALL, *shape] sums, which are exact in floating point below 2^53."""
    at, size = first * shape[1] + second, shape[0] * shape[1]
    sums = [np.bincount(at, weights=row, minlength=size).reshape(shape) for row in counts]
    return np.array(sums, np.int64)


class Tallies:
    """Sums of route counts over groups, updated as ranks move; no route leads from a rank to itself."""

    def __init__(self, routes: RouteCounts, labels: Integers, groups: int) -> None:
        self._routes = routes
        self.out = routes.to_groups(labels, groups)
        self.back = routes.from_groups(labels, groups)
        self.between = routes.between(labels, groups)

    def without(self, rank: int, group: int) -> Integers:
        """Returns `between` without `rank`, which is in `group`."""
        left = self.between.copy()
        left[:, group] -= self.out[:, rank]
        left[:, :, group] -= self.back[:, rank]
        return left

    def without_each(self, ranks: Integers, groups: Integers) -> Integers:
        """Returns [SLOW or ALL, rank, group, group] `between` without one rank each. `groups`: of ranks."""
        left, each = np.repeat(self.between[:, None], len(ranks), axis=1), np.arange(len(ranks))
        left[:, each, groups] -= self.out[:, ranks]
        left[:, each, :, groups] -= self.back[:, ranks].swapaxes(0, 1)
        return left

    def move(self, rank: int, before: int, after: int) -> None:
        self.between = self.without(rank, before)
        routes = self._routes
        for table, ends, mine in (
            (self.out, routes.source, routes.by_destination[rank]),
            (self.back, routes.destination, routes.by_source[rank]),
        ):
            table[:, ends[mine], before] -= routes.counts[:, mine]
            table[:, ends[mine], after] += routes.counts[:, mine]
        self.between[:, after] += self.out[:, rank]
        self.between[:, :, after] += self.back[:, rank]


def log_factorials(largest: int) -> Floats:
    """Returns the log factorials of 0 to `largest`."""
    return np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, largest + 1)))])
