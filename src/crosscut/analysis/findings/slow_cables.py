"""Finds a slow cable among several from which a hash chooses: some routes of its group are slow.

If few messages leave a group and few enter it, hardly any share a cable, and a route that is then always slow
is on a slow cable. Several such routes of one group, with different ends, identify the group and the
direction. NetBouncer (Tan et al., NSDI 2019) finds links by probes along known paths; here paths are unknown,
so a finding says that one of a group's cables is slow, not which.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from crosscut.analysis.findings.kinds import FindingKind
from crosscut.analysis.findings.model import Direction, Effect, Finding
from crosscut.analysis.stats.intervals import Floats
from crosscut.analysis.structure.infer import Inferred, group_name, hashed_paths
from crosscut.analysis.structure.observed import Integers, Observed, Route
from crosscut.base import units

# A route that loses more than this share is slow.
SMALLEST_LOSS = 0.15
# Times that a slow route must have been the only one out of its group and into the other.
FEWEST_ALONE = 2
# Fewest slow routes of a cable; fewest hosts of its group, and fewest other groups, that they connect.
_FEWEST_ROUTES, _FEWEST_ENDS = 2, 2
# A route is slower than a host if it has less than the host's rate by more (a log ratio).
_AS_SLOW = 0.1
# If so many routes of a group were measured and all are slow, all its cables are.
_FEWEST_OF_ALL = 4
# Most slow cables, as a number and as a share of two directions per group: more are not faults.
_FEW_CABLES, _FEW_CABLES_OF_ALL = 2, 0.1

# A cable's slow routes ([route]), its direction and group.
_Cable = tuple[NDArray[np.bool_], Direction, int]


@dataclass(frozen=True)
class Tested:
    """Routes between groups that were measured with few others; [route] arrays, sorted by source."""

    source: Integers
    destination: Integers
    slowness: Floats
    """Logarithm of its fastest rate over that of both ends: slower ones met other messages."""
    always: NDArray[np.bool_]
    """Slow whenever it was measured."""
    times: Integers
    alone: Integers
    """Times that it was the only one out of its group and into the other."""
    lonely: NDArray[np.bool_]
    """It was the only message of a phase at least once."""


def tested(few: Observed, inferred: Inferred) -> Tested:
    """Summarises by route the messages `few`, which are between groups, with few of each group in a phase."""
    slowness, labels = inferred.alone.slowness(few), inferred.grouping.labels
    key, route = np.unique(few.source * few.ranks + few.destination, return_inverse=True)
    times = np.bincount(route, minlength=len(key))
    slow = np.bincount(route, slowness < math.log(1 - SMALLEST_LOSS), len(key))
    by_itself = np.ones(len(few), bool)
    for ends in (few.source, few.destination):
        group_of_phase = few.phase * inferred.grouping.count + labels[ends]
        _, place, count = np.unique(group_of_phase, return_inverse=True, return_counts=True)
        by_itself &= count[place] == 1
    alone = np.bincount(route, by_itself, len(key)).astype(np.int64)
    _, place, count = np.unique(few.phase, return_inverse=True, return_counts=True)
    lonely = np.bincount(route, count[place] == 1, len(key)) > 0
    fastest = np.full(len(key), -np.inf)
    np.maximum.at(fastest, route, slowness)
    return Tested(key // few.ranks, key % few.ranks, fastest, slow == times, times, alone, lonely)


def find(few: Observed, inferred: Inferred, faults: Sequence[Finding] = ()) -> list[Finding]:
    """Returns slow cables, those with most slow routes first; each route counts for only one.

    Routes that another of the `faults` explains do not count.
    """
    seen = tested(few, inferred)
    seen = replace(seen, always=seen.always & ~_explained(seen, inferred, faults))
    cables = _cables(seen, inferred)
    # If many groups seem to have one, this is by design.
    if len(cables) > max(_FEW_CABLES, _FEW_CABLES_OF_ALL * 2 * inferred.grouping.count):
        return []
    sure = [one for one in cables if (one[0] & seen.lonely).sum() >= _FEWEST_ROUTES]
    return [
        _cable(seen, inferred, *one, _number([other for other in sure if other[2] == one[2]], seen, inferred))
        for one in sure
    ]


def _number(of_group: Sequence[_Cable], seen: Tested, inferred: Inferred) -> int:
    """Returns how many cables a group has, by the share of its routes, both ways, that a slow one carries."""
    if known := hashed_paths(inferred):
        return known.cables
    anyone = np.ones(len(seen.source), bool)
    counts = [
        (int(_of_group(seen, inferred, way, group, anyone).sum()), int(mine.sum()))
        for mine, way, group in of_group
    ]
    # A direction of which all routes are slow has a slow trunk, and tells nothing of single cables.
    some = [(routes, slow) for routes, slow in counts if slow < routes] or counts
    return round(sum(routes for routes, _ in some) / sum(slow for _, slow in some))


def _explained(seen: Tested, inferred: Inferred, faults: Sequence[Finding]) -> NDArray[np.bool_]:
    """Returns [route] True if a slow trunk carries it, or a slow host may forward it and is no faster.

    What a host forwards enters the host and leaves its group, or leaves the host for one of its group (as in
    Salmon et al., SC98).
    """
    found = np.zeros(len(seen.source), bool)
    for fault in faults:
        out, into = fault.direction is not Direction.IN, fault.direction is not Direction.OUT
        ranks, fits = np.array(fault.ranks, np.int64), np.ones(len(found), bool)
        if fault.kind is FindingKind.SLOW_HOST and fault.effect and fault.effect.share > 0:
            labels = inferred.grouping.labels
            ranks, out, into = np.nonzero(np.isin(labels, labels[ranks]))[0], into, out
            fits = seen.slowness > math.log(fault.effect.share) - _AS_SLOW
        elif fault.kind is not FindingKind.SLOW_TRUNK:
            continue
        ends = (np.isin(seen.source, ranks) & out) | (np.isin(seen.destination, ranks) & into)
        found |= fits & ends
    return found


def untold(seen: Tested, inferred: Inferred) -> bool:
    """True if a route that is slow alone is on no cable found so far; more routes of its groups may help."""
    told = sum(int(mine.sum()) for mine, _, _ in _cables(seen, inferred))
    return told < int(_slow_alone(seen).sum())


def lonely(seen: Tested, inferred: Inferred) -> list[Route]:
    """Returns the slow routes of cables that were measured as the only message in the network."""
    mine = np.zeros(len(seen.source), bool)
    for routes, _, _ in _cables(seen, inferred):
        mine |= routes & seen.lonely
    return list(zip(seen.source[mine].tolist(), seen.destination[mine].tolist(), strict=True))


def not_lonely(seen: Tested, inferred: Inferred) -> list[Route]:
    """Returns routes still to be measured as the only message in the network."""
    found: list[Route] = []
    for mine, _, _ in _cables(seen, inferred):
        lacking = _FEWEST_ROUTES - int((mine & seen.lonely).sum())
        at = np.nonzero(mine & ~seen.lonely)[0][: max(0, lacking)]
        found += zip(seen.source[at].tolist(), seen.destination[at].tolist(), strict=True)
    return found


def _slow_alone(seen: Tested) -> NDArray[np.bool_]:
    return seen.always & (seen.alone >= FEWEST_ALONE)


def _cables(seen: Tested, inferred: Inferred) -> list[_Cable]:
    left, found = _slow_alone(seen), []
    while left.any():
        ends = [
            (_of_group(seen, inferred, way, group, left), way, group)
            for way in (Direction.OUT, Direction.IN) for group in range(inferred.grouping.count)
        ]  # fmt: skip
        told = [end for end in ends if _of_one_cable(seen, inferred, end[0], end[1])]
        if not told:
            break
        mine, way, group = max(told, key=lambda end: int(end[0].sum()))
        found.append((mine, way, group))
        left &= ~mine
    return found


def _of_one_cable(seen: Tested, inferred: Inferred, mine: NDArray[np.bool_], way: Direction) -> bool:
    """True if the routes are enough, and connect several hosts of the group with several other groups (with
    only two groups: several hosts of the other).

    Otherwise one host, or a cable of one other group, may be slow.
    """
    if mine.sum() < _FEWEST_ROUTES:
        return False
    labels = inferred.grouping.labels
    ends = (seen.source[mine], seen.destination[mine])
    near, far = ends if way is Direction.OUT else ends[::-1]
    others = far if inferred.grouping.count == 2 else labels[far]
    return bool(min(len(np.unique(near)), len(np.unique(others))) >= _FEWEST_ENDS)


def _of_group(
    seen: Tested, inferred: Inferred, way: Direction, group: int, among: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    ends = seen.source if way is Direction.OUT else seen.destination
    return np.asarray(among & (inferred.grouping.labels[ends] == group))


def _cable(
    seen: Tested, inferred: Inferred, mine: NDArray[np.bool_], way: Direction, group: int, cables: int
) -> Finding:
    share = np.exp(seen.slowness[mine])
    every = _of_group(seen, inferred, way, group, np.ones(len(mine), bool))
    all_slow = int(mine.sum()) == int(every.sum()) >= _FEWEST_OF_ALL
    one = f"one of about {cables} cables" if cables > 1 else "one of the cables"
    one = "the trunk" if all_slow else one
    effect = Effect(float(np.median(share)), float(share.min()), float(share.max()))
    routes = tuple(zip(seen.source[mine].tolist(), seen.destination[mine].tolist(), strict=True))
    times = int(seen.times[mine].sum())
    ways = f"{'out of' if way is Direction.OUT else 'into'} {group_name(group)}"
    if inferred.grouping.count == 2:
        there = (group, 1 - group) if way is Direction.OUT else (1 - group, group)
        ways = f"from {group_name(there[0])} to {group_name(there[1])}"
    return Finding(
        FindingKind.SLOW_TRUNK if all_slow else FindingKind.SLOW_CABLE,
        f"{one} {ways} carries {effect.text()} of what a host sends: "
        f"{len(routes)} of {units.count(int(every.sum()), 'route')}, tested with few others at a time, were "
        f"slow in all of their {units.count(times, 'test')}",
        ranks=tuple(np.nonzero(inferred.grouping.labels == group)[0].tolist()),
        routes=routes[:64],
        groups=(group_name(group),),
        direction=way,
        effect=effect,
        advice="look for an uplink that came up at a lower speed or drops packets: counters of the group's "
        "switch, and of the switches above it",
    )
