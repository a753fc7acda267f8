"""Phases that fill what groups share: limits of which too little was seen, because hardly any permutation
reaches them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from crosscut.analysis.search import thresholds
from crosscut.analysis.structure.infer import WELL_EXPLAINED, Inferred
from crosscut.analysis.structure.limits import Capacity
from crosscut.analysis.structure.model import Reach
from crosscut.analysis.structure.observed import Integers, Observed, Route
from crosscut.analysis.structure.unshared import unshared

_TRUNKS = (Reach.LEAVING, Reach.ENTERING)


def tours(
    labels: Integers, count: int, random: np.random.Generator, among: Sequence[int] = ()
) -> list[list[Route]]:
    """Half of each group sends to one other, half to a second, and it receives so, in every phase from
    others: all that leaves a group, and all that enters it, is full at the same time, but for the two that
    send to a slow trunk, or receive from it: as their other halves compete for what others fill, they lack
    part of what the slow one does. `among`: these groups only."""
    groups = list(among) or list(range(int(labels.max()) + 1))
    if len(groups) < 2:
        return []
    shifts = 1 + random.permutation(len(groups) - 1)
    found = []
    for number in range(count):
        load = thresholds.TOUR_LOADS[number % len(thresholds.TOUR_LOADS)]
        # Of few groups the same would meet in every phase, and what one holds back look like a limit.
        halves = (0, 1) if len(groups) >= thresholds.MANY_GROUPS else (0, 0)
        two = [int(shifts[(len(set(halves)) * number + half) % len(shifts)]) for half in halves]
        found.append(_tour(groups, two, load, labels, random))
    return found


def _tour(
    groups: Sequence[int], two: Sequence[int], load: float, labels: Integers, random: np.random.Generator
) -> list[Route]:
    senders, receivers = [], []
    for group in groups:
        members = np.nonzero(labels == group)[0]
        sending = random.permutation(members)[: max(2, int(load * len(members)))]
        senders.append(np.array_split(sending, 2))
        receivers.append(np.array_split(random.permutation(members), 2))
    return [
        (int(source), int(destination))
        for at in range(len(groups))
        for half, shift in enumerate(two)
        for source, destination in zip(
            senders[at][half], receivers[(at + shift) % len(groups)][half], strict=False
        )
    ]


def missing(
    found: Inferred, seen: Observed, random: np.random.Generator, *, toured: bool
) -> list[list[Route]]:
    """Phases that fill limits of which others of their kind are known; none, where none is missing.
    `toured`: all trunks were loaded at once."""
    if (
        toured
        and len(found.capacities) <= thresholds.LIMITS_OF_ONE_TRUNK
        and found.explained >= WELL_EXPLAINED
    ):
        # Those without a limit have none below what their hosts send.
        return []
    labels = found.grouping.labels
    return phases(found.capacities, labels, random, carrying(seen, labels, unshared(seen).nominal))


def at_once(
    found: Inferred, wanted: list[list[Route]], most: int, random: np.random.Generator
) -> list[list[Route]]:
    """All that is missing in `most` phases, where it would take more: what a slow trunk holds back the others
    must not wait for. Limits of pairs of groups do not fill so."""
    if len(wanted) <= most or any(one.reach is Reach.BETWEEN for one in found.capacities):
        return wanted
    labels = found.grouping.labels
    return tours(labels, most, random, sound(found.capacities, labels)) or wanted


def has_slow_trunks(found: Inferred) -> bool:
    """Whether a trunk is known that keeps others from being full."""
    return len(sound(found.capacities, found.grouping.labels)) < found.grouping.count


def sound(capacities: Sequence[Capacity], labels: Integers) -> list[int]:
    """Groups whose trunk is not known to be slower than others'."""
    links = [c for c in capacities if c.reach in _TRUNKS]
    middle = float(np.median([c.bytes_per_second for c in links])) if links else 0.0
    slow = {c.groups[0] for c in links if c.bytes_per_second < thresholds.SLOWER_TRUNK * middle}
    return [group for group in range(int(labels.max()) + 1) if group not in slow]


