"""Faults of hosts and trunks, and limits between groups, that explain changes between two runs, and changes
that follow from them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from crosscut.analysis.compare.comparing import Comparison, Difference, alike
from crosscut.analysis.compare.matching import match
from crosscut.analysis.figures.route_class import BETWEEN_GROUPS
from crosscut.analysis.figures.series import Family, Subject
from crosscut.analysis.findings import of_run
from crosscut.analysis.findings.kinds import OF_ONE_HOST, FindingKind
from crosscut.analysis.findings.model import Direction, Finding
from crosscut.analysis.structure.model import Structure
from crosscut.run.run import Run


@dataclass(frozen=True)
class Cause:
    """A fault of one host, or of the trunk of several, or a limit between groups, that only one of the runs
    shows."""

    ranks: tuple[int, ...]
    """Ranks of the first run, on the host or behind the trunk."""
    what: str
    """The finding's sentence."""
    direction: Direction
    shift: float
    """Logarithm of the change of rate that the fault explains; NaN if the finding has no effect."""
    worse: bool
    """True if the second run has the fault, False if it was repaired."""
    trunk: bool
    """True for a fault of the trunk, in one direction."""
    group_of: tuple[int, ...] = ()
    """[rank of the first run] its group, for a limit between groups, which is no fault; -1: none."""

    def touches(self, change: Difference) -> bool:
        """True for a change in the same sense to the host or to its routes, or to what the trunk carries."""
        family, ranks = change.subject.family, change.subject.ranks
        if self.worse != change.worse:
            return False
        if self.group_of:
            if family is Family.ROUTE:
                return len({self.group_of[rank] for rank in ranks}) > 1
            return family in (Family.OUT, Family.IN) or change.subject.name == BETWEEN_GROUPS
        mine = [rank in self.ranks for rank in ranks]
        if not self.trunk:
            return any(mine)
        if family is Family.ROUTE:
            return mine == ([True, False] if self.direction is Direction.OUT else [False, True])
        return family is (Family.OUT if self.direction is Direction.OUT else Family.IN) and all(mine)


def of_changes(found: Comparison, first: Run, second: Run) -> list[Cause]:
    """Returns the faults of hosts and trunks, new ones first, and then the limits between groups, that began
    or ended between the runs, if anything changed there.

    Empty if finding takes long (`of_run.is_quick`).
    """
    if not found.changes or not (of_run.is_quick(first) and of_run.is_quick(second)):
        return []
    first_look, second_look = of_run.look(first), of_run.look(second)
    number = match(first, second).ranks
    before, after = _faults(first_look[0], np.arange(first.ranks)), _faults(second_look[0], number)
    causes = [_cause(key, one, worse=True) for key, one in after.items() if key not in before]
    causes += [_cause(key, one, worse=False) for key, one in before.items() if key not in after]
    causes += _limits(first_look, second_look, number, first.ranks)
    return [one for one in causes if any(touches(change, [one]) for change in found.changes)]


_Look = tuple[list[Finding], Structure | None]


def _limits(first: _Look, second: _Look, number: NDArray[np.int64], ranks: int) -> list[Cause]:
    """Returns the limits between groups of a run if the other has none. `number`: [rank of the second run] as
    in `_faults`; `ranks`: of the first."""
    told = []
    for worse, (found, structure), other, of in (
        (True, second, first, number), (False, first, second, np.arange(ranks))
    ):  # fmt: skip
        mine, theirs = (
            [one for one in each if one.kind is FindingKind.SHARED_LIMIT and one.groups]
            for each in (found, other[0])
        )
        if structure is None or not mine or theirs:
            continue
        group_of = np.full(ranks, -1)
        for group, top in enumerate(structure.groups):
            there = of[list(top.ranks)]
            group_of[there[there >= 0]] = group
        told += [
            Cause(
                (), one.what, Direction.BOTH, math.nan, worse, trunk=False, group_of=tuple(group_of.tolist())
            )
            for one in mine
        ]
    return told


_Key = tuple[FindingKind, tuple[int, ...], Direction | None]


def _faults(found: Sequence[Finding], number: NDArray[np.int64]) -> dict[_Key, Finding]:
    """Returns the faults of hosts and trunks. `number`: [rank] its rank in the first run; -1: none."""
    by_key: dict[_Key, Finding] = {}
    for one in found:
        trunk = one.kind is FindingKind.SLOW_TRUNK and one.direction in (Direction.OUT, Direction.IN)
        if trunk or one.kind in OF_ONE_HOST:
            ranks = tuple(int(number[rank]) for rank in one.ranks)
            by_key[one.kind, ranks, one.direction if trunk else None] = one
    return {key: one for key, one in by_key.items() if min(key[1], default=-1) >= 0}


def _cause(key: _Key, one: Finding, *, worse: bool) -> Cause:
    shift = math.log(one.effect.share) if one.effect is not None and one.effect.share > 0 else math.nan
    kind, ranks, _ = key
    direction, trunk = one.direction or Direction.BOTH, kind is FindingKind.SLOW_TRUNK
    return Cause(ranks, one.what, direction, shift if worse else -shift, worse, trunk)


def explained(found: Comparison, causes: Sequence[Cause], matters: float) -> Comparison:
    """Returns the comparison with the changes marked that follow from the causes in hosts: those of routes to
    or from the hosts, and of other nodes that changed on no other route."""
    causes = [one for one in causes if not one.trunk and not one.group_of]
    changes = [_route(change, causes, matters) for change in found.changes]
    return replace(found, changes=tuple(_node(change, changes, causes) for change in changes))


def worse(found: Comparison, causes: Sequence[Cause]) -> bool | None:
    """True if something is worse; None: undecided, as in `Comparison`. A fault that began decides."""
    return True if any(one.worse for one in causes) else found.worse


def touches(change: Difference, causes: Sequence[Cause]) -> bool:
    return any(one.touches(change) for one in causes)


def _route(change: Difference, causes: Sequence[Cause], matters: float) -> Difference:
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


def _node(change: Difference, changes: Sequence[Difference], causes: Sequence[Cause]) -> Difference:
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
