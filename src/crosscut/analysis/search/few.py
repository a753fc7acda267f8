"""What a few pairs reach while everybody else is silent.

Where all hosts are as slow as each other, no message is: a switch of which everybody's load takes more than
it passes looks like slower links. A few messages that have it for themselves tell the one from the other.
"""

from __future__ import annotations

import math

import numpy as np

from crosscut.analysis.stats.intervals import Floats
from crosscut.analysis.structure.observed import Observed, Route
from crosscut.analysis.structure.unshared import Unshared

# So few that they fill nothing which all fill by less than a factor of four.
_PAIRS, _RANKS_A_PAIR = 4, 8
_TRIES = 2
# Logarithm: how much faster they must be, at least, and in standard deviations of their median.
_FASTER, _TIMES_NOISE, _OF_A_MEDIAN = 0.05, 4.0, math.sqrt(math.pi / 2)


class Few:
    def __init__(self, ranks: int, random: np.random.Generator) -> None:
        self._ranks, self._random = ranks, random
        self._routes: list[Route] = []
        self._pairs, self._at, self._tries = 0, 0, 0
        self.rate = math.nan
        """Bytes per second, in the middle of the pairs; NaN: not measured."""

    @property
    def asked(self) -> bool:
        """Or in vain: what a machine limited, or no budget was left for, is asked once more."""
        return math.isfinite(self.rate) or self._tries == _TRIES

    def beside(self, phases: list[list[Route]], *, apart: bool = False) -> list[list[Route]]:
        """A phase with these pairs and what was to be measured anyway, if of other hosts; `apart`: with these
        pairs alone after all others, for these may be many, and fill what they share."""
        self._tries += 1
        if self._ranks < _PAIRS:
            self._tries = _TRIES
            return phases
        taken = {rank for phase in phases for route in phase for rank in route}
        # Those that nobody suspects first: all may be suspects.
        order = sorted(self._random.permutation(self._ranks).tolist(), key=taken.__contains__)
        count = max(1, min(_PAIRS, self._ranks // _RANKS_A_PAIR))
        self._routes = [(order[2 * at], order[2 * at + 1]) for at in range(count)]
        apart = apart or not phases or not taken.isdisjoint(order[: 2 * count])
        self._at = len(phases) if apart else 0
        return [*phases, self._routes] if apart else [[*phases[0], *self._routes], *phases[1:]]

    def learn(self, seen: Observed, first: int) -> Observed:
        """All but these pairs, of which `rate` is taken. `first`: the number of the first phase of those that
        `beside` returned."""
        if not self._routes:
            return seen
        ends = {source * self._ranks + destination for source, destination in self._routes}
        mine = np.isin(seen.source * self._ranks + seen.destination, sorted(ends))
        mine &= seen.phase == first + self._at
        self._routes = []
        self._pairs = int(mine.sum())
        if mine.any():
            self.rate = float(np.median(seen.rate[mine]))
        return seen.where(~mine)

    def faster_than(self, everybody: Unshared) -> bool:
        """Whether all hosts share something that all together fill."""
        if not math.isfinite(self.rate):
            return False
        enough = max(
            _FASTER, _TIMES_NOISE * everybody.noise * min(1.0, _OF_A_MEDIAN / math.sqrt(self._pairs))
        )
        return math.log(self.rate / everybody.nominal) > enough

    def known(self, out: Floats, back: Floats, everybody: Unshared) -> tuple[Floats, Floats]:
        """[rank] what hosts send, and receive, alone: as given (NaN: not measured), else as these pairs."""
        if not self.faster_than(everybody):
            return out, back
        return np.where(np.isfinite(out), out, self.rate), np.where(np.isfinite(back), back, self.rate)
