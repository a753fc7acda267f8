"""What the search measures, in how many phases; noise, latency, chips, and phases left out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from benchmarks.truth import fabrics, networks, oracle
from benchmarks.truth.parts import Builder, Truth
from benchmarks.truth.score import adjusted_rand, score, search

from crosscut.analysis.figures.limited import limited_phases
from crosscut.analysis.figures.samples import Samples, without
from crosscut.analysis.search.latency import Latency
from crosscut.analysis.search.search import Search
from crosscut.analysis.structure import idle, subgroups
from crosscut.analysis.structure.observed import nothing, of_phases
from crosscut.analysis.structure.upper_mode import upper_mode
from crosscut.campaigns.locate import network_only


@pytest.mark.parametrize("noise", [0.02, 0.05])
def test_noise_is_estimated_from_the_fastest_cluster_although_most_messages_are_slower(noise):
    for seed in range(10):
        random = np.random.default_rng(seed)
        slowed = -random.uniform(0.2, 1.5, 300)
        values = np.concatenate([np.zeros(60), slowed]) + noise * random.standard_normal(360)
        centre, found = upper_mode(values)
        assert abs(centre) < noise
        assert 0.6 * noise < found < 1.6 * noise


def test_a_few_stalled_messages_do_not_hide_two_levels_of_latency():
    random = np.random.default_rng(3)
    labels = np.repeat(np.arange(8), 12)
    seconds = np.where(labels[:, None] == labels[None, :], 105.9e-6, 117.8e-6)
    phases = idle.phases(nothing(96), np.arange(96), 4, random)
    rates = 1 / oracle.latencies(seconds, phases, 0.005, random)
    rates[:4] /= [1.5, 2, 3, 5]
    found = idle.nearness(of_phases(96, phases, rates))
    assert not found.hopeless
    assert not found.blurred
    assert found.near_share == pytest.approx(1 / 8, abs=0.05)


def test_latencies_an_eleventh_apart_distinguish_switches_although_few_routes_are_near():
    random = np.random.default_rng(2)
    labels = random.permutation(np.repeat(np.arange(9), 8))
    seconds = np.where(labels[:, None] == labels[None, :], 100e-6, 109e-6)
    seen, fragments, used = nothing(72), np.arange(72), 0
    while used < 28:
        phases = idle.phases(seen, fragments, 4, random)
        rates = 1 / oracle.latencies(seconds, phases, 0.02, random)
        part, used = of_phases(72, phases, rates, used), used + 4
        seen = replace(
            seen,
            **{name: np.concatenate([getattr(seen, name), getattr(part, name)])
               for name in ("phase", "source", "destination", "rate")},
        )  # fmt: skip
        found = idle.nearness(seen)
        fragments = found.fragments
    assert found.sure
    assert adjusted_rand(labels, found.grouping.labels) == 1


@pytest.mark.parametrize("seed", [1, 2])
def test_the_binding_level_of_several_has_the_limits_and_racks_are_its_parts(seed):
    truth = fabrics.three_levels(np.random.default_rng(seed))
    found = search(truth, 0.01, seed)
    assert adjusted_rand(truth.labels, found.inferred.grouping.labels) == 1
    assert len(found.inferred.capacities) == len(truth.limits)
    racks = truth.idle_seconds <= 1.001 * truth.idle_seconds.min()
    labels = np.array(found.structure.labels(1))
    assert ((labels[:, None] == labels) == (racks | np.eye(truth.ranks, dtype=bool))).all()


def test_phases_of_short_messages_never_use_a_rank_twice_and_ask_within_groups_as_well():
    fragments = np.repeat(np.arange(4), 4)
    for routes in idle.phases(nothing(16), fragments, 4, np.random.default_rng(1)):
        for ends in zip(*routes, strict=True):
            assert len(set(ends)) == len(ends)
        assert all(source != destination for source, destination in routes)
    within = [fragments[s] == fragments[d] for s, d in routes]
    assert any(within)


def test_chips_of_a_group_are_told_apart_to_the_last_host():
    """Two chips of 24 hosts, of which 16 can send at full rate, as in the E7 (TR 391, section 5.1)."""
    chips = np.random.default_rng(5).permutation(np.repeat([0, 1], 24))
    builder = Builder.of(np.zeros(48, np.int64))
    sent = [builder.add(16 * networks.HOST_RATE) for _ in range(2)]
    received = [builder.add(16 * networks.HOST_RATE) for _ in range(2)]
    builder.through(lambda s, d: [sent[chips[s]], received[chips[d]]])
    ways, capacities = builder.padded(), np.array(builder.capacities)
    for seed in range(8):
        random = np.random.default_rng(seed)
        phases = [subgroups.permutation([range(48)], 0.5 + 0.1 * (i % 4), random) for i in range(32)]
        seen = of_phases(48, phases, oracle.measure(ways, capacities, phases, 0.02, random))
        members = np.arange(48)
        rough = subgroups._clusters(subgroups._spectrum(seen, members), 2)
        assert adjusted_rand(chips, subgroups._refined(seen, members, rough)) == 1


@pytest.mark.parametrize("seed", [72, 164])
def test_hosts_of_a_small_group_are_not_slow_because_their_partners_are(seed):
    found = score(seed, 0.02)
    assert found.rand == 1
    assert (found.found, found.alarms) == (found.planted, found.planted)


@pytest.mark.parametrize("most_phases", [4, 5, 8])
def test_the_smallest_budgets_are_kept(most_phases):
    truth, random = networks.make(1), np.random.default_rng(1)
    searching, used = Search(truth.ranks, most_phases=most_phases), 0
    while phases := searching.propose():
        if searching.asks_latency:
            searching.learn(1 / oracle.latencies(truth.idle_seconds, phases, 0.02, random))
            continue
        used += len(phases)
        searching.learn(oracle.measure(truth.ways, truth.capacities, phases, 0.02, random))
    assert 0 < used <= most_phases
    assert searching.located().structure.ranks == truth.ranks


def test_rates_that_may_not_be_used_are_ignored():
    truth = networks.crossbar(16, np.random.default_rng(1))
    searching = Search(16, seed=2)
    phases = searching.propose()
    rates = oracle.measure(truth.ways, truth.capacities, phases, 0.02, np.random.default_rng(1))
    rates[: len(phases[0])] = np.nan
    searching.learn(rates)
    assert searching.located().observed.phases == 1


TRUST = [{"limited": [{"size": 100, "phases": [[2, 4], [7, 7]]}, {"size": 5, "phases": [[1, 9]]}]}]


def test_phases_limited_by_the_machine_are_those_of_the_size_and_only_in_a_lab():
    assert limited_phases({"place": "lab", "trust": TRUST}, 100) == {2, 3, 4, 7}
    assert limited_phases({"place": "local", "trust": TRUST}, 100) == frozenset()


@pytest.mark.parametrize(
    "trust",
    [
        None, 7, [7], [{"limited": 3}],
        [{"limited": [{"size": 100, "phases": [[4], ["a", 2], [0, 1 << 60]]}]}],
    ],
)  # fmt: skip
def test_a_run_s_record_of_its_machine_may_be_malformed(trust):
    assert limited_phases({"place": "lab", "trust": trust}, 100) == frozenset()


def test_leaving_out_phases_does_not_change_the_other_samples():
    peer = np.zeros((3, 2, 1), np.int32)
    times = np.arange(12, dtype=float).reshape(2, 3, 2, 1)
    samples = Samples(
        1, np.array([1, 2, 3]), peer, np.ones((3, 2, 1)), times, times[..., 0], np.ones(3),
        np.arange(2, dtype=np.int32), 1, False,
    )  # fmt: skip
    left = without(samples, frozenset({2}))
    assert left.phase.tolist() == [1, 3]
    assert (left.message_seconds == times[:, [0, 2]]).all()
    assert without(samples, frozenset()) is samples


def test_rates_of_limited_phases_are_not_used():
    phases, seen = [[(0, 1)], [(1, 0), (2, 3)]], np.array([1.0, 2.0, 3.0])
    used = network_only(seen, phases, [1, 2], frozenset({2}))
    assert np.isnan(used).tolist() == [False, True, True]


def test_a_search_that_asks_for_less_confidence_measures_no_more():
    truth = networks.make(2)
    assert search(truth, 0.02, 5).phases_used >= _used(truth, 0.9)


def _used(truth: Truth, confidence: float) -> int:
    random = np.random.default_rng(5)
    searching = Search(truth.ranks, seed=5, confidence=confidence)
    while phases := searching.propose():
        if searching.asks_latency:
            searching.learn(1 / oracle.latencies(truth.idle_seconds, phases, 0.02, random))
        else:
            searching.learn(oracle.measure(truth.ways, truth.capacities, phases, 0.02, random))
    return searching.located().phases_used


def test_a_network_without_latency_is_not_searched_by_latency():
    """One byte's time depends on the wires that it shares, not on distance."""
    search = Search(64)
    phases = search.propose()
    for _ in range(5):
        if search.asks_latency:
            break
        search.learn(np.array([rate for phase in phases for rate in _of_modules(phase)]))
        phases = search.propose()
    assert search.asks_latency
    search.learn(np.array([rate for phase in phases for rate in _of_modules(phase)]))  # one-byte messages
    search.propose()
    assert not search.asks_latency
    assert search.state.near is None


