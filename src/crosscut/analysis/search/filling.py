"""Builds phases that fill limits: of all trunks at once, or limits that permutations hardly ever fill."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

import numpy as np
from numpy.random import Generator

from crosscut.analysis.search import thresholds
from crosscut.analysis.search.state import Phase
from crosscut.analysis.structure.infer import Inferred
from crosscut.analysis.structure.limits import WELL_EXPLAINED
from crosscut.analysis.structure.model import Reach
from crosscut.analysis.structure.observed import Integers, Observed
from crosscut.analysis.structure.totals import LINKS, Capacity, carried_by_groups
from crosscut.analysis.structure.unshared import unshared


def tours(labels: Integers, count: int, random: Generator, among: Sequence[int] = ()) -> list[Phase]:
    """Returns phases in which half of each group sends to one other group, half to a second one.

    These two change from phase to phase. All trunks are full at the same time, except those that exchange
    with a slow trunk, which holds back part of their traffic. `among`: these groups only.
    """
    groups = list(among) or list(range(int(labels.max()) + 1))
    if len(groups) < 2:
        return []
    shifts = 1 + random.permutation(len(groups) - 1)
    # With few groups, the same ones would meet in every phase, and a slow one would make others look slow.
    halves = (0, 1) if len(groups) >= thresholds.MANY_GROUPS else (0, 0)
    found = []
    for number in range(count):
        load = thresholds.TOUR_LOADS[number % len(thresholds.TOUR_LOADS)]
        two = [int(shifts[(len(set(halves)) * number + half) % len(shifts)]) for half in halves]
        found.append(_tour(groups, two, load, labels, random))
    return found


def tours_within(inner: Integers, outer: Integers, count: int, random: Generator) -> list[Phase]:
    """Returns tours of the inner groups of each outer one, all at the same time."""
    inside = [np.unique(inner[outer == group]).tolist() for group in range(int(outer.max()) + 1)]
    parted = [tours(inner, count, random, among) for among in inside if len(among) > 1]
    return [[route for phase in phases for route in phase] for phases in zip(*parted, strict=True)]


def _tour(
    groups: Sequence[int], two: Sequence[int], load: float, labels: Integers, random: Generator
) -> Phase:
    senders, receivers = [], []
    routes: Phase = []
    for group in groups:
        members = np.nonzero(labels == group)[0]
        sending = random.permutation(members)[: max(2, int(load * len(members)))]
        senders.append(np.array_split(sending, 2))
        receivers.append(np.array_split(random.permutation(members), 2))
    for at, sending_halves in enumerate(senders):
        for half, shift in enumerate(two):
            receiving = receivers[(at + shift) % len(groups)][half].tolist()
            routes += zip(sending_halves[half].tolist(), receiving, strict=False)
    return routes


def missing(found: Inferred, seen: Observed, random: Generator, *, toured: bool) -> list[Phase]:
    """Returns phases that fill missing limits, if others of their kind are known; none if none is missing.

    `toured`: all trunks were filled at once.
    """
    one_trunk = len(found.capacities) <= thresholds.LIMITS_OF_ONE_TRUNK
    if toured and one_trunk and found.explained >= WELL_EXPLAINED:
        return []  # all other trunks carry what their hosts send
    labels = found.grouping.labels
    return phases(found.capacities, labels, random, carrying(seen, labels, unshared(seen).nominal))


def at_once(found: Inferred, wanted: list[Phase], most: int, random: Generator) -> list[Phase]:
    """Returns `wanted`, or `most` tours of groups without a slow trunk if these are fewer phases.

    Tours do not fill limits of pairs of groups, nor trunks of groups that are larger than others.
    """
    labels = found.grouping.labels
    size = np.bincount(labels)
    uneven = size.max() > thresholds.UNEVEN * np.median(size)
    if len(wanted) <= most or uneven or any(one.reach is Reach.BETWEEN for one in found.capacities):
        return wanted
    return tours(labels, most, random, sound(found.capacities, labels)) or wanted


def has_slow_trunks(found: Inferred) -> bool:
    """Returns True if a known slow trunk keeps others from being full."""
    return len(sound(found.capacities, found.grouping.labels)) < found.grouping.count


def sound(capacities: Sequence[Capacity], labels: Integers) -> list[int]:
    """Returns the groups without a trunk that is known to carry less per host than others."""
    size = np.bincount(labels)
    trunks = [(one.groups[0], one.bytes_per_second) for one in capacities if one.reach in LINKS]
    per_host = [(group, rate / size[group]) for group, rate in trunks]
    middle = float(np.median([rate for _, rate in per_host])) if trunks else 0.0
    slow = {group for group, rate in per_host if rate < thresholds.SLOWER_TRUNK * middle}
    return [group for group in range(int(labels.max()) + 1) if group not in slow]


def carrying(observed: Observed, labels: Integers, nominal: float) -> frozenset[tuple[Reach, int]]:
    """Returns the trunks that in some phase carried nearly as much as hosts can send over them.

    They have no limit to fill. `nominal`: bytes per second of a host.
    """
    size = np.bincount(labels)
    most = np.minimum(size, len(labels) - size) * nominal
    found: list[tuple[Reach, int]] = []
    for reach, totals in carried_by_groups(observed, labels):
        full = totals.max(axis=0, initial=0.0) >= thresholds.NEARLY_ALL * most
        found += [(reach, int(group)) for group in np.nonzero(full)[0]]
    return frozenset(found)


def phases(
    capacities: Sequence[Capacity], labels: Integers, random: Generator,
    unlimited: frozenset[tuple[Reach, int]] = frozenset(), outer: Integers | None = None,
) -> list[Phase]:  # fmt: skip
    """Returns phases for limits that are missing among those of a known kind.

    `unlimited`: trunks without a limit. `outer`: [rank] its outer group; at most one trunk inside each outer
    group is filled at a time.
    """
    groups = range(int(labels.max()) + 1)
    known = {(one.reach, one.groups) for one in capacities}
    reaches = {one.reach for one in capacities}
    if Reach.BETWEEN in reaches:
        pairs = [(a, b) for a in groups for b in groups if a != b and (Reach.BETWEEN, (a, b)) not in known]
        return _between(pairs, labels, random)
    if reaches.isdisjoint(LINKS):
        return []
    trunks = [(reach, group) for reach in LINKS for group in groups if (reach, (group,)) not in known]
    left = [one for one in trunks if one not in unlimited]
    first = np.unique(labels, return_index=True)[1]
    of = np.arange(len(groups)) if outer is None else outer[first]
    return _of_trunks(left, sound(capacities, labels), labels, of, random)


def _between(left: list[tuple[int, int]], labels: Integers, random: Generator) -> list[Phase]:
    """Fills as many pairs of groups at once as share neither a sending nor a receiving group."""
    found: list[Phase] = []
    while left:
        together: list[tuple[int, int]] = []
        for pair in left:
            if all(pair[0] != a and pair[1] != b for a, b in together):
                together.append(pair)
        left = [pair for pair in left if pair not in together]
        found += [
            [route for a, b in together for route in _from_to(a, b, load, labels, random)]
            for load in thresholds.LOADS
        ]
    return found


def _from_to(a: int, b: int, load: float, labels: Integers, random: Generator) -> Phase:
    sources, destinations = (random.permutation(np.nonzero(labels == group)[0]) for group in (a, b))
    count = max(2, round(load * min(len(sources), len(destinations))))
    return list(zip(sources[:count].tolist(), destinations[:count].tolist(), strict=False))


def _of_trunks(
    missing: list[tuple[Reach, int]], able: list[int], labels: Integers, of: Integers, random: Generator
) -> list[Phase]:
    """Returns phases in which few groups send to many, or many to few, so that only the few trunks fill.

    `able`: groups whose trunk does not hold others back; if they have too few hosts, the others help. `of`:
    [group] its outer group, in which only one trunk is filled at a time.
    """
    found: list[Phase] = []
    most, size = max(1, (len(able) - 1) // 3), np.bincount(labels)
    for reach in LINKS:
        left = [group for kind, group in missing if kind is reach]
        while left:
            few = [left[at] for at in np.unique(of[left], return_index=True)[1].tolist()][:most]
            left = [group for group in left if group not in few]
            many = [group for group in able if group not in few]
            if size[many].sum() < size[few].sum():
                many = [group for group in range(len(size)) if group not in few]
            for load in thresholds.LOADS if many else ():
                routes = _few_to_many(few, many, load, labels, random)
                found.append(routes if reach is Reach.LEAVING else [(b, a) for a, b in routes])
    return found


def _few_to_many(few: list[int], many: list[int], load: float, labels: Integers, random: Generator) -> Phase:
    """Pairs hosts of each of `few` with hosts of `many`, from each of these in proportion to its size."""
    partners: list[tuple[float, int]] = []
    for group in many:
        hosts = random.permutation(np.nonzero(labels == group)[0])
        place = (np.arange(len(hosts)) + random.random()) / len(hosts)
        partners += zip(place.tolist(), hosts.tolist(), strict=True)
    others = [host for _, host in sorted(partners)]
    senders = []
    for group in few:
        hosts = random.permutation(np.nonzero(labels == group)[0])
        senders.append(hosts[: max(2, round(load * len(hosts)))].tolist())
    # The few take turns, so that partners that do not suffice are divided among them.
    turns = [host for at in zip_longest(*senders) for host in at if host is not None]
    return list(zip(turns, others, strict=False))
