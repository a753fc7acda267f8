"""Finds which capacity limits which phase, by the network's description or else by inferred limits."""

from __future__ import annotations

import math
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from crosscut.analysis.findings.kinds import FindingKind
from crosscut.analysis.findings.model import Direction, Finding
from crosscut.analysis.stats.intervals import Floats
from crosscut.analysis.structure.model import LOCATE_ON, Reach, Structure
from crosscut.analysis.structure.observed import Integers, Observed
from crosscut.analysis.structure.totals import counted
from crosscut.analysis.structure.unshared import unshared
from crosscut.network.description import Graph
from crosscut.network.message_paths import Step

# A capacity counts as full from this share on: messages are noisy, and fair sharing leaves some unused.
FULL = 0.96
_FEWEST_FLOWS = 2
# Messages that share a capacity over TCP differ by less.
_ALMOST_AS_FAST = 0.7
Way = Callable[[int, int], Sequence[Step]]
"""Returns the links on the path from a source host to a destination host; none if unknown."""
# Messages that nothing hinders have the rate of this quantile; slow ones reach less than this share of it;
# more than this share of messages is not a slow host or two.
_UNHINDERED, _AS_FAST, _FEW = 0.98, 0.8, 0.1


@dataclass(frozen=True)
class Bottleneck:
    what: str
    """`from module0 to module1`"""
    bytes_per_second: float
    phases: tuple[int, ...]
    """Phases in which it is full and slows messages."""
    most_flows: int
    """Largest number of messages that share it in one of these phases."""
    slowest_share: float
    """Rate of the slowest of these messages, as a share of the rate of a message alone."""


@dataclass(frozen=True)
class _Capacity:
    what: str
    bytes_per_second: float
    passes: NDArray[np.bool_]
    """[message] True if the message uses it."""


def by_network(
    observed: Observed, graph: Graph, host_of_rank: Sequence[int], way: Way | None = None
) -> list[Bottleneck] | None:
    """Returns the bottlenecks among the network's capacities. `way`: paths by the network's tables.

    Without `way`, returns None if messages may take several paths or pass other hosts: then the graph alone
    does not tell their paths.
    """
    way = way or single_ways(graph)
    if way is None:
        return None
    hosts = np.asarray(host_of_rank)
    source, destination = hosts[observed.source], hosts[observed.destination]
    passed, known_way = defaultdict[Step, list[int]](list), cache(way)
    for message, ends in enumerate(zip(source.tolist(), destination.tolist(), strict=True)):
        for step in known_way(*ends):
            passed[step].append(message)
    # Payload bytes per bit of link rate, measured at the hosts' own links because the description's
    # efficiency may be inexact. With short messages, a shaper's burst may give more than 1/8.
    links = [edge.bits_per_second for edge in graph.edges if min(edge.a, edge.b) < graph.hosts]
    scale = min(unshared(observed).nominal / float(np.median(links)), 1 / 8) if links else 1 / 8
    return _full(observed, _described(graph, passed, scale, source, destination))


def _described(
    graph: Graph, passed: dict[Step, list[int]], scale: float, source: Integers, destination: Integers
) -> list[_Capacity]:
    """Returns the capacities of links, by direction, and of switches themselves.

    Hosts' own links are included only if messages of other hosts pass them, too.
    """
    found = []
    messages = len(source)
    names = [vertex.name for vertex in graph.vertices]
    entering, leaving = defaultdict[int, list[int]](list), defaultdict[int, list[int]](list)
    rates = {}
    for edge in graph.edges:
        rates[edge.a, edge.b], rates[edge.b, edge.a] = edge.bits_per_second, edge.back_bits_per_second
    for (a, b), those in passed.items():
        if a < graph.hosts <= b:
            entering[b] += those
        if b < graph.hosts <= a:
            leaving[a] += those
        mask = _mask(those, messages)
        own = ((source == a) & (a < graph.hosts)) | ((destination == b) & (b < graph.hosts))
        if math.isfinite(rates.get((a, b), math.inf)) and (mask & ~own).any():
            found.append(_Capacity(f"from {names[a]} to {names[b]}", rates[a, b] * scale, mask))
    for words, by_switch in (("from the hosts of", entering), ("to the hosts of", leaving)):
        for switch, those in by_switch.items():
            if capacity := graph.vertices[switch].capacity_bits_per_second:
                found.append(_Capacity(f"{words} {names[switch]}", capacity * scale, _mask(those, messages)))
    return found


def unexplained(
    observed: Observed, phases: Collection[int], *, by_run: bool, found: Sequence[Finding] = ()
) -> str:
    """Returns what limits the phases in which no capacity is known to limit any message. `by_run`: capacities
    are those that the run shows. `found`: its findings; messages that they explain are left out."""
    faults = [_carried_by(one, observed) for one in found if one.kind.fault]
    explained = np.logical_or.reduce([np.zeros(len(observed), bool), *faults])
    rest = np.isin(observed.phase, list(phases)) & ~explained
    if by_run and rest.any() and _slow(observed)[rest].mean() > _FEW:
        return f"messages are slow, but this run does not show what they share; {LOCATE_ON}"
    limit = "all else is limited by" if explained.any() else "the limit is"
    return f"no shared capacity limits messages; {limit} the hosts' own links, or the hosts themselves"


def _slow(observed: Observed) -> NDArray[np.bool_]:
    """[message] True if it is slower than messages that nothing hinders."""
    return np.asarray(observed.rate < _AS_FAST * np.quantile(observed.rate, _UNHINDERED))


@dataclass(frozen=True)
class FaultyPart:
    """A fault that the run's findings tell, and the phases in which it slows messages."""

    what: str
    """`n6's link is slow: n6 sends at 50 % of the rate of the other hosts`"""
    phases: tuple[int, ...]


