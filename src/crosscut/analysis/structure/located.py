"""The result of a search."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from crosscut.analysis.structure.infer import Inferred
from crosscut.analysis.structure.levels import Inner
from crosscut.analysis.structure.model import Group, Structure
from crosscut.analysis.structure.observed import Integers, Observed
from crosscut.analysis.structure.subgroups import Within


@dataclass(frozen=True)
class Located:
    inferred: Inferred
    structure: Structure
    observed: Observed
    phases_used: int
    sure: bool
    """True if more of the same phases would not change the groups; False if the budget ended the search."""
    alone: Observed
    """Messages of suspects and their partners, measured with few others."""
    again: Observed
    """Messages of routes that seemed slow, measured while all others were silent."""
    few: Observed
    """Messages between groups, from phases with few of each group."""
    inner: tuple[Inner, ...] = ()
    """Groups within groups and what they share, the outermost first."""
    few_rate: float = math.nan
    """Bytes per second of a few pairs alone, if significantly faster than when all send; else NaN."""
    finished: bool = True
    """False if the search was ended: what seemed slow may not have been measured again."""
    trunks_again: frozenset[frozenset[int]] = frozenset()
    """Ranks of the groups whose trunks seemed slow and were filled again, each by itself."""


def placed(within: Within, labels: Integers, name: Callable[[int], str]) -> Within:
    """Renames parts after the final groups (`labels`: [rank]), which may differ from those examined, and
    numbers those of a group by their first ranks.

    Drops parts that are spread over several groups, and a single part that is not its whole group.
    """
    inside: dict[int, list[Group]] = {}
    for group in sorted(within.groups, key=lambda group: min(group.ranks)):
        numbers = {int(labels[rank]) for rank in group.ranks}
        if len(numbers) == 1:
            inside.setdefault(numbers.pop(), []).append(group)
    named: dict[str, Group] = {}
    for number, groups in inside.items():
        whole = len(groups) == 1 and len(groups[0].ranks) == int((labels == number).sum())
        for part, group in enumerate(groups if whole or len(groups) > 1 else ()):
            called = name(number) if whole else f"{name(number)}.{part}"
            named[group.name] = replace(group, name=called)
    limits = [
        replace(limit, groups=tuple(named[name].name for name in limit.groups))
        for limit in within.limits
        if set(limit.groups) <= set(named)
    ]
    return Within(tuple(named.values()), tuple(limits))


def without_sums(inferred: Inferred, within: Within) -> Inferred:
    """Drops limits of groups whose parts have known limits of the same reach: they are only the sum."""
    known = {
        (limit.reach, name.rpartition(".")[0])
        for limit in within.limits for name in limit.groups if "." in name
    }  # fmt: skip
    kept = [one for one in inferred.capacities if (one.reach, *map(inferred.name, one.groups)) not in known]
    return replace(inferred, capacities=tuple(kept))


def with_parts(outline: Structure, within: Within) -> Structure:
    """Adds parts to the innermost groups of the structure, and their limits."""
    everybody = (Group("group0", tuple(range(outline.ranks))),) if within.groups else ()
    divided = [_divided(group, within) for group in outline.groups or everybody]
    told = {(limit.reach, limit.groups) for limit in outline.limits}
    limits = tuple(limit for limit in within.limits if (limit.reach, limit.groups) not in told)
    return replace(outline, groups=tuple(divided), limits=outline.limits + limits)


def _divided(group: Group, within: Within) -> Group:
    if group.parts:
        return replace(group, parts=tuple(_divided(part, within) for part in group.parts))
    parts = tuple(part for part in within.groups if set(part.ranks) <= set(group.ranks))
    return replace(group, parts=parts if len(parts) > 1 else ())
