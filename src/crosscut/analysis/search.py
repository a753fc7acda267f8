"""An active search: what to measure next, until the structure is known or a budget of phases is spent.

A state machine without clock or network: `propose` says which routes to measure at once, phase by phase,
`learn` takes their rates. Whoever drives it has a session (crosscut/locating.py) or a computed network
(benchmarks/truth).

1. Everybody sends by a permutation, newly numbered at random: shared limits show by who is slow together. No
route is measured twice, and after N - 1 phases it would have been an AAPC (Kurmann, Rauch and Stricker 2003,
section 4.2.2). 2. Within the groups so found everybody sends: limits between groups hide slow hosts.
3. Hosts at the ends of slow messages are measured alone: only suspects, all of them at once (suspects.py).
4. Where a group's hosts are slow among themselves, ever different parts of it send: the chips on which they
are.

Where permutations leave groups open, short messages follow, by permutations as well: their latency tells who
is near whom, and takes hardly any time. And where limits of a kind are known for some groups and not for
others, phases that fill those.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from crosscut.analysis import filling, idle, subgroups
from crosscut.analysis.grouping import Grouping
from crosscut.analysis.intervals import Floats
from crosscut.analysis.located import Located, with_parts
from crosscut.analysis.observed import Observed, Route, joined, nothing, of_phases
from crosscut.analysis.structure import WELL_EXPLAINED, Inferred, doubtful, infer, structure
from crosscut.analysis.subgroups import Within
from crosscut.analysis.suspects import RETESTS, Suspects
from crosscut.analysis.unshared import unshared

Phase = list[Route]

_FIRST = 2
_BATCH = 4
# Of every rank being in its group, unless another is asked for.
SURE = 0.999
# Of all messages, or however few there are, those that may be slow by chance: more, and several hosts were
# slow at once, by what they share.
_MOST_QUIET, _FEW_SLOW = 0.02, 2
# Of messages within groups, four times as many: slow hosts.
_QUIET = 0.05
# More, and it is taken for a limit that they share.
_MOST_SLOW_HOSTS = 3
_RESERVE = 2 + RETESTS
_FEWEST_FOR_GROUPS = 9
# How often it fills what is missing; what still is not known is not full by what its hosts can send.
_MOST_FILLINGS = 3
# Phases of short messages, at first (or one less than there are doublings of the ranks), and then each time:
# where they ask is chosen by what is known.
_FEWEST_IDLE_AT_FIRST, _IDLE_MORE = 4, 2
# Latency that has told no groups after so many will not tell them: for each doubling, or however few the
# ranks are.
_IDLE_AT_MOST_PER_DOUBLING, _FEWEST_IDLE = 3, 24
# On the wire at a host's own rate; what takes less has no latency. Ethernet's smallest frame alone has 64.
_BYTES_OF_LATENCY = 16
# Limits that one bad trunk has, both ways.
_LONE = 2
# Phases that fill all trunks between groups that latency told; and how much of what is slow these must
# explain.
_TOURS, _EXPLAINED = 3, 0.7
# Phases with only part of a group sending, for the limits within groups.
_PARTIAL_PHASES = 32
_FEWEST_PARTIAL = 12
_SMALLEST_GROUP_LOOKED_INTO = 8


class Search:
    def __init__(
        self, ranks: int, hosts: Sequence[str] = (), *, most_phases: int = 0, seed: int = 1,
        confidence: float = SURE,
    ) -> None:  # fmt: skip
        """`most_phases`: the budget; 0: as many as an AAPC has, but 8 at least. `confidence`: with which
        every rank must be in its group before no more is measured for that."""
        self._asked = confidence
        self._ranks, self._hosts = ranks, tuple(hosts)
        self._budget = most_phases or max(8, ranks - 1)
        self._random = np.random.default_rng(seed)
        self._order = self._random.permutation(ranks)
        self._distances = list(1 + self._random.permutation(ranks - 1)) if ranks > 1 else []
        self._stage = self._permutations
        self._pending: list[Phase] = []
        self._pending_stage = ""
        self._used = 0
        self._full, self._within = nothing(ranks), nothing(ranks)
        self._idle = nothing(ranks)
        self._near: Grouping | None = None
        self._idle_over, self._toured, self._permuted = False, False, False
        self._fillings = 0
        self._last_labels: tuple[int, ...] = ()
        self._inferred: Inferred | None = None
        self._suspects = Suspects(ranks, self._random)
        self._parts: Within | None = None
        self._sure = False
        self._partial = False

    def propose(self) -> list[Phase]:
        """Phases to measure next; none: the search is over."""
        while not self._pending:
            step = self._stage
            self._pending = step()
            if not self.asks_latency:
                self._pending = self._pending[: max(0, self._left())]
            if not self._pending and self._stage == step:
                break
        return self._pending

    @property
    def asks_latency(self) -> bool:
        """Whether the proposed phases are of short messages, of which `learn` takes messages per second."""
        return self._pending_stage == "idle"

    def learn(self, rates: Floats) -> None:
        """Bytes per second of all routes of the proposed phases, in their order; NaN: measured, but not to
        be used."""
        seen = of_phases(self._ranks, self._pending, rates, self._used)
        seen = seen.where(np.isfinite(seen.rate))
        if self._pending_stage == "full":
            self._full = joined(self._full, seen)
        elif self._pending_stage == "alone":
            self._suspects.learn(seen)
        elif self._pending_stage == "idle":
            self._idle = joined(self._idle, seen)
        else:
            self._within = joined(self._within, seen)
        self._used += len(self._pending)
        self._pending = []

    # -- 1: permutations of everybody

    def _permutations(self) -> list[Phase]:
        self._pending_stage = "full"
        if self._used and self._settled():
            self._thorough()
            return []
        if self._used and self._near is None and not self._quiet():
            phases, self._near = self._latencies()
            if self._near is not None:
                self._stage = self._tours
            if phases or self._near is not None:
                return phases
        # Ever longer batches: what is inferred after each takes longer than measuring it.
        count = _FIRST if self._used == 0 else max(_BATCH, self._measured() // 4)
        count = min(count, self._left() - self._reserve(), len(self._distances))
        if count <= 0:
            self._thorough()
            return []
        return [self._shifted(int(self._distances.pop())) for _ in range(count)]

    def _thorough(self) -> None:
        """What the permutations tell, for what follows; nothing, where hardly a message was slow."""
        divided = self._toured or not self._quiet()
        self._inferred = infer(self._full, near=self._near) if divided else None
        self._stage = self._fill

    def _tours(self) -> list[Phase]:
        """Full trunks between groups that latency told, which show what each carries, and which is slow."""
        self._pending_stage = "full"
        if not self._toured and self._near is not None:
            self._toured = True
            phases = filling.tours(self._near.labels, _TOURS, self._random)
            return phases[: max(0, self._left() - self._reserve())]
        self._inferred = infer(self._full, near=self._near)
        if not self._permuted and self._missing():
            # In a tour all that a group sends goes to one other; among several other limits show.
            self._permuted = True
            count = max(0, min(_TOURS - 1, self._left() - self._reserve(), len(self._distances)))
            return [self._shifted(int(self._distances.pop())) for _ in range(count)]
        if self._inferred.explained >= _EXPLAINED or self._measured() >= _FEWEST_FOR_GROUPS:
            self._thorough()
            return []
        # What is shared is no such trunk: who else is slow together, as far as latency leaves it open.
        count = min(_BATCH, self._left() - self._reserve(), len(self._distances))
        if count <= 0:
            self._thorough()
        return [self._shifted(int(self._distances.pop())) for _ in range(max(0, count))]

    def _latencies(self) -> tuple[list[Phase], Grouping | None]:
        """Short messages, until they tell who is near whom; none, where they do, or where many more than were
        measured would be needed."""
        if self._idle_over:
            return [], None
        fragments = np.arange(self._ranks)
        if len(self._idle) and self._latency_is_nothing():
            self._idle_over = True
            return [], None
        if len(self._idle):
            found = idle.nearness(self._idle)
            most = max(_FEWEST_IDLE, math.ceil(_IDLE_AT_MOST_PER_DOUBLING * math.log2(self._ranks)))
            self._idle_over = found.sure or found.hopeless or self._idle.phases >= most
            if self._idle_over:
                self._sure = found.sure
                return [], found.grouping if found.sure else None
            fragments = found.fragments
        self._pending_stage = "idle"
        first = max(_FEWEST_IDLE_AT_FIRST, math.ceil(math.log2(self._ranks)) - 1)
        count = _IDLE_MORE if len(self._idle) else first
        return idle.phases(self._idle, fragments, count, self._random), None

    def _latency_is_nothing(self) -> bool:
        """Whether a byte takes hardly more than its time on the wire, as in a network described without
        latencies: then what differs is who happened to share a wire."""
        seconds = 1 / float(np.median(self._idle.rate))
        return seconds < _BYTES_OF_LATENCY / float(unshared(self._full).nominal)

    def _shifted(self, distance: int) -> Phase:
        order, n = self._order, self._ranks
        return [(int(order[i]), int(order[(i + distance) % n])) for i in range(n)]

    def _settled(self) -> bool:
        """Whether more of the same would tell nothing new."""
        if self._quiet():
            self._sure = True
            # Two permutations name the slow hosts; limits that hardly any permutation reaches take some more.
            return self._slow_share(self._full) > 0 or self._used >= math.ceil(math.log2(self._ranks))
        self._sure = False
        if self._measured() < _FEWEST_FOR_GROUPS:
            return False
        self._inferred = found = infer(self._full, thorough=False)
        labels = tuple(found.grouping.labels.tolist())
        same, self._last_labels = labels == self._last_labels, labels
        self._sure = bool(same and found.grouping.confidence.min() > self._asked and found.grouping.count > 1)
        return self._sure and (found.explained > 0.9 or self._measured() >= self._budget // 2)

    def _quiet(self) -> bool:
        """Whether few messages are slow, but for those of a few hosts of which all are."""
        slow, apart = self._slow(self._full), self._of_slow_hosts()
        return bool((slow & ~apart).sum() <= max(_FEW_SLOW, _MOST_QUIET * len(slow)))

    def _of_slow_hosts(self) -> NDArray[np.bool_]:
        """[message] whether it is of one of a few hosts of which all are slow."""
        slow, apart = self._slow(self._full), np.zeros(len(self._full), bool)
        for ends in (self._full.source, self._full.destination):
            of_rank = np.bincount(ends, minlength=self._ranks)
            always = np.bincount(ends, weights=slow, minlength=self._ranks) == of_rank
            if 0 < always.sum() <= _MOST_SLOW_HOSTS:
                apart |= always[ends]
        return apart

    def _left(self) -> int:
        """Of the budget, which is of phases of full messages: short ones take no time to speak of."""
        return self._budget - self._measured()

    def _reserve(self) -> int:
        """Phases kept for what comes after permutations; the smallest budgets have none but those of the
        suspects."""
        return min(_RESERVE, self._budget - _FIRST)

    def _measured(self) -> int:
        return self._used - self._idle.phases

    def _slow_share(self, observed: Observed) -> float:
        return float(self._slow(observed).mean()) if len(observed) else 0.0

    def _slow(self, observed: Observed) -> NDArray[np.bool_]:
        """[message] whether it is slow against what an ordinary host reaches."""
        alone = unshared(self._full)
        return np.asarray(np.log(observed.rate / alone.nominal) < min(alone.threshold, -0.05))

    def _fill(self) -> list[Phase]:
        """What is missing of limits of which others are known."""
        self._pending_stage = "full"
        left, self._fillings = self._left() - self._reserve(), self._fillings + 1
        if self._fillings > 1 and self._inferred is not None:
            known, self._inferred = len(self._inferred.capacities), infer(self._full, near=self._near)
            if len(self._inferred.capacities) <= known:
                left = 0  # what is not full by these is not full by what its hosts can send
        if left <= 0 or self._inferred is None or self._fillings > _MOST_FILLINGS:
            self._stage = self._inside
            return []
        wanted = self._missing()
        if not wanted:
            self._stage = self._inside
        return wanted[:left]

    def _missing(self) -> list[Phase]:
        """Phases that fill limits of which others of their kind are known; none, where none is missing."""
        if self._inferred is None:
            return []
        lone = len(self._inferred.capacities) <= _LONE
        if self._toured and lone and self._inferred.explained >= WELL_EXPLAINED:
            # All trunks were loaded at once: those without a limit have none below what their hosts send.
            return []
        return filling.phases(self._inferred.capacities, self._inferred.grouping.labels, self._random)

    # -- 2: within groups, where outer limits are out of the way; on a quiet network that would be the same
    # again

    def _inside(self) -> list[Phase]:
        self._pending_stage = "within"
        quiet = self._quiet()
        # A second time only where the first shows something: most networks have no slow host.
        if not quiet and self._within.phases < (2 if self._slow_share(self._within) else 1):
            return [subgroups.permutation(self._groups(2), 1.0, self._random)]
        self._stage = self._retests
        return []

    def _groups(self, fewest: int) -> list[list[int]]:
        if self._inferred is None:
            return [list(range(self._ranks))]
        labels = self._inferred.grouping.labels
        groups = [np.nonzero(labels == number)[0].tolist() for number in range(int(labels.max()) + 1)]
        return [group for group in groups if len(group) >= fewest]

    # -- 3: suspects alone

    def _retests(self) -> list[Phase]:
        self._pending_stage = "alone"
        seen = self._within if len(self._within) else self._full
        forwarded = self._near is not None
        phases = self._suspects.phases(seen, self._slow, self._inferred, forwarded=forwarded)
        if not phases:
            self._stage = self._chips
        return phases

    # -- 4: limits within groups that all their hosts share

    def _chips(self) -> list[Phase]:
        self._pending_stage = "within"
        out, back = self._suspects.out, self._suspects.back
        bad = np.nonzero(np.fmin(out, back) < 0.9 * np.nanmax(self._full.rate))[0]
        sound = self._within.where(
            ~np.isin(self._within.source, bad) & ~np.isin(self._within.destination, bad)
        )
        groups = self._groups(_SMALLEST_GROUP_LOOKED_INTO)
        left = self._left()
        if self._partial or not groups or self._slow_share(sound) < 4 * _QUIET or left < _FEWEST_PARTIAL:
            if self._partial and self._inferred is not None:
                alone = infer(self._full, out, back, near=self._near).alone
                self._parts = subgroups.parts(self._within, alone, self._inferred.grouping.labels)
            self._stage = self._over
            return []
        self._partial = True
        shares = (0.5, 0.6, 0.7, 0.8)
        count = min(left, _PARTIAL_PHASES)
        return [subgroups.permutation(groups, shares[i % len(shares)], self._random) for i in range(count)]

    def _over(self) -> list[Phase]:
        return []

    def located(self, names: Sequence[str] = ()) -> Located:
        """What is known so far."""
        divided = self._toured or not self._quiet()
        known = self._suspects.known(self._within, self._slow, unshared(self._full).nominal)
        found = infer(self._full, *known, divided=divided, near=self._near)
        if doubtful(found) and self._near is None:
            found = infer(self._full, *known, divided=False)
        hosts = tuple(names) or self._hosts or tuple(f"rank{rank}" for rank in range(self._ranks))
        outline = structure(found, hosts, self._used)
        if self._parts is not None:
            outline = with_parts(outline, self._parts)
        return Located(found, outline, self._full, self._used, self._sure, self._suspects.measured)
