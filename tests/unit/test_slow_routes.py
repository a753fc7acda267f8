"""Single slow routes, told from routes that met at a limit."""

from __future__ import annotations

import numpy as np

from crosscut.analysis.findings import slow_routes
from crosscut.analysis.findings.kinds import FindingKind
from crosscut.analysis.findings.model import Finding
from crosscut.analysis.structure import infer
from crosscut.analysis.structure.observed import Observed, of_phases

RANKS = 24


def found(slow_at: dict[tuple[int, int], float]) -> list[Finding]:
    """In an all-to-all of equal hosts, whose routes (phase, source) run at a share of the others' rate."""
    observed = aapc(slow_at)
    return slow_routes.routes(observed, infer.infer(observed), lambda rank: f"n{rank}")


def aapc(slow_at: dict[tuple[int, int], float]) -> Observed:
    phases = [[(s, (s + phase) % RANKS) for s in range(RANKS)] for phase in range(1, RANKS)]
    noise = np.random.default_rng(1).normal(0, 0.004, (len(phases), RANKS))
    rates = 1e8 * np.exp(noise)
    for (phase, source), share in slow_at.items():
        rates[phase, source] *= share
    return of_phases(RANKS, phases, rates.ravel())


def test_a_route_that_is_slow_alone_is_named() -> None:
    (one,) = found({(5, 3): 0.5})
    assert (one.kind, one.ranks) == (FindingKind.SLOW_ROUTE, (3, 9))


def test_two_slow_routes_that_were_measured_at_once_are_named() -> None:
    assert sorted(one.ranks for one in found({(5, 3): 0.5, (5, 7): 0.6})) == [(3, 9), (7, 13)]


def test_routes_that_are_slow_only_together_are_no_bad_cables() -> None:
    (one,) = found({(5, source): 0.89 for source in range(0, 18, 2)})
    assert one.kind is FindingKind.SHARED_LIMIT
    assert "in one phase up to 9 routes at once ran at about 89 %" in one.what


def test_a_bad_cable_is_named_beside_routes_that_met() -> None:
    met = {(5, source): 0.89 for source in range(0, 18, 2)}
    assert [one.kind for one in found(met | {(11, 3): 0.5})] == [
        FindingKind.SLOW_ROUTE,
        FindingKind.SHARED_LIMIT,
    ]
