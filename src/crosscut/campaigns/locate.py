"""Runs a search with a session: measures the phases that it proposes, and feeds it the results.

A node's ranks share its adapters, so the search compares nodes. A route between two nodes is one message from
each rank of the first, all at once, and its rate is the sum of theirs unless one is much slower
(analysis/search/adapters.py).
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from crosscut.analysis.figures import limited as machine
from crosscut.analysis.figures.limited import limited_phases
from crosscut.analysis.findings import lossy_hosts
from crosscut.analysis.findings.host_facts import HostFacts
from crosscut.analysis.findings.kinds import FindingKind
from crosscut.analysis.findings.lossy_hosts import Losses
from crosscut.analysis.findings.model import Finding
from crosscut.analysis.findings.of_run import FEWEST_PHASES, rank_names
from crosscut.analysis.search.adapters import Adapters
from crosscut.analysis.search.search import Search
from crosscut.analysis.search.thresholds import CONFIDENCE
from crosscut.analysis.stats.intervals import Floats
from crosscut.analysis.structure.located import Located
from crosscut.analysis.structure.observed import Route
from crosscut.base.errors import Interrupted, SessionError
from crosscut.base.job import Job
from crosscut.reports.words.check_cautions import planted
from crosscut.run.realm import DescribedNetwork, Realm, described_network, is_exact
from crosscut.run.run import Run
from crosscut.session.client import Session
from crosscut.session.measure import Decided

PATTERN = "routes"
# A message size whose time is latency alone.
SHORT_BYTES = 1
# If messages of the default size take less time, they are made so many times larger. Latencies within a
# machine room differ by one or two microseconds.
_SHORTEST_SECONDS, _TIMES_LARGER = 50e-6, 10
# Phases in which suspected lossy hosts are measured again.
_LOSSY_AGAIN = 3
# Wait before a last look at what would be reported, which other traffic may have slowed.
_WAIT_SECONDS = 1.0
# If the emulating machine limited a larger share of phases, the others hardly show the network either.
_MOST_LIMITED = 0.5


@dataclass(frozen=True)
class Senders:
    """The units of a search: nodes with their ranks, or single ranks if there is only one node."""

    ranks: tuple[tuple[int, ...], ...]
    """[sender] its ranks in order."""

    @classmethod
    def of(cls, session: Session, ranks: int) -> Senders:
        nodes = session.ranks_of_nodes
        return cls(nodes if len(nodes) > 1 else tuple((rank,) for rank in range(ranks)))

    @property
    def each(self) -> int:
        """Number of ranks that send on each node: as many as the node with the fewest has."""
        return min(map(len, self.ranks))

    def phases(self, phases: Sequence[Sequence[Route]], each: int) -> list[list[Route]]:
        """Expands each route between senders to `each` consecutive routes between their ranks."""
        return [
            [(self.ranks[s][at], self.ranks[d][at]) for s, d in routes for at in range(each)]
            for routes in phases
        ]

    def routes(self, phases: Sequence[Sequence[Route]], each: int) -> list[Route]:
        """Returns the routes between senders of phases that `phases` expanded."""
        sender = {rank: number for number, ranks in enumerate(self.ranks) for rank in ranks}
        return [(sender[s], sender[d]) for routes in phases for s, d in routes[::each]]

    def of_ranks(self, found: Sequence[Finding], adapters: Adapters) -> list[Finding]:
        """Translates findings to ranks: all ranks of a node, but only the first at each end of a route.

        Adds which rank of a node makes it slow.
        """

        def first(routes: tuple[Route, ...]) -> tuple[Route, ...]:
            return tuple((self.ranks[s][0], self.ranks[d][0]) for s, d in routes)

        def ranks_of(one: Finding) -> tuple[str, tuple[int, ...]]:
            number = adapters.at_fault(one) if one.kind is FindingKind.SLOW_HOST else None
            if number is None:
                return one.what, tuple(rank for sender in one.ranks for rank in self.ranks[sender])
            rank, ranks = self.ranks[one.ranks[0]][number], len(self.ranks[one.ranks[0]])
            return f"{one.what}; only rank {rank}, of its {ranks} ranks, is slow", (rank,)

        translated = []
        for one in found:
            what, ranks = ranks_of(one)
            evidence = first(one.evidence_routes)
            translated.append(
                replace(one, what=what, ranks=ranks, routes=first(one.routes), evidence_routes=evidence)
            )
        return translated

    def named(self, run: Run) -> tuple[str, ...]:
        if len(self.ranks) == run.ranks:
            return rank_names(run)
        return tuple(run.node_names[ranks[0]] for ranks in self.ranks)


@dataclass(frozen=True)
class LocateOptions:
    """Options of a search."""

    size_bytes: int
    """Size of full messages."""
    may_grow: bool
    """True: on a fast network messages are larger, so that latencies hardly matter."""
    repetitions: int
    seed: int
    metadata: Mapping[str, object]
    most_phases: int = 0
    """0: as many as an AAPC has, within bounds."""
    confidence: float = CONFIDENCE
    """Probability that every rank is in its right group; a lower one needs fewer measurements."""
    least_phases: int = 0
    """Permutations to measure if nothing is slow; 0: log2 of the number of ranks."""
    most_seconds: float = math.inf
    """A step that would probably end later is not begun."""
    most_again: int = 2
    """Most repetitions of a step if the emulating machine limited all of it."""


@dataclass(frozen=True)
class Step:
    """Phases that the search measures together."""

    measured: int
    """Phases of full messages measured before."""
    phases: int
    size_bytes: int
    """Size of full messages."""
    short: bool
    """The messages have one byte."""
    purpose: str
    """What they measure: `a few hosts alone`."""
    again: bool
    """The machine limited all of these phases when they were measured before."""


@dataclass
class Gathered:
    """Data gathered from all steps so far."""

    senders: Senders
    adapters: Adapters = field(default_factory=Adapters)
    names: tuple[str, ...] = ()
    """[sender]"""
    nodes: tuple[str, ...] = ()
    """[sender]"""
    facts: HostFacts = field(default_factory=lambda: HostFacts(losses=Losses(alone={})))
    """Increments of counters over all measurements."""
    planted: tuple[str, ...] = ()
    """Faults of the lab during the measurements."""
    network: DescribedNetwork | None = None
    exact: bool = False
    """True if the measurements are computed, without noise."""
    measured: int = 0
    """Number of phases."""
    short: int = 0
    """Number of these phases whose messages have one byte."""
    limited: int = 0
    """Number of these phases that the emulating machine limited."""

    @property
    def told_limited(self) -> str:
        return machine.limited(self.limited, self.measured) if self.limited else ""

    def learn(self, run: Run, phases: Sequence[Sequence[Route]], each: int) -> Floats | None:
        """[route of senders, rank of a sender] bytes per second; NaN in phases that the machine limited.

        None if it limited every phase. `phases` are routes of ranks, `each` for every pair of senders.
        """
        self.names = self.names or self.senders.named(run)
        self.nodes = self.nodes or tuple(run.node_names[ranks[0]] for ranks in self.senders.ranks)
        self.facts += HostFacts.of(run)
        self.exact = is_exact(run.attributes)
        self.network = described_network(run.attributes)
        self.planted = tuple(dict.fromkeys((*self.planted, *planted([run]))))
        numbers = np.asarray(run.dataset["phase"].values).tolist()
        limited = limited_phases(run.attributes, run.sizes_bytes[0])
        spoilt = sum(number in limited for number in numbers)
        self.measured += len(phases)
        self.limited += spoilt
        if spoilt == len(numbers):
            return None
        return network_only(rates(run, phases), phases, numbers, limited).reshape(-1, each)


def locate(
    session: Session,
    decided: Decided,
    folder: Path,
    how: LocateOptions,
    told: Callable[[Step], None],
) -> tuple[Gathered, Located | None]:
    """Searches; returns (the gathered data, what they show).

    The latter is None if the emulating machine limited most of the measurements. `told` gets each step before
    it is measured. A step that the
    machine limited entirely is repeated, since the search cannot continue without it; after too many such
    repetitions the search ends. Raises Interrupted or SessionError if nothing was measured.
    """
    senders = Senders.of(session, decided.options.ranks)
    search = _search(senders, how)
    began, step_began, seconds_a_phase = time.monotonic(), time.monotonic(), 0.0
    gathered, in_vain, over = Gathered(senders), 0, False

    def late(phases: int) -> bool:
        return time.monotonic() - began + seconds_a_phase * phases > how.most_seconds

    for step in itertools.count():
        phases = search.propose()
        if not phases or in_vain > how.most_again:
            break
        step_began = time.monotonic()
        if gathered.measured and late(len(phases)):
            break
        if search.waits and decided.options.backend != Realm.SIMULATED:  # no time passes there
            _wait(session)
        out = folder / f"step{step:03}.zarr"
        short = search.asks_latency
        measured = gathered.measured - gathered.short
        told(Step(measured, len(phases), how.size_bytes, short, search.purpose, again=in_vain > 0))
        each = 1 if short else senders.each
        of_ranks = senders.phases(phases, each)
        outcome = session.run(_job(of_ranks, out, decided, how, SHORT_BYTES if short else how.size_bytes))
        over = session.interrupted or outcome.state != "complete"
        if over:
            break
        seen = gathered.learn(Run.open(out), of_ranks, each)
        gathered.short += len(phases) if short else 0
        seconds_a_phase = (time.monotonic() - step_began) / len(phases)
        before, how = how, how if short or seen is None else _sized(how, seen)
        if how.size_bytes > before.size_bytes:
            search, gathered = _search(senders, how), Gathered(senders)
            continue
        if seen is not None:
            of_senders = gathered.adapters.rates(seen, senders.routes(of_ranks, each))
            search.learn(of_senders / SHORT_BYTES if short else of_senders, seen if each > 1 else None)
        in_vain = in_vain + 1 if seen is None else 0
    ended = in_vain > how.most_again
    if gathered.measured and not over and not ended:
        _lossy_again(session, decided, folder, how, gathered, late)
    if not gathered.measured and session.interrupted:
        raise Interrupted("interrupted before anything was measured")
    if not gathered.measured:
        raise SessionError("nothing was measured: the first step of the search did not complete")
    return gathered, _located(search, gathered, ended=ended)


def _search(senders: Senders, how: LocateOptions) -> Search:
    return Search(
        len(senders.ranks), most_phases=how.most_phases, least_phases=how.least_phases, seed=how.seed,
        confidence=how.confidence,
    )  # fmt: skip


def _sized(how: LocateOptions, seen: Floats) -> LocateOptions:
    """Returns the options, after the first step of full messages with larger ones if most were too quick.

    A message through more switches takes longer by their latency alone. If that is a notable share of its
    time, it passes for one that others slow. `seen`: bytes per second.
    """
    if not how.may_grow or not np.isfinite(seen).any():
        return how
    short = how.size_bytes / float(np.nanmedian(seen)) < _SHORTEST_SECONDS
    return replace(how, size_bytes=how.size_bytes * (_TIMES_LARGER if short else 1), may_grow=False)


def _wait(session: Session) -> None:
    until = time.monotonic() + _WAIT_SECONDS
    while time.monotonic() < until and not session.interrupted:
        time.sleep(0.02)


def _lossy_again(
    session: Session, decided: Decided, folder: Path, how: LocateOptions, gathered: Gathered,
    late: Callable[[int], bool],
) -> None:  # fmt: skip
    """Measures hosts that may lose packets again, each with sound partners while all others are silent.

    `late`: says whether so many phases would end after the time limit.
    """
    suspects = lossy_hosts.suspects(gathered.facts.losses, gathered.nodes)
    lossy = [gathered.nodes.index(host) for host in suspects]
    sound = [sender for sender in range(len(gathered.senders.ranks)) if sender not in lossy]
    if not lossy or len(sound) < len(lossy):
        return
    partners = itertools.cycle(np.random.default_rng(how.seed).permutation(sound).tolist())
    phases = [
        [way for host in lossy for other in [next(partners)] for way in ((host, other), (other, host))]
        for _ in range(_LOSSY_AGAIN)
    ]
    each = gathered.senders.each
    of_ranks = gathered.senders.phases(phases, each)
    for attempt in range(1 + how.most_again):
        if late(_LOSSY_AGAIN):
            return
        out = folder / f"lossy{attempt}.zarr"
        try:
            if session.run(_job(of_ranks, out, decided, how, how.size_bytes)).state != "complete":
                return
        except SessionError:
            return  # what was found before is not lost with the session
        run = Run.open(out)
        gathered.measured += len(phases)
        # If the machine limited these phases, it may have lost the packets.
        if not limited_phases(run.attributes, run.sizes_bytes[0]):
            facts, seen = gathered.facts, Losses.of(run.attributes, run.node_names)
            losses = facts.losses.again_alone(seen, suspects, 2 * _LOSSY_AGAIN)
            gathered.facts = replace(facts, losses=losses)
            return


def _located(search: Search, gathered: Gathered, *, ended: bool) -> Located | None:
    """`ended`: the search ended because the machine kept limiting all of a step."""
    if gathered.limited > _MOST_LIMITED * gathered.measured:
        return None
    found = search.located(gathered.names)
    if gathered.senders.each > 1:
        note = f"{gathered.senders.each} ranks of each node sent at once; messages within a node were not"
        notes = (*found.structure.notes, f"{note} measured")
        found = replace(found, structure=replace(found.structure, notes=notes))
    if not gathered.limited:
        return found
    if ended and found.observed.phases < FEWEST_PHASES:
        return None
    early = f": a whole step of the search, which ended there; {machine.ADVICE}" if ended else ""
    note = f"{gathered.told_limited}, which are left out{early}"
    return replace(found, structure=replace(found.structure, notes=(*found.structure.notes, note)))


def _job(
    phases: Sequence[Sequence[Route]], out: Path, decided: Decided, how: LocateOptions, size_bytes: int
) -> Job:
    # Connections stay the same between steps, so a network that hashes ports keeps each route on its path.
    options = {"repetitions": how.repetitions, "seed": how.seed, "keep_connections": True}
    return Job(
        pattern=PATTERN, out=out, pattern_parameters={"routes": text(phases)},
        backend=decided.options.backend, sizes=(size_bytes,), options=options, metadata=how.metadata,
    )  # fmt: skip


def text(phases: Sequence[Sequence[Route]]) -> str:
    """Formats routes for the pattern `routes`."""
    return ";".join(
        ",".join(f"{source}-{destination}" for source, destination in routes) for routes in phases
    )


def network_only(
    seen: Floats, phases: Sequence[Sequence[Route]], numbers: Sequence[int], limited: frozenset[int]
) -> Floats:
    """Puts NaN in place of rates from phases that the emulating machine limited.

    `numbers`: [phase] its number in the run.
    """
    spoilt = np.repeat([number in limited for number in numbers], [len(routes) for routes in phases])
    return np.where(spoilt, np.nan, seen)


def rates(run: Run, phases: Sequence[Sequence[Route]]) -> Floats:
    """[route] bytes per second for the routes of all phases, in order; medians over repetitions."""
    seconds = np.asarray(run.message_seconds(0).values)
    peer = np.asarray(run.dataset["peer"].values)
    size = run.sizes_bytes[0]
    found = []
    for phase, routes in enumerate(phases):
        for source, destination in routes:
            slots = np.nonzero(peer[phase, destination] == source)[0]
            times = seconds[:, phase, destination, slots[0]] if len(slots) else np.zeros(0)
            times = times[np.isfinite(times) & (times > 0)]
            if not len(times):
                raise SessionError(
                    f"{run.path}: route {source} to {destination} of phase {phase + 1} has no time"
                )
            found.append(size / float(np.median(times)))
    return np.array(found)
