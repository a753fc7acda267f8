"""What a few pairs of ranks reach while everybody else is silent.

Where all hosts are equally slow, no message stands out: a switch that cannot carry everybody's load looks
like slow links. A few messages with the switch to themselves tell the two apart. The method is our own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator

from crosscut.analysis.search import thresholds
from crosscut.analysis.stats.intervals import Floats
from crosscut.analysis.structure.observed import Observed, Route
from crosscut.analysis.structure.unshared import Unshared

# Standard error of a median against that of a mean, of normal errors.
_OF_A_MEDIAN = math.sqrt(math.pi / 2)


@dataclass(frozen=True)
class ReferencePairs:
    ranks: int
    routes: tuple[Route, ...] = ()
    """Proposed; their rates are not known yet."""
    at: int = 0
    """Which of the proposed phases has them."""
    measured: int = 0
    """Routes."""
    tries: int = 0
    rate: float = math.nan
    """Bytes per second, the median; NaN: not measured."""

    @property
    def done(self) -> bool:
        """A phase that gave nothing (a limited machine, a spent budget) is asked once more."""
        return math.isfinite(self.rate) or self.tries == thresholds.REFERENCE_TRIES

    def added_to(
        self, phases: list[list[Route]], random: Generator, *, apart: bool
    ) -> tuple[list[list[Route]], ReferencePairs]:
        """These phases with the pairs in the first, if that has other hosts. `apart`: in a phase of their own
        after all others, which may be many, and fill what they share."""
        if self.ranks < thresholds.REFERENCE_PAIRS:
            return phases, replace(self, tries=thresholds.REFERENCE_TRIES)
        taken = {rank for phase in phases for route in phase for rank in route}
        # Ranks that nobody suspects come first; all may be suspects.
        order = sorted(random.permutation(self.ranks).tolist(), key=taken.__contains__)
        count = max(1, min(thresholds.REFERENCE_PAIRS, self.ranks // thresholds.RANKS_A_PAIR))
        routes = tuple((order[2 * pair], order[2 * pair + 1]) for pair in range(count))
        apart = apart or not phases or not taken.isdisjoint(order[: 2 * count])
        asked = replace(self, tries=self.tries + 1, routes=routes, at=len(phases) if apart else 0)
        return [*phases, [*routes]] if apart else [[*phases[0], *routes], *phases[1:]], asked

    def learn(self, seen: Observed, first: int) -> tuple[Observed, ReferencePairs]:
        """All other messages, and what the pairs reached. `first`: number of the first proposed phase."""
        if not self.routes:
            return seen, self
        ends = sorted({source * self.ranks + destination for source, destination in self.routes})
        mine = np.isin(seen.source * self.ranks + seen.destination, ends) & (seen.phase == first + self.at)
        rate = float(np.exp(np.median(seen.relative(1.0)[mine]))) if mine.any() else self.rate
        return seen.where(~mine), replace(self, routes=(), measured=int(mine.sum()), rate=rate)

    def faster_than(self, everybody: Unshared) -> bool:
        """True if all hosts share something that all together fill."""
        if not math.isfinite(self.rate):
            return False
        deviations = thresholds.TIMES_NOISE * min(1.0, _OF_A_MEDIAN / math.sqrt(self.measured))
        enough = max(thresholds.FASTER, deviations * everybody.noise)
        return math.log(self.rate / everybody.nominal) > enough

    def known(self, out: Floats, back: Floats, everybody: Unshared) -> tuple[Floats, Floats]:
        """[rank] bytes per second that hosts send, and receive, alone: as given; else, as these pairs."""
        if not self.faster_than(everybody):
            return out, back
        return np.where(np.isfinite(out), out, self.rate), np.where(np.isfinite(back), back, self.rate)
