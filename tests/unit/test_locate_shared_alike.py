"""A limit that slows all hosts alike, so that none stands out, shows when few hosts are measured alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest
from benchmarks.truth import networks, oracle
from benchmarks.truth.parts import HOST_RATE, Builder, Truth
from benchmarks.truth.score import adjusted_rand
from test_locate_uneven import finished
from tiers import long, seeds

from crosscut.analysis.findings import of_run
from crosscut.analysis.findings.kinds import FindingKind
from crosscut.analysis.findings.model import Finding
from crosscut.analysis.search.search import Search
from crosscut.analysis.search.suspects import ReferencePairs
from crosscut.analysis.search.thresholds import MOST_AGAIN
from crosscut.analysis.stats.intervals import Floats
from crosscut.analysis.structure import limits, subgroups
from crosscut.analysis.structure import totals as totals_of
from crosscut.analysis.structure.located import Located
from crosscut.analysis.structure.model import Reach
from crosscut.analysis.structure.observed import of_phases
from crosscut.analysis.structure.unshared import unshared


def crowded(chips: Sequence[int], flows: float, slow_host: int | None = None) -> Truth:
    """A switch whose chips (`chips`: [rank] chip) carry the rate of `flows` hosts in each direction."""
    of = np.array(chips)
    builder = Builder.of(np.zeros(len(of), np.int64))
    sent, received = ([builder.add(flows * HOST_RATE) for _ in range(of.max() + 1)] for _ in range(2))
    builder.through(lambda s, d: [sent[of[s]], received[of[d]]])
    capacities = np.array(builder.capacities)
    if slow_host is not None:
        capacities[slow_host] = 0.1 * HOST_RATE
    idle = np.full((len(of), len(of)), 50e-6)
    return Truth("crowded", len(of), np.zeros(len(of), np.int64), builder.padded(), capacities, idle, {}, ())


def searched(truth: Truth, seed: int, noise: float, uneven: float = 0.0) -> tuple[Located, list[Finding]]:
    """`uneven`: standard deviation of the logarithm of a message's share of a limit."""
    random = np.random.default_rng(seed)
    searching = Search(truth.ranks, seed=seed)
    while phases := searching.propose():
        if searching.asks_latency:
            searching.learn(1 / oracle.latencies(truth.idle_seconds, phases, noise, random))
            continue
        fair = oracle.measure(truth.ways, truth.capacities, phases, 0.0, random)
        shares = np.where(fair < 0.99 * HOST_RATE, uneven * random.standard_normal(len(fair)), 0.0)
        rates = np.minimum(fair * np.exp(shares), HOST_RATE) * np.exp(
            noise * random.standard_normal(len(fair))
        )
        searching.learn(rates)
    located = searching.located()
    return located, of_run.of_located(located, located.structure.hosts)


def totals(located: Located, reach: Reach) -> list[float]:
    """Returns the limits in hosts' rates."""
    return [one.bytes_per_second / HOST_RATE for one in located.structure.limits if one.reach is reach]


@pytest.mark.parametrize("noise", [0.004, 0.02, 0.05])
def test_a_switch_filled_by_all_hosts_is_found_although_all_are_equally_fast(noise: float) -> None:
    located, found = searched(crowded([0] * 16, 8), 1, noise)
    assert found[0].kind is FindingKind.SHARED_LIMIT
    assert found[0].what.startswith("all hosts are equally slow")
    assert found[0].effect is not None
    assert found[0].effect.share == pytest.approx(0.5, rel=3 * noise)
    for reach in (Reach.SENT, Reach.RECEIVED):
        assert totals(located, reach) == [pytest.approx(8, rel=0.05)]


@pytest.mark.parametrize(("noise", "uneven"), [(0.02, 0.0), (0.05, 0.0), (0.007, 0.05)])
@pytest.mark.parametrize("seed", seeds(range(3), short=[0]))
def test_chips_filled_by_all_hosts_are_distinguished_with_their_rates(
    noise: float, uneven: float, seed: int
) -> None:
    """Two chips of 24 hosts, each filled by 16: a module of the E7 (TR 391, section 5.1)."""
    chips = np.random.default_rng(seed).permutation(np.repeat([0, 1], 24))
    located, found = searched(crowded(chips.tolist(), 16), seed, noise, uneven)
    assert adjusted_rand(chips, np.array(located.structure.labels(1))) == 1
    for reach in (Reach.SENT, Reach.RECEIVED):
        assert totals(located, reach) == [pytest.approx(16, rel=0.06)] * 2
    assert located.phases_used < 47
    assert any(
        "traffic that 24 hosts of one switch or chip send together (2 such limits)" in one.what
        for one in found
    )


