"""Limits that permutations seldom fill are searched for if there is a trace of them."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.truth import networks, oracle
from benchmarks.truth.parts import HOST_RATE, Builder, Truth, uplinks
from benchmarks.truth.score import adjusted_rand

from crosscut.analysis.search import rare_limits
from crosscut.analysis.search.rare_limits import RareLimit
from crosscut.analysis.search.search import Search
from crosscut.analysis.structure.located import Located
from crosscut.analysis.structure.observed import Observed, of_phases


def chassis(modules: int, each: int, flows: float, *, in_order: bool = False) -> Truth:
    """Modules wired to each other at the rate of `flows` hosts; latency does not distinguish them."""
    labels = np.repeat(np.arange(modules), each)
    if not in_order:
        labels = np.random.default_rng(1).permutation(labels)
    builder = Builder.of(labels.astype(np.int64))
    wires = {(a, b): builder.add(flows * HOST_RATE) for a in range(modules) for b in range(modules) if a != b}
    builder.through(lambda s, d: [wires[labels[s], labels[d]]] if labels[s] != labels[d] else [])
    limits = {("between", a, b): flows * HOST_RATE for a, b in wires}
    idle = np.full((builder.ranks, builder.ranks), 0.5e-6)
    capacities = np.array(builder.capacities)
    return Truth("chassis", builder.ranks, labels, builder.padded(), capacities, idle, limits, ())


def searched(truth: Truth, seed: int, *, least_phases: int = 0, noise: float = 0.02) -> Located:
    random = np.random.default_rng(seed)
    searching = Search(truth.ranks, seed=seed, least_phases=least_phases)
    while phases := searching.propose():
        if searching.asks_latency:
            searching.learn(1 / oracle.latencies(truth.idle_seconds, phases, noise, random))
        else:
            searching.learn(oracle.measure(truth.ways, truth.capacities, phases, noise, random))
    return searching.located()


@pytest.mark.parametrize("seed", range(4))
def test_groups_whose_limit_one_permutation_in_eight_fills_are_found_within_an_aapc(seed):
    """Three modules of 16, eight flows between any two, like 48 hosts of the E7 (TR 391, section 5.1)."""
    truth = chassis(3, 16, 8.0)
    located = searched(truth, seed, least_phases=30)
    assert adjusted_rand(truth.labels, located.inferred.grouping.labels) == 1
    known = [capacity.bytes_per_second for capacity in located.inferred.capacities]
    assert len(known) == 6
    assert known == pytest.approx([8 * HOST_RATE] * 6, rel=0.05)


def test_hosts_numbered_by_module_are_grouped_although_no_random_permutation_fills_a_limit():
    """Four modules of 16: about one random permutation in thirty shows anything."""
    truth = chassis(4, 16, 8.0, in_order=True)
    located = searched(truth, 2)
    assert adjusted_rand(truth.labels, located.inferred.grouping.labels) == 1


def test_a_healthy_switch_costs_a_phase_per_doubling_plus_one_and_is_not_divided():
    for seed in range(10):
        located = searched(networks.crossbar(64, np.random.default_rng(seed)), seed)
        assert located.inferred.grouping.count == 1
        assert located.phases_used <= 6 + 1


def test_the_least_number_of_phases_is_measured_even_if_nothing_is_slow():
    located = searched(networks.crossbar(16, np.random.default_rng(1)), 1, least_phases=9, noise=0.0)
    assert located.observed.phases >= 9


def seen(slow_routes: int, ranks: int = 64) -> tuple[Observed, np.ndarray[tuple[int], np.dtype[np.bool_]]]:
    """Six permutations, with `slow_routes` slow routes in the fourth."""
    phases = [[(rank, (rank + d) % ranks) for rank in range(ranks)] for d in range(1, 7)]
    observed = of_phases(ranks, phases, np.ones(6 * ranks))
    slow = (observed.phase == 3) & (observed.source < slow_routes)
    return observed, slow


def test_nine_slow_routes_of_one_phase_are_a_cluster_and_two_are_chance():
    assert rare_limits.slow_together(*seen(2)) is None
    found = rare_limits.slow_together(*seen(9))
    assert found is not None
    assert (found.phase, found.sources.tolist()) == (3, list(range(9)))
    assert found.destinations.tolist() == list(range(4, 13))


def test_as_many_slow_messages_in_different_phases_are_not_a_cluster():
    observed, _ = seen(0)
    slow = np.zeros(len(observed), bool)
    slow[::43] = True  # nine messages
    assert rare_limits.slow_together(observed, slow) is None


def test_a_cluster_that_is_not_slow_again_is_forgotten():
    observed, slow = seen(9)
    suspicion = RareLimit().notice(observed, slow)
    assert suspicion.on
    phases, asked = suspicion.ask(observed, slow, 4, np.random.default_rng(1))
    again = of_phases(64, [*([[]] * 6), *phases], np.ones(64 * len(phases)))
    both = Observed(64, *(np.concatenate([getattr(one, name) for one in (observed, again)])
                          for name in ("phase", "source", "destination", "rate")))  # fmt: skip
    given_up = asked.notice(both, np.concatenate([slow, np.zeros(len(again), bool)]))
    assert not given_up.on
    assert given_up.ask(observed, slow, 4, np.random.default_rng(1)) == ([], given_up)


@pytest.mark.parametrize("most", [0, 4])
@pytest.mark.parametrize("turn", range(6))
def test_in_concentrating_phases_every_rank_sends_once_and_groups_send_as_a_whole(turn, most):
    labels = np.repeat([0, 1, 2], [5, 5, 9])
    routes = rare_limits.concentrated(labels, turn, most, np.random.default_rng(turn))
    for ends in zip(*routes, strict=True):
        assert len(set(ends)) == len(ends)
    assert all(source != destination for source, destination in routes)
    assert len(routes) >= 18
    to = [int(labels[d]) for s, d in routes if labels[s] == 0]
    if most and turn % 3 < 2:
        assert to.count(1) >= most  # leftover ranks send anywhere
    else:
        assert to == [(turn // 3 if most else turn) % 3] * 5


@pytest.mark.parametrize("turn", range(6))
def test_phases_concentrate_even_if_all_ranks_are_in_two_known_groups(turn):
    routes = rare_limits.concentrated(np.repeat([0, 1], 4), turn, 2, np.random.default_rng(turn))
    assert len(routes) == 8


def test_a_rank_that_is_slow_towards_a_group_whose_limit_is_full_joins_the_other():
    """Two groups of six, four hosts of each known; phase 1 fills the trunk, phase 2 does not."""
    labels = np.array([0] * 4 + [2] * 2 + [1] * 4 + [2] * 2 + [2] * 4)
    full = [(0, 6), (1, 7), (4, 8), (12, 9), (2, 10), (3, 13)]
    seen = of_phases(16, [[], full, [(0, 6), (5, 7)]], np.ones(8))
    slow = np.array([True, True, True, False, True, False, False, False])
    found = rare_limits.joined(labels, seen, slow)
    assert (found[4], found[10]) == (0, 1)
    assert found[[5, 12, 13]].tolist() == [2, 2, 2]


def squeezed() -> Truth:
    """Three leaves of six, whose uplinks carry what 4, 4 and 2 hosts send; latency distinguishes none."""
    labels = np.repeat(np.arange(3), 6)
    builder, limits = Builder.of(labels), {}
    uplinks(builder, [4 * HOST_RATE, 4 * HOST_RATE, 2 * HOST_RATE], limits)
    idle = np.full((builder.ranks, builder.ranks), 0.5e-6)
    capacities = np.array(builder.capacities)
    return Truth("squeezed", builder.ranks, labels, builder.padded(), capacities, idle, limits, ())


@pytest.mark.parametrize("seed", [0, 2, 4])
def test_sound_leaves_that_random_phases_seldom_fill_are_told_apart_beside_a_squeezed_one(seed):
    """A random permutation within the two sound leaves fills their uplinks one time in 25."""
    truth = squeezed()
    assert adjusted_rand(truth.labels, searched(truth, seed).inferred.grouping.labels) == 1


def test_a_rank_in_the_same_phase_by_chance_does_not_join_the_cluster():
    found = rare_limits.SlowTogether(0, np.arange(4), np.arange(8, 12))
    routes = rare_limits.again(found, 16, 3, np.random.default_rng(1))
    seen = of_phases(16, [[], *routes], np.ones(3 * 16))
    slow = np.isin(seen.source, [0, 1, 2]) & np.isin(seen.destination, [8, 9, 10])
    kept = rare_limits.steady(found, seen, slow)
    assert (kept.sources.tolist(), kept.destinations.tolist()) == ([0, 1, 2], [8, 9, 10])


def test_nearly_in_order_ranks_send_to_about_their_distance_and_never_the_same_way_twice():
    random = np.random.default_rng(2)
    first, second = (rare_limits.nearly_in_order(np.arange(64), 16, random) for _ in range(2))
    assert len(set(first) & set(second)) < 20
    assert all(9 <= (d - s) % 64 <= 23 for s, d in first)
    for ends in zip(*first, strict=True):
        assert sorted(ends) == list(range(64))


def test_a_group_that_is_several_often_sends_near_the_distance_that_was_slow():
    several, random = rare_limits.Several(np.repeat([0, 1], [12, 6]), 2), np.random.default_rng(2)
    distances = []
    for _ in range(100):
        routes = rare_limits.nearly_in_order_within(several, random)
        distances.append(next((d - s) % 12 for s, d in routes if s == 0))
        assert sorted(s for s, _ in routes) == sorted(d for _, d in routes) == list(range(18))
    assert set(distances) == set(range(1, 12))
    assert sum(distance in (5, 6, 7) for distance in distances) > 45


def test_the_cluster_sends_again_in_other_orders_and_in_reverse():
    found = rare_limits.SlowTogether(0, np.arange(4), np.arange(8, 12))
    phases = rare_limits.again(found, 16, 3, np.random.default_rng(1))
    assert len({route for routes in phases for route in routes if route[0] < 4}) == 12
    for routes in phases:
        assert {d for s, d in routes if s < 4} == {8, 9, 10, 11}
        assert {d for s, d in routes if 8 <= s < 12} == {0, 1, 2, 3}
        assert all(s != d for s, d in routes)


def test_the_order_of_ranks_is_believed_if_far_more_is_slow_in_it():
    slow = np.repeat([False, True, False], [60, 30, 30])
    ordered = np.repeat([False, True], [60, 60])
    assert rare_limits.numbered_so(slow, ordered)
    assert not rare_limits.numbered_so(slow, ~ordered)
    assert not rare_limits.numbered_so(slow, np.ones(120, bool))
