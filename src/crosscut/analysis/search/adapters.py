"""Rates between nodes with several ranks: each rank may have an adapter of its own, or all share one.

A slow adapter of several hardly lowers the node's total. So where one rank of a route is much slower than the
others, the route counts as if all its ranks were as slow. Over TCP, ranks that share an adapter get unequal
rates anyway: only a rank that is slower by far more than usual counts. The method is our own.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from crosscut.analysis.findings.model import Direction, Finding
from crosscut.analysis.stats.intervals import Floats
from crosscut.analysis.structure.observed import Route

# A rank is much slower than the others if the log ratio exceeds the first, and the second times the usual.
_SMALLEST_GAP, _TIMES_USUAL = 0.15, 4.0
# Share of a node's routes in which the same rank must be much slower.
_MOSTLY = 0.8


@dataclass
class Adapters:
    """What the routes measured so far show."""

    gaps: list[Floats] = field(default_factory=list)
    """By step: [route] log ratio of the other ranks' median rate to the slowest one's."""
    slowest: dict[tuple[int, Direction], Counter[int]] = field(default_factory=dict)
    """By node and its direction: how often a rank of this number within the node was much slower."""
    measured: Counter[tuple[int, Direction]] = field(default_factory=Counter)
    """By node and its direction: number of routes."""

    def rates(self, of_ranks: Floats, routes: Sequence[Route]) -> Floats:
        """Returns [route] bytes per second. `of_ranks`: [route, rank within the node] bytes per second."""
        ranks = of_ranks.shape[1]
        total = np.asarray(of_ranks.sum(axis=1))
        if ranks == 1:
            return total
        ordered = np.sort(of_ranks, axis=1)
        gaps = np.log(np.median(ordered[:, 1:], axis=1) / ordered[:, 0])
        self.gaps.append(gaps[np.isfinite(gaps)])
        usual = float(np.median(np.concatenate(self.gaps))) if any(map(len, self.gaps)) else math.inf
        much = np.isfinite(gaps) & (gaps > max(_SMALLEST_GAP, _TIMES_USUAL * usual))
        for at, route in enumerate(routes):
            for end in zip(route, (Direction.OUT, Direction.IN), strict=True):
                self.measured[end] += 1
                if much[at]:
                    self.slowest.setdefault(end, Counter())[int(np.argmin(of_ranks[at]))] += 1
        return np.where(much, ranks * ordered[:, 0], total)

    def at_fault(self, finding: Finding) -> int | None:
        """Returns which rank within the node alone makes a host slow; None: no single one does."""
        if len(finding.ranks) != 1:
            return None
        ways = (Direction.OUT, Direction.IN) if finding.direction is Direction.BOTH else (finding.direction,)
        ends = [(finding.ranks[0], way) for way in ways if way is not None]
        counts = sum((self.slowest.get(end, Counter()) for end in ends), Counter[int]())
        measured = sum(self.measured[end] for end in ends)
        number, times = counts.most_common(1)[0] if counts else (None, 0)
        return number if times >= _MOSTLY * measured else None