def test_a_switch_that_no_load_fills_is_not_reported_as_full() -> None:
    for seed in range(20):
        random = np.random.default_rng(seed)
        truth = networks.crossbar(int(random.choice([4, 6, 16, 48])), random)
        located, found = searched(truth, seed, 0.05)
        assert np.isnan(located.few_rate)
        assert [one.kind for one in found] == [FindingKind.NOTHING]


def shares_by_chance(routes: Sequence[tuple[int, int]], random: np.random.Generator) -> Floats:
    return np.exp(0.15 * random.standard_normal(len(routes)))


def shares_of_some(routes: Sequence[tuple[int, int]], random: np.random.Generator) -> Floats:
    """As measured in labs: three in ten get more, the others equal shares."""
    more = np.exp(random.uniform(0.1, 0.35, len(routes)))
    return np.where(random.random(len(routes)) < 0.3, more, 1.0)


def shares_by_route(routes: Sequence[tuple[int, int]], random: np.random.Generator) -> Floats:
    """The same shares every time, so that routes seem to be of several kinds."""
    always = np.sin([7 * source + 3 * destination for source, destination in routes])
    return np.exp(0.2 * always + 0.05 * random.standard_normal(len(routes)))


@pytest.mark.parametrize("shares", [shares_by_chance, shares_of_some, shares_by_route])
@pytest.mark.parametrize("ranks", [16, long(24), long(48)])
@pytest.mark.parametrize("seed", seeds(range(3), short=[0]))
def test_one_unevenly_shared_limit_is_not_reported_as_groups(
    ranks: int, shares: Callable[[Sequence[tuple[int, int]], np.random.Generator], Floats], seed: int
) -> None:
    random = np.random.default_rng(seed)
    searching = Search(ranks, seed=seed)
    while phases := searching.propose():
        if searching.asks_latency:
            count = sum(len(phase) for phase in phases)
            searching.learn(1e4 * np.exp(0.05 * random.standard_normal(count)))
            continue
        weights = [shares(phase, random) for phase in phases]
        rates = np.concatenate([
            finished(each, ranks / 2) if len(each) > ranks / 2 else np.ones(len(each)) for each in weights
        ])  # fmt: skip
        searching.learn(HOST_RATE * rates * np.exp(0.005 * random.standard_normal(len(rates))))
    located = searching.located()
    found = of_run.of_located(located, located.structure.hosts)
    assert [one.kind for one in found] == [FindingKind.SHARED_LIMIT] * 3
    assert found[0].what.startswith("all hosts are equally slow")
    assert [len(group.ranks) for group in located.structure.groups] == [ranks]
    for reach in (Reach.SENT, Reach.RECEIVED):
        assert totals(located, reach) == [pytest.approx(ranks / 2, rel=0.05)]


@pytest.mark.parametrize("ranks", [16, long(32), long(64)])
def test_losses_of_single_hosts_are_not_reported_as_a_limit_of_all(ranks: int) -> None:
    """Half duplex, or an old bus: hosts that send and receive at once get less."""
    random, searching = np.random.default_rng(ranks), Search(ranks, seed=1)
    while phases := searching.propose():
        rates = []
        for phase in phases:
            busy = {source for source, _ in phase} & {destination for _, destination in phase}
            rates += [0.6 if busy & set(route) else 1.0 for route in phase]
        searching.learn(HOST_RATE * np.array(rates) * np.exp(0.01 * random.standard_normal(len(rates))))
    located = searching.located()
    (found,) = of_run.of_located(located, located.structure.hosts)
    assert found.what.startswith("all hosts are equally slow")
    assert "do not show" in found.advice
    assert not located.structure.limits


