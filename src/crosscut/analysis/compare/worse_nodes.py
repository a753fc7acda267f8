"""Nodes that became worse: those at fault, and those that a fault elsewhere slows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from crosscut.analysis.compare.comparing import Comparison, Difference
from crosscut.analysis.figures.series import Family
from crosscut.analysis.findings.kinds import OF_ONE_HOST
from crosscut.analysis.findings.model import Finding
from crosscut.run.run import Run


@dataclass(frozen=True)
class WorseNodes:
    """Nodes that became worse: (name, reason), the worst first."""

    faulty: tuple[tuple[str, str], ...]
    """Those that the new run itself shows to be at fault: to be drained."""
    others: tuple[tuple[str, str], ...]
    """The rest: a shared limit, or a faulty node that they exchange with, may explain them."""


def worse_nodes(found: Comparison, baseline: Run, findings: Sequence[Finding]) -> WorseNodes:
    """`findings`: of the new run."""
    does = {Family.OUT: "sends", Family.IN: "receives"}
    at_fault = {rank for one in findings if one.kind in OF_ONE_HOST for rank in one.ranks}
    worst: dict[int, Difference] = {}
    for change in found.changes:
        if not change.worse or change.subject.family not in does:
            continue
        rank = change.subject.ranks[0]
        if change.explained_by is not None and rank not in at_fault:
            continue
        if rank not in worst or change.shift.middle < worst[rank].shift.middle:
            worst[rank] = change
    faulty: dict[str, str] = {}
    others: dict[str, str] = {}
    for rank, c in sorted(worst.items(), key=lambda item: item[1].shift.middle):
        why = f"{does[c.subject.family]} at {100 * math.exp(c.shift.middle):.0f} % of the baseline"
        (faulty if rank in at_fault else others).setdefault(baseline.node_names[rank], why)
    rest = ((name, why) for name, why in others.items() if name not in faulty)
    return WorseNodes(tuple(faulty.items()), tuple(rest))
