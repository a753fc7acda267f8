"""Limits that hosts share by the network's design, between groups or within them, and words for any limit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from crosscut.analysis.findings.kinds import FindingKind
from crosscut.analysis.findings.model import Effect, Finding
from crosscut.analysis.structure.infer import Inferred
from crosscut.analysis.structure.located import Located
from crosscut.analysis.structure.model import LOCATE_ON, Limit, Reach
from crosscut.analysis.structure.totals import ALIKE, OWN, Capacity
from crosscut.base import units

# Limits of a group's own.
OF_GROUPS = (Reach.LEAVING, Reach.ENTERING, Reach.SENT, Reach.RECEIVED)
# Fewer groups cannot be compared.
FEWEST_ALIKE = 3
# A group gets much less than others if its share is less than this multiple of theirs.
_UNEQUAL = 0.8

# Limits that differ by more than this factor have no rate in common.
_UNLIKE = 1.2

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


def between(capacities: Sequence[Capacity], inferred: Inferred) -> list[Finding]:
    """Returns the limits that groups share by design."""
    found = []
    if inferred.grouping.count == 2 and not inferred.names:
        capacities = _without_sum(_between_two(capacities))
    for reach in Reach:
        limits = [one.of(tuple(map(inferred.name, one.groups))) for one in capacities if one.reach is reach]
        if limits:
            group = "part of a group" if inferred.names else "group"
            each = (f"one {group}", "another") if reach is Reach.BETWEEN else (f"a {group}",)
            what = _WORDS[reach].format(*(limits[0].groups if len(limits) == 1 else each))
            both_ways = reach is Reach.BETWEEN and len(limits) == inferred.grouping.count == 2
            if both_ways:
                what = "traffic from {0} to {1} and from {1} to {0}".format(*limits[0].groups)
            one = _alike(
                limits, what, f"this is by design, or {_lost(inferred)}: compare with what was ordered",
                counted=both_ways,
            )  # fmt: skip
            one = replace(one, false_alarm=inferred.grouping.doubt)
            if reach in OF_GROUPS:
                one = one.adding(_unequal(reach, capacities, inferred))
                if reach in OWN and len(limits) < inferred.grouping.count:
                    one = one.adding(_or_slower_links(limits, inferred), LOCATE_ON)
            elif reach is Reach.BETWEEN and inferred.grouping.count == 2 and not inferred.names:
                one = one.adding(_of_hosts(_smaller_of_two(inferred), limits, inferred))
            found.append(one)
    return found


def _lost(inferred: Inferred) -> str:
    """Returns words on what may have lost capacity. A single trunk has none to be compared with."""
    smaller = _smaller_of_two(inferred)
    if smaller is None:
        two = inferred.grouping.count == 2 and not inferred.names
        return "one of the two trunks lost capacity" if two else "all trunks lost capacity alike"
    return f"the trunk of {inferred.name(smaller)} lost capacity"


def _smaller_of_two(inferred: Inferred) -> int | None:
    """Returns the smaller group of two: its trunk is what joins it to all others."""
    sizes = inferred.sizes
    if inferred.names or len(sizes) != 2 or sizes[0] == sizes[1] or not sizes.min():
        return None
    return int(sizes.argmin())


def _of_hosts(smaller: int | None, limits: Sequence[Limit], inferred: Inferred) -> str:
    """Returns words such as `this is 40 % of what the 8 hosts of group1 can send`.

    `smaller`: the smaller of the two groups; None: they are equal, so either trunk may be the limit.
    """
    placed = np.delete(np.arange(len(inferred.grouping.labels)), inferred.unplaced)
    labels = inferred.grouping.labels[placed]
    sends = np.bincount(labels, weights=inferred.alone.out_rate[placed], minlength=2)
    sent = float(sends.max() if smaller is None else sends[smaller])
    share, hosts = min(one.bytes_per_second for one in limits) / sent, int(inferred.sizes.min())
    of = f"this is {100 * share:.0f} % of what the {hosts} hosts of"
    if smaller is None:
        return f"{of} either group can send, and either group's trunk may be the limit"
    return f"{of} {inferred.name(smaller)} can send"


def _between_two(capacities: Sequence[Capacity]) -> list[Capacity]:
    """Restates what leaves or enters one of two groups as what goes from one to the other, each way once."""
    found: dict[tuple[Reach, tuple[int, ...]], Capacity] = {}
    for one in capacities:
        group = one.groups[0] if one.groups else 0
        ways = {Reach.LEAVING: (group, 1 - group), Reach.ENTERING: (1 - group, group)}
        if (way := ways.get(one.reach)) is not None:
            found.setdefault((Reach.BETWEEN, way), replace(one, reach=Reach.BETWEEN, groups=way))
        else:
            found[one.reach, one.groups] = one
    return list(found.values())


def _without_sum(capacities: Sequence[Capacity]) -> list[Capacity]:
    """Drops a limit of all traffic between two groups that is only the sum of those of both directions."""
    each = [one.bytes_per_second for one in capacities if one.reach is Reach.BETWEEN]
    is_sum = math.inf if len(each) < 2 else sum(each) * math.exp(-ALIKE)
    return [
        one for one in capacities if one.reach is not Reach.CROSSING or one.bytes_per_second < is_sum
    ]  # fmt: skip


def _unequal(reach: Reach, capacities: Sequence[Capacity], inferred: Inferred) -> str:
    """Returns words on the group whose limit leaves its hosts least, if others leave theirs much more.

    Two groups share one trunk, so neither is narrower.
    """
    if inferred.grouping.count < FEWEST_ALIKE:
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
    low, high = f"{100 * others[0]:.0f}", f"{100 * others[-1]:.0f}"
    other = f"{low} to {high} %" if low != high else f"{low} %"
    do, rest = "send" if out else "receive", "the others" if others[1:] else "the other"
    return f"{name} gets {100 * least:.0f} % of what its hosts can {do}, {rest} {other}"


def _or_slower_links(limits: Sequence[Limit], inferred: Inferred) -> str:
    """Returns words on what hosts get that alone share a limit of their own: hosts of a slower kind send and
    receive as much, whether or not they share anything."""
    sizes = {inferred.name(group): int(size) for group, size in enumerate(inferred.sizes)}
    each = [one.bytes_per_second / max(sizes[one.groups[0]], 1) for one in limits]
    hosts = f"the {max(sizes[one.groups[0]] for one in limits)} hosts" if len(limits) == 1 else "their hosts"
    return f"that is {units.rate(float(np.median(each)))} for each of {hosts}, whose own links may be slower"


def _alike(limits: Sequence[Limit], what: str, advice: str, *, counted: bool = False) -> Finding:
    """Returns a finding on limits of one kind. `what`: words for the limited traffic; `counted`: they tell
    the number of limits."""
    rates = [limit.bytes_per_second for limit in limits]
    low, high = min(rates), max(rates)
    spread = f" ({units.rate(low)} to {units.rate(high)})" if high > low * 1.02 else ""
    times = f" ({len(limits)} such limits)" if len(limits) > 1 and not counted else ""
    middle = units.rate(float(np.median(rates))) + (" each" if len(limits) > 1 else "")
    figure = f"{middle}{spread}" if high < _UNLIKE * low else f"{units.rate(low)} to {units.rate(high)}"
    return Finding(
        FindingKind.SHARED_LIMIT, f"shared limit: {what}{times}: {figure}",
        groups=tuple(sorted({name for limit in limits for name in limit.groups})),
        phases=tuple(sorted({phase for limit in limits for phase in limit.phases}))[:256], advice=advice,
    )  # fmt: skip


# Words for the direction of a limit within a group.
_OF_HOSTS = {Reach.SENT: "send", Reach.RECEIVED: "receive"}
_BUILT_SO = "this is by design: compare with what was ordered"


def within(located: Located) -> list[Finding]:
    """Returns limits that hosts share within a group, or all together, and that slow all of them alike."""
    outline = located.structure
    sizes = {group.name: len(group.ranks) for top in outline.groups for group in top.walk()}
    # Limits of groups that permutations revealed are other findings (`between`).
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
