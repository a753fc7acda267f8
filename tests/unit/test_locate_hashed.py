"""Networks in which a hash picks one of several cables for each route between groups."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from benchmarks.truth import fabrics, networks, oracle
from benchmarks.truth.parts import Builder, Truth, idle_of
from benchmarks.truth.score import named_faults, search

from crosscut.analysis.findings import hashed_paths, of_run, slow_cables
from crosscut.analysis.findings.kinds import FindingKind
from crosscut.analysis.findings.model import Direction, Effect, Finding
from crosscut.analysis.search.search import Search
from crosscut.analysis.structure import hashed, network_file
from crosscut.analysis.structure.grouping import Grouping
from crosscut.analysis.structure.infer import infer
from crosscut.analysis.structure.observed import Observed, of_phases
from crosscut.analysis.structure.unshared import unshared

NOISE = 0.01


def permuted(truth: Truth, phases: int = 12, seed: int = 1, noise: float = NOISE) -> Observed:
    random = np.random.default_rng(seed)
    orders = [random.permutation(truth.ranks) for _ in range(phases)]
    routes = [list(zip(order.tolist(), np.roll(order, 1).tolist(), strict=True)) for order in orders]
    rates = oracle.measure(truth.ways, truth.capacities, routes, noise, random)
    return of_phases(truth.ranks, routes, rates)


def cables(truth: Truth) -> tuple[int, float]:
    """Returns the number of cables per group, and bytes per second of each."""
    groups = int(truth.labels.max()) + 1
    return len(truth.parts) // (2 * groups), float(truth.capacities[truth.parts[0].capacity])


def findings(truth: Truth, seed: int = 1) -> list[Finding]:
    return of_run.of_located(search(truth, NOISE, seed), tuple(f"n{rank}" for rank in range(truth.ranks)))


@pytest.mark.parametrize("seed", [21, 22, 23, 24])
def test_the_number_of_cables_and_their_rate_follow_from_rates_alone(seed):
    truth = fabrics.hashed_cables(np.random.default_rng(seed))
    seen = permuted(truth, 24)
    found = hashed.fit(seen, unshared(seen), truth.labels)
    count, rate = cables(truth)
    assert found is not None
    assert found.certain
    assert found.cables == pytest.approx(count, rel=0.25)
    assert found.bytes_per_second == pytest.approx(rate, rel=0.05)
    assert found.slow == pytest.approx(found.slow_expected, abs=0.08)
    assert 0.05 < found.lost < 0.7


def test_latency_and_rates_without_noise_do_not_hide_the_cables():
    """Messages that share a cable take longer for it, but their latency stays the same."""
    truth = fabrics.hashed_cables(np.random.default_rng(21))
    seen = permuted(truth, 24, noise=1e-6)
    latency = 0.05 / seen.rate.max()  # seconds per byte
    seen = replace(seen, rate=1 / (1 / seen.rate + latency))
    found = hashed.fit(seen, unshared(seen), truth.labels)
    count, rate = cables(truth)
    assert found is not None
    assert found.certain
    assert found.cables == pytest.approx(count, rel=0.25)
    assert found.bytes_per_second == pytest.approx(rate, rel=0.1)


@pytest.mark.parametrize("family", [networks.chassis, networks.tree, fabrics.dragonfly])
def test_other_networks_are_not_taken_for_hashed_ones(family):
    for seed in (31, 32, 33):
        truth = family(np.random.default_rng(seed))
        seen = permuted(truth)
        found = hashed.fit(seen, unshared(seen), truth.labels)
        assert found is None or not found.certain


def test_healthy_hashed_paths_are_reported_as_full_bisection_without_a_fault():
    truth = fabrics.hashed_cables(np.random.default_rng(22))
    found = findings(truth)
    assert not any(one.kind.fault for one in found)
    (told,) = [one for one in found if one.kind is FindingKind.HASHED]
    assert "full bisection" in told.what


def one_slow_cable(seed: int, share: float) -> tuple[Truth, int, str]:
    truth = fabrics.hashed_cables(np.random.default_rng(seed))
    part = truth.parts[len(truth.parts) // 3]
    capacities = truth.capacities.copy()
    capacities[part.capacity] *= share
    return replace(truth, capacities=capacities), part.subject, part.direction


def test_one_slow_cable_of_several_is_named_with_its_group_and_direction():
    truth, group, direction = one_slow_cable(22, 0.3)
    found = findings(truth)
    assert named_faults(found, truth) == {("cable", group, direction)}
    (told,) = [one for one in found if one.kind is FindingKind.SLOW_CABLE]
    assert told.effect is not None
    assert told.effect.share == pytest.approx(0.3 * cables(truth)[1] / networks.HOST_RATE, rel=0.1)


def test_routes_that_were_never_measured_alone_name_no_cable():
    truth, _, _ = one_slow_cable(22, 0.3)
    located = search(truth, NOISE, 1)
    phases, count = np.unique(located.few.phase, return_counts=True)
    crowded = located.few.where(~np.isin(located.few.phase, phases[count == 1]))
    assert slow_cables.find(located.few, located.inferred)
    assert not slow_cables.find(crowded, located.inferred)


def test_slow_routes_of_one_host_name_no_cable():
    truth = fabrics.hashed_cables(np.random.default_rng(22))
    seen = permuted(truth, 24)
    inferred = replace(infer(seen), alone=unshared(seen))
    others = np.nonzero(inferred.grouping.labels != inferred.grouping.labels[0])[0][:6].tolist()
    few = of_phases(
        truth.ranks,
        [[(0, other)] for other in others * 4],
        np.full(len(others) * 4, 0.4 * networks.HOST_RATE),
    )
    assert slow_cables.tested(few, inferred).always.all()
    assert not slow_cables.find(few, inferred)


def test_a_cable_is_named_although_one_host_has_as_many_slow_routes():
    truth = fabrics.hashed_cables(np.random.default_rng(22))
    seen = permuted(truth, 24)
    known = Grouping(truth.labels, np.ones(truth.ranks), 0.0, 0.0)
    inferred = replace(infer(seen, near=known), alone=unshared(seen))
    members = [np.nonzero(inferred.grouping.labels == group)[0].tolist() for group in range(4)]
    of_host = [(members[0][0], members[1][0]), (members[0][0], members[2][1])]
    of_cable = [(members[3][0], members[1][2]), (members[3][1], members[2][2])]
    slow = (of_host + of_cable) * 3
    few = of_phases(truth.ranks, [[route] for route in slow], np.full(len(slow), 0.4 * networks.HOST_RATE))
    (told,) = slow_cables.find(few, inferred)
    assert set(told.routes) == set(of_cable)


def test_a_slow_cable_is_named_even_if_tcp_shares_too_unevenly_for_a_fit():
    truth, group, direction = one_slow_cable(22, 0.3)
    random = np.random.default_rng(5)

    def uneven(ways, capacities, phases, noise, draws):
        """Messages that share a limit get very unequal shares."""
        rates, at = [], 0
        every = oracle.measure(ways, capacities, phases, noise, draws)
        for routes in phases:
            mine, at = every[at : at + len(routes)], at + len(routes)
            alone = oracle.measure(ways, capacities, [[route] for route in routes], 0.0, draws)
            met = mine < 0.9 * alone
            rates.append(
                np.where(met, np.minimum(mine * np.exp(0.6 * random.standard_normal(len(mine))), alone), mine)
            )
        return np.concatenate(rates)

    searching, draws = Search(truth.ranks, seed=1), np.random.default_rng(1)
    while phases := searching.propose():
        if searching.asks_latency:
            searching.learn(1 / oracle.latencies(truth.idle_seconds, phases, NOISE, draws))
        else:
            searching.learn(uneven(truth.ways, truth.capacities, phases, NOISE, draws))
    located = searching.located()
    found = of_run.of_located(located, tuple(f"n{rank}" for rank in range(truth.ranks)))
    assert hashed_paths.of_structure(located.inferred) == []
    assert named_faults(found, truth) == {("cable", group, direction)}


def test_the_network_file_has_a_spine_for_each_cable():
    truth = fabrics.hashed_cables(np.random.default_rng(22))
    located = search(truth, NOISE, 1)
    assert located.inferred.hashed is not None
    count = located.inferred.hashed.cables
    text = network_file.text(located.structure, "test")
    assert f'names = "core[0-{count - 1}]"' in text
    assert f'between = ["group0", "core[0-{count - 1}]"]' in text


def test_nothing_is_reported_about_hashed_paths_if_there_are_none():
    truth = networks.tree(np.random.default_rng(31))
    assert hashed_paths.of_structure(infer(permuted(truth))) == []


def sixteen_hosts(random: np.random.Generator) -> tuple[Truth, int]:
    """Returns four leaves, each with four hosts and a cable to each of four spines, and a cable of leaf 2."""
    b = Builder.of(np.repeat(np.arange(4), 4))
    up, down = ([[b.add(networks.HOST_RATE) for _ in range(4)] for _ in range(4)] for _ in range(2))
    spine, of = random.integers(0, 4, (16, 16)), b.labels
    b.through(lambda s, d: [up[of[s]][spine[s, d]], down[of[d]][spine[s, d]]] if of[s] != of[d] else [])
    idle = idle_of(of, 2, random)
    return Truth("leaves", 16, of, b.padded(), np.array(b.capacities), idle, {}, (), spread=True), up[2][1]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_few_hosts_get_as_many_phases_as_finding_a_slow_cable_takes(seed):
    truth, cable = sixteen_hosts(np.random.default_rng(seed))
    capacities = truth.capacities.copy()
    capacities[cable] *= 0.25
    found = findings(replace(truth, capacities=capacities), seed)
    assert named_faults(found, truth) == {("cable", 2, "out")}


@pytest.mark.parametrize(("times", "way", "told"), [(1.0, 0, False), (1.0, 1, True), (1.5, 0, True)])
def test_a_slow_host_that_may_forward_the_slow_routes_names_no_cable(times: float, way: int, told: bool):
    truth, _, _ = one_slow_cable(22, 0.3)
    located = search(truth, NOISE, 1)
    (cable,) = slow_cables.find(located.few, located.inferred)
    assert cable.effect is not None
    ways = (
        (Direction.IN, Direction.OUT) if cable.direction is Direction.OUT else (Direction.OUT, Direction.IN)
    )
    host = Finding(
        FindingKind.SLOW_HOST, "", ranks=cable.ranks[:1], direction=ways[way],
        effect=Effect(times * cable.effect.share),
    )  # fmt: skip
    assert bool(slow_cables.find(located.few, located.inferred, [host])) == told


def test_slow_routes_of_a_slow_trunk_name_no_cable():
    truth, _, _ = one_slow_cable(22, 0.3)
    located = search(truth, NOISE, 1)
    (cable,) = slow_cables.find(located.few, located.inferred)
    trunk = replace(cable, kind=FindingKind.SLOW_TRUNK)
    assert not slow_cables.find(located.few, located.inferred, [trunk])
    others = replace(trunk, ranks=tuple(set(range(truth.ranks)) - set(cable.ranks)))
    assert slow_cables.find(located.few, located.inferred, [others])


def test_the_slow_cables_of_a_group_are_of_the_same_number(monkeypatch: pytest.MonkeyPatch):
    """By themselves, 2 of 5 routes out would tell 2 cables, and 2 of 11 routes in 6."""
    truth = fabrics.hashed_cables(np.random.default_rng(22))
    seen = permuted(truth, 24)
    known = Grouping(truth.labels, np.ones(truth.ranks), 0.0, 0.0)
    inferred = replace(infer(seen, near=known), alone=unshared(seen))
    members = [np.nonzero(truth.labels == group)[0].tolist() for group in range(4)]
    out = [(members[3][at % len(members[3])], members[at % 3][1]) for at in range(5)]
    back = [(members[at % 3][at // 3], members[3][at % len(members[3])]) for at in range(11)]
    slow = {*out[:2], *back[:2]}
    routes = (out + back) * 3
    rates = np.where([route in slow for route in routes], 0.4, 1.0) * networks.HOST_RATE
    monkeypatch.setattr(slow_cables, "hashed_paths", lambda inferred: None)
    told = slow_cables.find(of_phases(truth.ranks, [[route] for route in routes], rates), inferred)
    assert [(one.direction, one.groups) for one in told] == [
        (Direction.OUT, ("group3",)),
        (Direction.IN, ("group3",)),
    ]
    assert all("one of about 4 cables" in one.what for one in told)


def test_a_group_whose_routes_are_all_slow_has_a_slow_trunk():
    truth = fabrics.hashed_cables(np.random.default_rng(22))
    seen = permuted(truth, 24)
    known = Grouping(truth.labels, np.ones(truth.ranks), 0.0, 0.0)
    inferred = replace(infer(seen, near=known), alone=unshared(seen))
    members = [np.nonzero(truth.labels == group)[0].tolist() for group in range(4)]
    slow = [(members[3][at], members[at % 3][at]) for at in range(4)] * 3
    few = of_phases(truth.ranks, [[route] for route in slow], np.full(len(slow), 0.4 * networks.HOST_RATE))
    (told,) = slow_cables.find(few, inferred)
    assert (told.kind, told.ranks, told.direction) == (
        FindingKind.SLOW_TRUNK,
        tuple(members[3]),
        Direction.OUT,
    )
    assert told.what.startswith("the trunk out of ")
