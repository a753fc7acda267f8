"""Finds trunks that carry less than others of their kind, among the limits that groups share."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from crosscut.analysis.findings.evidence import Evidence
from crosscut.analysis.findings.kinds import FindingKind
from crosscut.analysis.findings.model import Direction, Effect, Finding
from crosscut.analysis.findings.shared_limits import FEWEST_ALIKE, OF_GROUPS, between, where
from crosscut.analysis.findings.slow_parts import Names, few_names
from crosscut.analysis.stats.doubt import FALSE_ALARMS, deviation_of, holm, normal_tail, tail_factor
from crosscut.analysis.stats.intervals import Floats
from crosscut.analysis.structure.infer import Inferred
from crosscut.analysis.structure.model import Reach
from crosscut.analysis.structure.observed import Integers, Observed
from crosscut.analysis.structure.totals import Capacity, carried_by_groups, counted, deviation
from crosscut.base import units

# A slow trunk carries less than this share of what its like carry; one that lost less may be of another kind.
LARGEST_SHARE_OF_TRUNK = 0.85
_LINKS = (Reach.LEAVING, Reach.ENTERING)
# Fewer other trunks than the first may be alike by chance, so they are taken to vary by the second, at least
# (the standard deviation of a logarithm), and by a share of the unevenness of messages.
_ENOUGH_TO_VARY, _LEAST_SPREAD, _OF_UNEVENNESS, _ROUNDING = 10, 0.02, 0.4, 1e-9
# Number of phases whose totals estimate a trunk's unknown capacity: a single one may be an outlier.
_LARGEST_TOTALS = 2
# Groups are of like size up to this ratio of their hosts.
_LIKE_SIZES = 1.5

# Kinds of capacities: the two directions of a trunk are alike.
_Kind = tuple[Reach, ...]
_ALIKE: tuple[_Kind, ...] = (_LINKS, *((reach,) for reach in Reach if reach not in _LINKS))

_Link = tuple[Reach, tuple[int, ...]]
"""The traffic that leaves or enters a group, or passes between two."""


def of_run(evidence: Evidence) -> list[Finding]:
    return of_shared(evidence.observed, evidence.inferred, evidence.name)


def of_shared(observed: Observed, inferred: Inferred, name: Names) -> list[Finding]:
    """Returns slow trunks, and the other limits that groups share."""
    lone, slow = lone_trunks(inferred, observed, name), _trunks(inferred, observed, name)
    others = [
        capacity for capacity in inferred.capacities
        if all(capacity is not one for one, _ in slow) and not _others_may_limit(capacity, inferred)
    ]  # fmt: skip
    return [*(finding for _, finding in slow), *lone, *([] if lone else between(others, inferred))]


def trunks(inferred: Inferred, observed: Observed) -> list[Finding]:
    """Returns shared capacities smaller than those of their kind, or than the totals that others carried."""
    return [finding for _, finding in _trunks(inferred, observed, str)]


def _trunks(inferred: Inferred, observed: Observed, name: Names) -> list[tuple[Capacity, Finding]]:
    if not inferred.capacities:
        return []
    found: list[tuple[Capacity, Finding]] = []
    for kind in _ALIKE:
        of_kind: list[tuple[Capacity, Finding]] = []
        for hosts in _divisors(kind, inferred):
            slow = _slow(kind, hosts, inferred, observed)
            of_kind = [
                (capacity, _trunk(capacity, share, p, inferred, name, int(hosts[capacity.groups[0]])))
                for capacity, share, p in slow
                if _harms(capacity, inferred, observed)
                and not _refuted_by_totals(capacity, kind, hosts, inferred, observed)
            ]  # fmt: skip
            if of_kind or not slow:
                break  # without outliers, all carry alike, in total or per host
        found += of_kind
    return found


def _slow(
    kind: _Kind, hosts: Integers, inferred: Inferred, observed: Observed
) -> list[tuple[Capacity, float, float]]:
    """Returns the capacities of one kind that stand out below, their shares of what others carry, and the
    probabilities that noise alone explains them.

    `hosts`: [group] number by which capacities are divided.
    """
    values = _values(kind, hosts, inferred, observed)
    if len(values) < FEWEST_ALIKE:
        return []
    slow_messages = inferred.alone.slowness(observed) < inferred.alone.threshold
    uneven = deviation(observed, inferred.grouping.labels, slow_messages)
    compared = _compared(values, inferred.alone.noise / 2, max(_LEAST_SPREAD, _OF_UNEVENNESS * uneven))
    found = []
    for capacity in inferred.capacities:
        link = (capacity.reach, capacity.groups)
        if link not in values:
            continue
        share, p = compared[link]
        lost = capacity.bytes_per_second * (1 / share - 1)
        slow = share < LARGEST_SHARE_OF_TRUNK and lost > _lost_by_hosts(capacity, inferred)
        if slow and p < FALSE_ALARMS:
            found.append((capacity, share, p))
    return found


def _harms(capacity: Capacity, inferred: Inferred, observed: Observed) -> bool:
    """Returns False if the trunk leaves each of its hosts as much as others do, or more than others fill."""
    if capacity.reach not in OF_GROUPS:
        return True
    if _others_may_limit(capacity, inferred):
        return False
    kind = next(kind for kind in _ALIKE if capacity.reach in kind)
    per_host = _values(kind, np.bincount(inferred.grouping.labels), inferred, observed)
    mine = per_host[capacity.reach, capacity.groups]
    return mine < LARGEST_SHARE_OF_TRUNK * float(np.median(list(per_host.values())))


def _others_may_limit(capacity: Capacity, inferred: Inferred) -> bool:
    """Returns True if a group's trunk carries as much as all others together, which could not fill more."""
    if capacity.reach not in _LINKS or inferred.grouping.count < FEWEST_ALIKE:
        return False
    opposite = _LINKS[1 - _LINKS.index(capacity.reach)]
    others = [
        one.bytes_per_second for one in inferred.capacities
        if one.reach is opposite and one.groups != capacity.groups
    ]  # fmt: skip
    known = len(others) == inferred.grouping.count - 1
    return known and capacity.bytes_per_second > LARGEST_SHARE_OF_TRUNK * sum(others)


