"""Measures rates alone: of suspects, which may be slow by themselves, and of a few reference pairs.

All suspects are measured at once, each with a sound host of its group, and again if they were slow. The
methods are our own.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from crosscut.analysis.findings.slow_parts import FEWEST_ALONE, LARGEST_SHARE_OF_HOSTS, SOUND_ALONE
from crosscut.analysis.search import thresholds
from crosscut.analysis.stats.intervals import Floats
from crosscut.analysis.structure.infer import Inferred
from crosscut.analysis.structure.observed import Integers, Observed, Route, joined, nothing
from crosscut.analysis.structure.unshared import Unshared, tops

Slow = Callable[[Observed], NDArray[np.bool_]]
"""Returns [message] True if it is slower than those of ordinary hosts."""


@dataclass(frozen=True)
class Suspects:
    measured: Observed
    """Messages between suspects and their partners."""
    out: Floats
    """[rank] bytes per second that a suspect sent alone; NaN: not measured alone."""
    back: Floats
    """[rank] bytes per second that it received alone; NaN: not measured alone."""
    ranks: frozenset[int] = frozenset()
    cleared: frozenset[int] = frozenset()
    """Suspects that were fast alone; never partners, because a limit of theirs could slow the suspect."""
    times: int = 0
    """Phases proposed so far."""

    def learn(self, seen: Observed) -> Suspects:
        """Adds messages. Partners are sound, so a slow message is attributed to the suspect."""
        measured, known = joined(self.measured, seen), []
        for ends, before in ((measured.source, self.out), (measured.destination, self.back)):
            after = before.copy()
            for rank in self.ranks:
                rates = measured.rate[ends == rank]
                if len(rates):
                    after[rank] = float(np.median(rates))
            known.append(after)
        return replace(self, measured=measured, out=known[0], back=known[1])

    def ask(
        self, seen: Observed, slow: Slow, inferred: Inferred | None, random: Generator, *,
        full: Observed, forwarded: bool,
    ) -> tuple[list[list[Route]], Suspects]:  # fmt: skip
        """Returns the phases to measure next; none if no host is suspected anymore.

        `full`: messages of all phases in which everybody sent. `forwarded`: hosts may be busy forwarding
        others' messages, unless all messages stay within groups.
        """
        if self.times >= thresholds.RETESTS:
            return [], self
        if not self.times:
            asked = replace(self, ranks=_suspected(seen, slow(seen), inferred, full))
        else:  # suspects that were fast are not measured again
            again = self.measured.where(slow(self.measured))
            measured, slow_again = (
                {*one.source.tolist()} | {*one.destination.tolist()} for one in (self.measured, again)
            )
            still = self.ranks - (measured - slow_again)
            asked = replace(self, ranks=still, cleared=self.cleared | (self.ranks - still))
        labels = inferred.grouping.labels if inferred else np.zeros(seen.ranks, np.int64)
        phase = asked.exchanges(labels, random, seen.of_kind, within_only=forwarded)
        return [phase] if phase else [], replace(asked, times=self.times + 1)

    def exchanges(
        self, labels: Integers, random: Generator, of_kind: Floats | None, *, within_only: bool
    ) -> list[Route]:
        """Returns a phase in which each suspect exchanges with a sound host, both ways at once.

        The partner is of its own group, or of another one if its group has no partner left; with
        `within_only`, only groups without any sound host get partners of others. A few such messages have the
        network to themselves; many stay at least within groups.
        """
        everybody = random.permutation(len(labels)).tolist()
        if of_kind is not None:  # partners of the fastest kind can test any host
            everybody.sort(key=lambda rank: -of_kind[rank])
        partners = [rank for rank in everybody if rank not in self.ranks | self.cleared]
        with_sound = {int(labels[rank]) for rank in partners}
        routes: list[Route] = []
        for suspect in sorted(self.ranks):
            near = [partner for partner in partners if labels[partner] == labels[suspect]]
            if not partners or (not near and within_only and int(labels[suspect]) in with_sound):
                continue  # a path through forwarding hosts would measure these hosts
            partner = near[0] if near else partners[0]
            partners.remove(partner)
            routes += [(suspect, partner), (partner, suspect)]
        return routes

    def known(self, within: Observed, slow: Slow, sound: Unshared) -> tuple[Floats, Floats]:
        """Returns [rank] the bytes per second that it sends, and receives, alone.

        This is the measured rate, or that of `sound` if a message within its group was fast; NaN: unknown.
        """
        fast = within.where(~slow(within))
        found = []
        for ends, alone, usual in (
            (fast.source, self.out, sound.out_rate), (fast.destination, self.back, sound.in_rate),
        ):  # fmt: skip
            seen_fast = np.where(np.isin(np.arange(len(alone)), ends), usual, np.nan)
            found.append(np.where(np.isfinite(alone), alone, seen_fast))
        return found[0], found[1]


def nobody(ranks: int) -> Suspects:
    return Suspects(nothing(ranks), np.full(ranks, np.nan), np.full(ranks, np.nan))


def _suspected(
    seen: Observed, slow: NDArray[np.bool_], inferred: Inferred | None, full: Observed
) -> frozenset[int]:
    """Returns the ranks at the ends of slow messages that nothing else explains."""
    suspects: set[int] = set()
    for ends in (seen.source, seen.destination):
        tells = seen.tells_of(ends)
        times = np.bincount(ends[tells], minlength=seen.ranks)
        share = np.bincount(ends[tells & slow], minlength=seen.ranks) / np.maximum(times, 1)
        suspects |= set(np.nonzero((times > 0) & (share > thresholds.ALWAYS))[0].tolist())
    if len(suspects) > max(2, seen.ranks // 3):  # they share a limit, or all met the same few ranks
        suspects = _met_by_all(seen.where(slow))
    if inferred is not None:
        # A rank that was fast within its group in that direction has a sound link: a shared link is slow.
        out, back = (ends[~slow & seen.tells_of(ends)] for ends in (seen.source, seen.destination))
        beyond = {
            *np.setdiff1d(inferred.out_suspects, out).tolist(),
            *np.setdiff1d(inferred.in_suspects, back).tolist(),
        }
        suspects |= beyond if len(beyond) <= seen.ranks // 3 else set()
    elif full.phases >= FEWEST_ALONE:
        never_fast = np.nonzero(np.minimum(*tops(full)) < math.log(1 - SOUND_ALONE))[0].tolist()
        suspects |= (
            set(never_fast) if len(never_fast) <= max(2, LARGEST_SHARE_OF_HOSTS * seen.ranks) else set()
        )
    return frozenset(suspects)


def _met_by_all(slow: Observed) -> set[int]:
    """Returns a few ranks that together are at an end of every slow message.

    Finds them greedily, by the number of messages that each explains. Returns none if there are many or if
    others would explain as much.
    """
    left, found = slow, set[int]()
    while len(left):
        ends = np.bincount(np.concatenate([left.source, left.destination]), minlength=left.ranks)
        most = np.nonzero(ends == ends.max())[0]
        if len(most) > 1 or ends.max() < 2 or len(found) >= max(1, left.ranks // 8):
            return set()
        found.add(int(most[0]))
        left = left.where((left.source != most[0]) & (left.destination != most[0]))
    return found


# Standard error of a median over that of a mean, for normal errors.
_OF_A_MEDIAN = math.sqrt(math.pi / 2)


@dataclass(frozen=True)
class ReferencePairs:
    """A few pairs of ranks that exchange while all others are silent.

    If all hosts are equally slow, no message stands out: a switch that cannot carry the full load looks like
    slow links. A few messages alone on the switch tell the two apart.
    """

    ranks: int
    routes: tuple[Route, ...] = ()
    """Proposed routes whose rates are not known yet."""
    at: int = 0
    """Index of the proposed phase that contains them."""
    measured: int = 0
    """Routes measured."""
    tries: int = 0
    rate: float = math.nan
    """Median in bytes per second; NaN: not measured."""

    @property
    def done(self) -> bool:
        """True once measured or tried twice; a limited machine or a spent budget may spoil the first try."""
        return math.isfinite(self.rate) or self.tries == thresholds.REFERENCE_TRIES

    def added_to(
        self, phases: list[list[Route]], random: Generator, *, apart: bool
    ) -> tuple[list[list[Route]], ReferencePairs]:
        """Adds the pairs to the first phase if they can be disjoint from it, otherwise as a last phase.

        `apart`: always adds a separate phase, because the other messages may be many and fill a shared limit.
        """
        if self.ranks < thresholds.REFERENCE_PAIRS:
            return phases, replace(self, tries=thresholds.REFERENCE_TRIES)
        taken = {rank for phase in phases for route in phase for rank in route}
        # Ranks not in these phases come first; there may be none.
        order = sorted(random.permutation(self.ranks).tolist(), key=taken.__contains__)
        count = max(1, min(thresholds.REFERENCE_PAIRS, self.ranks // thresholds.RANKS_A_PAIR))
        routes = tuple((order[2 * pair], order[2 * pair + 1]) for pair in range(count))
        apart = apart or not phases or not taken.isdisjoint(order[: 2 * count])
        asked = replace(self, tries=self.tries + 1, routes=routes, at=len(phases) if apart else 0)
        return [*phases, [*routes]] if apart else [[*phases[0], *routes], *phases[1:]], asked

    def learn(self, seen: Observed, first: int) -> tuple[Observed, ReferencePairs]:
        """Splits off the messages of the pairs from all others. `first`: first proposed phase."""
        if not self.routes:
            return seen, self
        ends = sorted({source * self.ranks + destination for source, destination in self.routes})
        mine = np.isin(seen.source * self.ranks + seen.destination, ends) & (seen.phase == first + self.at)
        rate = float(np.exp(np.median(seen.relative(1.0)[mine]))) if mine.any() else self.rate
        return seen.where(~mine), replace(self, routes=(), measured=int(mine.sum()), rate=rate)

    def faster_than(self, everybody: Unshared) -> bool:
        """Returns True if the pairs were clearly faster: all hosts together fill a shared limit."""
        if not math.isfinite(self.rate):
            return False
        deviations = thresholds.TIMES_NOISE * min(1.0, _OF_A_MEDIAN / math.sqrt(self.measured))
        enough = max(thresholds.FASTER, deviations * everybody.noise)
        return math.log(self.rate / everybody.nominal) > enough

    def known(self, out: Floats, back: Floats, everybody: Unshared) -> tuple[Floats, Floats]:
        """Returns [rank] bytes per second sent, and received, alone, with gaps filled by the pairs' rate.

        Returns `out` and `back` unchanged if the pairs were not faster than everybody.
        """
        if not self.faster_than(everybody):
            return out, back
        return np.where(np.isfinite(out), out, self.rate), np.where(np.isfinite(back), back, self.rate)
