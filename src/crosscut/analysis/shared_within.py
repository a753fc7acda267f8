"""Findings on what hosts share within a group, or all of them, so that every one is as slow as the others."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from crosscut import units
from crosscut.analysis.findings import Effect, Finding, Group, Kind, Limit, Reach
from crosscut.analysis.located import Located

_ADVICE = "the hardware is built so: compare with what was ordered"


def findings(located: Located) -> list[Finding]:
    outline = located.structure
    sizes = {group.name: len(group.ranks) for top in outline.groups for group in top.walk()}
    known = [limit for limit in outline.limits if limit.reach in _OF_HOSTS and _is_within(limit, located)]
    told = [] if math.isnan(located.few_rate) else [_of_all(located, known)]
    for reach in _OF_HOSTS:
        alike = [limit for limit in known if limit.reach is reach]
        if alike:
            told.append(_of_parts(reach, alike, sizes, outline.ranks))
    return told


# By what their hosts do.
_OF_HOSTS = {Reach.SENT: "send", Reach.RECEIVED: "receive"}


def _is_within(limit: Limit, located: Located) -> bool:
    """Of a part of a group; or of all, where all are slow alike."""
    tops: Sequence[Group] = located.structure.groups
    return limit.groups[0] not in {group.name for group in tops} or not math.isnan(located.few_rate)


def _of_all(located: Located, known: Sequence[Limit]) -> Finding:
    together = float(np.median(located.observed.rate))
    share = together / located.few_rate
    what = (
        f"everybody is slow alike: {units.rate(together)} where all send at once, "
        f"{100 * share:.0f} % of the {units.rate(located.few_rate)} that a few reach"
    )
    advice = (
        "all share something that is full: a switch, or where several ranks run on a host its adapter or "
        "processors; which hosts share it these phases do not tell"
    )
    return Finding(Kind.SHARED_LIMIT, what, effect=Effect(share), advice=_ADVICE if known else advice)


def _of_parts(reach: Reach, alike: Sequence[Limit], sizes: dict[str, int], everybody: int) -> Finding:
    rates = [limit.bytes_per_second for limit in alike]
    spread = (
        f" ({units.rate(min(rates))} to {units.rate(max(rates))})" if max(rates) > 1.02 * min(rates) else ""
    )
    numbers = sorted({sizes.get(limit.groups[0], everybody) for limit in alike})
    hosts = f"{numbers[0]}" if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"
    times = f", {len(alike)} times" if len(alike) > 1 else ""
    return Finding(
        Kind.SHARED_LIMIT,
        f"shared limit: what {hosts} hosts of one switch or chip {_OF_HOSTS[reach]} together{times}: "
        f"{units.rate(float(np.median(rates)))}{spread}",
        groups=tuple(limit.groups[0] for limit in alike), advice=_ADVICE,
        phases=tuple(sorted({phase for limit in alike for phase in limit.phases}))[:256],
    )  # fmt: skip
