"""What a search has found."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from crosscut.analysis.findings import LOCATE_ON, Finding, Group, Limit, Structure
from crosscut.analysis.observed import Observed
from crosscut.analysis.structure import Inferred, group_name
from crosscut.analysis.subgroups import Within


@dataclass(frozen=True)
class Located:
    inferred: Inferred
    structure: Structure
    observed: Observed
    phases_used: int
    sure: bool
    """Not stopped by the budget: more of the same would not change it."""
    alone: Observed
    """Messages of ranks that were measured with few others."""
    few_rate: float = math.nan
    """Bytes per second that a few sound pairs reached alone, where that is more than all reach together; NaN:
    it is not, or was not asked."""


def without_sums(inferred: Inferred, within: Within) -> Inferred:
    """Without limits of what a group sends where those of its parts are known: it is only their sum."""
    known = {(limit.reach, name.split(".")[0]) for limit in within.limits for name in limit.groups}
    kept = [one for one in inferred.capacities if (one.reach, *map(group_name, one.groups)) not in known]
    return replace(inferred, capacities=tuple(kept))


def with_parts(outline: Structure, within: Within) -> Structure:
    """The structure with the parts of its groups, and their limits."""
    everybody = (Group("group0", tuple(range(outline.ranks))),) if within.groups else ()
    groups = outline.groups or everybody
    divided = []
    for group in groups:
        parts = tuple(part for part in within.groups if set(part.ranks) <= set(group.ranks))
        divided.append(Group(group.name, group.ranks, parts if len(parts) > 1 else (), group.confidence))
    kept = {one.name for group in divided for one in group.walk()}
    limits: tuple[Limit, ...] = tuple(limit for limit in within.limits if set(limit.groups) <= kept)
    return Structure(
        tuple(divided), outline.limits + limits, outline.host_out_bytes_per_second,
        outline.host_in_bytes_per_second, outline.hosts, outline.phases_used, outline.notes,
    )  # fmt: skip


def after_search(found: Sequence[Finding], outline: Structure) -> tuple[list[Finding], Structure]:
    """Without the advice to search, which was just done."""
    notes = tuple(note.removesuffix(f": {LOCATE_ON}") for note in outline.notes)
    kept = [replace(each, advice="") if each.advice.startswith(LOCATE_ON) else each for each in found]
    return kept, replace(outline, notes=notes)
