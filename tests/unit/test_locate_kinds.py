"""Hosts of two kinds are reported and compared with their kind; hosts that share a limit are not a kind."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from benchmarks.truth import fabrics, networks, score
from benchmarks.truth.parts import Truth

from crosscut.analysis.findings import of_run
from crosscut.analysis.findings.kinds import FindingKind
from crosscut.analysis.findings.model import Finding
from crosscut.analysis.search.host_kinds import HostKinds
from crosscut.analysis.structure.observed import Observed, of_phases

RANKS, SLOWER, RATE = 24, range(8), 1e8


def found(truth: Truth) -> list[Finding]:
    located = score.search(truth, 0.01, 1)
    return of_run.of_located(located, tuple(f"n{rank}" for rank in range(truth.ranks)))


def slower_ones(truth: Truth) -> list[int]:
    rates = truth.capacities[: truth.ranks]
    return np.nonzero(rates < rates.max())[0].tolist()


@pytest.mark.parametrize("seed", range(4))
def test_two_kinds_of_hosts_are_named_and_are_not_a_fault(seed: int) -> None:
    truth = fabrics.two_classes(np.random.default_rng(seed))
    (told,) = found(truth)
    assert told.kind is FindingKind.HOST_KINDS
    assert list(told.ranks) == slower_ones(truth)


@pytest.mark.parametrize("slower_kind", [True, False])
@pytest.mark.parametrize("way", [0, 1])
def test_a_slow_host_of_either_kind_is_named(way: int, slower_kind: bool) -> None:
    truth = networks.crossbar(RANKS, np.random.default_rng(1))
    capacities = truth.capacities.copy()
    slower = np.array(SLOWER)
    capacities[np.concatenate([slower, slower + RANKS])] *= 0.6
    capacities[(3 if slower_kind else 20) + way * RANKS] *= 0.5
    told = found(replace(truth, capacities=capacities))
    assert [one.kind for one in told] == [FindingKind.SLOW_HOST, FindingKind.HOST_KINDS]
    assert told[0].ranks == (3 if slower_kind else 20,)
    assert told[0].effect is not None
    assert told[0].effect.share == pytest.approx(0.5, rel=0.05)
    assert told[0].what.endswith("of the rate of others of its kind (measured alone 8 times)")
    assert told[1].ranks == tuple(SLOWER)


@pytest.mark.parametrize("also", [[], [3]])
def test_a_slow_host_between_the_kinds_is_of_the_faster_one(also: list[int]) -> None:
    truth = networks.crossbar(RANKS, np.random.default_rng(1))
    capacities = truth.capacities.copy()
    slower = np.array(SLOWER)
    capacities[np.concatenate([slower, slower + RANKS])] *= 0.4
    slow = [*also, 20]
    capacities[[20, 20 + RANKS]] *= 0.6
    for rank in also:
        capacities[[rank, rank + RANKS]] *= 0.5
    told = found(replace(truth, capacities=capacities))
    assert [(one.kind, one.ranks) for one in told] == [
        *((FindingKind.SLOW_HOST, (rank,)) for rank in slow), (FindingKind.HOST_KINDS, tuple(SLOWER))
    ]  # fmt: skip
    shares = [one.effect.share for one in told[:-1] if one.effect is not None]
    assert shares == pytest.approx([0.5, 0.6][-len(slow) :], rel=0.05)


def everybody() -> Observed:
    """Eight hosts have half the rate of the others."""
    phases = [[(rank, (rank + distance) % RANKS) for rank in range(RANKS)] for distance in (5, 11)]
    rates = [RATE * (0.5 if set(route) & set(SLOWER) else 1.0) for phase in phases for route in phase]
    return of_phases(RANKS, phases, np.array(rates))


@pytest.mark.parametrize(("with_half", "told"), [(1.0, True), (1.03, True), (1.3, False), (2.0, False)])
def test_hosts_that_are_faster_while_half_of_them_are_silent_share_a_limit(
    with_half: float, told: bool
) -> None:
    phases, asked = HostKinds().ask(everybody(), np.random.default_rng(1))
    assert sorted(rank for phase in phases for rank in {min(route) for route in phase}) == list(SLOWER)
    rates = np.full(sum(map(len, phases)), RATE * 0.5 * with_half)
    of_kind = asked.learn(everybody(), of_phases(RANKS, phases, rates)).of_kind
    assert (of_kind is not None) == told
    if of_kind is not None:
        assert of_kind == pytest.approx(np.where(np.arange(RANKS) < len(SLOWER), 0.5, 1.0))


def test_equal_hosts_are_not_measured_again() -> None:
    even = everybody()
    phases, kinds = HostKinds().ask(replace(even, rate=np.full(len(even), RATE)), np.random.default_rng(1))
    assert (phases, kinds) == ([], HostKinds())


@pytest.mark.parametrize("seed", range(3))
def test_every_host_meets_others_that_can_show_whether_it_is_slow(seed: int) -> None:
    """In a few permutations, one of the faster kind may meet only slower ones."""
    ranks, slower = 100, np.arange(45)
    truth = networks.crossbar(ranks, np.random.default_rng(seed))
    capacities = truth.capacities.copy()
    capacities[np.concatenate([slower, slower + ranks])] *= 0.4
    full = score.search(replace(truth, capacities=capacities), 0.01, seed).observed
    for ends in (full.source, full.destination):
        assert np.bincount(ends[full.tells_of(ends)], minlength=ranks).min() >= 2
