"""Limits between groups: whether one is slow is decided by traffic that fills it alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from benchmarks.truth import fabrics, networks, score
from benchmarks.truth.noise import Noise
from benchmarks.truth.parts import Truth

from crosscut.analysis.findings import of_run
from crosscut.analysis.findings.kinds import FindingKind
from crosscut.analysis.findings.model import Finding


def slow_trunks(truth: Truth, noise: float | Noise, seed: int) -> list[Finding]:
    located = score.search(truth, noise, seed)
    found = of_run.of_located(located, tuple(f"n{rank}" for rank in range(truth.ranks)))
    return [one for one in found if one.kind is FindingKind.SLOW_TRUNK]


def modules() -> Truth:
    """Modules wired to each other."""
    for seed in range(20):
        truth = networks.chassis(np.random.default_rng(seed))
        if any(reach == "between" for reach, *_ in truth.limits):
            return truth
    raise AssertionError("no such chassis")


def test_a_trunk_between_two_groups_at_half_the_rate_of_others_is_named() -> None:
    truth = modules()
    capacities = truth.capacities.copy()
    capacities[2 * truth.ranks] *= 0.5  # the first trunk, after the hosts' links
    (one,) = slow_trunks(replace(truth, capacities=capacities), 0.01, 1)
    assert len(one.groups) == 2
    assert one.effect is not None
    assert abs(one.effect.share - 0.5) < 0.03
    # Other traffic that always takes half leaves as much: either may be the cause.
    assert one.what.endswith(": a cable is down, or other traffic was present all the time")
    assert "rates alone do not tell" in one.advice


def test_a_trunk_that_carries_as_much_as_others_when_alone_is_not_slow() -> None:
    """While all hosts send, a dragonfly's routers limit the traffic between groups."""
    truth = fabrics.dragonfly(np.random.default_rng(4000))
    noise = Noise.drawn(truth.ranks, np.random.default_rng(2_004_000))
    assert slow_trunks(truth, noise, 1_004_000) == []


@pytest.mark.parametrize("seed", [20_029, 20_213, 20_220])
def test_a_trunk_that_carries_as_much_as_all_others_together_is_not_slow(seed: int) -> None:
    """The hosts of the largest leaf get less each, since the others cannot fill its trunk."""
    assert score.of_family(networks.uneven_tree, seed, healthy=True).alarms == 0
