"""Limits of links between groups of unequal size, which are full in few of the phases that use them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from benchmarks.truth import networks
from benchmarks.truth.parts import HOST_RATE, Builder, Truth, idle_of, uplinks
from benchmarks.truth.score import of_family, search

from crosscut.analysis.findings import of_run
from crosscut.analysis.findings.kinds import FindingKind
from crosscut.analysis.search import filling
from crosscut.analysis.search.search import Search
from crosscut.analysis.structure import idle, links, totals
from crosscut.analysis.structure.grouping import Grouping
from crosscut.analysis.structure.model import Reach
from crosscut.analysis.structure.observed import of_phases
from crosscut.analysis.structure.totals import Capacity
from crosscut.analysis.structure.unshared import unshared


def _leaves(sizes: list[int], per_host: float, *, entering_only: bool = False) -> Truth:
    b = Builder.of(np.repeat(np.arange(len(sizes)), sizes))
    limits: dict[tuple[str, int, int], float] = {}
    rates = [size * per_host * HOST_RATE for size in sizes]
    if entering_only:
        down = [b.add(rate) for rate in rates]
        b.through(lambda s, d: [down[b.labels[d]]] if b.labels[s] != b.labels[d] else [])
    else:
        uplinks(b, rates, limits)
    idle_seconds = idle_of(b.labels, 2, np.random.default_rng(1))
    return Truth(
        "leaves", b.ranks, b.labels, b.padded(), np.array(b.capacities), idle_seconds, limits, ()
    )  # fmt: skip


def _slow_trunks(sizes: list[int], uplinks: list[float]) -> set[tuple[int, ...]]:
    """Returns the hosts behind each slow trunk. `uplinks`: rate of each leaf's uplink over a host's."""
    truth = _leaves(sizes, 1.0)
    both = np.array(uplinks + uplinks) * HOST_RATE
    capacities = np.concatenate([truth.capacities[: 2 * truth.ranks], both])
    located = search(replace(truth, capacities=capacities), 0.01, 1)
    found = of_run.of_located(located, tuple(f"n{rank}" for rank in range(truth.ranks)))
    return {one.ranks for one in found if one.kind is FindingKind.SLOW_TRUNK}


def test_a_trunk_that_leaves_each_host_as_much_as_others_do_is_sound():
    """The uplink of the leaf of 4 is half of the others', but not per host; that of the leaf of 14 is."""
    assert _slow_trunks([4, 8, 14], [2, 4, 3.5]) == {tuple(range(12, 26))}
    assert _slow_trunks([4, 8, 14], [2, 4, 7]) == set()
    assert _slow_trunks([6, 8, 14], [3, 3, 3]) == set()


@pytest.mark.parametrize("seed", range(3))
def test_every_limit_of_unequal_leaves_is_found(seed):
    sizes = [4, 11, 13, 21, 32, 34]
    found = search(_leaves(sizes, 0.3), 0.01, seed).inferred
    size = np.bincount(found.grouping.labels)
    per_host = [one.bytes_per_second / size[one.groups[0]] / HOST_RATE for one in found.capacities]
    assert len(per_host) == 2 * len(sizes)
    assert np.allclose(per_host, 0.3, rtol=0.03)


def test_the_largest_leaf_is_filled_although_no_other_has_as_many_hosts():
    found = search(_leaves([12, 14, 24], 0.4), 0.01, 1).inferred
    assert sorted(np.bincount(found.grouping.labels).tolist()) == [12, 14, 24]
    assert len(found.capacities) == 6


def test_a_link_that_carries_only_what_others_let_through_has_no_limit():
    found = search(_leaves([8, 12, 16, 20], 0.3, entering_only=True), 0.01, 1).inferred
    assert {one.reach for one in found.capacities} == {Reach.ENTERING}
    assert len(found.capacities) == 4


def test_totals_that_merely_vary_are_no_limits():
    random = np.random.default_rng(3)
    labels = np.repeat(np.arange(4), 8)
    phases = [
        list(zip(range(32), random.permutation(32).tolist(), strict=True)) for _ in range(12)
    ]  # fmt: skip
    rates = np.exp(random.normal(-1.0, 0.3, sum(map(len, phases))))
    seen = of_phases(32, phases, rates)
    alone = unshared(seen, np.ones(32), np.ones(32))
    slow = alone.slowness(seen) < alone.threshold
    assert links.explain(seen, alone, labels, slow, (), totals.NONE) is None


@pytest.mark.parametrize("seed", [7006, 7010])
def test_daemons_and_noise_of_five_percent_hide_no_limit(seed):
    found = of_family(networks.uneven_tree, seed, healthy=True)
    assert (found.rand, len(found.capacity_errors)) == (1, found.limits)


def test_partners_come_from_groups_in_proportion_to_their_sizes():
    labels = np.repeat(np.arange(4), [24, 4, 8, 20])
    known = [Capacity(Reach.LEAVING, (group,), size, 0, 0, ()) for group, size in ((1, 4), (2, 8), (3, 20))]
    phases = filling.phases(known, labels, np.random.default_rng(1))
    leaving = next(routes for routes in phases if len(routes) == 24 and routes[0][0] < 24)
    per_group = np.bincount(labels[[receiver for _, receiver in leaving]], minlength=4)
    assert per_group.tolist() == pytest.approx([0, 3, 6, 15], abs=1)


