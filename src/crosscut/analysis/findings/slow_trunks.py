"""Finds limits that hosts share, between groups or within them: slow trunks, or limits by design."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from crosscut.analysis.findings.evidence import Evidence
from crosscut.analysis.findings.kinds import FindingKind
from crosscut.analysis.findings.model import Direction, Effect, Finding
from crosscut.analysis.stats.doubt import FALSE_ALARMS, deviation_of, holm, normal_tail, tail_factor
from crosscut.analysis.structure.infer import Inferred
from crosscut.analysis.structure.located import Located
from crosscut.analysis.structure.model import Limit, Reach
from crosscut.analysis.structure.observed import Integers, Observed
from crosscut.analysis.structure.totals import Capacity, carried_by_groups, counted, deviation
from crosscut.base import units

# A slow trunk carries less than this share of what its like carry; one that lost less may be of another kind.
LARGEST_SHARE_OF_TRUNK = 0.85
_FEWEST_ALIKE = 3
_LINKS = (Reach.LEAVING, Reach.ENTERING)
_OF_GROUPS = (*_LINKS, Reach.SENT, Reach.RECEIVED)
# Fewer other trunks than the first may be alike by chance, so they are taken to vary by the second, at least
# (the standard deviation of a logarithm), and by a share of the unevenness of messages.
_ENOUGH_TO_VARY, _LEAST_SPREAD, _OF_UNEVENNESS, _ROUNDING = 10, 0.02, 0.4, 1e-9
# Number of phases whose totals estimate a trunk's unknown capacity: a single one may be an outlier.
_LARGEST_TOTALS = 2
# A group gets much less than others if its share is less than this multiple of theirs.
_UNEQUAL = 0.8
# Groups are of like size up to this ratio of their hosts.
_LIKE_SIZES = 1.5

# Kinds of capacities: the two directions of a trunk are alike.
_Kind = tuple[Reach, ...]
_ALIKE: tuple[_Kind, ...] = (_LINKS, *((reach,) for reach in Reach if reach not in _LINKS))

_Link = tuple[Reach, tuple[int, ...]]
"""The traffic that leaves or enters a group, or passes between two."""


def of_run(evidence: Evidence) -> list[Finding]:
    return of_shared(evidence.observed, evidence.inferred)


def of_shared(observed: Observed, inferred: Inferred) -> list[Finding]:
    """Returns slow trunks, and the other limits that groups share."""
    lone, slow = lone_trunks(inferred, observed), _trunks(inferred, observed)
    others = [
        capacity for capacity in inferred.capacities
        if all(capacity is not one for one, _ in slow) and not _is_all_of_others(capacity, inferred)
    ]  # fmt: skip
    return [*(finding for _, finding in slow), *lone, *([] if lone else _shared(others, inferred))]


def trunks(inferred: Inferred, observed: Observed) -> list[Finding]:
    """Returns shared capacities smaller than those of their kind, or than the totals that others carried."""
    return [finding for _, finding in _trunks(inferred, observed)]


def _trunks(inferred: Inferred, observed: Observed) -> list[tuple[Capacity, Finding]]:
    if not inferred.capacities:
        return []
    found: list[tuple[Capacity, Finding]] = []
    for kind in _ALIKE:
        of_kind: list[tuple[Capacity, Finding]] = []
        for hosts in _divisors(kind, inferred):
            slow = _slow(kind, hosts, inferred, observed)
            of_kind = [
                (capacity, _trunk(capacity, share, p, inferred, int(hosts[capacity.groups[0]])))
                for capacity, share, p in slow
                if _harms(capacity, inferred, observed) and not _carried_more(capacity, inferred, observed)
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
    if len(values) < _FEWEST_ALIKE:
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
    if capacity.reach not in _OF_GROUPS:
        return True
    if _is_all_of_others(capacity, inferred):
        return False
    kind = next(kind for kind in _ALIKE if capacity.reach in kind)
    per_host = _values(kind, np.bincount(inferred.grouping.labels), inferred, observed)
    mine = per_host[capacity.reach, capacity.groups]
    return mine < LARGEST_SHARE_OF_TRUNK * float(np.median(list(per_host.values())))


def _is_all_of_others(capacity: Capacity, inferred: Inferred) -> bool:
    """Returns True if a group's trunk carries as much as all others together: they may hold it back."""
    if capacity.reach not in _LINKS or inferred.grouping.count < _FEWEST_ALIKE:
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
        if len(others) < _FEWEST_ALIKE - 1:
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