def _compared(
    values: Mapping[_Link, float], noise: float, spread_of_few: float
) -> dict[_Link, tuple[float, float]]:
    """Returns each value over the median of other trunks, and the adjusted probability that noise alone puts
    it so low.

    The two directions of a trunk are not compared with each other, since both may be slow. `noise`: least
    standard deviation of the values' logarithms; `spread_of_few`: if only few others are known.
    """
    logs = {link: math.log(value) for link, value in values.items()}
    below, deviations = [], []
    for (_, groups), value in logs.items():
        others = np.array([other for (_, its), other in logs.items() if its != groups])
        if len(others) < FEWEST_ALIKE - 1:
            return dict.fromkeys(values, (1.0, 1.0))
        middle, few = float(np.median(others)), len(others) < _ENOUGH_TO_VARY
        spread = max(noise, deviation_of(others - middle), spread_of_few if few else _ROUNDING)
        below.append(middle - value)
        deviations.append(below[-1] / (spread * tail_factor(others - middle, spread)))
    p = holm(normal_tail(np.array(deviations))).tolist()
    return {link: (math.exp(-one), its) for link, one, its in zip(values, below, p, strict=True)}


def _values(kind: _Kind, hosts: Integers, inferred: Inferred, observed: Observed) -> dict[_Link, float]:
    """Returns the capacities of one kind, each over `hosts`, and lower bounds of unknown ones."""
    values = {
        (c.reach, c.groups): c.bytes_per_second / hosts[c.groups[0]]
        for c in inferred.capacities if c.reach in kind and c.groups
    }  # fmt: skip
    if values and kind is _LINKS:
        largest = {link: rate / hosts[link[1][0]] for link, rate in _largest(inferred, observed).items()}
        values |= _carried(values, largest, np.bincount(inferred.grouping.labels))
    return values


