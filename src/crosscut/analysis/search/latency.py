"""Short messages, whose latency shows which ranks share a switch.

They also reveal hosts that forward for others (Salmon, Stein and Sterling, SC98, section 3.1). Each rank
first tests the groups to which it may still belong (parallel sorting into equivalence classes: Devanny,
Goodrich and Jetviroj, SPAA 2016).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator

from crosscut.analysis.search import thresholds
from crosscut.analysis.structure import idle
from crosscut.analysis.structure.grouping import Grouping
from crosscut.analysis.structure.idle import Nearness
from crosscut.analysis.structure.observed import Observed, Route, joined
from crosscut.analysis.structure.unshared import unshared


@dataclass(frozen=True)
class Latency:
    budget: int
    """Phases of full messages that the search may use."""
    measured: Observed
    """`rate`: messages per second."""
    nearness: Nearness | None = None
    """Result of the measured latencies; None: not evaluated since the last measurement."""
    known: Grouping | None = None
    """The last groups that were sure; the search may go on for groups within these."""
    known_at: int = 0
    """Phases of short messages measured when the first of these were."""
    over: bool = False
    """True if latencies have revealed the groups, or never will."""

    @property
    def phases(self) -> int:
        """Phases of short messages measured."""
        return self.measured.phases

    def learn(self, seen: Observed) -> Latency:
        return replace(self, measured=joined(self.measured, seen), nearness=None)

    def ask(
        self, full: Observed, permuted: int, random: Generator, *, first: bool
    ) -> tuple[list[list[Route]], Grouping | None, Latency]:
        """Returns phases to measure next, or groups if latencies revealed them, and the new state.

        Returns neither if latencies cannot reveal groups, or if permutations should come before (`blurred`)
        and latency need not come `first`. `permuted`: permutations measured.
        """
        if self.over:
            return [], None, self
        if not len(self.measured):
            everybody = np.arange(full.ranks)
            return idle.phases(self.measured, everybody, thresholds.FIRST_SHORT, random), None, self
        if self._is_nothing(full):
            return [], None, replace(self, over=True)
        found = self.nearness or idle.nearness(self.measured)
        known = found.grouping if found.sure else self.known
        known_at = self.known_at if self.known else self.phases if known else 0
        most = known_at + _most_phases(found, full.ranks)
        settled = known is not None and not found.inwards
        over = settled or found.hopeless or self.phases >= most
        looked = replace(self, nearness=found, known=known, known_at=known_at, over=over)
        if looked.over:
            return [], known, looked
        if not first and looked.blurred(permuted):
            return [], None, looked
        count = max(thresholds.MORE_SHORT, self.phases // thresholds.SHORT_PER_MORE)
        inwards = found.grouping.labels if found.inwards else None
        return idle.phases(self.measured, found.fragments, count, random, inwards=inwards), None, looked

    def blurred(self, permuted: int) -> bool:
        """Returns True if near and far hardly differ, and too few permutations (`permuted`) were measured."""
        found = self.nearness
        blurred = found is not None and not found.sure and (found.blurred or found.hopeless)
        per_doubling = thresholds.BLURRED_PER_DOUBLING * math.log2(self.measured.ranks)
        return blurred and permuted < min(per_doubling, math.ceil(thresholds.BLURRED_OF_BUDGET * self.budget))

    def _is_nothing(self, full: Observed) -> bool:
        """Returns True if a message takes hardly longer than its bytes on the wire.

        This happens in a model without latencies, whose times only show which messages shared a link.
        """
        seconds = 1 / float(np.median(self.measured.rate))
        return seconds < thresholds.BYTES_OF_LATENCY / float(unshared(full).nominal)


def _most_phases(found: Nearness, ranks: int) -> int:
    """Returns how many phases of short messages are worth measuring.

    If near and far differ clearly, a rank finds its group after about as many tests as there are groups.
    """
    most = max(thresholds.FEWEST_SHORT, thresholds.SHORT_PER_DOUBLING * math.log2(ranks))
    if not found.blurred and found.near_share > 0:
        most = max(most, min(thresholds.SHORT_PER_GROUP / found.near_share, thresholds.MOST_SHORT))
    return math.ceil(most)
