"""Findings on what hosts share within a group, or all of them, so that every one is as slow as the others."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from crosscut.analysis.findings.kinds import FindingKind
from crosscut.analysis.findings.model import Effect, Finding
from crosscut.analysis.structure.infer import group_name
from crosscut.analysis.structure.located import Located
from crosscut.analysis.structure.model import Limit, Reach
from crosscut.base import units

_ADVICE = "the hardware is built so: compare with what was ordered"


def findings(located: Located) -> list[Finding]:
    outline = located.structure
    sizes = {group.name: len(group.ranks) for top in outline.groups for group in top.walk()}
    # Those of groups by what permutations told are other findings (slow_trunks.shared).
    others = {(one.reach, tuple(map(group_name, one.groups))) for one in located.inferred.capacities}
    known = [
        one for one in outline.limits if one.reach in _OF_HOSTS and (one.reach, one.groups) not in others
    ]
    told = [] if math.isnan(located.few_rate) else [_of_all(located, known)]
    for reach in _OF_HOSTS:
        alike = [limit for limit in known if limit.reach is reach]
        if alike:
            told.append(_of_parts(reach, alike, sizes, outline.ranks))
    return told


# By what their hosts do.
_OF_HOSTS = {Reach.SENT: "send", Reach.RECEIVED: "receive"}


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
    return Finding(FindingKind.SHARED_LIMIT, what, effect=Effect(share), advice=_ADVICE if known else advice)


def _of_parts(reach: Reach, alike: Sequence[Limit], sizes: dict[str, int], everybody: int) -> Finding:
    rates = [limit.bytes_per_second for limit in alike]
    spread = (
        f" ({units.rate(min(rates))} to {units.rate(max(rates))})" if max(rates) > 1.02 * min(rates) else ""
    )
    numbers = sorted({sizes.get(limit.groups[0], everybody) for limit in alike})
    hosts = f"{numbers[0]}" if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"
    times = f", {len(alike)} times" if len(alike) > 1 else ""
    return Finding(
        FindingKind.SHARED_LIMIT,
        f"shared limit: what {hosts} hosts of one switch or chip {_OF_HOSTS[reach]} together{times}: "
        f"{units.rate(float(np.median(rates)))}{spread}",
        groups=tuple(limit.groups[0] for limit in alike), advice=_ADVICE,
        phases=tuple(sorted({phase for limit in alike for phase in limit.phases}))[:256],
    )  # fmt: skip