@pytest.mark.parametrize("fixed", [False, True], ids=["independent", "one capacity"])
def test_totals_of_many_independent_messages_are_no_limit_though_they_agree(fixed: bool) -> None:
    """The total of 2,000 messages hardly varies; under one capacity, uneven rates make up for each other."""
    random = np.random.default_rng(3)
    rates = np.minimum(HOST_RATE, HOST_RATE * np.exp(random.normal(-0.9, 0.4, (8, 2000))))
    if fixed:
        rates *= rates.sum(axis=1).mean() / rates.sum(axis=1)[:, None]
    orders = [random.permutation(2000) for _ in rates]
    routes = [list(zip(order.tolist(), np.roll(order, 1).tolist(), strict=True)) for order in orders]
    seen = of_phases(2000, routes, rates.ravel())
    alone = replace(unshared(seen), nominal=HOST_RATE)
    found = limits.explain(seen, alone, np.zeros(2000, np.int64))
    assert [one.reach for one in found.capacities] == (list(totals_of.OWN) if fixed else [])


def test_with_few_phases_a_suspect_is_measured_alone_first() -> None:
    truth = crowded([0] * 16, 17, slow_host=5)
    for seed in range(10):
        random, searching = np.random.default_rng(seed), Search(16, seed=seed, most_phases=4)
        while phases := searching.propose():
            searching.learn(oracle.measure(truth.ways, truth.capacities, phases, 0.02, random))
        located = searching.located()
        assert located.phases_used <= 4 + MOST_AGAIN
        assert of_run.of_located(located, located.structure.hosts)[0].ranks == (5,)


def test_a_requested_budget_is_kept_in_crowded_networks_too() -> None:
    located, _ = searched(crowded([0] * 16, 8), 1, 0.02)
    assert located.phases_used > 16  # without a budget
    random, searching = np.random.default_rng(1), Search(16, seed=1, most_phases=14)
    truth = crowded([0] * 16, 8)
    while phases := searching.propose():
        searching.learn(oracle.measure(truth.ways, truth.capacities, phases, 0.02, random))
    located = searching.located()
    assert located.phases_used <= 14 + MOST_AGAIN
    assert totals(located, Reach.SENT) == [pytest.approx(8, rel=0.05)]


def test_a_slow_host_on_a_full_switch_is_found_as_well() -> None:
    located, found = searched(crowded([0] * 32, 20, slow_host=5), 3, 0.02)
    kinds = {one.kind: one for one in found}
    assert kinds[FindingKind.SLOW_HOST].ranks == (5,)
    assert FindingKind.SHARED_LIMIT in kinds
    assert located.few_rate == pytest.approx(HOST_RATE, rel=0.05)


def test_leaning_phases_have_all_of_one_part_and_each_rank_once() -> None:
    random = np.random.default_rng(2)
    group = random.permutation(40)[:30].tolist()
    guess = np.full(40, -1)
    guess[group] = random.integers(0, 3, 30)
    for turn in range(9):
        routes = subgroups.leaning([group], guess, turn, random)
        senders, receivers = ({route[end] for route in routes} for end in (0, 1))
        assert len(senders) == len(receivers) == len(routes) < 30
        assert senders <= set(group)
        assert set(np.nonzero(guess == turn % 3)[0].tolist()) <= senders
        assert all(source != destination for source, destination in routes)


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5, 9, 64])
def test_reference_pairs_are_not_suspects_of_the_same_phase(ranks: int) -> None:
    suspects = [[(0, 1), (1, 0)]] if ranks > 1 else []
    made, _ = ReferencePairs(ranks).added_to(suspects, np.random.default_rng(1), apart=False)
    mine = [route for phase in made for route in phase if route not in [(0, 1), (1, 0)]]
    used = [rank for route in mine for rank in route]
    assert len(used) == len(set(used))
    assert not set(used) & {0, 1}
    assert len(mine) == (min(4, max(1, ranks // 8)) if ranks >= 4 else 0)


def test_reference_pairs_have_their_own_phase_even_if_all_hosts_are_suspects() -> None:
    suspects = [[(rank, (rank + 1) % 8) for rank in range(8)]]
    made, pairs = ReferencePairs(8).added_to(suspects, np.random.default_rng(1), apart=True)
    alone = [0.5] * 8
    assert [len(phase) for phase in made] == [8, 1]
    rates = np.array([*alone, 1.0])
    left, pairs = pairs.learn(of_phases(8, made, rates, 20), 20)
    assert pairs.done
    assert pairs.rate == 1.0
    assert left.rate.tolist() == alone  # even if the pair is among them
