"""The groups of hosts that are slow by themselves, and false groups suggested by a run's distances."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from benchmarks.truth import networks, oracle
from benchmarks.truth.parts import HOST_RATE, Builder, idle_of, uplinks
from benchmarks.truth.score import adjusted_rand

from crosscut.analysis.findings import of_run, shared_limits, slow_parts
from crosscut.analysis.findings.evidence import Evidence
from crosscut.analysis.findings.kinds import FindingKind
from crosscut.analysis.findings.model import Direction
from crosscut.analysis.structure import infer
from crosscut.analysis.structure.model import Limit, Reach
from crosscut.analysis.structure.observed import Observed, of_phases

Change = Callable[[Observed, np.random.Generator], Observed]


def aapc(ranks: int) -> list[list[tuple[int, int]]]:
    """In phase s each rank sends to rank + s."""
    return [[(rank, (rank + s) % ranks) for rank in range(ranks)] for s in range(1, ranks)]


def measured(truth: networks.Truth, noise: float = 0.02, seed: int = 1) -> Observed:
    phases = aapc(truth.ranks)
    random = np.random.default_rng(seed)
    return of_phases(truth.ranks, phases, oracle.measure(truth.ways, truth.capacities, phases, noise, random))


def leaves(groups: int, each: int, trunk: float, *slow: tuple[int, str, float]) -> networks.Truth:
    """Leaves under a root, hosts in order. `trunk`: its rate in hosts' rates. `slow`: rank, direction, share
    left."""
    builder = Builder.of(np.repeat(np.arange(groups), each))
    limits: dict[tuple[str, int, int], float] = {}
    uplinks(builder, trunk * HOST_RATE, limits)
    capacities = np.array(builder.capacities)
    for rank, way, share in slow:
        capacities[rank + (builder.ranks if way == "in" else 0)] *= share
    idle = idle_of(builder.labels, 2, np.random.default_rng(1))
    return networks.Truth(
        "leaves", builder.ranks, builder.labels, builder.padded(), capacities, idle, limits, ()
    )


def late_acknowledged(seen: Observed, rank: int, random: np.random.Generator) -> Observed:
    """TCP over a slow receive direction: acknowledgements wait in its queue, so the rank sends at 50 to 90 %
    to all (as measured in an emulated cluster with a host receiving at 40 %)."""
    factor = np.where(seen.source == rank, random.uniform(0.5, 0.9, len(seen)), 1.0)
    return Observed(seen.ranks, seen.phase, seen.source, seen.destination, seen.rate * factor)


@pytest.mark.parametrize("rank", [0, 5, 7, 8, 12])
@pytest.mark.parametrize("way", ["in", "out"])
def test_a_slow_host_belongs_to_the_group_whose_trunk_it_shares(rank, way):
    truth = leaves(2, 8, 4.0, (rank, way, 0.4))
    inferred = infer.infer(measured(truth, seed=rank))
    assert adjusted_rand(truth.labels, inferred.grouping.labels) == 1


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_slow_host_is_placed_where_the_limits_explain_most(seed):
    """In any other group it hides the limits of two of three leaves."""
    truth = leaves(3, 6, 2.4, (10, "out", 0.44), (10, "in", 0.44))
    inferred = infer.infer(measured(truth, noise=0.001, seed=seed))
    assert inferred.grouping.labels.tolist() == truth.labels.tolist()
    assert not len(inferred.unplaced)
    assert inferred.explained > 0.9


@pytest.mark.parametrize("rank", [3, 11])
def test_a_slow_host_that_takes_less_than_its_share_hides_no_limit(rank):
    truth = leaves(2, 8, 4.0, (rank, "out", 0.5), (rank, "in", 0.5))
    inferred = infer.infer(measured(truth, noise=0.004))
    told = np.setdiff1d(np.arange(16), inferred.unplaced)
    assert adjusted_rand(truth.labels[told], inferred.grouping.labels[told]) == 1
    assert inferred.explained > 0.9
    assert inferred.sizes.sum() == len(told)
    for one in inferred.capacities:
        assert 3.4 < one.bytes_per_second / HOST_RATE < 4.1  # at least what the others carry


@pytest.mark.parametrize("rank", [0, 5, 12])
def test_a_host_that_sends_slowly_because_it_receives_slowly_is_not_a_group(rank):
    truth, random = leaves(2, 8, 4.0, (rank, "in", 0.4)), np.random.default_rng(rank)
    seen = late_acknowledged(measured(truth, seed=rank), rank, random)
    inferred = infer.infer(seen)
    told = np.setdiff1d(np.arange(16), inferred.unplaced)
    assert inferred.grouping.count == 2
    assert adjusted_rand(truth.labels[told], inferred.grouping.labels[told]) == 1
    found = of_run.of_evidence(Evidence(seen, inferred, tuple(f"n{number}" for number in range(16))))
    (groups,) = (finding for finding in found if finding.kind is FindingKind.GROUPS)
    assert groups.what.startswith("2 groups of ")
    (slow,) = (finding for finding in found if finding.kind is FindingKind.SLOW_HOST)
    assert slow.ranks == (rank,)
    assert slow.what.startswith(f"n{rank} receives at 4")
    assert slow.direction is Direction.IN
    assert "probably as a consequence: acknowledgements wait behind what it receives" in slow.what


def test_a_host_whose_group_is_unknown_is_reported_as_of_either_group():
    """All messages of rank 5 are slow at random, which hides its share of limits that others fill."""
    truth, random = leaves(2, 8, 6.0), np.random.default_rng(3)
    seen = measured(truth)
    mine = (seen.source == 5) | (seen.destination == 5)
    rate = np.where(mine, HOST_RATE * random.uniform(0.002, 0.01, len(seen)), seen.rate)
    seen = Observed(16, seen.phase, seen.source, seen.destination, rate)
    inferred = infer.infer(seen)
    assert inferred.unplaced.tolist() == [5]
    assert inferred.grouping.count == 2
    names = tuple(f"n{number}" for number in range(16))
    outline = infer.structure(inferred, names, 15)
    assert any(note.startswith("group unknown: n5") for note in outline.notes)
    assert all(group.confidence > 0.9 for group in outline.groups)
    (groups,) = (
        f for f in of_run.of_evidence(Evidence(seen, inferred, names)) if f.kind is FindingKind.GROUPS
    )
    assert "group unknown, behind a slow cable: n5" in groups.what


@pytest.mark.parametrize(
    ("groups", "each", "trunk"), [(2, 32, 8.0), (2, 8, 4.0), (3, 32, 16.0), (4, 16, 8.0)]
)
@pytest.mark.parametrize("noise", [0.0, 0.02])
def test_hosts_at_the_end_of_a_leaf_belong_to_its_group_although_they_meet_others_in_quiet_phases(
    groups, each, trunk, noise
):
    truth = leaves(groups, each, trunk)
    inferred = infer.infer(measured(truth, noise))
    assert adjusted_rand(truth.labels, inferred.grouping.labels) == 1
    assert inferred.explained > 0.9


def test_two_slow_hosts_of_one_leaf_are_not_a_group():
    truth, random = leaves(3, 8, 4.0, (5, "in", 0.4), (6, "in", 0.3)), np.random.default_rng(2)
    seen = measured(truth)
    for rank in (5, 6):
        seen = late_acknowledged(seen, rank, random)
    inferred = infer.infer(seen)
    told = np.setdiff1d(np.arange(24), inferred.unplaced)
    assert inferred.grouping.count == 3
    assert adjusted_rand(truth.labels[told], inferred.grouping.labels[told]) == 1


def test_a_host_equally_slow_in_both_directions_is_one_finding():
    truth = leaves(2, 8, 4.0, (5, "in", 0.4), (5, "out", 0.4))
    seen = measured(truth)
    found = of_run.of_evidence(Evidence(seen, infer.infer(seen), tuple(f"n{number}" for number in range(16))))
    (slow,) = (finding for finding in found if finding.kind is FindingKind.SLOW_HOST)
    assert slow.direction is Direction.BOTH
    assert slow.what.startswith("n5 sends and receives at ")


@pytest.mark.parametrize(("slow", "words"), [(0.01, "fast"), (0.12, "slow")])
def test_the_finding_on_groups_says_how_fast_messages_within_them_are(slow, words):
    truth, random = leaves(3, 8, 4.0), np.random.default_rng(4)
    seen = measured(truth)
    inside = truth.labels[seen.source] == truth.labels[seen.destination]
    late = inside & (random.random(len(seen)) < slow)
    seen = Observed(24, seen.phase, seen.source, seen.destination, np.where(late, seen.rate / 2, seen.rate))
    inferred = infer.infer(seen)
    assert adjusted_rand(truth.labels, inferred.grouping.labels) == 1
    (groups,) = slow_parts.grouped(inferred, lambda rank: f"n{rank}")
    share = round(100 * late.sum() / inside.sum())
    expected = {
        "fast": "within a group messages are fast, between groups they share limits",
        "slow": f"within a group {share} % of messages are slow, between groups they share limits",
    }
    assert groups.what == f"3 groups of 8 hosts: {expected[words]}"


@pytest.mark.parametrize(
    ("sizes", "lost", "share"),
    [
        ((8, 24), "the trunk of group0", "this is 37 % of what the 8 hosts of group0 can send"),
        ((12, 12), "one of the two trunks", "this is 25 % of what the 12 hosts of either group can send"),
    ],
)
def test_one_trunk_has_none_to_be_compared_with(sizes, lost, share):
    builder = Builder.of(np.repeat([0, 1], sizes))
    uplinks(builder, 3 * HOST_RATE, {})
    idle = idle_of(builder.labels, 0, np.random.default_rng(1))
    truth = networks.Truth(
        "two", builder.ranks, builder.labels, builder.padded(), np.array(builder.capacities), idle, {}, ()
    )
    inferred = infer.infer(measured(truth))
    found = shared_limits.between(inferred.capacities, inferred)
    assert len(found) == 1
    assert f"or {lost} lost capacity" in found[0].advice
    assert share in found[0].what
    crossing = replace(inferred.capacities[0], reach=Reach.CROSSING, groups=())
    for times, kept in ((2.0, 1), (1.5, 2)):  # of both directions' sum, and less than it
        limit = replace(crossing, bytes_per_second=times * crossing.bytes_per_second)
        assert len(shared_limits.between((*inferred.capacities, limit), inferred)) == kept


def test_a_limit_that_only_slower_hosts_have_may_be_their_own_links():
    """An all-to-all cannot tell: every host sends one message in each phase."""
    slower = [(rank, way, 0.4) for rank in range(16, 32) for way in ("in", "out")]
    inferred = infer.infer(measured(leaves(2, 16, 16.0, *slower), noise=0.004))
    told = {one.what for one in shared_limits.between(inferred.capacities, inferred)}
    assert told
    for what in told:
        assert "for each of the 16 hosts, whose own links may be slower" in what


def test_limits_that_differ_much_are_told_as_a_range():
    alike, unlike = (
        shared_limits._alike([Limit(Reach.LEAVING, (name,), rate) for name, rate in rates], "it", "").what
        for rates in ((("a", 1e9), ("b", 1.1e9)), (("a", 1e9), ("b", 2e9)))
    )
    assert alike == "shared limit: it (2 such limits): 1.05 GB/s each (1.00 GB/s to 1.10 GB/s)"
    assert unlike == "shared limit: it (2 such limits): 1.00 GB/s to 2.00 GB/s"
