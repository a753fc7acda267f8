"""Hosts whose own fault explains changes between two runs, and the changes that follow from it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from crosscut.analysis.compare.comparing import Comparison, Difference, alike
from crosscut.analysis.compare.matching import match
from crosscut.analysis.figures.series import Family, Subject
from crosscut.analysis.findings import of_run
from crosscut.analysis.findings.kinds import OF_ONE_HOST, FindingKind
from crosscut.analysis.findings.model import Direction, Finding
from crosscut.run.run import Run


@dataclass(frozen=True)
class HostCause:
    """A fault of one host that only one of the runs shows."""

    ranks: tuple[int, ...]
    """Ranks of the first run."""
    what: str
    """The finding's sentence."""
    direction: Direction
    shift: float
    """Logarithm of the change of rate that the fault explains; NaN if the finding has no effect."""
    worse: bool
    """True if the second run has the fault, False if it was repaired."""


def host_causes(found: Comparison, first: Run, second: Run) -> list[HostCause]:
    """Returns the faults of hosts that began or ended between the runs, new ones first, if anything changed
    there.

    Empty if finding takes long (`of_run.is_quick`).
    """
    if not found.changes or not (of_run.is_quick(first) and of_run.is_quick(second)):
        return []
    before = _faults(first, np.arange(first.ranks))
    after = _faults(second, match(first, second).ranks)
    began = [_cause(key, one, worse=True) for key, one in after.items() if key not in before]
    ended = [_cause(key, one, worse=False) for key, one in before.items() if key not in after]
    return [one for one in began + ended if any(touches(change, [one]) for change in found.changes)]


_Key = tuple[FindingKind, tuple[int, ...]]


def _faults(run: Run, number: NDArray[np.int64]) -> dict[_Key, Finding]:
    """Returns the faults of hosts. `number`: [rank] its rank in the first run; -1: none."""
    found = (one for one in of_run.find(run) if one.kind in OF_ONE_HOST)
    by_key = {(one.kind, tuple(int(number[rank]) for rank in one.ranks)): one for one in found}
    return {key: one for key, one in by_key.items() if min(key[1], default=-1) >= 0}


def _cause(key: _Key, one: Finding, *, worse: bool) -> HostCause:
    shift = math.log(one.effect.share) if one.effect is not None and one.effect.share > 0 else math.nan
    return HostCause(key[1], one.what, one.direction or Direction.BOTH, shift if worse else -shift, worse)


def explained(found: Comparison, causes: Sequence[HostCause], matters: float) -> Comparison:
    """Returns the comparison with the changes marked that follow from the causes: those of routes to or from
    the hosts, and of other nodes that changed on no other route."""
    changes = [_route(change, causes, matters) for change in found.changes]
    return replace(found, changes=tuple(_node(change, changes, causes) for change in changes))


def touches(change: Difference, causes: Sequence[HostCause]) -> bool:
    """True for a change to a cause's host, or to its routes, for the worse if the cause is new."""
    ends = change.subject.ranks
    return any(one.worse == change.worse and any(rank in one.ranks for rank in ends) for one in causes)


def _route(change: Difference, causes: Sequence[HostCause], matters: float) -> Difference:
    subject = change.subject
    if subject.family is not Family.ROUTE or change.explained_by is not None:
        return change
    ends = zip((Family.OUT, Family.IN), (Direction.IN, Direction.OUT), subject.ranks, strict=True)
    for family, other_way, rank in ends:
        for one in causes:
            same = one.worse == change.worse and one.direction is not other_way and rank in one.ranks
            if same and (math.isnan(one.shift) or alike(one.shift, change.shift.middle, matters)):
                return replace(change, explained_by=Subject(family, subject.size_bytes, ranks=(rank,)))
    return change


def _node(change: Difference, changes: Sequence[Difference], causes: Sequence[HostCause]) -> Difference:
    family, ranks = change.subject.family, change.subject.ranks
    if family not in (Family.OUT, Family.IN) or change.explained_by is not None or touches(change, causes):
        return change
    mine = [
        one for one in changes
        if one.subject.family is Family.ROUTE and one.worse == change.worse
        and one.subject.size_bytes == change.subject.size_bytes
        and one.subject.ranks[family is Family.IN] in ranks
    ]  # fmt: skip
    by_host = [one.explained_by for one in mine if touches(one, causes)]
    return replace(change, explained_by=by_host[0]) if mine and len(by_host) == len(mine) else change
