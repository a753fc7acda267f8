"""Findings of runs with too many messages to read at once: hosts from some phases, routes from all."""

import dataclasses

import numpy as np
import pytest
from made_runs import aapc_view

from crosscut.analysis.figures.digest import digest
from crosscut.analysis.findings import many_routes, of_run
from crosscut.analysis.findings.kinds import FindingKind
from crosscut.analysis.stats.doubt import outliers_below
from crosscut.analysis.structure import infer
from crosscut.analysis.structure.model import Reach
from crosscut.analysis.structure.observed import of_samples
from crosscut.analysis.structure.totals import Capacity
from crosscut.run.run import Run

RANKS = 48


@pytest.fixture(autouse=True)
def few_at_once(monkeypatch):
    """Makes 48 ranks count as many: a third of their phases is read."""
    monkeypatch.setattr(many_routes, "MOST_MESSAGES", 40 * RANKS)
    monkeypatch.setattr(many_routes, "FEWEST_PHASES", 16)


def noisy(*, slow_host=None, slow_route=None, met=()):
    """`met`: routes (source, destination) that run at 85 %."""
    view = aapc_view(ranks=RANKS, repetitions=3, sizes=(1_000_000,), slow_route=slow_route)
    times = view.dataset["message_seconds"].values
    times *= np.random.default_rng(5).normal(1, 0.02, times.shape)
    if slow_host is not None:
        times[:, :, :, slow_host] *= 2
        sent = view.dataset["peer"].values == slow_host
        times[:, :, sent] *= 2
    for source, destination in met:
        times[:, :, (destination - source) % RANKS - 1, destination] /= 0.85
    view.dataset["rank_seconds"][:] = times.max(axis=-1)
    return Run(view.path, view.dataset)


def test_only_some_phases_are_read_and_always_the_same():
    run = noisy()
    assert many_routes.too_many(run.dataset)
    some = many_routes.some_phases(run.dataset, 0)
    assert len(some.phase) == 20
    assert np.array_equal(some.phase, many_routes.some_phases(run.dataset, 0).phase)


def test_a_slow_host_is_found_in_some_phases():
    found, structure = of_run.look(noisy(slow_host=17))
    assert (found[0].kind, found[0].ranks) == (FindingKind.SLOW_HOST, (17,))
    assert structure is not None
    assert structure.ranks == RANKS


@pytest.mark.parametrize("route", [(3, 9), (40, 2), (11, 35)])
def test_a_slow_route_is_found_whether_or_not_its_phase_was_read(route):
    run = noisy(slow_route=route)
    found, _ = of_run.look(run)
    assert [(one.kind, one.routes) for one in found] == [(FindingKind.SUSPECT, (route,))]
    assert "48 %" in found[0].what or "50 %" in found[0].what or "49 %" in found[0].what
    given, _ = of_run.look(run, 0, digest(run.dataset, 0).routes)
    assert given == found


def test_a_route_that_the_emulating_machine_slowed_is_no_suspect():
    run = noisy(slow_route=(3, 9))
    given = digest(run.dataset, 0).routes
    (phase,) = (int(number) for number in run.dataset["phase"].values if (3 + number) % RANKS == 9)
    limited = [{"size": 1_000_000, "phases": [[phase, phase]]}]
    run.dataset.attrs |= {"place": "lab", "trust": [{"limited": limited}]}
    for routes in (None, given):
        assert [one.kind for one in of_run.look(run, 0, routes)[0]] == [FindingKind.NOTHING]


MET = [(source, (source + 5) % RANKS) for source in range(0, 36, 2)]


def test_routes_that_are_slow_only_together_are_no_bad_cables():
    found, _ = of_run.look(noisy(met=MET))
    assert [one.kind for one in found] == [FindingKind.SHARED_LIMIT]
    assert "in one phase up to 18 routes at once ran at about 85 %" in found[0].what
    assert found[0].phases == (5,)
    assert set(found[0].evidence_routes) <= set(MET)


def test_a_bad_cable_is_named_beside_routes_that_met():
    found, _ = of_run.look(noisy(met=MET, slow_route=(3, 14)))
    assert [one.kind for one in found] == [FindingKind.SUSPECT, FindingKind.SHARED_LIMIT]
    assert found[0].routes == ((3, 14),)


def test_a_healthy_network_raises_no_alarm():
    assert [one.kind for one in of_run.look(noisy())[0]] == [FindingKind.NOTHING]


def test_judging_the_lowest_of_many_equals_judging_all():
    values = np.random.default_rng(2).normal(0, 0.02, 5000)
    values[[7, 4000]] = -0.3, -0.1
    values[13] = np.nan
    whole = outliers_below(values, 0.02)
    at, doubt = many_routes.lowest(values, 0.02, most=50)
    assert at[:2].tolist() == [7, 4000]
    assert doubt == pytest.approx(whole[at])
    assert np.nanmin(np.delete(whole, at)) >= doubt.max() * 0.999


def test_routes_within_a_node_and_behind_a_known_limit_are_no_slow_routes():
    run = noisy(slow_route=(3, 9))
    routes = digest(run.dataset, 0).routes
    inside = dataclasses.replace(routes, same_node=np.ones(len(routes.source), bool))
    assert [one.kind for one in of_run.look(run, 0, inside)[0]] == [FindingKind.NOTHING]


def test_a_route_of_a_host_in_an_unknown_group_may_pass_a_limit_and_is_not_judged():
    run = noisy(slow_route=(3, 9))
    routes = digest(run.dataset, 0).routes
    inferred = infer.infer(of_samples(many_routes.some_phases(run.dataset, 0)))
    at = int(np.nonzero((routes.source == 3) & (routes.destination == 9))[0][0])
    limited = dataclasses.replace(inferred, capacities=(Capacity(Reach.LEAVING, (0,), 1e9, 1e9, 1e9, ()),))
    for unplaced, judged in (((), True), ((5,), True), ((9,), False), ((3,), False)):
        known = dataclasses.replace(limited, unplaced=np.array(unplaced, np.int64))
        slowness = many_routes._slowness(routes, slice(None), known)
        assert np.isfinite(slowness[at]) == judged
