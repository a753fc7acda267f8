"""Phases that fill what groups share: limits of which too little was seen, because hardly any permutation
reaches them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from crosscut.analysis.findings import Reach
from crosscut.analysis.limits import Capacity
from crosscut.analysis.observed import Integers, Route

# As many as the estimate needs; each with another number of messages, for that a total stays the same
# whatever passes is what makes it a limit.
_LOADS = (1.0, 0.75, 0.9)
# Than the middle of its kind: a trunk that holds others back.
_SLOWER = 0.8
_LINKS = (Reach.LEAVING, Reach.ENTERING)


# Everybody at first: a trunk that carries nearly all that its hosts send is full only then.
_TOUR_LOADS = (1.0, 0.9)


def tours(labels: Integers, count: int, random: np.random.Generator) -> list[list[Route]]:
    """Each group sends to one other and receives from one other, in every phase from another: all that
    leaves a group, and all that enters it, is full at the same time, and a trunk that is slow holds back one
    more at most."""
    groups = int(labels.max()) + 1
    found: list[list[Route]] = []
    while len(found) < count and groups > 1:
        for shift in (1 + random.permutation(groups - 1)).tolist():
            load = _TOUR_LOADS[len(found) % len(_TOUR_LOADS)]
            found.append(
                [
                    route
                    for a in range(groups)
                    for route in _from_to(a, (a + shift) % groups, load, labels, random)
                ]
            )
    return found[:count]


def phases(
    capacities: Sequence[Capacity], labels: Integers, random: np.random.Generator
) -> list[list[Route]]:
    """For the limits that are missing among those of a kind that was found; none, where none is missing."""
    groups = int(labels.max()) + 1
    known = {(capacity.reach, capacity.groups) for capacity in capacities}
    if any(capacity.reach is Reach.BETWEEN for capacity in capacities):
        pairs = [(a, b) for a in range(groups) for b in range(groups) if a != b]
        missing = [pair for pair in pairs if (Reach.BETWEEN, pair) not in known]
        return _between(missing, labels, random)
    if any(capacity.reach in _LINKS for capacity in capacities):
        missing_links = [
            (reach, group) for reach in _LINKS for group in range(groups) if (reach, (group,)) not in known
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
            [route for a, b in together for route in _from_to(a, b, load, labels, random)] for load in _LOADS
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
    middle = np.median([c.bytes_per_second for c in capacities if c.reach in _LINKS])
    slow = {c.groups[0] for c in capacities if c.reach in _LINKS and c.bytes_per_second < _SLOWER * middle}
    found: list[list[Route]] = []
    for reach in _LINKS:
        left = [group for kind, group in missing if kind is reach]
        while left:
            sound = [group for group in range(int(labels.max()) + 1) if group not in slow]
            most = max(1, (len(sound) - 1) // 3)
            few, left = left[:most], left[most:]
            many = [group for group in sound if group not in few]
            for load in _LOADS if many else ():
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
