"""Groups within groups, each level with its own limits: computed networks, tuning seeds only."""

from __future__ import annotations

import tomllib
from dataclasses import replace

import numpy as np
import pytest
from benchmarks.truth import fabrics
from benchmarks.truth.parts import Truth
from benchmarks.truth.score import adjusted_rand, of_family, scored, search

from crosscut.analysis.findings import of_run
from crosscut.analysis.findings.kinds import FindingKind
from crosscut.analysis.search import filling
from crosscut.analysis.search.search import Search
from crosscut.analysis.search.state import Stage
from crosscut.analysis.search.trunks import Trunks
from crosscut.analysis.structure import grouping, network_file
from crosscut.analysis.structure.levels import Level
from crosscut.analysis.structure.located import Located
from crosscut.analysis.structure.observed import of_phases
from crosscut.analysis.structure.tallies import RouteCounts

# Ten leaves of five hosts in five rows.
SEED = 3


def network() -> Truth:
    return fabrics.tapered_twice(np.random.default_rng(SEED))


def sentences(located: Located) -> list[str]:
    names = tuple(f"n{rank}" for rank in range(located.structure.ranks))
    return [finding.what for finding in of_run.of_located(located, names)]


def test_limits_of_rows_and_of_their_leaves_are_both_found_within_an_aapc():
    truth = network()
    found = scored(truth, 0.01, SEED)
    assert found.rand == 1
    assert len(found.capacity_errors) == found.limits == len(truth.limits)
    assert max(found.capacity_errors) < 0.02
    assert (found.alarms, found.phases <= truth.ranks - 1) == (0, True)


def test_the_structure_its_description_and_the_network_file_have_the_tree():
    truth = network()
    located = search(truth, 0.01, SEED)
    assert adjusted_rand(truth.labels, np.array(located.structure.labels())) == 1
    assert adjusted_rand(truth.inner, np.array(located.structure.labels(1))) == 1
    told = sentences(located)
    for start in (
        "5 groups of 10 hosts", "10 parts of groups of 5 hosts",
        "shared limit: traffic leaving a group (5 such limits)",
        "shared limit: traffic leaving a part of a group (10 such limits)",
    ):  # fmt: skip
        assert any(what.startswith(start) for what in told), start
    links = tomllib.loads(network_file.text(located.structure, "a test"))["links"]
    trunks = [link for link in links if isinstance(link["between"][0], str)]
    rates = {tuple(link["between"]): float(link["rate"].split()[0]) for link in trunks}
    for ends, limit in (
        (("group0", "core"), ("leaving", 0, -1)),
        (("group0.0", "group0"), ("inner leaving", 0, -1)),
    ):
        assert rates[ends] == pytest.approx(8e-6 * truth.limits[limit], rel=0.02)


@pytest.mark.parametrize(("kind", "way"), [("inner trunk", "out"), ("trunk", "in")])
def test_a_trunk_at_half_its_rate_is_named_on_either_level(kind, way):
    truth = network()
    part = next(part for part in truth.parts if (part.kind, part.direction) == (kind, way))
    capacities = truth.capacities.copy()
    capacities[part.capacity] *= 0.5
    located = search(replace(truth, capacities=capacities), 0.01, SEED)
    names = tuple(f"n{rank}" for rank in range(truth.ranks))
    slow = [one for one in of_run.of_located(located, names) if one.kind.fault]
    labels = truth.labels if kind == "trunk" else truth.inner
    assert [(one.kind, one.direction.value) for one in slow] == [(FindingKind.SLOW_TRUNK, way)]
    assert set(slow[0].ranks) == set(np.nonzero(labels == part.subject)[0].tolist())


def test_a_row_that_carries_as_much_as_its_leaves_has_no_limit():
    truth = network()
    capacities = truth.capacities.copy()
    capacities[[part.capacity for part in truth.parts if part.kind == "trunk"]] *= 3
    located = search(replace(truth, capacities=capacities), 0.01, SEED)
    assert adjusted_rand(truth.inner, located.inferred.grouping.labels) == 1
    assert not located.inner
    assert len(located.inferred.capacities) == 20


def test_tours_within_groups_leave_none_and_leave_all_inner_groups():
    inner = np.repeat(np.arange(6), 4)
    outer = np.repeat([0, 0, 1, 1, 1, 2], 4)
    for routes in filling.tours_within(inner, outer, 3, np.random.default_rng(1)):
        ends = np.array(routes).T
        assert (outer[ends[0]] == outer[ends[1]]).all()
        assert (inner[ends[0]] != inner[ends[1]]).all()
        assert len(set(ends[0].tolist())) == len(set(ends[1].tolist())) == len(routes)
        assert set(inner[ends[0]].tolist()) == {0, 1, 2, 3, 4}  # the last group has one member


def test_rows_show_by_rates_where_daemons_hide_them_from_latencies() -> None:
    assert of_family(fabrics.tapered_twice, 600026, healthy=True).rand == 1


def test_levels_whose_limits_explain_nothing_are_filled_once_each() -> None:
    random, racks = np.random.default_rng(4), np.repeat(np.arange(8), 8)
    routes = RouteCounts.of(of_phases(64, [], np.zeros(0)), np.zeros(0, bool))
    rows, inner = (grouping.given(routes, labels) for labels in (racks // 4, racks))
    full = of_phases(64, [list(enumerate(random.permutation(64))) for _ in range(9)], random.random(576))
    state = replace(Search(64).state, full=full, near=rows, levels=(Level(inner),), budget=500)
    stage: Stage = Trunks()
    asked = 0
    while isinstance(stage, Trunks) and asked < 12:
        answer = stage.ask(state, random)
        rates = random.random(sum(map(len, answer.phases)))
        stage, state = answer.stage, answer.state.learn(answer.phases, answer.sent, rates)
        asked += 1
    assert asked < 8
