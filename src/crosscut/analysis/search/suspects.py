"""Hosts that may be slow by themselves: measured alone, and again those that were slow then as well."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from crosscut.analysis.stats.intervals import Floats
from crosscut.analysis.structure.infer import Inferred
from crosscut.analysis.structure.observed import Observed, Route, joined, nothing

Slow = Callable[[Observed], NDArray[np.bool_]]
"""[message] whether it is slow against what an ordinary host reaches."""

RETESTS = 2
# Of a rank's messages: all, but for one that rounding lets pass.
_ALWAYS = 0.99


class Suspects:
    """Keeps what suspects were measured to do alone."""

    def __init__(self, ranks: int, random: np.random.Generator) -> None:
        self._ranks, self._random = ranks, random
        self.measured = nothing(ranks)
        """Messages of suspects and of their partners."""
        self._suspects: set[int] = set()
        self._cleared: set[int] = set()
        """Suspects that were fast alone: as partners of others they would be told by those."""
        self._times = 0
        self.out, self.back = np.full(ranks, np.nan), np.full(ranks, np.nan)
        """[rank] bytes per second that a suspect sent, and received, alone; NaN: it was none."""

    def learn(self, seen: Observed) -> None:
        """Partners are sound, so what is slow is the suspect."""
        self.measured = joined(self.measured, seen)
        for ends, known in ((self.measured.source, self.out), (self.measured.destination, self.back)):
            for rank in self._suspects:
                rates = self.measured.rate[ends == rank]
                if len(rates):
                    known[rank] = float(np.median(rates))

    def phases(
        self, seen: Observed, slow: Slow, inferred: Inferred | None, *, forwarded: bool
    ) -> list[list[Route]]:
        """What to measure next; none: no host is suspected any more. `forwarded`: hosts may be busy with
        others' messages, unless all stay within their group."""
        self._times += 1
        if self._times > RETESTS:
            return []
        if self._times == 1:
            self._suspects = _suspected(seen, slow(seen), None if forwarded else inferred)
        else:  # who was fast once is not looked at again
            again = self.measured.where(slow(self.measured))
            ends = set(again.source.tolist()) | set(again.destination.tolist())
            self._cleared |= self._suspects - ends
            self._suspects &= ends
        labels = inferred.grouping.labels if inferred else np.zeros(self._ranks, np.int64)
        phase = self._exchanges(labels, within_only=forwarded)
        return [phase] if phase else []

    def _exchanges(self, labels: NDArray[np.int64], *, within_only: bool) -> list[Route]:
        """Each with a sound host of its own group, both ways at once. So few messages have the network for
        themselves; where suspects are many, within groups at least."""
        everybody = self._random.permutation(self._ranks).tolist()
        partners = [rank for rank in everybody if rank not in self._suspects | self._cleared]
        routes: list[Route] = []
        for suspect in sorted(self._suspects):
            near = [partner for partner in partners if labels[partner] == labels[suspect]]
            if not partners or (not near and within_only):
                continue  # through hosts that forward it would tell of them
            partner = near[0] if near else partners[0]
            partners.remove(partner)
            routes += [(suspect, partner), (partner, suspect)]
        return routes

    def known(self, within: Observed, slow: Slow, nominal: float) -> tuple[Floats, Floats]:
        """[rank] what it sends, and receives, by itself: as measured alone, or `nominal` where it was as fast
        as everybody within its group; NaN: not known."""
        fast = within.where(~slow(within))
        found = []
        for ends, alone in ((fast.source, self.out), (fast.destination, self.back)):
            sound = np.where(np.isin(np.arange(self._ranks), ends), nominal, np.nan)
            found.append(np.where(np.isfinite(alone), alone, sound))
        return found[0], found[1]


def _suspected(seen: Observed, slow: NDArray[np.bool_], inferred: Inferred | None) -> set[int]:
    """Ranks at the ends of slow messages that nothing else explains."""
    suspects: set[int] = set()
    for ends in (seen.source, seen.destination):
        times = np.bincount(ends, minlength=seen.ranks)
        share = np.bincount(ends, weights=slow, minlength=seen.ranks) / np.maximum(times, 1)
        suspects |= set(np.nonzero((times > 0) & (share > _ALWAYS))[0].tolist())
    if len(suspects) > max(2, seen.ranks // 3):  # a limit that they share, or the few whom all of them met
        suspects = _met_by_all(seen.where(slow))
    if inferred is not None:
        # Whoever was fast within its group, that way, has a sound link: what it shares is slow.
        fast = seen.where(~slow)
        beyond = set(np.setdiff1d(inferred.out_suspects, fast.source).tolist())
        beyond |= set(np.setdiff1d(inferred.in_suspects, fast.destination).tolist())
        suspects |= beyond if len(beyond) <= seen.ranks // 3 else set()
    return suspects


def _met_by_all(slow: Observed) -> set[int]:
    """The few ranks of which one is at an end of each of these messages, found one after another by how many
    they explain; none, where they are many or it could as well be others."""
    left, found = slow, set[int]()
    while len(left):
        ends = np.bincount(np.concatenate([left.source, left.destination]), minlength=left.ranks)
        most = np.nonzero(ends == ends.max())[0]
        if len(most) > 1 or ends.max() < 2 or len(found) >= max(1, left.ranks // 8):
            return set()
        found.add(int(most[0]))
        left = left.where((left.source != most[0]) & (left.destination != most[0]))
    return found
