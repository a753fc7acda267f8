"""Searches a network of known truth and scores the findings against it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.truth import networks, oracle
from benchmarks.truth.noise import Noise
from benchmarks.truth.parts import Truth
from crosscut.analysis.findings import of_run
from crosscut.analysis.findings.kinds import FindingKind
from crosscut.analysis.findings.model import Direction, Finding
from crosscut.analysis.search.adapters import Adapters
from crosscut.analysis.search.search import Search
from crosscut.analysis.structure.located import Located
from crosscut.campaigns.locate import Senders

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Score:
    family: str
    ranks: int
    """Senders: nodes, if nodes have several ranks."""
    rand: float
    """Adjusted Rand index of the groups."""
    capacity_errors: tuple[float, ...]
    """Relative errors of the limits found."""
    limits: int
    """Limits that can be found; 0 if the groups were not found."""
    faults: tuple[tuple[str, float, bool], ...]
    """Planted faults: kind, share left of the capacity, whether it was named."""
    alarms: int
    """Faults named, planted or not."""
    phases: int
    seconds: float

    @property
    def planted(self) -> int:
        return len(self.faults)

    @property
    def found(self) -> int:
        return sum(found for _, _, found in self.faults)

    @classmethod
    def of_json(cls, value: dict[str, Any]) -> Score:
        faults = tuple((kind, share, found) for kind, share, found in value["faults"])
        return cls(**{**value, "faults": faults, "capacity_errors": tuple(value["capacity_errors"])})


def adjusted_rand(a: Integers, b: Integers) -> float:
    """Hubert and Arabie, Journal of Classification 2, 1985: 1 for equal partitions, 0 expected by chance."""
    table = np.zeros((int(a.max()) + 1, int(b.max()) + 1))
    np.add.at(table, (a, b), 1)

    def pairs(counts: NDArray[np.float64]) -> float:
        return float((counts * (counts - 1) / 2).sum())

    rows, columns = pairs(table.sum(0)), pairs(table.sum(1))
    chance = rows * columns / pairs(np.array([table.sum()]))
    middle = (rows + columns) / 2
    return 1.0 if middle == chance else (pairs(table) - chance) / (middle - chance)


def search(truth: Truth, noise: float | Noise, seed: int) -> Located:
    """Searches like `crosscut locate`: a node with several ranks is one sender."""
    random, senders, adapters = np.random.default_rng(seed), senders_of(truth), Adapters()
    searching = Search(len(senders.ranks), seed=seed)
    while phases := searching.propose():
        if searching.waits and isinstance(noise, Noise):
            noise.pass_time()
        if searching.asks_latency:
            of_ranks = senders.phases(phases, 1)
            searching.learn(1 / oracle.latencies(truth.idle_seconds, of_ranks, noise, random))
        else:
            of_ranks = senders.phases(phases, senders.each)
            rates = oracle.measure(truth.ways, truth.capacities, of_ranks, noise, random, truth.unevenness)
            routes = [route for phase in phases for route in phase]
            each = rates.reshape(-1, senders.each)
            searching.learn(adapters.rates(each, routes), each if senders.each > 1 else None)
    return searching.located()


def senders_of(truth: Truth) -> Senders:
    return Senders(truth.nodes or tuple((rank,) for rank in range(truth.ranks)))


def score(seed: int, noise: float, *, healthy: bool = False) -> Score:
    """Scores a network of the first families, with faults that are easy to see."""
    return scored(networks.make(seed, healthy=healthy), noise, seed)


def of_family(family: Callable[[np.random.Generator], Truth], seed: int, *, healthy: bool) -> Score:
    """Scores a network with one fault of any size, or none, and noise of any model and size."""
    random = np.random.default_rng(seed)
    truth = networks.with_fault_of_any_size(family(random), random, healthy=healthy)
    truth = truth.with_frames(np.random.default_rng(seed + 3_000_000))
    return scored(truth, Noise.drawn(truth.ranks, np.random.default_rng(seed + 2_000_000)), seed)


def scored(truth: Truth, noise: float | Noise, seed: int) -> Score:
    start = time.perf_counter()
    located = search(truth, noise, seed + 1_000_000)
    senders = len(located.inferred.alone.out_rate)
    found = of_run.of_located(located, tuple(f"n{sender}" for sender in range(senders)))
    labels = located.inferred.grouping.labels
    rand = adjusted_rand(truth.labels, labels)
    names = _same_groups(truth.labels, labels) if rand == 1 else {}
    errors = _capacity_errors(truth, located, names)
    named = named_faults(found, truth)
    planted = {
        _alike((fault.kind, fault.subject, fault.direction), truth): fault.share for fault in truth.faults
    }
    return Score(
        family=truth.family, ranks=senders, rand=rand, capacity_errors=tuple(errors),
        limits=len(_told(truth)) if rand == 1 and not truth.spread else 0,
        faults=tuple((fault[0], share, fault in named) for fault, share in planted.items()),
        alarms=len(named), phases=located.phases_used, seconds=time.perf_counter() - start,
    )  # fmt: skip


def _same_groups(truth: Integers, labels: Integers) -> dict[int, int]:
    """Maps found groups to true groups."""
    return {int(found): int(true) for found, true in zip(labels, truth, strict=True)}


def _capacity_errors(truth: Truth, located: Located, names: dict[int, int]) -> list[float]:
    if not names or truth.spread:
        return []
    errors: dict[tuple[str, int, int], float] = {}
    for capacity in located.inferred.capacities:
        groups = [names[group] for group in capacity.groups] + [-1, -1]
        key = (capacity.reach.name.lower(), groups[0], groups[1])
        if key not in truth.limits and int(truth.labels.max()) == 1:
            key = _between_two(*key)
        if key in truth.limits:
            errors[key] = abs(capacity.bytes_per_second / truth.limits[key] - 1)
    told = _told(truth)
    return [error for key, error in (errors | _errors_within(truth, located)).items() if key in told]


def _errors_within(truth: Truth, located: Located) -> dict[tuple[str, int, int], float]:
    """Returns the relative errors of inner groups' limits, matched by their hosts."""
    if truth.inner is None:
        return {}
    outline = located.structure
    ranks = {group.name: group.ranks for top in outline.groups for group in top.parts}
    errors: dict[tuple[str, int, int], float] = {}
    for limit in outline.limits:
        number = inner_group(ranks.get(limit.groups[0], ()), truth) if limit.groups else -1
        key = (f"inner {limit.reach.name.lower()}", number, -1)
        if key in truth.limits:
            errors[key] = abs(limit.bytes_per_second / truth.limits[key] - 1)
    return errors


