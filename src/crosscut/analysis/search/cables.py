"""Stage 8: one slow cable among several from which a hash chooses.

If collisions explain slow messages between groups, they may hide a slow cable. So only a few hosts of each
group send at once, and their messages hardly ever share a cable. A route that is then slow is measured again,
with other routes, and finally as the only one of its two groups. A route that was fast once does not take a
slow cable. The method is our own (findings/slow_cables.py).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from crosscut.analysis.findings import slow_cables
from crosscut.analysis.findings.slow_cables import Tested
from crosscut.analysis.search import thresholds
from crosscut.analysis.search.state import Asked, Phase, Sent, Stage, State
from crosscut.analysis.structure.infer import SURE_OF_A_RANK, Inferred
from crosscut.analysis.structure.observed import Integers, Route, joined


@dataclass(frozen=True)
class Cables:
    found: Inferred
    then: Stage
    again: bool = False
    """Only measures again what seemed slow, beyond the budget."""
    asked: int = 0
    """Phases that this stage proposed."""

    def ask(self, state: State, random: Generator) -> Asked:
        cables = _likely_cables(self.found, state)
        if not cables:
            return self.then.ask(state, random)
        # Last looks come out of the budget, too (State.left_again).
        affordable = min(state.left - thresholds.LAST_LOOKS, thresholds.MOST_OF_CABLES - self.asked)
        left = state.left_before_last if self.again else affordable
        phases = _phases(state, self.found, cables, left, self.again, random) if left > 0 else []
        if not phases:
            return self.then.ask(state, random)
        after = replace(self, asked=self.asked + len(phases))
        return Asked(phases, state, after, Sent.FEW_AGAIN if self.again else Sent.FEW)


def _likely_cables(found: Inferred, state: State) -> int:
    """Returns how many cables of a group a hash may choose from; 0: none.

    Over TCP, messages share a cable too unevenly to count the cables; then full bisection is assumed.
    """
    unexplained = found.explained < thresholds.EXPLAINED
    if found.hashed is not None:
        return found.hashed.cables
    sure = state.groups_certain or bool((found.grouping.confidence > SURE_OF_A_RANK).all())
    if sure and unexplained and found.grouping.count > 1:
        return int(np.bincount(found.grouping.labels).max())
    return 0


def _phases(
    state: State, found: Inferred, cables: int, left: int, only_again: bool, random: Generator
) -> list[Phase]:
    """Returns at most `left` phases; none if no question is open. `only_again`: measure no new routes."""
    seen = slow_cables.tested(state.few, found)
    open_ = _open(seen)
    drawing = _fewest(seen, found) < thresholds.DRAWS_A_CABLE * cables and left > thresholds.CABLES_AGAIN
    if not only_again and (drawing or (not open_ and slow_cables.untold(seen, found))):
        plan, fast = _Plan(found, max(1, cables // thresholds.CABLES_A_MESSAGE)), _fast(state, found)
        again = plan.messages // 2  # the other half is for new routes
        mixed = [random.permutation(len(open_))[:again] for _ in range(min(thresholds.BATCH, left))]
        phases = [plan.phase([open_[at] for at in some], fast, random) for some in mixed]
        if any(phases):  # in small networks no new routes may be left
            return [phase for phase in phases if phase]
    if open_:
        return [_Plan(found, 1).phase(open_, None, random)]
    return [[route] for route in slow_cables.not_lonely(seen, found)[:left]]


def _fewest(seen: Tested, found: Inferred) -> int:
    """Returns the fewest routes measured out of, or into, any group."""
    labels, groups = found.grouping.labels, found.grouping.count
    return min(
        int(np.bincount(labels[ends], minlength=groups).min()) for ends in (seen.source, seen.destination)
    )


def _open(seen: Tested) -> list[Route]:
    """Returns routes that were always slow and need more measurements alone.

    Those that need fewest come first.
    """
    at = np.nonzero(seen.always & (seen.alone < slow_cables.FEWEST_ALONE))[0]
    at = at[np.lexsort((-seen.times[at], -seen.alone[at]))]
    return list(zip(seen.source[at].tolist(), seen.destination[at].tolist(), strict=True))


def _fast(state: State, found: Inferred) -> NDArray[np.bool_]:
    """Returns [source, destination] True for routes that were fast at least once."""
    seen = joined(state.full, state.few)
    fast = found.alone.slowness(seen) >= found.alone.threshold
    known = np.zeros((seen.ranks, seen.ranks), bool)
    known[seen.source[fast], seen.destination[fast]] = True
    return known


class _Plan:
    """Builds phases in which at most `most` messages leave each group, and as many enter it."""

    def __init__(self, found: Inferred, most: int) -> None:
        self._labels, self._most = found.grouping.labels, most
        bad = {*found.out_suspects.tolist(), *found.in_suspects.tolist(), *found.unplaced.tolist()}
        self._sound = np.array([rank for rank in range(len(self._labels)) if rank not in bad])

    @property
    def messages(self) -> int:
        """Most messages of a phase."""
        return self._most * (int(self._labels.max()) + 1)

    def phase(self, first: list[Route], fast: NDArray[np.bool_] | None, random: Generator) -> Phase:
        """Returns a phase with as many routes of `first` as fit, then others between sound hosts.

        Routes that are `fast` ([source, destination]) are not added; None: no others are added at all.
        """
        chosen: Phase = []
        groups = int(self._labels.max()) + 1
        out, back = np.full(groups, self._most), np.full(groups, self._most)
        senders, receivers = set[int](), set[int]()

        def add(source: int, destination: int) -> None:
            there, here = self._labels[source], self._labels[destination]
            free = source not in senders and destination not in receivers
            if free and there != here and out[there] and back[here]:
                out[there] -= 1
                back[here] -= 1
                senders.add(source)
                receivers.add(destination)
                chosen.append((source, destination))

        for route in first:
            add(*route)
        if fast is None:
            return chosen
        for source in random.permutation(self._sound).tolist():
            for destination in self._some(source, fast, back, random):
                if source not in senders:
                    add(source, destination)
        return chosen

    def _some(self, source: int, fast: NDArray[np.bool_], back: Integers, random: Generator) -> list[int]:
        """Returns a few random destinations that are not fast, in groups that may still receive."""
        drawn = random.choice(self._sound, min(len(self._sound), thresholds.TRIES_OF_CABLES), replace=False)
        open_ = (back[self._labels[drawn]] > 0) & ~fast[source, drawn]
        return [int(rank) for rank in drawn[open_]]
