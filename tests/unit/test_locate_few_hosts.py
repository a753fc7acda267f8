"""The search among few hosts, as in a first try: two switches of three hosts, a trunk as fast as a host."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from benchmarks.agreement.sharing import max_min
from benchmarks.truth import networks, score
from benchmarks.truth.parts import HOST_RATE as PARTS_RATE
from benchmarks.truth.parts import Builder, idle_of, uplinks
from numpy.typing import NDArray

from crosscut.analysis.findings import of_run
from crosscut.analysis.findings.kinds import FindingKind
from crosscut.analysis.search.search import Search
from crosscut.analysis.structure import infer, network_file
from crosscut.analysis.structure.observed import Route, of_phases

RANKS, SLOW, SHARE = 6, 5, 0.4
HOST_RATE, LATENCY_SECONDS, HOP_SECONDS = 12e6, 20e-6, 10e-6


def crosses(source: int, destination: int) -> bool:
    return (source < 3) != (destination < 3)


def rates(phase: list[Route]) -> NDArray[np.float64]:
    passes = np.zeros((len(phase), 2 * RANKS + 2), bool)
    capacity = np.ones(2 * RANKS + 2)
    capacity[[SLOW, RANKS + SLOW]] = SHARE
    for number, (source, destination) in enumerate(phase):
        passes[number, [source, RANKS + destination]] = True
        if crosses(source, destination):
            passes[number, 2 * RANKS + (source < 3)] = True
    return HOST_RATE * max_min(passes, capacity)[0]


@pytest.mark.parametrize("seed", range(1, 11))
@pytest.mark.parametrize("hop_seconds", [0, HOP_SECONDS])
def test_a_slow_host_behind_a_full_trunk_is_named(seed: int, hop_seconds: float) -> None:
    random, search = np.random.default_rng(seed), Search(RANKS, seed=seed)
    while phases := search.propose():
        if search.asks_latency:
            exact = np.array(
                [LATENCY_SECONDS + hop_seconds * crosses(*way) for phase in phases for way in phase]
            )
            seen = 1 / (exact * (1 + 0.02 * random.standard_normal(len(exact))))
        else:
            exact = np.concatenate([rates(phase) for phase in phases])
            seen = exact * (1 + 0.005 * random.standard_normal(len(exact)))
        search.learn(seen)
    found = of_run.of_located(search.located(), tuple(f"n{rank}" for rank in range(RANKS)))
    slow = [finding for finding in found if finding.kind is FindingKind.SLOW_HOST]
    assert [finding.hosts for finding in slow] == [(f"n{SLOW}",)]


@pytest.mark.parametrize("each", [2, 3])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_slow_host_is_named_even_if_its_whole_small_group_is_suspected(seed: int, each: int) -> None:
    truth = networks.tree_of(6, each, 0.8 * each * networks.HOST_RATE, np.random.default_rng(seed))
    capacities = truth.capacities.copy()
    capacities[4] *= 0.5  # rank 4's sending rate
    located = score.search(replace(truth, capacities=capacities), 0.005, seed)
    found = of_run.of_located(located, tuple(f"n{rank}" for rank in range(truth.ranks)))
    assert [finding.hosts for finding in found if finding.kind.fault] == [("n4",)]


@pytest.mark.parametrize("ranks", range(2, 9))
def test_no_phase_is_empty_however_much_rates_differ(ranks: int) -> None:
    for seed in range(6):
        random, search = np.random.default_rng((ranks, seed)), Search(ranks, seed=seed)
        switch = random.integers(0, random.integers(1, 4), ranks)
        noise, between, hop = random.choice([0.02, 0.6, 1.2]), random.choice([1, 0.5]), random.choice([1, 3])
        while phases := search.propose():
            assert all(phases)
            ends = np.array([route for phase in phases for route in phase])
            same = switch[ends[:, 0]] == switch[ends[:, 1]]
            if search.asks_latency:
                search.learn(1e5 / np.where(same, 1, hop) * np.exp(0.05 * random.standard_normal(len(ends))))
            else:
                slowed = np.exp(-np.abs(noise * random.standard_normal(len(ends))))
                search.learn(HOST_RATE * np.where(same, 1, between) * slowed)
        search.located()


def test_a_capacity_that_all_hosts_share_is_kept_with_the_group_it_names():
    """A switch that carries what two of its hosts send; phases with one to seven messages."""
    ranks, random = 8, np.random.default_rng(3)
    phases = [
        [(rank, (rank + distance) % ranks) for rank in random.permutation(ranks)[:count].tolist()]
        for distance in range(1, ranks) for count in range(1, ranks)
    ]  # fmt: skip
    seen = np.concatenate([np.full(len(phase), HOST_RATE * min(1, 2 / len(phase))) for phase in phases])
    observed = of_phases(ranks, phases, seen * (1 + 0.002 * random.standard_normal(len(seen))))
    outline = infer.structure(infer.infer(observed), tuple("abcdefgh"), len(phases))
    assert [group.ranks for group in outline.groups] == [tuple(range(ranks))]
    assert not outline.contradiction()
    (written,) = [line for line in network_file.text(outline, "a test").splitlines() if "capacity" in line]
    assert float(written.split('"')[1].split()[0]) == pytest.approx(2 * HOST_RATE * 8e-6, rel=0.01)


@pytest.mark.parametrize("ranks", [5, 6])
@pytest.mark.parametrize("seed", [1, 2])
def test_a_slow_cable_that_one_pair_uses_is_named_although_its_messages_are_many_among_few_hosts(
    ranks: int, seed: int
) -> None:
    """A cable between any two hosts."""
    random, search = np.random.default_rng((seed, ranks)), Search(ranks, seed=seed)
    pair = {int(rank) for rank in random.choice(ranks, 2, replace=False)}
    while phases := search.propose():
        routes = [route for phase in phases for route in phase]
        spread = random.standard_normal(len(routes))
        if search.asks_latency:
            search.learn(1e4 * np.exp(0.03 * spread))
            continue
        share = np.array([SHARE if {*route} == pair else 1 for route in routes])
        search.learn(HOST_RATE * share * np.exp(0.002 * spread))
    found = of_run.of_located(search.located(), tuple(f"n{rank}" for rank in range(ranks)))
    alarms = [(one.kind, {*one.ranks}) for one in found if one.kind.fault]
    assert alarms == [(FindingKind.SLOW_ROUTE, pair)] * 2


@pytest.mark.parametrize("seed", [1, 16, 17, 24])
def test_a_search_goes_on_if_the_host_that_it_suspected_of_everything_is_fast_alone(seed: int) -> None:
    """In the first two phases all slow messages had an end in common, but the trunk was full, one way."""
    builder = Builder.of(np.repeat([0, 1], 8))
    uplinks(builder, 10 * PARTS_RATE, {})
    capacities = np.array(builder.capacities)
    capacities[2 * builder.ranks] = 3.3 * PARTS_RATE
    idle = idle_of(np.zeros(builder.ranks, int), 0, np.random.default_rng(1))  # shows no groups
    truth = networks.Truth("two", 16, builder.labels, builder.padded(), capacities, idle, {}, ())
    found = of_run.of_located(score.search(truth, 0.0, seed), tuple(f"n{rank}" for rank in range(16)))
    assert [one.kind for one in found] == [FindingKind.GROUPS, FindingKind.SHARED_LIMIT]
