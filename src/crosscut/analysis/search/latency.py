"""The part of a search that asks latencies: short messages, until they tell who is near whom, or that they
never will."""

from __future__ import annotations

import math

import numpy as np

from crosscut.analysis.structure import idle
from crosscut.analysis.structure.grouping import Grouping
from crosscut.analysis.structure.idle import Nearness
from crosscut.analysis.structure.observed import Observed, Route, joined, nothing
from crosscut.analysis.structure.unshared import unshared

# Phases of short messages, at first, and then each time: where they ask is chosen by what is known.
_AT_FIRST, _MORE = 4, 2
# Latency that has told no groups after so many phases will not tell them: for each doubling of the ranks, or
# however few these are.
_MOST_PER_DOUBLING, _FEWEST = 3, 24
# Where latencies are blurred, permutations may tell the groups sooner: phases that these are given, for each
# doubling of the ranks, and of the budget.
_BLURRED_PER_DOUBLING, _BLURRED_OF_BUDGET = 3, 0.5
# On the wire at a host's own rate; what takes less has no latency. Ethernet's smallest frame alone has 64.
_BYTES_OF_LATENCY = 16


class Latency:
    def __init__(self, ranks: int, budget: int, random: np.random.Generator) -> None:
        """`budget`: phases of full messages that the search has."""
        self._ranks, self._budget, self._random = ranks, budget, random
        self._measured = nothing(ranks)
        self._nearness: Nearness | None = None
        self._over = False

    @property
    def phases(self) -> int:
        """Measured."""
        return self._measured.phases

    def learn(self, seen: Observed) -> None:
        """`seen.rate`: messages per second."""
        self._measured, self._nearness = joined(self._measured, seen), None

    def ask(self, full: Observed, permuted: int, *, first: bool) -> tuple[list[list[Route]], Grouping | None]:
        """Phases to measure next, or the groups, where latencies told them. Neither: they don't, or, unless
        latency is to be asked `first`, permutations are (`blurred`)."""
        if self._over:
            return [], None
        fragments, count = np.arange(self._ranks), _AT_FIRST
        if len(self._measured):
            if self._is_nothing(full):
                self._over = True
                return [], None
            found = self._nearness = self._nearness or idle.nearness(self._measured)
            most = max(_FEWEST, math.ceil(_MOST_PER_DOUBLING * math.log2(self._ranks)))
            self._over = found.sure or found.hopeless or self.phases >= most
            if self._over:
                return [], found.grouping if found.sure else None
            if not first and self.blurred(permuted):
                return [], None
            fragments, count = found.fragments, _MORE
        return idle.phases(self._measured, fragments, count, self._random), None

    def blurred(self, permuted: int) -> bool:
        """Whether latency was asked, and hardly tells near from far, and permutations, of which `permuted`
        phases were measured, were not yet given what they may need."""
        found = self._nearness
        blurred = found is not None and not found.sure and (found.blurred or found.hopeless)
        most = min(
            _BLURRED_PER_DOUBLING * math.log2(self._ranks), math.ceil(_BLURRED_OF_BUDGET * self._budget)
        )
        return blurred and permuted < most

    def _is_nothing(self, full: Observed) -> bool:
        """Whether a byte takes hardly more than its time on the wire, as in a network described without
        latencies: then what differs is who happened to share a wire."""
        seconds = 1 / float(np.median(self._measured.rate))
        return seconds < _BYTES_OF_LATENCY / float(unshared(full).nominal)
