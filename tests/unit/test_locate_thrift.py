"""Phases that the search saves: what it measures first, and what it does not measure again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from benchmarks.truth import networks, oracle
from benchmarks.truth.parts import HOST_RATE

from crosscut.analysis.search import filling, suspects
from crosscut.analysis.structure import idle
from crosscut.analysis.structure.infer import infer
from crosscut.analysis.structure.model import Reach
from crosscut.analysis.structure.observed import nothing, of_phases
from crosscut.analysis.structure.totals import Capacity


def test_in_a_tour_each_group_sends_to_two_others_and_receives_from_two():
    labels = np.repeat(np.arange(6), 6)
    for routes in filling.tours(labels, 4, np.random.default_rng(1)):
        pairs = {(int(labels[s]), int(labels[d])) for s, d in routes}
        assert all(a != b for a, b in pairs)
        for ends in zip(*pairs, strict=True):
            assert sorted(ends) == sorted([*range(6), *range(6)])
        for ranks in zip(*routes, strict=True):
            assert len(set(ranks)) == len(ranks)


def test_two_groups_tour_with_each_other():
    labels = np.repeat([0, 1], 4)
    (routes,) = filling.tours(labels, 1, np.random.default_rng(1))
    assert {(int(labels[s]), int(labels[d])) for s, d in routes} == {(0, 1), (1, 0)}
    assert len(routes) == 8


@pytest.mark.parametrize("way", ["in", "out"])
def test_a_trunk_at_half_its_rate_slows_two_others_in_a_tour_by_less_than_a_third(way):
    groups, trunk = 7, 8 * HOST_RATE / 2
    truth = networks.tree_of(groups, 8, trunk, np.random.default_rng(3))
    bad = 2 * truth.ranks + 2 + (groups if way == "in" else 0)
    truth.capacities[bad] /= 2
    for routes in filling.tours(truth.labels, 3, np.random.default_rng(4)):
        source, destination = np.array(routes).T
        rates = oracle.fair_rates(truth.ways[source, destination], truth.capacities)
        for ends, first in ((source, 2 * truth.ranks), (destination, 2 * truth.ranks + groups)):
            totals = np.bincount(truth.labels[ends], weights=rates)
            left = totals / truth.capacities[first : first + groups]
            assert (left < 0.999).sum() <= 2
            assert left.min() > 2 / 3


def test_groups_that_sent_at_full_rate_to_the_others_have_no_limit_to_fill():
    labels = np.repeat(np.arange(3), 4)
    phase = [(host, 4 + host) for host in range(4)] + [(8, 0)]
    seen = of_phases(12, [phase], np.array([1.0, 1.0, 0.9, 1.0, 1.0]))
    unlimited = filling.carrying(seen, labels, 1.0)
    assert unlimited == {(Reach.LEAVING, 0), (Reach.ENTERING, 1)}
    known = [Capacity(Reach.LEAVING, (2,), 2.0, 2.0, 2.0, ())]
    left = filling.phases(known, labels, np.random.default_rng(1), unlimited)
    assert {labels[s] for routes in left for s, _ in routes if labels[s] != 0} == {1, 2}
    assert len(left) < len(filling.phases(known, labels, np.random.default_rng(1)))


def test_messages_that_load_the_network_do_not_stay_within_known_groups():
    fragments = np.repeat(np.arange(6), 4)
    for routes in idle.phases(nothing(24), fragments, 3, np.random.default_rng(1), within=False):
        assert len(routes) >= 20
        assert sum(fragments[s] == fragments[d] for s, d in routes) <= 2


@pytest.mark.parametrize(("deviations", "blurred"), [(1.5, True), (6.0, False)])
def test_latencies_are_blurred_if_noise_hides_the_switches_latency(deviations, blurred):
    random = np.random.default_rng(2)
    labels = random.permutation(np.repeat(np.arange(6), 12))
    seconds = np.where(labels[:, None] == labels[None, :], 100e-6, 100e-6 * np.exp(0.02 * deviations))
    phases = idle.phases(nothing(72), np.arange(72), 4, random)
    seen = of_phases(72, phases, 1 / oracle.latencies(seconds, phases, 0.02, random))
    assert idle.nearness(seen).blurred == blurred


def test_a_host_that_was_fast_within_its_group_is_not_measured_alone():
    random = np.random.default_rng(1)
    phases = [[(rank, (rank + 1) % 16) for rank in range(16)]]
    seen = of_phases(16, phases, HOST_RATE * np.exp(0.02 * random.standard_normal(16)))
    inferred = replace(infer(seen, divided=False), out_suspects=np.array([3, 5]))

    def slow(observed):
        return np.log(observed.rate / HOST_RATE) < -0.1

    nobody, without = suspects.nobody(16), seen.where(seen.source != 5)
    assert nobody.ask(seen, slow, inferred, random, full=seen, forwarded=False)[0] == []
    (phase,), _ = nobody.ask(without, slow, inferred, random, full=seen, forwarded=False)
    assert {rank for rank, _ in phase[::2]} == {5}


def test_groups_without_a_slow_trunk_tour_among_themselves():
    labels = np.repeat(np.arange(5), 6)
    known = [Capacity(Reach.LEAVING, (group,), 6.0, 6.0, 6.0, ()) for group in range(4)]
    known.append(Capacity(Reach.ENTERING, (4,), 3.0, 3.0, 3.0, ()))
    able = filling.sound(known, labels)
    assert able == [0, 1, 2, 3]
    for routes in filling.tours(labels, 3, np.random.default_rng(1), able):
        assert {int(labels[end]) for route in routes for end in route} == {0, 1, 2, 3}