def inner_group(ranks: Sequence[int], truth: Truth) -> int:
    """Returns the inner group of exactly these ranks; -1: none."""
    if truth.inner is None or not ranks:
        return -1
    number = int(truth.inner[ranks[0]])
    return number if set(ranks) == set(np.nonzero(truth.inner == number)[0].tolist()) else -1


def _told(truth: Truth) -> set[tuple[str, int, int]]:
    """Returns the limits that can be found: all but those that others keep from being full.

    A group's limit is not below the sum of its inner groups', or of what all other groups' trunks carry.
    """
    told = set()
    for key, rate in truth.limits.items():
        reach, group, _ = key
        below = [np.inf]
        if truth.inner is not None and not reach.startswith("inner "):
            inner = np.unique(truth.inner[truth.labels == group]).tolist()
            below.append(sum(truth.limits.get((f"inner {reach}", number, -1), np.inf) for number in inner))
        if reach in _OPPOSITE:
            others = [one for one in range(int(truth.labels.max()) + 1) if one != group]
            below.append(sum(truth.limits.get((_OPPOSITE[reach], one, -1), np.inf) for one in others))
        if rate <= min(below):
            told.add(key)
    return told


_OPPOSITE = {"leaving": "entering", "entering": "leaving"}


def _between_two(reach: str, group: int, other: int) -> tuple[str, int, int]:
    """Restates a limit of one of two groups as a limit between them."""
    pairs = {"leaving": (group, 1 - group), "entering": (1 - group, group)}
    return ("between", *pairs.get(reach, (group, other)))


def named_faults(found: Sequence[Finding], truth: Truth) -> set[tuple[str, int, str]]:
    """Returns (kind, subject, direction) of each fault named, as in planted faults."""
    return {subject for finding in found if finding.kind.fault for subject in _subjects(finding, truth)}


def _alike(fault: tuple[str, int, str], truth: Truth) -> tuple[str, int, str]:
    """Returns one name for both ends of a cable of two groups: the same routes pass it out of one and into
    the other."""
    kind, group, way = fault
    two = int(truth.labels.max()) == 1
    return (kind, 1 - group, "out") if kind == "cable" and two and way == "in" else fault


def _subjects(finding: Finding, truth: Truth) -> list[tuple[str, int, str]]:
    """Returns the faults that a finding names: a host slow in both directions is two."""
    ways = (
        ("out", "in")
        if finding.direction is Direction.BOTH
        else (str(finding.direction and finding.direction.value),)
    )
    if finding.kind is FindingKind.SLOW_HOST:
        return [("host", rank, way) for rank in finding.ranks for way in ways]
    if finding.kind is FindingKind.PARTLY_SLOW_HOST:
        return [("bucket", rank, way) for rank in finding.ranks for way in ways]
    if finding.kind is FindingKind.SLOW_TRUNK and (number := inner_group(finding.ranks, truth)) >= 0:
        return [("inner trunk", number, way) for way in ways]
    if finding.kind in (FindingKind.SLOW_TRUNK, FindingKind.SLOW_CABLE):
        members = truth.labels[list(finding.ranks)]
        group = int(members[0]) if len(set(members.tolist())) == 1 else -1
        part = "trunk" if finding.kind is FindingKind.SLOW_TRUNK else "cable"
        return [_alike((part, group, way), truth) for way in ways]
    if len(finding.routes) == 1:
        ((source, destination),) = finding.routes
        return [("route", source * truth.ranks + destination, "out")]
    return [("other", hash(finding.what), "")]