def _carried_more(capacity: Capacity, inferred: Inferred, observed: Observed) -> bool:
    """Returns True if the trunk carried more at another time: another limit then held its messages back.

    Totals of whole messages are compared with each other, because they exceed the capacity if messages share
    it unevenly.
    """
    mine = observed.where(counted(capacity.reach, capacity.groups, inferred.grouping.labels, observed))
    numbers, phase = np.unique(mine.phase, return_inverse=True)
    total = np.bincount(phase, mine.rate)
    count = 1 if capacity.reach is Reach.BETWEEN else _LARGEST_TOTALS
    ordinary = float(total[np.isin(numbers, capacity.phases)].mean())
    return float(np.sort(total)[-count:].mean()) * LARGEST_SHARE_OF_TRUNK >= ordinary


def _lost_by_hosts(capacity: Capacity, inferred: Inferred) -> float:
    """Returns the bytes per second that the group lacks because of slow hosts.

    A trunk that lacks no more may be sound.
    """
    if capacity.reach not in _OF_GROUPS:
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
    if kind[0] not in _OF_GROUPS or len(np.unique(size)) == 1 or not known:
        return (one,)
    logs = np.log([c.bytes_per_second for c in known])
    per_host = logs - np.log([size[c.groups[0]] for c in known])
    spread, of_hosts = (float(np.median(np.abs(some - np.median(some)))) for some in (logs, per_host))
    return (size, one) if of_hosts < spread else (one, size)


def _largest(inferred: Inferred, observed: Observed) -> dict[_Link, float]:
    """Returns bytes per second that left and entered each group: the mean of its largest phase totals."""
    found: dict[_Link, float] = {}
    for reach, totals in carried_by_groups(observed, inferred.grouping.labels):
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


def lone_trunks(inferred: Inferred, observed: Observed) -> list[Finding]:
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
    return [_trunk(c, math.nan, doubt, inferred) for c in across]


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
_CAUSES = ": a cable is down, or other traffic was present all the time"
_WHICH = (
    "look for a cable of the trunk that is down or came up at a lower speed, and check what its ports carry "
    "while nothing is measured: rates alone do not tell a lost cable from traffic that is always there"
)


def _trunk(capacity: Capacity, share: float, doubt: float, inferred: Inferred, hosts: int = 1) -> Finding:
    """`share`: of similar trunks' rate; NaN: unknown. `hosts`: of the group if that is per host; else 1."""
    rate = units.rate(capacity.bytes_per_second)
    scale = 1 / capacity.bytes_per_second * share
    members = tuple(np.nonzero(inferred.grouping.labels == capacity.groups[0])[0].tolist())
    words = f"{where(capacity, inferred)} is limited to {rate} in total"
    effect = None
    if math.isfinite(share):
        effect = Effect(share, capacity.low * scale, capacity.high * scale)
        each = " per host" if hosts > 1 else ""
        words += f", {effect.text()} of what others of its kind carry{each}"
    else:
        words += ", while the others show no limit"
    words += _CAUSES
    direction = {Reach.LEAVING: Direction.OUT, Reach.ENTERING: Direction.IN}.get(capacity.reach)
    return Finding(
        kind=FindingKind.SLOW_TRUNK, what=words, ranks=members,
        groups=tuple(map(inferred.name, capacity.groups)), direction=direction,
        effect=effect, false_alarm=doubt, phases=capacity.phases[:64],
        advice=_WHICH,
    )  # fmt: skip


# Words by reach, to format with the groups' names.
_WORDS = {
    Reach.LEAVING: "traffic leaving {0}", Reach.ENTERING: "traffic entering {0}",
    Reach.SENT: "all traffic that hosts of {0} send",
    Reach.RECEIVED: "all traffic that hosts of {0} receive",
    Reach.BETWEEN: "traffic from {0} to {1}", Reach.CROSSING: "all traffic between groups",
}  # fmt: skip


def where(capacity: Capacity, inferred: Inferred) -> str:
    """Returns words such as `traffic leaving group2`."""
    return _WORDS[capacity.reach].format(*map(inferred.name, capacity.groups))


