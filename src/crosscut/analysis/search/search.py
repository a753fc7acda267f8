"""An active search: what to measure next, until the structure is known or a budget of phases is spent.

A state machine without clock or network: `propose` says which routes to measure at once, phase by phase,
`learn` takes their rates. Whoever drives it has a session (campaigns/locate.py) or a computed network
(benchmarks/truth).

1. Everybody sends by a permutation, newly numbered at random: shared limits show by who is slow together. No
route is measured twice, and after N - 1 phases it would have been an AAPC (Kurmann, Rauch and Stricker 2003,
section 4.2.2). 2. Within the groups so found everybody sends: limits between groups hide slow hosts.
3. Hosts at the ends of slow messages are measured alone: only suspects, all of them at once (suspects.py);
where nothing was slow, or groups do not explain it, a few sound pairs, too: all may be slow alike, also by
one limit that TCP shares so unevenly that it looks like many (few.py).
4. Where a group's hosts are slow among themselves, ever different parts of it send: the chips on which they
are (chips.py).

Where permutations leave groups open, short messages follow, by permutations as well: their latency tells who
is near whom, and takes hardly any time. Where the noise blurs latencies, permutations go on first, every
second one between ranks of whom it is not known whether they are together. And where limits of a kind are
known for some groups and not for others, phases that fill those. Where permutations show little, ranks send
in the order of their numbers as well; and where a few routes are slow in company, phases bring more of that
(pursuing.py).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from crosscut.analysis.findings import slow_messages
from crosscut.analysis.search import chips, filling, pursuing
from crosscut.analysis.search.chips import Chips
from crosscut.analysis.search.few import Few
from crosscut.analysis.search.latency import Latency
from crosscut.analysis.search.pursuing import Pursuit
from crosscut.analysis.search.suspects import RETESTS, Suspects
from crosscut.analysis.stats.intervals import Floats
from crosscut.analysis.structure import idle, subgroups
from crosscut.analysis.structure.grouping import Grouping
from crosscut.analysis.structure.infer import WELL_EXPLAINED, Inferred, doubtful, infer, structure
from crosscut.analysis.structure.located import Located, placed, with_parts, without_sums
from crosscut.analysis.structure.observed import Integers, Observed, Route, joined, nothing, of_phases
from crosscut.analysis.structure.subgroups import Within
from crosscut.analysis.structure.unshared import unshared

Phase = list[Route]

_FIRST = 2
_LEAST_BUDGET = 16  # phases: as many as few hosts can use
_BATCH = 4
# Of every rank being in its group, unless another is asked for.
SURE = 0.999
# Of messages within groups: fewer are slow hosts' own.
_SLOW_WITHIN = 0.2
# Within groups, twice; suspects; the few.
_RESERVE = 2 + RETESTS + 1
_FEWEST_FOR_GROUPS = 9
# How often it fills what is missing; what still is not known is not full by what its hosts can send.
_MOST_FILLINGS = 3
# Where latencies are blurred, permutations may tell the groups sooner: how many these are looked for after,
# and how many more are asked each time.
_FEWEST_WHERE_BLURRED, _MORE_WHERE_BLURRED = 6, 2
# Then groups are taken that constant totals vouch for: share of slow messages that these explain, of ranks
# that the routes alone leave unsure, and of messages that are slow.
_SURELY_EXPLAINED, _FEW_UNSURE, _MOSTLY_SLOW = 0.95, 0.25, 0.5
# Phases that fill all trunks between groups that latency told; and how much of what is slow these must
# explain.
_TOURS, _EXPLAINED = 3, 0.7
_SMALLEST_GROUP_LOOKED_INTO = 8
# The budget of a crowded network, unless another is asked for: few hosts have few permutations, and who
# shares what takes some more.
_WHERE_CROWDED = 32


class Search:
    def __init__(
        self, ranks: int, hosts: Sequence[str] = (), *, most_phases: int = 0, least_phases: int = 0,
        seed: int = 1, confidence: float = SURE,
    ) -> None:  # fmt: skip
        """`most_phases`: the budget; 0: as many as an AAPC has, but 16 at least. `least_phases`: permutations
        where nothing is slow; 0: as many as there are doublings of the ranks. `confidence`: with which every
        rank must be in its group before no more is measured for that."""
        self._asked = confidence
        self._ranks, self._hosts = ranks, tuple(hosts)
        self._budget, self._may_exceed = most_phases or max(_LEAST_BUDGET, ranks - 1), not most_phases
        self._least = least_phases
        self._random = np.random.default_rng(seed)
        self._order = self._random.permutation(ranks)
        self._distances = list(1 + self._random.permutation(ranks - 1)) if ranks > 1 else []
        self._stage = self._permutations
        self._pending: list[Phase] = []
        self._pending_stage = ""
        self._used = 0
        self._full, self._within = nothing(ranks), nothing(ranks)
        self._latency = Latency(ranks, self._budget, self._random)
        self._near: Grouping | None = None
        self._by_latency = False
        """Whether that is of latencies, not of what TCP's sharing may look like."""
        self._toured, self._permuted = False, False
        self._fillings = 0
        self._last_labels: tuple[int, ...] = ()
        self._judged = 0
        self._inferred: Inferred | None = None
        self._suspects = Suspects(ranks, self._random)
        self._pursuit = Pursuit(ranks, self._random)
        self._ordered: tuple[int, ...] | None = None
        """Phases in the order of the ranks' numbers, of which is not known yet whether they tell more."""
        self._by_number = False
        self._parts: Within | None = None
        self._sure = False
        self._looked_into = Chips(self._random)
        self._few = Few(ranks, self._random)
        self._together: Within | None = None
        """What all share, where that is one limit."""

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
            self._suspects.learn(self._few.learn(seen, self._used))
        elif self._pending_stage == "idle":
            self._latency.learn(seen)
        else:
            self._within = joined(self._within, seen)
        self._used += len(self._pending)
        self._pending = []

    # -- 1: permutations of everybody

    def _permutations(self) -> list[Phase]:
        self._pending_stage = "full"
        if self._used:
            self._notice()
        if self._used and self._settled():
            self._thorough()
            return []
        if self._used and self._near is None and (self._pursuit.on or not self._quiet()):
            phases, self._near = self._ask_latency()
            if self._near is not None:
                self._stage = self._tours
            if phases or self._near is not None:
                return phases
        # Ever longer batches: what is inferred after each takes longer than measuring it.
        count = _FIRST if self._used == 0 else max(_BATCH, self._measured() // 4)
        if self._asks_whom() is not None:
            count = _MORE_WHERE_BLURRED
        count = min(count, self._left() - self._reserve(), len(self._distances))
        if count <= 0:
            self._thorough()
            return []
        if self._pursuit.on:
            return self._pursuit.phases(self._full, self._slow(self._full), count)
        if self._used and self._ordered is None and self._quiet():
            phases = pursuing.in_order(self._ranks, count)
            self._ordered = tuple(range(self._used, self._used + len(phases)))
            return phases
        return [self._everybody(number) for number in range(count)]

    def _everybody(self, number: int) -> Phase:
        """A permutation; where latency is of no help every second one asks those of whom it is not known yet
        whether they are together. By those alone groups taken for one would never be asked within."""
        labels = self._asks_whom()
        if number % 2 and labels is not None:
            return idle.phases(self._full, labels, 1, self._random, within=False)[0]
        return self._shifted(int(self._distances.pop()))

    def _asks_whom(self) -> Integers | None:
        """[rank] the groups as far as permutations tell them, where latencies are blurred."""
        return self._inferred.grouping.labels if self._inferred and self._permutations_first() else None

    def _notice(self) -> None:
        """Limits that permutations seldom fill: a few routes that are slow in company, or many where ranks
        send in the order of their numbers."""
        slow = self._slow(self._full) & ~slow_messages.of_slow_hosts(self._full)
        if self._ordered:
            if pursuing.numbered_so(slow, np.isin(self._full.phase, self._ordered)):
                self._by_number = True
            self._ordered = ()
        self._pursuit.notice(self._full, slow)

    def _thorough(self) -> None:
        """What the permutations tell, for what follows; nothing, where hardly a message was slow."""
        self._inferred = infer(self._full, near=self._near) if self._divided() else None
        self._stage = self._fill

    def _divided(self) -> bool:
        """Whether there is anything that groups would explain."""
        return self._toured or self._pursuit.on or not self._quiet()

    def _tours(self) -> list[Phase]:
        """Full trunks between groups that latency told, which show what each carries, and which is slow."""
        self._pending_stage = "full"
        if not self._toured and self._near is not None:
            self._toured = True
            phases = filling.tours(self._near.labels, _TOURS, self._random)
            if affordable := phases[: max(0, self._left() - self._reserve())]:
                return affordable
        self._inferred = infer(self._full, near=self._near)
        if not self._permuted and self._more_to_fill(self._inferred):
            # In a tour all that a group sends goes to two others; among several other limits show.
            self._permuted = True
            count = min(_TOURS - 1, self._left() - self._reserve(), len(self._distances))
            if count > 0:
                return [self._shifted(int(self._distances.pop())) for _ in range(count)]
        if self._inferred.explained >= _EXPLAINED or self._measured() >= _FEWEST_FOR_GROUPS:
            self._stage = self._fill
            return []
        # What is shared is no such trunk: who else is slow together, as far as latency leaves it open.
        count = min(_BATCH, self._left() - self._reserve(), len(self._distances))
        if count <= 0:
            self._thorough()
        return [self._shifted(int(self._distances.pop())) for _ in range(max(0, count))]

    def _more_to_fill(self, found: Inferred) -> bool:
        missing = filling.missing(found, self._full, self._random, toured=self._toured)
        return bool(missing) and not filling.has_slow_trunks(found)

    def _ask_latency(self) -> tuple[list[Phase], Grouping | None]:
        phases, told = self._latency.ask(self._full, self._measured(), first=self._pursuit.on)
        if phases:
            self._pending_stage = "idle"
        self._sure |= told is not None
        self._by_latency |= told is not None
        return phases, told

    def _permutations_first(self) -> bool:
        return not self._pursuit.on and self._latency.blurred(self._measured())

    def _shifted(self, distance: int) -> Phase:
        if self._by_number:
            return pursuing.nearly_in_order(self._ranks, distance, self._random)
        order, n = self._order, self._ranks
        return [(int(order[i]), int(order[(i + distance) % n])) for i in range(n)]

    def _settled(self) -> bool:
        """Whether more of the same would tell nothing new."""
        if self._pursuit.on:
            self._sure = False
        elif self._quiet():
            self._sure = True
            if self._least:
                return self._measured() >= self._least
            # Two permutations name the slow hosts; limits that hardly any permutation reaches take some more.
            return bool(slow_messages.of_slow_hosts(self._full).any()) or self._used >= math.ceil(
                math.log2(self._ranks)
            )
        self._sure = False
        first = self._permutations_first()
        fewest = _FEWEST_WHERE_BLURRED if first else _FEWEST_FOR_GROUPS
        if self._measured() < fewest or self._measured() == self._judged:
            return False
        self._judged = self._measured()
        self._inferred = found = infer(self._full, thorough=False)
        labels = tuple(found.grouping.labels.tolist())
        same, self._last_labels = labels == self._last_labels, labels
        if self._pursuit.on and not self._pursuit.rested:
            return False
        unsure = found.grouping.confidence <= self._asked
        self._sure = bool(same and not unsure.any() and found.grouping.count > 1)
        # One rank in a wrong group, and totals are not constant: twice the same, they vouch for those few of
        # which few routes tell.
        few_unsure = unsure.mean() < _FEW_UNSURE and found.explained > _SURELY_EXPLAINED
        vouched = (
            first and same and few_unsure and found.grouping.count > 2 and found.slow_share > _MOSTLY_SLOW
        )
        if vouched and self._keep(found):
            return True
        return self._sure and (found.explained > WELL_EXPLAINED or self._measured() >= self._budget // 2)

    def _keep(self, found: Inferred) -> bool:
        """Groups that permutations told, as if latency had; not where slow hosts are yet to be placed."""
        if len(found.out_suspects) + len(found.in_suspects) + len(found.unplaced):
            return False
        self._near, self._sure = found.grouping, True
        return True

    def _left(self) -> int:
        """Of the budget, which is of phases of full messages: short ones take no time to speak of."""
        return self._budget - self._measured()

    def _reserve(self) -> int:
        """Phases kept for what comes after permutations; the smallest budgets have none but those of the
        suspects."""
        return min(_RESERVE, self._budget - _FIRST)

    def _measured(self) -> int:
        return self._used - self._latency.phases

    def _slow(self, observed: Observed) -> NDArray[np.bool_]:
        return slow_messages.slow(observed, self._full)

    def _share_of_slow(self, observed: Observed) -> float:
        return float(self._slow(observed).mean()) if len(observed) else 0.0

    def _slow_by_itself(self, observed: Observed) -> NDArray[np.bool_]:
        return slow_messages.by_itself(observed, self._full)

    def _quiet(self) -> bool:
        return slow_messages.quiet(self._full)

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
        wanted = filling.missing(self._inferred, self._full, self._random, toured=self._toured)
        if self._fillings == 1:
            wanted = filling.at_once(self._inferred, wanted, _TOURS, self._random)
        if not wanted:
            self._stage = self._inside
        return wanted[:left]

    # -- 2: within groups, where outer limits are out of the way; on a quiet network that would be the same
    # again

    def _inside(self) -> list[Phase]:
        self._pending_stage = "within"
        quiet = self._quiet()
        # A second time only where the first shows something: most networks have no slow host.
        if not quiet and self._within.phases < (2 if self._slow_by_itself(self._within).any() else 1):
            return [subgroups.permutation(self._groups(2), 1.0, self._random)]
        self._stage = self._retests
        return []

    def _labels(self) -> Integers:
        """[rank] its group."""
        if self._inferred is None or self._together is not None:
            return np.zeros(self._ranks, np.int64)
        return self._inferred.grouping.labels

    def _groups(self, fewest: int) -> list[list[int]]:
        labels = self._labels()
        groups = [np.nonzero(labels == number)[0].tolist() for number in range(int(labels.max()) + 1)]
        return [group for group in groups if len(group) >= fewest]

    # -- 3: suspects alone

    def _retests(self) -> list[Phase]:
        self._pending_stage = "alone"
        seen = self._within if len(self._within) else self._full
        forwarded = self._near is not None
        phases = self._suspects.phases(seen, self._slow_by_itself, self._inferred, forwarded=forwarded)
        if not self._few.asked and self._perhaps_crowded():
            phases = self._few.beside(phases, apart=not self._quiet())
        if not phases:
            self._stage = self._chips
        return phases

    def _perhaps_crowded(self) -> bool:
        """Whether groups, if there are any, leave it open that all are slow alike."""
        found = self._inferred
        if self._quiet() or found is None or found.grouping.count < 2 or found.explained < WELL_EXPLAINED:
            return True
        return self._share_of_slow(self._within) >= _SLOW_WITHIN

    def _crowded(self) -> bool:
        """Whether all are slow alike."""
        alike = self._together is not None or self._quiet()
        return alike and self._few.faster_than(unshared(self._full))

    # -- 4: limits within groups that all their hosts share

    def _chips(self) -> list[Phase]:
        self._pending_stage = "within"
        out, back = self._suspects.out, self._suspects.back
        if not self._looked_into.begun:
            self._together = self._of_everybody()
        bad = np.nonzero(np.fmin(out, back) < 0.9 * unshared(self._full).nominal)[0]
        sound = self._within.where(
            ~np.isin(self._within.source, bad) & ~np.isin(self._within.destination, bad)
        )
        groups = self._groups(_SMALLEST_GROUP_LOOKED_INTO)
        crowded = self._crowded()
        shared = crowded or self._share_of_slow(sound) >= _SLOW_WITHIN
        if crowded and self._may_exceed:
            self._budget = max(self._budget, _WHERE_CROWDED)
        left = self._left()
        if not self._looked_into.begun and not (groups and shared and left >= chips.FEWEST // 2):
            self._stage = self._over
            return []
        labels = self._labels()
        known = self._few.known(out, back, unshared(self._full)) if crowded else (out, back)
        one = self._together is not None
        alone = infer(self._full, *known, divided=not one, near=None if one else self._near).alone
        phases = self._looked_into.phases(groups, self._within, alone, labels, left)
        if not phases:
            self._parts = subgroups.parts(self._within, alone, labels)
            self._stage = self._over
        return phases

    def _of_everybody(self) -> Within | None:
        found = self._inferred
        if self._by_latency and found is not None and found.explained >= WELL_EXPLAINED:
            return None
        alone, nobody = unshared(self._full), np.full(self._ranks, np.nan)
        if not self._few.faster_than(alone):
            return None
        reached = unshared(self._full, *self._few.known(nobody, nobody, alone))
        return subgroups.of_everybody(joined(self._full, self._within), reached)

    def _alike(self, found: Inferred) -> Within | None:
        """What all share who are slow alike: limits of parts, or of all, unless phases of parts refute it."""
        parts, everybody = self._parts, self._together
        if parts is None:  # too few phases were left
            return everybody or subgroups.as_whole(self._ranks, found.capacities)
        if parts.limits or everybody is None:
            return parts
        confirmed = subgroups.is_full_of_parts_too(everybody, self._within, self._few.rate)
        return everybody if confirmed else parts

    def _over(self) -> list[Phase]:
        return []

    def located(self, names: Sequence[str] = ()) -> Located:
        """What is known so far."""
        if not self._looked_into.begun:
            self._together = self._of_everybody()
        alone, crowded = unshared(self._full), self._crowded()
        known = self._suspects.known(self._within, self._slow, alone.nominal)
        if crowded:
            known = self._few.known(self._suspects.out, self._suspects.back, alone)
        if crowded and self._together is not None:
            found = infer(self._full, *known, divided=False)
        else:
            found = infer(self._full, *known, divided=self._divided(), near=self._near)
            if doubtful(found) and self._near is None:
                found = infer(self._full, *known, divided=False)
        hosts = tuple(names) or self._hosts or tuple(f"rank{rank}" for rank in range(self._ranks))
        notes = structure(found, hosts, self._used).notes
        alike = crowded and found.grouping.count == 1
        parts = self._alike(found) if alike else self._parts
        if parts is not None:
            parts = placed(parts, found.grouping.labels)
            # Limits of all would be those of its parts, or were refuted by these phases.
            explained = crowded and bool(parts.limits)
            found = replace(found, capacities=()) if alike or explained else without_sums(found, parts)
            notes = () if explained else notes
        outline = replace(structure(found, hosts, self._used), notes=notes)
        if parts is not None:
            outline = with_parts(outline, parts)
        few = self._few.rate if crowded else math.nan
        return Located(found, outline, self._full, self._used, self._sure, self._suspects.measured, few)
