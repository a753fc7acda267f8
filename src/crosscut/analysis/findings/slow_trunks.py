"""Finds limits that hosts share, between groups or within them: slow trunks, or limits by design."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from crosscut.analysis.findings.evidence import Evidence
from crosscut.analysis.findings.kinds import FindingKind
from crosscut.analysis.findings.model import Direction, Effect, Finding
from crosscut.analysis.stats.doubt import FALSE_ALARMS, outliers_below
from crosscut.analysis.structure.infer import Inferred
from crosscut.analysis.structure.located import Located
from crosscut.analysis.structure.model import Limit, Reach
from crosscut.analysis.structure.observed import Integers, Observed
from crosscut.analysis.structure.totals import Capacity, carried_by_groups
from crosscut.base import units

# A slow trunk carries less than this share of what its like carry; one that lost less may be of another kind.
LARGEST_SHARE_OF_TRUNK = 0.85
_FEWEST_ALIKE = 3
_LINKS = (Reach.LEAVING, Reach.ENTERING)
_OF_GROUPS = (*_LINKS, Reach.SENT, Reach.RECEIVED)
# Number of phases whose totals estimate a trunk's unknown capacity: a single one may be an outlier.
_LARGEST_TOTALS = 2
# Groups are of like size up to this ratio of their hosts.
_LIKE_SIZES = 1.5

_Link = tuple[Reach, tuple[int, ...]]
"""The traffic that leaves or enters a group, or passes between two."""


def of_run(evidence: Evidence) -> list[Finding]:
    return of_shared(evidence.observed, evidence.inferred)


def of_shared(observed: Observed, inferred: Inferred) -> list[Finding]:
    """Returns slow trunks, and the limits that groups share."""
    lone = lone_trunks(inferred)
    return [*trunks(inferred, observed), *lone, *([] if lone else shared(inferred))]


def trunks(inferred: Inferred, observed: Observed) -> list[Finding]:
    """Returns shared capacities smaller than those of their kind, or than the totals that others carried."""
    if not inferred.capacities:
        return []
    found = []
    largest, size = _largest(inferred, observed), np.bincount(inferred.grouping.labels)
    for reach in Reach:
        # The two directions of a trunk are alike, too.
        alike = _LINKS if reach in _LINKS else (reach,)
        known = {(c.reach, c.groups): c.bytes_per_second for c in inferred.capacities if c.reach in alike}
        hosts = _hosts_of_each(known, size) if known and reach in _OF_GROUPS else np.ones(len(size), np.int64)
        values = {link: rate / hosts[link[1][0]] for link, rate in known.items() if link[1]}
        if reach in _LINKS and any(kind is reach for kind, _ in values):
            values |= _carried(
                values, {link: rate / hosts[link[1][0]] for link, rate in largest.items()}, size
            )
        if len(values) < _FEWEST_ALIKE:
            continue
        logs = np.log(np.array(list(values.values())))
        noise = inferred.alone.noise / 2  # an upper bound: totals are of several messages and phases
        doubt = dict(zip(values, outliers_below(logs, noise), strict=True))
        for capacity in inferred.capacities:
            link = (capacity.reach, capacity.groups)
            if link not in values:
                continue
            share = values[link] / math.exp(float(np.median(logs)))
            p = float(doubt[link])
            told = capacity.reach is reach and p < FALSE_ALARMS and share < LARGEST_SHARE_OF_TRUNK
            told = told and capacity.bytes_per_second * (1 / share - 1) > _lost_by_hosts(capacity, inferred)
            if told and reach is Reach.BETWEEN:
                largest[link] = _largest_between(capacity.groups, inferred, observed)
            # A trunk that carried more at another time is sound: another limit held its messages back.
            if told and largest.get(link, 0.0) * LARGEST_SHARE_OF_TRUNK < capacity.bytes_per_second:
                found.append(_trunk(capacity, share, p, inferred, int(hosts[capacity.groups[0]])))
    return found


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


def _hosts_of_each(known: Mapping[_Link, float], size: Integers) -> Integers:
    """[group] number of its hosts if trunk capacities are more alike per host, else 1.

    Leaves of unequal size may have either kind of uplink.
    """
    logs = np.log(np.array(list(known.values())))
    per_host = logs - np.log([size[groups[0]] for _, groups in known])
    spread, of_hosts = (float(np.median(np.abs(some - np.median(some)))) for some in (logs, per_host))
    return size if of_hosts < spread else np.ones(len(size), np.int64)


def _largest(inferred: Inferred, observed: Observed) -> dict[_Link, float]:
    """Returns bytes per second that left and entered each group: the mean of its largest phase totals."""
    found: dict[_Link, float] = {}
    for reach, totals in carried_by_groups(observed, inferred.grouping.labels):
        largest = np.sort(totals, axis=0)[-_LARGEST_TOTALS:].mean(axis=0)
        found |= {(reach, (group,)): total for group, total in enumerate(largest.tolist())}
    return found


def _largest_between(groups: tuple[int, ...], inferred: Inferred, observed: Observed) -> float:
    """Returns bytes per second from one group to another: the largest total of a phase."""
    labels = inferred.grouping.labels
    ends = np.stack([labels[observed.source], labels[observed.destination]])
    mine = observed.where((ends == np.array(groups)[:, None]).all(axis=0))
    _, phase = np.unique(mine.phase, return_inverse=True)
    return float(np.bincount(phase, mine.rate).max(initial=0.0))


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


def lone_trunks(inferred: Inferred) -> list[Finding]:
    """Returns the limits of one of two groups if the other, to which it compares, has none."""
    if inferred.grouping.count != 2:
        return []
    across = _of_the_smaller([c for c in inferred.capacities if c.reach in _LINKS], inferred)
    if len({c.groups[0] for c in across}) != 1:
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


def shared(inferred: Inferred) -> list[Finding]:
    """Returns limits that all groups share alike: by design, not a fault."""
    found = []
    for reach in Reach:
        limits = [
            one.of(tuple(map(inferred.name, one.groups))) for one in inferred.capacities if one.reach is reach
        ]
        if limits:
            group = "part of a group" if inferred.names else "group"
            each = (f"one {group}", "another") if reach is Reach.BETWEEN else (f"a {group}",)
            what = _WORDS[reach].format(*(limits[0].groups if len(limits) == 1 else each))
            one = _alike(
                limits,
                what,
                "this is by design, or all trunks lost capacity alike: compare with what was ordered",
            )
            found.append(replace(one, false_alarm=inferred.grouping.doubt))
    return found


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
