"""The search: asks its stages in turn what to measure next, and returns what is found.

It has no clock and no network. `propose` returns phases, each a list of routes to measure at once; `learn`
takes their rates. A session (campaigns/locate.py) or a computed network (benchmarks/truth) measures them.
README.md in this folder shows the stages.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from crosscut.analysis.search import suspects, thresholds
from crosscut.analysis.search.latency import Latency
from crosscut.analysis.search.permutations import Permutations
from crosscut.analysis.search.retest import LastLook
from crosscut.analysis.search.state import Phase, Sent, Stage, State
from crosscut.analysis.stats.intervals import Floats
from crosscut.analysis.structure import subgroups
from crosscut.analysis.structure.infer import Inferred, structure
from crosscut.analysis.structure.located import Located, placed, with_parts, without_sums
from crosscut.analysis.structure.observed import nothing
from crosscut.analysis.structure.subgroups import Within


class Search:
    def __init__(
        self, ranks: int, *, most_phases: int = 0, least_phases: int = 0,
        seed: int = 1, confidence: float = thresholds.CONFIDENCE,
    ) -> None:  # fmt: skip
        """`most_phases`: the budget; 0: as many as an all-to-all has, but at least 48, and at most as many as
        have MOST_MESSAGES. `least_phases`: number of permutations if nothing is slow; 0: one for each
        doubling of the ranks, in small clusters up to 16. `confidence`: probability that each rank is in its
        group, required before permutations end."""
        self._random = np.random.default_rng(seed)
        affordable = min(ranks - 1, thresholds.MOST_MESSAGES // max(ranks, 1))
        budget = most_phases or max(thresholds.LEAST_BUDGET, affordable)
        order = self._random.permutation(ranks)
        distances = tuple((1 + self._random.permutation(max(0, ranks - 1))).tolist())
        none = nothing(ranks)
        self.state = State(
            ranks, budget, least_phases, confidence, order, distances, full=none,
            within=none, latency=Latency(budget, none), suspects=suspects.nobody(ranks),
            pairs=suspects.ReferencePairs(ranks), again=none, few=none, inside=none,
            first_stage=Permutations(),
        )  # fmt: skip
        self.stage: Stage = self.state.first_stage
        self._phases: list[Phase] = []
        self._finished = False
        self._sent = Sent.EVERYBODY

    def propose(self) -> list[Phase]:
        """Returns the phases to measure next; none if the search is over."""
        while not self._phases:
            before, asked = type(self.stage), self.stage.ask(self.state, self._random)
            self.state, self.stage, self._sent = asked.state, asked.stage, asked.sent
            most = len(asked.phases) if asked.sent.free else max(0, self.state.left)
            self._phases = asked.phases[:most]
            if not self._phases and type(self.stage) is before:
                self._finished = True
                break
        return self._phases

    @property
    def asks_latency(self) -> bool:
        """True if the proposed phases send short messages; `learn` then takes messages per second."""
        return self._sent is Sent.SHORT

    @property
    def purpose(self) -> str:
        """What the proposed phases measure: `a few hosts alone`."""
        return self._sent.value

    @property
    def waits(self) -> bool:
        """True if the proposed phases should be measured a while after those before: other traffic and
        daemons may last through consecutive phases."""
        return isinstance(self.stage, LastLook)

    def learn(self, rates: Floats, of_ranks: Floats | None = None) -> None:
        """Takes [route] bytes per second of all proposed phases, in order; NaN: measured, but unusable.

        `of_ranks`: as in `Observed`.
        """
        self.state = self.state.learn(self._phases, self._sent, rates, of_ranks)
        self._phases = []

    def located(self, names: Sequence[str] = ()) -> Located:
        """Returns what is known so far. `names`: [rank] host name."""
        state = self.state
        if not state.parts_asked:
            state = replace(state, together=state.limit_of_all())
        found, crowded = state.found, state.crowded
        used = state.used - state.latency.phases
        hosts = tuple(names) or tuple(f"rank{rank}" for rank in range(state.ranks))
        outline = structure(found, hosts, used)
        notes = outline.notes
        if self._finished and state.quiet and not state.rare.on and found.grouping.count == 1 and not crowded:
            notes = notes[:-1]
            if state.ranks >= _FEWEST_FOR_A_TRUNK:
                notes = (*notes, _crossed(state.crossed) if state.crossed else _UNCROSSED)
            outline = replace(outline, notes=notes)
        inner = () if crowded else state.inner(found)
        alike = crowded and found.grouping.count == 1
        parts = _alike(state, found) if alike else state.parts
        if parts is not None:
            innermost = next((one.inferred for one in reversed(inner) if one.inferred.capacities), found)
            parts = placed(parts, innermost.grouping.labels, innermost.name)
            # A limit of all hosts is the sum of its parts' limits, or these phases refuted it.
            explained = crowded and bool(parts.limits)
            found = replace(found, capacities=()) if alike or explained else without_sums(found, parts)
            outline = replace(structure(found, hosts, used), notes=() if explained else notes)
        for level in (*(one.within() for one in inner), *([] if parts is None else [parts])):
            outline = with_parts(outline, level)
        rate = state.pairs.rate if crowded else math.nan
        alone, again, few = state.suspects.measured, state.again, state.few
        if not self._finished:
            outline = replace(outline, notes=(_UNFINISHED,))  # other notes assume a finished search
        return Located(
            found, outline, state.full, used, state.sure, alone, again, few, inner, rate, self._finished,
            state.trunks_again,
        )  # fmt: skip


_FEWEST_FOR_A_TRUNK = 4  # two hosts at either end
_UNFINISHED = "the search did not finish, so groups, limits and faults may be missing"
_UNCROSSED = (
    "no groups of hosts found, by rates or by latencies: a shared limit above about half of what its hosts "
    "can send would look like this, too"
)


def _crossed(groups: int) -> str:
    return (
        f"latencies reveal {groups} groups of hosts; when every message left its group, none was slow: the "
        "network between the groups carries all that hosts send"
    )


def _alike(state: State, found: Inferred) -> Within | None:
    """Returns limits of equally slow hosts: those of parts, or one of all that parts do not refute."""
    parts, everybody = state.parts, state.together
    if parts is None:  # too few phases were left to examine parts
        return everybody or subgroups.as_whole(state.ranks, found.capacities)
    if parts.limits or everybody is None:
        return parts
    confirmed = subgroups.is_full_of_parts_too(everybody, state.within, state.pairs.rate)
    return everybody if confirmed else parts