def faulty(observed: Observed, found: Sequence[Finding]) -> list[FaultyPart]:
    """Returns the faults of hosts and routes among the findings of the run."""
    slow, parts = _slow(observed), []
    for one in found:
        if not one.kind.fault or not (one.ranks or one.routes):
            continue
        mine = _carried_by(one, observed)
        slow_link = f"{one.hosts[0]}'s link is slow: " if one.kind is FindingKind.SLOW_HOST else ""
        if phases := np.unique(observed.phase[mine & slow]).tolist():
            parts.append(FaultyPart(slow_link + one.what, tuple(phases)))
    return parts


def _carried_by(fault: Finding, observed: Observed) -> NDArray[np.bool_]:
    """[message] True if the fault's hosts or routes carry it."""
    mine = np.zeros(len(observed), bool)
    for source, destination in fault.routes:
        mine |= (observed.source == source) & (observed.destination == destination)
    if not fault.routes and fault.direction is not Direction.IN:
        mine |= np.isin(observed.source, fault.ranks)
    if not fault.routes and fault.direction is not Direction.OUT:
        mine |= np.isin(observed.destination, fault.ranks)
    return mine


def by_structure(observed: Observed, structure: Structure) -> list[Bottleneck]:
    """Returns the bottlenecks among the limits that were inferred."""
    found = []
    for limit in structure.limits:
        labels = (
            np.array(structure.labels()) if limit.reach is Reach.CROSSING else np.full(observed.ranks, -1)
        )
        for number, name in enumerate(limit.groups):
            if group := structure.group(name):
                labels[list(group.ranks)] = number
        mask = counted(limit.reach, tuple(range(len(limit.groups))), labels, observed)
        found.append(_Capacity(_words(limit.reach, limit.groups), limit.bytes_per_second, mask))
    return _full(observed, found)


def _words(reach: Reach, groups: Sequence[str]) -> str:
    return {
        Reach.LEAVING: "out of {0}", Reach.ENTERING: "into {0}", Reach.BETWEEN: "from {0} to {1}",
        Reach.SENT: "from the hosts of {0}", Reach.RECEIVED: "to the hosts of {0}",
        Reach.CROSSING: "between groups",
    }[reach].format(*groups)  # fmt: skip


def _full(observed: Observed, capacities: Sequence[_Capacity]) -> list[Bottleneck]:
    """Returns the capacities that are full in some phase and slow a message there."""
    alone = unshared(observed)
    slowness = np.log(observed.rate / alone.nominal)
    numbers, phase = np.unique(observed.phase, return_inverse=True)
    found = []
    for capacity in capacities:
        there = capacity.passes
        flows = np.bincount(phase[there], minlength=len(numbers))
        totals = np.bincount(phase[there], weights=observed.rate[there], minlength=len(numbers))
        slow: Floats = np.full(len(numbers), 0.0)
        held = there & _held_back(there, phase, observed.rate, len(numbers))
        np.minimum.at(slow, phase[held], slowness[held])
        full = (
            (totals >= FULL * capacity.bytes_per_second) & (flows >= _FEWEST_FLOWS) & (slow < alone.threshold)
        )
        if full.any():
            phases, most, slowest = numbers[full].tolist(), int(flows[full].max()), slow[full].min()
            share = float(np.exp(slowest))
            found.append(Bottleneck(capacity.what, capacity.bytes_per_second, tuple(phases), most, share))
    return sorted(found, key=lambda bottleneck: (-len(bottleneck.phases), bottleneck.what))


def _held_back(
    passes: NDArray[np.bool_], phase: NDArray[np.int64], rate: Floats, count: int
) -> NDArray[np.bool_]:
    """Returns [message] True if this capacity may be what limits it: of the messages that share a capacity
    max-min fairly, those that it limits are the fastest, and another capacity limits the others.

    `phase`: [message] index of its phase, of `count`.
    """
    fastest: Floats = np.zeros(count)
    np.maximum.at(fastest, phase[passes], rate[passes])
    return np.asarray(rate >= _ALMOST_AS_FAST * fastest[phase])


def _mask(messages: Sequence[int], count: int) -> NDArray[np.bool_]:
    mask = np.zeros(count, bool)
    mask[list(messages)] = True
    return mask


def single_ways(graph: Graph) -> Way | None:
    """Returns paths of fewest links through switches alone; None unless every pair has exactly one."""
    near: list[list[int]] = [[] for _ in graph.vertices]
    for edge in graph.edges:
        near[edge.a].append(edge.b)
        near[edge.b].append(edge.a)
    steps: list[list[int]] = []
    for host in range(graph.hosts):
        found = _towards(host, near, graph.hosts)
        if found is None:
            return None
        steps.append(found)

    def way(source: int, destination: int) -> list[Step]:
        found, at = [], source
        while at != destination:
            found.append((at, steps[destination][at]))
            at = steps[destination][at]
        return found

    return way


def _towards(destination: int, near: Sequence[Sequence[int]], hosts: int) -> list[int] | None:
    distance, step = [-1] * len(near), [-1] * len(near)
    distance[destination] = 0
    ahead = deque([destination])
    while ahead:
        vertex = ahead.popleft()
        for other in near[vertex]:
            if distance[other] < 0:
                distance[other], step[other] = distance[vertex] + 1, vertex
                if other >= hosts:  # paths do not pass hosts
                    ahead.append(other)
            elif distance[other] == distance[vertex] + 1:
                return None  # another path is as short
    return step if all(distance[host] >= 0 for host in range(hosts)) else None