def _refuted_by_totals(
    capacity: Capacity, kind: _Kind, hosts: Integers, inferred: Inferred, observed: Observed
) -> bool:
    """Returns True if the trunk carried more at another time, because another limit then held its messages
    back, or if its totals are those of its kind: slow messages alone made its capacity seem small.

    Totals of whole messages are compared with each other, because they exceed the capacity if messages share
    it unevenly. `hosts`: as in `_slow`.
    """
    numbers, total = _totals(capacity, inferred, observed)
    count = 1 if capacity.reach is Reach.BETWEEN else _LARGEST_TOTALS
    ordinary = float(total[np.isin(numbers, capacity.phases)].mean())
    if float(np.sort(total)[-count:].mean()) * LARGEST_SHARE_OF_TRUNK >= ordinary:
        return True
    others = []
    for one in inferred.capacities:
        if one.reach in kind and one.groups != capacity.groups:
            numbers, total = _totals(one, inferred, observed)
            others.append(float(total[np.isin(numbers, one.phases)].mean()) / hosts[one.groups[0]])
    mine = ordinary / hosts[capacity.groups[0]]
    return bool(others) and mine > LARGEST_SHARE_OF_TRUNK * float(np.median(others))


def _totals(capacity: Capacity, inferred: Inferred, observed: Observed) -> tuple[Integers, Floats]:
    """Returns the phases whose messages pass the capacity, and the sum of their rates in each."""
    mine = observed.where(counted(capacity.reach, capacity.groups, inferred.grouping.labels, observed))
    numbers, phase = np.unique(mine.phase, return_inverse=True)
    return numbers, np.bincount(phase, mine.rate).astype(np.float64)


def _lost_by_hosts(capacity: Capacity, inferred: Inferred) -> float:
    """Returns the bytes per second that the group lacks because of slow hosts.

    A trunk that lacks no more may be sound.
    """
    if capacity.reach not in OF_GROUPS:
        return 0.0
    out = capacity.reach in (Reach.LEAVING, Reach.SENT)
    rates = inferred.alone.out_rate if out else inferred.alone.in_rate
    mine = rates[inferred.grouping.labels == capacity.groups[0]]
    return float((inferred.alone.nominal - mine).clip(0).sum())


def _divisors(kind: _Kind, inferred: Inferred) -> tuple[Integers, ...]:
    """Returns [group] numbers by which capacities are to be divided: its hosts, or 1.

    Leaves of unequal size may have uplinks in proportion to their hosts, or equal ones. What makes the
    capacities more alike comes first.
    """
    size = np.bincount(inferred.grouping.labels)
    known, one = [c for c in inferred.capacities if c.reach in kind], np.ones_like(size)
    if kind[0] not in OF_GROUPS or len(np.unique(size)) == 1 or not known:
        return (one,)
    logs = np.log([c.bytes_per_second for c in known])
    per_host = logs - np.log([size[c.groups[0]] for c in known])
    spread, of_hosts = (float(np.median(np.abs(some - np.median(some)))) for some in (logs, per_host))
    return (size, one) if of_hosts < spread else (one, size)


def _largest(inferred: Inferred, observed: Observed) -> dict[_Link, float]:
    """Returns bytes per second that left and entered each group: the mean of its largest phase totals.

    Leaves out messages of hosts whose group is unknown: within their group they pass no trunk.
    """
    placed = observed.where(~inferred.of_unplaced(observed.source, observed.destination))
    found: dict[_Link, float] = {}
    for reach, totals in carried_by_groups(placed, inferred.grouping.labels):
        largest = np.sort(totals, axis=0)[-_LARGEST_TOTALS:].mean(axis=0)
        found |= {(reach, (group,)): total for group, total in enumerate(largest.tolist())}
    return found


def _carried(
    known: Mapping[_Link, float], largest: Mapping[_Link, float], size: Integers
) -> dict[_Link, float]:
    """Returns lower bounds of trunks without a known capacity, in the unit of `known`.

    Includes only trunks whose largest totals are so far above the smallest known capacity that it would be
    called slow beside them. Groups must have about as many hosts as those of `known`: if a module is split in
    two by mistake, its inner traffic counts as a trunk's.
    """
    likened = [int(size[groups[0]]) for _, groups in known]
    least = min(known.values(), default=math.inf)
    found: dict[_Link, float] = {}
    for (reach, groups), total in largest.items():
        mine = int(size[groups[0]])
        if any(max(mine, other) > _LIKE_SIZES * min(mine, other) for other in likened):
            continue
        if (reach, groups) not in known and total * LARGEST_SHARE_OF_TRUNK > least:
            found[reach, groups] = total
    # They differ in load, not in capacity, so all get the median.
    middle = float(np.median(list(found.values()))) if found else 0.0
    return dict.fromkeys(found, middle)