def _shared(capacities: Sequence[Capacity], inferred: Inferred) -> list[Finding]:
    """Returns the limits that groups share by design."""
    found = []
    for reach in Reach:
        limits = [one.of(tuple(map(inferred.name, one.groups))) for one in capacities if one.reach is reach]
        if limits:
            group = "part of a group" if inferred.names else "group"
            each = (f"one {group}", "another") if reach is Reach.BETWEEN else (f"a {group}",)
            what = _WORDS[reach].format(*(limits[0].groups if len(limits) == 1 else each))
            one = _alike(
                limits,
                what,
                "this is by design, or all trunks lost capacity alike: compare with what was ordered",
            )
            one = replace(one, false_alarm=inferred.grouping.doubt)
            found.append(one.adding(_unequal(reach, capacities, inferred)) if reach in _OF_GROUPS else one)
    return found


def _unequal(reach: Reach, capacities: Sequence[Capacity], inferred: Inferred) -> str:
    """Returns words on the group whose limit leaves its hosts least, if others leave theirs much more.

    Two groups share one trunk, so neither is narrower.
    """
    if inferred.grouping.count < _FEWEST_ALIKE:
        return ""
    out = reach in (Reach.LEAVING, Reach.SENT)
    rates = inferred.alone.out_rate if out else inferred.alone.in_rate
    hosts_carry = np.bincount(inferred.grouping.labels, weights=rates)
    shares = sorted(
        (one.bytes_per_second / float(hosts_carry[one.groups[0]]), inferred.name(one.groups[0]))
        for one in capacities if one.reach is reach
    )  # fmt: skip
    if len(shares) < 2 or shares[0][0] > _UNEQUAL * shares[1][0]:
        return ""
    (least, name), others = shares[0], [share for share, _ in shares[1:]]
    low, high = f"{others[0]:.2f}", f"{others[-1]:.2f}"
    other = f"{low} to {high}" if low != high else low
    do, rest = "send" if out else "receive", "the others" if others[1:] else "the other"
    return f"{name} gets {least:.2f} of what its hosts can {do}, {rest} {other}"


def _alike(limits: Sequence[Limit], what: str, advice: str) -> Finding:
    """Returns a finding on limits of one kind. `what`: words for the limited traffic."""
    rates = [limit.bytes_per_second for limit in limits]
    low, high = min(rates), max(rates)
    spread = f" ({units.rate(low)} to {units.rate(high)})" if high > low * 1.02 else ""
    times = f" ({len(limits)} such limits)" if len(limits) > 1 else ""
    middle = units.rate(float(np.median(rates)))
    return Finding(
        FindingKind.SHARED_LIMIT, f"shared limit: {what}{times}: {middle}{spread}",
        groups=tuple(sorted({name for limit in limits for name in limit.groups})),
        phases=tuple(sorted({phase for limit in limits for phase in limit.phases}))[:256], advice=advice,
    )  # fmt: skip


# Words for the direction of a limit within a group.
_OF_HOSTS = {Reach.SENT: "send", Reach.RECEIVED: "receive"}
_BUILT_SO = "this is by design: compare with what was ordered"


def shared_within(located: Located) -> list[Finding]:
    """Returns limits that hosts share within a group, or all together, and that slow all of them alike."""
    outline = located.structure
    sizes = {group.name: len(group.ranks) for top in outline.groups for group in top.walk()}
    # Limits of groups that permutations revealed are other findings (`shared`).
    told_of = (located.inferred, *(inner.inferred for inner in located.inner))
    others = {(one.reach, tuple(map(of.name, one.groups))) for of in told_of for one in of.capacities}
    known = [
        one for one in outline.limits if one.reach in _OF_HOSTS and (one.reach, one.groups) not in others
    ]
    told = [] if math.isnan(located.few_rate) else [_of_all(located, known)]
    for reach, do in _OF_HOSTS.items():
        if alike := [limit for limit in known if limit.reach is reach]:
            numbers = sorted({sizes.get(limit.groups[0], outline.ranks) for limit in alike})
            hosts = f"{numbers[0]}" if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"
            one = _alike(alike, f"traffic that {hosts} hosts of one switch or chip {do} together", _BUILT_SO)
            told.append(replace(one, groups=tuple(limit.groups[0] for limit in alike)))
    return told


def _of_all(located: Located, known: Sequence[Limit]) -> Finding:
    together = float(np.median(located.observed.rate))
    share = together / located.few_rate
    what = (
        f"all hosts are equally slow: {units.rate(together)} when all send at once, "
        f"{100 * share:.0f} % of the {units.rate(located.few_rate)} that a few reach alone"
    )
    advice = (
        "all share something that is full: a switch or, with several ranks per host, the host's adapter or "
        "processors; these phases do not show which hosts share it"
    )
    return Finding(
        FindingKind.SHARED_LIMIT, what, effect=Effect(share), advice=_BUILT_SO if known else advice
    )
