"""What to measure to find the limits within groups: parts of each group at random, until a guess can be made
of who shares what; from then on phases that would refute it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from crosscut.analysis.structure import subgroups
from crosscut.analysis.structure.observed import Integers, Observed, Route
from crosscut.analysis.structure.unshared import Unshared

# Phases at all; without a guess at first; between two guesses: each of two parts whole, twice.
MOST, FEWEST = 32, 12
_BATCH = 4
# Guesses in a row that agree: of each part a handful of phases in which it was full then tell its capacity.
_SETTLED = 3


class Chips:
    def __init__(self, random: np.random.Generator) -> None:
        self._random = random
        self._measured, self._same = 0, 0
        self._guess: Integers | None = None

    @property
    def begun(self) -> bool:
        return self._measured > 0

    def phases(
        self, groups: Sequence[Sequence[int]], within: Observed, alone: Unshared, labels: Integers, left: int
    ) -> list[list[Route]]:
        """None, once guesses agree or `left` phases are spent. `within`: what was measured within groups;
        `labels`: [rank] their numbers."""
        left = min(left, MOST - self._measured)
        if not self.begun:
            made = [subgroups.some(groups, turn, self._random) for turn in range(min(left, FEWEST))]
        else:
            made = self._asking(groups, subgroups.guessed(within, alone, labels), left)
        self._measured += len(made)
        return made

    def _asking(self, groups: Sequence[Sequence[int]], guess: Integers, left: int) -> list[list[Route]]:
        known = self._guess is not None and (guess == self._guess).all() and bool((guess >= 0).any())
        self._same = self._same + 1 if known else 1
        self._guess = guess
        if self._same >= _SETTLED:
            return []
        turns = range(self._measured, self._measured + min(left, _BATCH))
        return [subgroups.leaning(groups, guess, turn, self._random) for turn in turns]