def test_groups_with_a_slow_trunk_help_to_fill_one_for_which_the_sound_ones_have_too_few_hosts():
    labels = np.repeat(np.arange(3), [4, 8, 14])
    known = [
        Capacity(reach, (group,), rate, 0, 0, ())
        for reach in totals.LINKS
        for group, rate in ((0, 2), (2, 3.5))
    ]
    phases = filling.phases(known, labels, np.random.default_rng(1))
    assert len(next(routes for routes in phases if 4 <= routes[0][0] < 12)) == 8


def _one_limit(*, exceeded: bool) -> totals.Fit | None:
    """Fits the link of one of two groups. It carries 3 hosts' rates in four phases; in six others what its
    messages send: those of 2 hosts, or if `exceeded` 7.6."""
    totals_and_counts = [(3.0, 6), (3.0, 5), (3.0, 4), (3.0, 6)]
    totals_and_counts += [(7.6, 8) if exceeded else (2.0, 2)] * 6
    phases, rates = [], []
    for total, count in totals_and_counts:
        phases.append(
            [(rank, 8 + rank) for rank in range(count)]
            + [(8 + rank, 8 + (rank + 1) % 8) for rank in range(8)]
        )
        rates += [total / count] * count + [1.0] * 8
    seen = of_phases(16, phases, np.array(rates))
    alone = unshared(seen, np.ones(16), np.ones(16))
    link = totals.possible(Reach.LEAVING, np.repeat([0, 1], 8), seen)[0]
    return totals.fit(seen, alone, link, alone.slowness(seen) < np.log(0.9), totals.OVER_TCP)


def test_a_total_that_other_phases_exceed_is_no_limit():
    found = _one_limit(exceeded=False)
    assert found is not None
    assert found.capacity.bytes_per_second == pytest.approx(3.0)
    assert _one_limit(exceeded=True) is None


@pytest.mark.parametrize(("elsewhere", "limits"), [(2.6, [3.0]), (4.5, [])])
def test_phases_that_fill_one_link_show_its_limit_unless_it_carried_more_elsewhere(elsewhere, limits):
    """Phases 0 to 11: a narrower link may hold the messages back. Phases 12 to 14 fill the link."""
    carried = [(elsewhere - 0.02 * number, 6) for number in range(12)] + [(3.0, 6), (3.0, 5), (3.0, 4)]
    phases = [[(rank, 8 + rank) for rank in range(count)] for _, count in carried]
    rates = np.concatenate([np.full(count, total / count) for total, count in carried])
    seen, labels = of_phases(16, phases, rates), np.repeat([0, 1], 8)
    alone, known = unshared(seen, np.ones(16), np.ones(16)), Capacity(Reach.ENTERING, (1,), 9, 9, 9, ())
    found = links.filled(seen, (12, 13, 14), alone, labels, [known])
    assert [one.bytes_per_second for one in found] == pytest.approx(limits)
    assert links.filled(seen, (12, 13, 14), alone, labels, []) == []


def test_limits_of_other_trunks_are_kept_when_one_is_filled_by_itself():
    found = search(_leaves([8, 12, 16], 0.4), 0.01, 1).inferred
    first, *others = found.capacities
    state = replace(Search(36).state, beside=replace(found, capacities=(first,)))
    assert state._with_beside(replace(found, capacities=tuple(others))).capacities == (*others, first)
    regrouped = replace(found.grouping, labels=np.roll(found.grouping.labels, 1))
    elsewhere = replace(found, capacities=tuple(others), grouping=regrouped)
    assert state._with_beside(elsewhere).capacities == tuple(others)


def _wider(leaves: int, nearer: float) -> tuple[Grouping | None, list[int]]:
    """Returns the wider groups found of leaves in pairs, and the pair of each rank. `nearer`: microseconds of
    100 by which pairs are nearer."""
    random, ranks = np.random.default_rng(2), 8 * leaves
    leaf = np.repeat(np.arange(leaves), 8)
    row = leaf // 2
    ends = np.array([(s, d) for s in range(ranks) for d in range(ranks) if leaf[s] != leaf[d]])
    ends = ends[random.permutation(len(ends))[:1500]]
    far = row[ends[:, 0]] != row[ends[:, 1]]
    seconds = (100 + nearer * far) * np.exp(random.normal(0, 0.04, len(ends)))
    return idle.wider(of_phases(ranks, [list(map(tuple, ends.tolist()))], 1 / seconds), leaf), row.tolist()


@pytest.mark.parametrize("leaves", [4, 6, 12])
def test_rows_show_by_mean_latencies_where_single_ones_are_blurred(leaves):
    wider, row = _wider(leaves, 6)
    assert wider is not None
    assert wider.labels.tolist() == row
    assert _wider(leaves, 0)[0] is None


def test_possible_limits_hold_the_indices_of_their_messages():
    labels = np.array([0, 0, 1, 1])
    seen = of_phases(4, [[(0, 2), (1, 0)], [(1, 2), (2, 3)], [(0, 3), (3, 1)]], np.ones(6))
    possible = {
        reach: {one.groups: one.messages.tolist() for one in totals.possible(reach, labels, seen)}
        for reach in Reach
    }
    assert possible[Reach.LEAVING] == {(0,): [0, 2, 4]}
    assert possible[Reach.BETWEEN] == {(0, 1): [0, 2, 4]}
    assert possible[Reach.CROSSING] == {(): [0, 2, 4, 5]}
    assert possible[Reach.SENT] == {(0,): [0, 1, 2, 4]}
    assert totals.possible(Reach.LEAVING, labels, seen.where(np.zeros(6, bool))) == []
