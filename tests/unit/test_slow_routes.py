"""Single slow routes, as distinguished from routes that met at a limit."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.truth.fabrics import half_buckets
from benchmarks.truth.score import of_family

from crosscut.analysis.findings import of_run, slow_routes
from crosscut.analysis.findings.evidence import Evidence
from crosscut.analysis.findings.kinds import FindingKind
from crosscut.analysis.findings.model import Direction, Finding
from crosscut.analysis.structure import infer
from crosscut.analysis.structure.observed import Observed, of_phases

RANKS = 24


def found(slow_at: dict[tuple[int, int], float]) -> list[Finding]:
    """Findings of an all-to-all of equal hosts. `slow_at`: rate shares of routes (phase, source)."""
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


def test_one_run_makes_a_slow_route_a_suspect_not_a_fault() -> None:
    (one,) = found({(5, 3): 0.5})
    assert (one.kind, one.routes) == (FindingKind.SUSPECT, ((3, 9),))
    assert not one.kind.fault


def test_two_slow_routes_that_were_measured_at_once_are_suspects() -> None:
    (one,) = found({(5, 3): 0.5, (5, 7): 0.6})
    assert one.routes == ((3, 9), (7, 13))


def test_routes_of_one_host_that_are_occasionally_slow_are_attributed_to_the_host() -> None:
    (one,) = found({(5, 3): 0.5, (7, 3): 0.6, (8, 18): 0.4, (11, 5): 0.7})
    assert (one.kind, one.ranks) == (FindingKind.UNSTABLE, (3,))
    assert "n3 is unsteady: 3 of 4 routes" in one.what


def measured_again(share: float | list[float], times: int) -> list[Finding]:
    """Findings for a suspect route with this share of the rate in `times` further measurements."""
    observed = aapc({(5, 3): 0.5})
    again = of_phases(RANKS, [[(3, 9)]] * times, 1e8 * np.broadcast_to(share, times), first_phase=RANKS)
    return slow_routes.after_search(observed, again, infer.infer(observed), lambda rank: f"n{rank}", ())


def test_a_route_that_is_slow_whenever_it_is_measured_again_is_a_fault() -> None:
    (one,) = measured_again(0.5, times=5)
    assert (one.kind, one.ranks) == (FindingKind.SLOW_ROUTE, (3, 9))
    assert "(measured alone 5 times)" in one.what


@pytest.mark.parametrize(("share", "times"), [(1.0, 5), (0.5, 4)])
def test_a_route_that_was_fast_again_or_seldom_measured_is_not_a_fault(share: float, times: int) -> None:
    assert measured_again(share, times) == []


def test_a_route_that_reached_the_rate_of_its_ends_once_is_not_a_fault() -> None:
    """A neighbour was there meanwhile, and went."""
    assert measured_again([0.5, 0.5, 0.5, 0.5, 1.0], 5) == []
    assert measured_again([0.5, 0.5, 0.5, 0.5, 0.6], 5) != []


def of_a_host(slow_again: float, routes: int, others: float = 1.0) -> list[Finding]:
    """Some routes from host 3 are slow, and run at `slow_again` when repeated; the rest run at `others`."""
    phases = range(4, 4 + routes)
    observed = aapc({(phase, 3): 0.5 if phase in phases else others for phase in range(RANKS - 1)})
    again = [[(3, (3 + phase + 1) % RANKS)] for phase in phases] * 3
    seen = of_phases(RANKS, again, np.full(3 * routes, 1e8 * slow_again), first_phase=RANKS)
    return slow_routes.after_search(observed, seen, infer.infer(observed), lambda rank: f"n{rank}", ())


def test_routes_of_one_host_that_stay_slow_are_one_finding_about_it() -> None:
    (one,) = of_a_host(0.5, routes=4)
    assert (one.kind, one.ranks, one.direction) == (FindingKind.PARTLY_SLOW_HOST, (3,), Direction.OUT)
    assert "on 4 routes, 16 times, and its 19 other routes that were measured are sound" in one.what


def test_routes_of_one_host_that_were_fast_again_are_not_a_finding() -> None:
    assert not any(one.kind.fault for one in of_a_host(1.0, routes=4))


def test_a_route_of_a_generally_slow_host_is_not_reported_separately() -> None:
    observed = aapc({(phase, 3): 0.5 if phase == 5 else 0.7 for phase in range(RANKS - 1)})
    assert not slow_routes.others_sound((3, 9), np.log(0.5), observed, infer.infer(observed))
    assert slow_routes.others_sound((4, 10), np.log(0.5), observed, infer.infer(observed))
    few = observed.where(observed.phase < 6)
    assert not slow_routes.others_sound((4, 10), np.log(0.5), few, infer.infer(observed))
    assert slow_routes.others_lacking([(4, 10)], few) == 2


@pytest.mark.parametrize("seed", [7008, 7012])
def test_a_host_with_half_of_its_routes_slow_is_named_in_a_search_of_few_phases(seed: int) -> None:
    found = of_family(half_buckets, seed, healthy=False)
    assert (found.found, found.alarms) == (1, 1)


def test_routes_that_are_slow_only_together_are_no_bad_cables() -> None:
    (one,) = found({(5, source): 0.89 for source in range(0, 18, 2)})
    assert one.kind is FindingKind.SHARED_LIMIT
    assert "in one phase up to 9 routes at once ran at about 89 %" in one.what


def test_a_route_as_slow_as_many_others_met_the_same_limit() -> None:
    met = {(5, source): 0.89 for source in range(0, 18, 2)}
    assert [one.kind for one in found(met | {(11, 3): 0.89})] == [FindingKind.SHARED_LIMIT]


def test_a_bad_cable_is_named_beside_routes_that_met() -> None:
    met = {(5, source): 0.89 for source in range(0, 18, 2)}
    assert [one.kind for one in found(met | {(11, 3): 0.5})] == [
        FindingKind.SUSPECT,
        FindingKind.SHARED_LIMIT,
    ]


@pytest.mark.parametrize("share", [0.9, 0.92])
def test_a_host_a_little_slow_on_all_routes_may_be_slow_and_is_not_unsteady(share: float) -> None:
    ranks, phases = 64, 12
    routes = [[(s, (s + phase) % ranks) for s in range(ranks)] for phase in range(1, phases + 1)]
    rates = np.array([1e8 * (share if 3 in route else 1) for phase in routes for route in phase])
    observed = of_phases(ranks, routes, rates * np.exp(np.random.default_rng(1).normal(0, 0.004, len(rates))))
    again = of_phases(ranks, [[(3, 3 + phase)] for phase in range(1, 9)], np.full(8, 1e8 * share), phases)
    told = slow_routes.after_search(observed, again, infer.infer(observed), lambda rank: f"n{rank}", ())
    assert [(one.kind, one.ranks) for one in told] == [(FindingKind.SUSPECT, (3,))]
    assert f"24 of its 24 measured routes run at about {100 * share:.0f} % of" in told[0].what


def test_a_slow_host_is_not_also_named_for_its_routes() -> None:
    """At 90 % of the others' rate, its routes are slow by themselves as well."""
    ranks = 64
    routes = [[(s, (s + phase) % ranks) for s in range(ranks)] for phase in range(1, ranks)]
    observed = of_phases(ranks, routes, np.array([9e7 if 3 in r else 1e8 for phase in routes for r in phase]))
    told = of_run.of_evidence(Evidence(observed, infer.infer(observed), tuple(f"n{r}" for r in range(ranks))))
    assert [(one.kind, one.ranks) for one in told] == [(FindingKind.SLOW_HOST, (3,))]