def lone_trunks(inferred: Inferred, observed: Observed, name: Names = str) -> list[Finding]:
    """Returns the limits of one of two groups if the other, to which it compares, has none.

    A limit in one direction counts only if the trunk carried more in the other.
    """
    if inferred.grouping.count != 2:
        return []
    across = _of_the_smaller([c for c in inferred.capacities if c.reach in _LINKS], inferred)
    if len({c.groups[0] for c in across}) != 1:
        return []
    if len(across) == 1:
        (one,), largest = across, _largest(inferred, observed)
        back = largest[_LINKS[1 - _LINKS.index(one.reach)], one.groups]
        if back * LARGEST_SHARE_OF_TRUNK < largest[one.reach, one.groups]:
            return []
    doubt = math.exp(-min(max(inferred.grouping.gain, 0.0), 600.0))
    return [_trunk(c, math.nan, doubt, inferred, name) for c in across]


def _of_the_smaller(across: list[Capacity], inferred: Inferred) -> list[Capacity]:
    """Returns only the much smaller group's limit if one direction alone is limited.

    Traffic that leaves one of two groups enters the other, and no healthy trunk is limited in only one
    direction. The larger group then consists of several, between which nothing is slow.
    """
    size = np.bincount(inferred.grouping.labels)
    ways = {c.groups[0] if c.reach is Reach.LEAVING else 1 - c.groups[0] for c in across}
    if len(ways) != 1 or size.max() < _LIKE_SIZES * size.min():
        return across
    return [c for c in across if c.groups[0] == int(size.argmin())]


# Capacity that other traffic always takes looks like lost capacity.
_LOST_OR_TAKEN = ": a cable is down, or other traffic was present all the time"
_WHICH = (
    "look for a cable of the trunk that is down or came up at a lower speed, and check what its ports carry "
    "while nothing is measured: rates alone do not tell a lost cable from traffic that is always there"
)


def _trunk(
    capacity: Capacity, share: float, doubt: float, inferred: Inferred, name: Names, hosts: int = 1
) -> Finding:
    """`share`: of similar trunks' rate; NaN: unknown. `hosts`: of the group if that is per host; else 1."""
    rate = units.rate(capacity.bytes_per_second)
    scale = 1 / capacity.bytes_per_second * share
    members = tuple(np.nonzero(inferred.grouping.labels == capacity.groups[0])[0].tolist())
    whose = f" ({units.count(len(members), 'host')}, {few_names(members, name)})"
    words = where(capacity, inferred) + (whose if capacity.reach in OF_GROUPS else "")
    words += f" is limited to {rate} in total"
    effect = None
    if math.isfinite(share):
        effect = Effect(share, capacity.low * scale, capacity.high * scale)
        each = " per host" if hosts > 1 else ""
        # What others carry lacks the traffic of hosts whose group is unknown.
        lacks = len(inferred.unplaced) and capacity.reach in _LINKS
        others = units.rate(capacity.bytes_per_second / hosts / share)
        said = f"at most {100 * np.nanmax([share, effect.high]):.0f} %" if lacks else effect.text()
        words += f", {said} of the {others}{each}{' or more' if lacks else ''} that others of its kind carry"
    else:
        words += ", while the others show no limit"
    words += _LOST_OR_TAKEN
    direction = {Reach.LEAVING: Direction.OUT, Reach.ENTERING: Direction.IN}.get(capacity.reach)
    return Finding(
        kind=FindingKind.SLOW_TRUNK, what=words, ranks=members,
        groups=tuple(map(inferred.name, capacity.groups)), direction=direction,
        effect=effect, false_alarm=doubt, phases=capacity.phases[:64],
        advice=_WHICH, if_measured=_LOST_OR_TAKEN,
    )  # fmt: skip