def _of_modules(phase):
    """Returns bytes per second: hosts of 12.5 MB/s, 16 per module, 25 MB/s from one module to another."""
    pairs = [(source // 16, destination // 16) for source, destination in phase]
    return [12.5e6 if a == b else min(12.5e6, 25e6 / pairs.count((a, b))) for a, b in pairs]


def _by_latency(ranks, seconds_of, random):
    """Returns the groups by latency, and the phases used. `seconds_of`: from sources, destinations."""
    latency, turn = Latency(1000, nothing(ranks)), 0
    full = of_phases(ranks, [[(0, 1)]], np.array([1e10]))
    while True:
        phases, near, latency = latency.ask(full, 0, random, first=True)
        if not phases:
            return near, turn
        ends = np.array([route for routes in phases for route in routes]).T
        noise = np.exp(0.01 * random.standard_normal(len(ends.T)))
        seen = of_phases(ranks, phases, 1 / (seconds_of(*ends) * noise), first_phase=turn)
        latency, turn = latency.learn(seen), turn + len(phases)


def test_latency_distinguishes_forty_switches_although_few_messages_stay_within_one():
    """One in forty of the first messages stays on a switch; each rank is measured once per switch."""
    random = np.random.default_rng(6)
    truth = random.permutation(np.repeat(np.arange(40), 8))
    near, phases = _by_latency(320, lambda s, d: np.where(truth[s] == truth[d], 2e-6, 3e-6), random)
    assert near is not None
    assert adjusted_rand(truth, near.labels) == 1
    assert phases <= 60


def test_latency_distinguishes_a_hundred_and_fifty_racks_in_rows():
    """Ranks are compared within their row only, so few phases suffice for racks."""
    random = np.random.default_rng(7)
    rack = random.permutation(np.repeat(np.arange(150), 8))
    row = rack // 15

    def seconds(source, destination):
        same = np.where(row[source] == row[destination], 3e-6, 4e-6)
        return np.where(rack[source] == rack[destination], 2e-6, same)

    near, phases = _by_latency(1200, seconds, random)
    assert near is not None
    assert adjusted_rand(rack, near.labels) == 1
    assert phases <= 60
    rows = idle.wider(_idle_of(1200, seconds, random), near.labels)
    assert rows is not None
    assert adjusted_rand(row, rows.labels) == 1


def _idle_of(ranks, seconds_of, random):
    orders = [random.permutation(ranks) for _ in range(30)]
    routes = [list(zip(order.tolist(), np.roll(order, 1).tolist(), strict=True)) for order in orders]
    ends = np.array([route for phase in routes for route in phase]).T
    return of_phases(ranks, routes, 1 / seconds_of(*ends))


def test_among_many_ranks_latency_without_levels_shows_no_groups():
    random = np.random.default_rng(8)
    near, phases = _by_latency(1200, lambda source, destination: np.full(len(source), 3e-6), random)
    assert near is None
    assert phases <= 60
