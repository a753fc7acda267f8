"""What a few pairs reach while everybody else is silent.

Where all hosts are as slow as each other, no message is: a switch of which everybody's load takes more than
it passes looks like slower links. A few messages that have it for themselves tell the one from the other.
"""

from __future__ import annotations

import math

import numpy as np

from crosscut.analysis.intervals import Floats
from crosscut.analysis.observed import Observed, Route
from crosscut.analysis.unshared import Unshared

# So few that they fill nothing which all fill by less than a factor of four.
_PAIRS, _RANKS_A_PAIR = 4, 8
# Logarithm: how much faster they must be, at least, and in standard deviations of one rate.
_FASTER, _TIMES_NOISE = 0.05, 4.0


class Few:
    def __init__(self, ranks: int, random: np.random.Generator) -> None:
        self._ranks, self._random = ranks, random
        self._routes: list[Route] = []
        self.asked = False
        self.rate = math.nan
        """Bytes per second, in the middle of the pairs; NaN: not measured."""

    def beside(self, phases: list[list[Route]]) -> list[list[Route]]:
        """A phase with these pairs and what was to be measured anyway, if of other hosts."""
        self.asked = True
        taken = {rank for phase in phases for route in phase for rank in route}
        free = [rank for rank in self._random.permutation(self._ranks).tolist() if rank not in taken]
        count = min(max(1, min(_PAIRS, self._ranks // _RANKS_A_PAIR)), len(free) // 2)
        self._routes = [(free[2 * at], free[2 * at + 1]) for at in range(count)]
        if self._ranks < _PAIRS or not self._routes:
            self._routes = []
            return phases
        first, *rest = phases or [[]]
        return [[*first, *self._routes], *rest]

    def learn(self, seen: Observed) -> Observed:
        """All but these pairs, of which `rate` is taken."""
        if not self._routes:
            return seen
        ends = {source * self._ranks + destination for source, destination in self._routes}
        mine = np.isin(seen.source * self._ranks + seen.destination, sorted(ends))
        self._routes = []
        if mine.any():
            self.rate = float(np.median(seen.rate[mine]))
        return seen.where(~mine)

    def faster_than(self, everybody: Unshared) -> bool:
        """Whether all hosts share something that all together fill."""
        if not math.isfinite(self.rate):
            return False
        enough = max(_FASTER, _TIMES_NOISE * everybody.noise)
        return math.log(self.rate / everybody.nominal) > enough

    def known(self, out: Floats, back: Floats, everybody: Unshared) -> tuple[Floats, Floats]:
        """[rank] what hosts send, and receive, alone: as given (NaN: not measured), else as these pairs."""
        if not self.faster_than(everybody):
            return out, back
        return np.where(np.isfinite(out), out, self.rate), np.where(np.isfinite(back), back, self.rate)
