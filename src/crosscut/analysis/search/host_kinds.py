"""Finds hosts of a slower kind, which have another adapter or processor and all reach the same lower rate.

Under full load, a shared limit looks the same. So half of them exchange with sound hosts while the other half
is silent, in turns. With a shared limit, the active half would get faster; with slow links of their own, it
would not. The method is our own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from crosscut.analysis.findings import slow_messages
from crosscut.analysis.search import thresholds
from crosscut.analysis.stats.intervals import Floats
from crosscut.analysis.structure.observed import Observed, Route
from crosscut.analysis.structure.unshared import unshared


@dataclass(frozen=True)
class HostKinds:
    of_kind: Floats | None = None
    """[rank] rate of its kind as a share of the fastest kind's; None: one kind, or unknown."""
    candidates: tuple[int, ...] = ()
    asked: bool = False

    def ask(self, full: Observed, random: Generator) -> tuple[list[list[Route]], HostKinds]:
        """Returns two phases, or none if all hosts seem to be of one kind."""
        slower = alike_and_slower(full)
        if not slower.any():
            return [], self
        order = random.permutation(np.nonzero(slower)[0]).tolist()
        sound = random.permutation(np.nonzero(~slower)[0]).tolist()
        halves = [order[::2], order[1::2]]
        asked = replace(self, candidates=tuple(order), asked=True)
        return [
            [route for one, other in zip(half, sound, strict=False) for route in ((one, other), (other, one))]
            for half in halves
        ], asked

    def learn(self, full: Observed, seen: Observed) -> HostKinds:
        """Takes for a slower kind the hosts that stay as slow, both ways, while half of them are silent."""
        before = full.where(
            np.isin(full.source, self.candidates) | np.isin(full.destination, self.candidates)
        )
        if not len(before):
            return self
        usual = float(np.median(np.log(before.rate)))
        ordinary, logs = unshared(full), np.log(seen.rate)
        slow = logs < (usual + math.log(ordinary.nominal)) / 2
        apart = max(thresholds.AS_OF_KIND, 3 * ordinary.noise)
        near = np.abs(logs - usual) < apart
        if slow.mean() < 0.5 or near[slow].mean() < thresholds.SURELY_OF_KIND:
            return self  # a shared limit or something else slows them
        fast = np.concatenate([seen.source[~slow], seen.destination[~slow]])
        lowest = np.minimum(self._lowest(before), self._lowest(seen))
        # Between the kinds is a slow host of the fastest kind.
        slower = np.setdiff1d(self.candidates, [*fast, *np.nonzero(lowest > usual + apart)[0]])
        of_kind = np.ones(full.ranks)
        of_kind[slower] = math.exp(usual) / ordinary.nominal
        return replace(self, of_kind=of_kind)

    def _lowest(self, observed: Observed) -> Floats:
        """Returns [rank] the lowest log rate with a host that is no candidate; -inf: none was measured."""
        of_candidates = (
            np.isin(observed.source, self.candidates),
            np.isin(observed.destination, self.candidates),
        )
        lowest = np.full(observed.ranks, np.inf)
        for ends, mine, other in (
            (observed.source, *of_candidates), (observed.destination, *of_candidates[::-1])
        ):  # fmt: skip
            told = mine & ~other
            np.minimum.at(lowest, ends[told], np.log(observed.rate[told]))
        return np.where(np.isfinite(lowest), lowest, -np.inf)


def untold(full: Observed) -> bool:
    """True if some end has met only hosts of slower kinds, so that nothing shows whether it is slow."""
    return any(
        np.bincount(ends[full.tells_of(ends)], minlength=full.ranks).min() < thresholds.FIRST_PERMUTATIONS
        for ends in (full.source, full.destination)
    )


def among_equals(of_kind: Floats, count: int, random: Generator) -> list[list[Route]]:
    """Returns phases in which each host sends to one of its own kind, and receives from one."""
    kinds = [np.nonzero(of_kind == kind)[0] for kind in np.unique(of_kind)]
    return [
        [
            route for members in kinds if len(members) > 1
            for order in (random.permutation(members),)
            for route in zip(order.tolist(), np.roll(order, -1).tolist(), strict=True)
        ]
        for _ in range(count)
    ]  # fmt: skip


def alike_and_slower(full: Observed) -> NDArray[np.bool_]:
    """Returns [rank] True if it may be of a slower kind: all its messages are slow, at one common rate.

    All are False if messages between other hosts are about as slow, or if only a few hosts, or most, are
    slow.
    """
    slow, none = slow_messages.slow(full, full), np.zeros(full.ranks, bool)
    always = np.ones(full.ranks, bool)
    for ends in (full.source, full.destination):
        always &= np.bincount(ends[~slow], minlength=full.ranks) == 0
    theirs = always[full.source] | always[full.destination]
    few = always.sum() <= slow_messages.most_slow_hosts(full.ranks)
    most = always.sum() > thresholds.MOST_OF_KIND * full.ranks
    if few or most or theirs.all():
        return none
    ordinary, logs = unshared(full), np.log(full.rate)
    level = float(np.median(logs[theirs]))
    gap = math.log(ordinary.nominal) - level
    as_slow = logs[~theirs] < level + gap / 2
    if as_slow.mean() > thresholds.OTHERS_SLOW:
        return none
    spread = float(np.median(np.abs(logs[theirs] - level))) * thresholds.DEVIATION_OF_MEDIAN
    widest = max(thresholds.AS_OF_KIND / 2, 1.5 * ordinary.noise, thresholds.SPREAD_OF_KIND * gap)
    return always if spread < widest else none
