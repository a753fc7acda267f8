"""Finds routes that a hash places on one of several cables: how many cables, and what collisions cost."""

from __future__ import annotations

import numpy as np

from crosscut.analysis.findings.evidence import Evidence
from crosscut.analysis.findings.kinds import FindingKind
from crosscut.analysis.findings.model import Finding
from crosscut.analysis.structure.hashed import Hashed
from crosscut.analysis.structure.infer import Inferred, group_name, hashed_paths
from crosscut.base import units

# Cables count as full bisection from this share of what a group's hosts send: the fit is no more exact.
FULL = 0.9


def of_run(evidence: Evidence) -> list[Finding]:
    return of_structure(evidence.inferred)


def of_structure(inferred: Inferred) -> list[Finding]:
    found = hashed_paths(inferred)
    if found is None:
        return []
    cost = f"which cost {_percent(found.lost)} of the bandwidth between groups"
    what = (
        f"each route between groups keeps to one of about {found.cables} cables of "
        f"{units.rate(found.bytes_per_second)} each, chosen by a hash: {_bisection(found, inferred)}; "
        f"{_percent(found.slow)} of the messages shared a cable with others "
        f"({_percent(found.slow_expected)} expected by chance), {cost}"
    )
    groups = tuple(group_name(number) for number in range(inferred.grouping.count))
    advice = (
        "this is by design; several connections per route, or adaptive routing, would use the cables evenly"
    )
    return [Finding(FindingKind.HASHED, what, groups=groups, advice=advice)]


def _bisection(found: Hashed, inferred: Inferred) -> str:
    sent = float(np.bincount(inferred.grouping.labels).max()) * inferred.alone.nominal
    share = found.of_a_group / sent
    total = f"{units.rate(found.of_a_group)} per group"
    of_hosts = f"about {_percent(share)} of what its hosts send"
    return f"{total}, {'full bisection' if share >= FULL else of_hosts}"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