def carrying(observed: Observed, labels: Integers, nominal: float) -> frozenset[tuple[Reach, int]]:
    """Groups of which nearly all that the hosts can send to the others left in some phase, or entered: they
    have no limit that could be filled. `nominal`: bytes per second of a host."""
    source, destination = labels[observed.source], labels[observed.destination]
    across = source != destination
    numbers, phase = np.unique(observed.phase[across], return_inverse=True)
    size = np.bincount(labels)
    most = np.minimum(size, len(labels) - size) * nominal
    found: list[tuple[Reach, int]] = []
    for reach, ends in ((Reach.LEAVING, source), (Reach.ENTERING, destination)):
        totals = np.zeros((len(numbers), len(size)))
        np.add.at(totals, (phase, ends[across]), observed.rate[across])
        full = totals.max(axis=0, initial=0.0) >= thresholds.NEARLY_ALL * most
        found += [(reach, int(group)) for group in np.nonzero(full)[0]]
    return frozenset(found)


def phases(
    capacities: Sequence[Capacity], labels: Integers, random: np.random.Generator,
    unlimited: frozenset[tuple[Reach, int]] = frozenset(),
) -> list[list[Route]]:  # fmt: skip
    """For the limits that are missing among those of a kind that was found; none, where none is missing.
    `unlimited`: what is known to have none."""
    groups = int(labels.max()) + 1
    known = {(capacity.reach, capacity.groups) for capacity in capacities}
    if any(capacity.reach is Reach.BETWEEN for capacity in capacities):
        pairs = [(a, b) for a in range(groups) for b in range(groups) if a != b]
        missing = [pair for pair in pairs if (Reach.BETWEEN, pair) not in known]
        return _between(missing, labels, random)
    if any(capacity.reach in _TRUNKS for capacity in capacities):
        missing_links = [
            (reach, group)
            for reach in _TRUNKS
            for group in range(groups)
            if (reach, (group,)) not in known and (reach, group) not in unlimited
        ]
        return _links(missing_links, capacities, labels, random)
    return []


def _between(
    missing: list[tuple[int, int]], labels: Integers, random: np.random.Generator
) -> list[list[Route]]:
    """Of as many pairs at once as have no group in common on either side."""
    found: list[list[Route]] = []
    left = list(missing)
    while left:
        senders: set[int] = set()
        receivers: set[int] = set()
        together = []
        for a, b in left:
            if a not in senders and b not in receivers:
                together.append((a, b))
                senders.add(a)
                receivers.add(b)
        left = [pair for pair in left if pair not in together]
        found += [
            [route for a, b in together for route in _from_to(a, b, load, labels, random)]
            for load in thresholds.LOADS
        ]
    return found


def _from_to(a: int, b: int, load: float, labels: Integers, random: np.random.Generator) -> list[Route]:
    sources, destinations = (random.permutation(np.nonzero(labels == group)[0]) for group in (a, b))
    count = max(2, round(load * min(len(sources), len(destinations))))
    return list(zip(sources[:count].tolist(), destinations[:count].tolist(), strict=False))


def _links(
    missing: list[tuple[Reach, int]], capacities: Sequence[Capacity], labels: Integers,
    random: np.random.Generator,
) -> list[list[Route]]:  # fmt: skip
    """Few groups send to many, or many to few: the few's limits are full, the many's are not. Groups whose
    trunk is known to be slower than others' stay out, for they would hold the rest back."""
    able = sound(capacities, labels)
    found: list[list[Route]] = []
    for reach in _TRUNKS:
        left = [group for kind, group in missing if kind is reach]
        while left:
            most = max(1, (len(able) - 1) // 3)
            few, left = left[:most], left[most:]
            many = [group for group in able if group not in few]
            for load in thresholds.LOADS if many else ():
                routes = _few_to_many(few, many, load, labels, random)
                found.append(routes if reach is Reach.LEAVING else [(b, a) for a, b in routes])
    return found


def _few_to_many(
    few: list[int], many: list[int], load: float, labels: Integers, random: np.random.Generator
) -> list[Route]:
    """Hosts of each of `few`, each with one of `many`, evenly spread."""
    partners = {group: random.permutation(np.nonzero(labels == group)[0]).tolist() for group in many}
    routes: list[Route] = []
    for group in few:
        hosts = random.permutation(np.nonzero(labels == group)[0])
        for at, host in enumerate(hosts[: max(2, round(load * len(hosts)))].tolist()):
            other = partners[many[at % len(many)]]
            if other:
                routes.append((host, other.pop()))
    return routes
