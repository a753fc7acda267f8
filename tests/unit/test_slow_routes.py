"""Single slow routes, told from routes that met at a limit."""

from __future__ import annotations

import numpy as np
import pytest

from crosscut.analysis.findings import slow_routes
from crosscut.analysis.findings.kinds import FindingKind
from crosscut.analysis.findings.model import Finding
from crosscut.analysis.structure import infer
from crosscut.analysis.structure.observed import Observed, of_phases

RANKS = 24


def found(slow_at: dict[tuple[int, int], float]) -> list[Finding]:
    """In an all-to-all of equal hosts, whose routes (phase, source) run at a share of the others' rate."""
    observed = aapc(slow_at)
    seen = slow_routes.suspected(observed, infer.infer(observed))
    return [*slow_routes.once(seen.slow, lambda rank: f"n{rank}"), *([seen.crowd] if seen.crowd else [])]


def aapc(slow_at: dict[tuple[int, int], float]) -> Observed:
    phases = [[(s, (s + phase) % RANKS) for s in range(RANKS)] for phase in range(1, RANKS)]
    noise = np.random.default_rng(1).normal(0, 0.004, (len(phases), RANKS))
    rates = 1e8 * np.exp(noise)
    for (phase, source), share in slow_at.items():
        rates[phase, source] *= share
    return of_phases(RANKS, phases, rates.ravel())


def test_one_run_suspects_a_route_that_is_slow_and_calls_it_no_fault() -> None:
    (one,) = found({(5, 3): 0.5})
    assert (one.kind, one.routes) == (FindingKind.SUSPECT, ((3, 9),))
    assert not one.kind.fault


def test_two_slow_routes_that_were_measured_at_once_are_suspects() -> None:
    (one,) = found({(5, 3): 0.5, (5, 7): 0.6})
    assert one.routes == ((3, 9), (7, 13))


def test_routes_that_are_slow_now_and_then_at_one_host_are_put_down_to_the_host() -> None:
    (one,) = found({(5, 3): 0.5, (7, 3): 0.6, (8, 18): 0.4, (11, 5): 0.7})
    assert (one.kind, one.ranks) == (FindingKind.UNSTABLE, (3,))
    assert "n3 is unsteady: 3 of 4 routes" in one.what


def measured_again(share: float, times: int) -> list[Finding]:
    """Of a run with a suspect route, which ran at this share in so many further measurements."""
    observed = aapc({(5, 3): 0.5})
    again = of_phases(RANKS, [[(3, 9)]] * times, np.full(times, 1e8 * share), first_phase=RANKS)
    return slow_routes.after_search(observed, again, infer.infer(observed), lambda rank: f"n{rank}", ())


def test_a_route_that_is_slow_whenever_it_is_measured_again_is_a_fault() -> None:
    (one,) = measured_again(0.5, times=5)
    assert (one.kind, one.ranks) == (FindingKind.SLOW_ROUTE, (3, 9))
    assert "5 times alone" in one.what


@pytest.mark.parametrize(("share", "times"), [(1.0, 5), (0.5, 4)])
def test_a_route_that_was_fast_again_or_seldom_measured_is_none(share: float, times: int) -> None:
    assert measured_again(share, times) == []


def test_routes_that_are_slow_only_together_are_no_bad_cables() -> None:
    (one,) = found({(5, source): 0.89 for source in range(0, 18, 2)})
    assert one.kind is FindingKind.SHARED_LIMIT
    assert "in one phase up to 9 routes at once ran at about 89 %" in one.what


def test_a_route_that_is_as_slow_as_a_crowd_met_the_same_limit() -> None:
    met = {(5, source): 0.89 for source in range(0, 18, 2)}
    assert [one.kind for one in found(met | {(11, 3): 0.89})] == [FindingKind.SHARED_LIMIT]


def test_a_bad_cable_is_named_beside_routes_that_met() -> None:
    met = {(5, source): 0.89 for source in range(0, 18, 2)}
    assert [one.kind for one in found(met | {(11, 3): 0.5})] == [
        FindingKind.SUSPECT,
        FindingKind.SHARED_LIMIT,
    ]
