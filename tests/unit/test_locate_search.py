"""The search in computed networks of known truth (benchmarks/truth), tuning seeds only."""

from __future__ import annotations

import itertools
import subprocess
import tomllib

import numpy as np
import pytest
from benchmarks.truth import networks, oracle
from benchmarks.truth.parts import HOST_RATE, Builder, Fault, Truth, idle_of
from benchmarks.truth.score import adjusted_rand, score, search
from tiers import seeds

from crosscut.analysis.findings import of_run, slow_parts
from crosscut.analysis.findings.kinds import FindingKind
from crosscut.analysis.search import filling, thresholds
from crosscut.analysis.search.search import Search
from crosscut.analysis.structure import grouping, idle, network_file, tallies
from crosscut.analysis.structure.model import Group, Limit, Reach, Structure
from crosscut.analysis.structure.observed import Observed
from crosscut.analysis.structure.totals import Capacity
from crosscut.base import core
from crosscut.campaigns import locate as locating


def flat(ranks: int, slow: int | None) -> Truth:
    """A crossbar; `slow` sends at 40 %."""
    builder = Builder.of(np.zeros(ranks, np.int64))
    capacities = np.array(builder.capacities)
    faults = ()
    if slow is not None:
        capacities[slow] *= 0.4
        faults = (Fault("host", slow, "out", 0.4),)
    return Truth(
        "flat",
        ranks,
        builder.labels,
        builder.padded(),
        capacities,
        idle_of(builder.labels, 0, np.random.default_rng(1)),
        {},
        faults,
    )


def names(ranks: int) -> tuple[str, ...]:
    return tuple(f"n{rank}" for rank in range(ranks))


@pytest.mark.parametrize("ranks", [16, 64])
def test_one_bad_access_link_takes_at_most_four_phases_and_is_measured_again(ranks):
    for seed in range(10):
        located = search(flat(ranks, seed), 0.02, seed)
        (finding,) = of_run.of_located(located, names(ranks))
        assert (finding.kind, finding.ranks) == (FindingKind.SLOW_HOST, (seed,))
        alone = slow_parts.FEWEST_ALONE + thresholds.LAST_LOOKS
        assert located.phases_used <= 4 + alone - 2
        assert f"measured alone {alone} times" in finding.what


def test_a_healthy_crossbar_has_no_findings_after_few_phases():
    located = search(flat(64, None), 0.02, 3)
    assert [finding.kind for finding in of_run.of_located(located, names(64))] == [FindingKind.NOTHING]
    assert located.phases_used <= 8


@pytest.mark.parametrize("seed", seeds([0, 1, 5, 12], short=[1, 5, 12]))
def test_groups_and_capacities_of_generated_networks_are_found_within_an_aapc(seed):
    found = score(seed, 0.02)
    assert found.rand == 1
    assert found.phases <= max(found.ranks - 1, 8)
    assert len(found.capacity_errors) == found.limits > 0
    assert max(found.capacity_errors) < 0.05
    assert (found.found, found.alarms) == (found.planted, found.planted)


def test_no_route_goes_from_a_rank_to_itself_and_no_rank_sends_twice_in_a_phase():
    truth, random = networks.make(1), np.random.default_rng(1)
    searching = Search(truth.ranks, seed=4)
    while phases := searching.propose():
        for routes in phases:
            assert all(source != destination for source, destination in routes)
            assert len({source for source, _ in routes}) == len(routes)
            assert len({destination for _, destination in routes}) == len(routes)
        searching.learn(oracle.measure(truth.ways, truth.capacities, phases, 0.02, random))


def test_the_search_keeps_to_its_budget_and_ends():
    truth, random = networks.make(2), np.random.default_rng(1)
    searching = Search(truth.ranks, most_phases=12, seed=4)
    used = 0
    while phases := searching.propose():
        if searching.asks_latency:  # short messages cost hardly any time
            searching.learn(1 / oracle.latencies(truth.idle_seconds, phases, 0.02, random))
            continue
        used += len(phases)
        searching.learn(oracle.measure(truth.ways, truth.capacities, phases, 0.02, random))
    assert used <= 12
    assert searching.propose() == []


def test_fair_rates_share_a_bottleneck_and_give_what_it_leaves_to_others():
    # Two messages share capacity 0 (1.0); one of them and a third share capacity 1 (3.0).
    ways = np.array([[0, -1], [0, 1], [1, -1]])
    assert oracle.fair_rates(ways, np.array([1.0, 3.0])).tolist() == pytest.approx([0.5, 0.5, 2.5])


def test_the_rand_index_is_one_for_equal_partitions_and_about_zero_for_chance():
    labels = np.repeat(np.arange(4), 50)
    shuffled = np.random.default_rng(1).permutation(labels)
    assert adjusted_rand(labels, 3 - labels) == 1
    assert abs(adjusted_rand(labels, shuffled)) < 0.05


def some_routes(ranks, random):
    source, destination = np.nonzero(~np.eye(ranks, dtype=bool))
    seen = random.integers(0, 5, len(source))
    return tallies.RouteCounts(ranks, source, destination, np.array([random.binomial(seen, 0.4), seen]))


def test_merging_groups_gains_the_difference_of_likelihoods():
    random = np.random.default_rng(0)
    labels = grouping.renumbered(random.integers(0, 5, 24))
    routes = some_routes(24, random)
    blocks, groups = grouping._Blocks(routes), int(labels.max()) + 1
    s, n = routes.between(labels, groups)
    before = grouping._likelihood(routes, blocks, labels) + 24 * np.log(groups)
    gains = grouping._merge_gains(blocks, s, n, np.arange(1, groups))
    for a, b in itertools.permutations(range(groups), 2):
        merged = grouping.renumbered(np.where(labels == b, a, labels))
        after = grouping._likelihood(routes, blocks, merged) + 24 * np.log(groups - 1)
        assert a == 0 or gains[a - 1, b] == pytest.approx(after - before)


def test_phases_are_written_in_the_pattern_s_syntax():
    assert locating.text([[(0, 1), (2, 3)], [(1, 0)]]) == "0-1,2-3;1-0"


def test_a_structure_becomes_a_network_file_with_every_host_and_limit():
    located = search(networks.make(1), 0.02, 1)
    text = network_file.text(located.structure, "a test")
    assert text.count("[[switches]]") == len(located.structure.groups) + 1
    for host in located.structure.hosts:
        assert f'"{host}"' in text
    assert {limit.reach for limit in located.structure.limits} == {Reach.LEAVING, Reach.ENTERING}
    assert "No limit" not in text


def test_a_network_file_says_where_no_limit_was_found():
    groups = tuple(Group(f"group{at}", (2 * at, 2 * at + 1)) for at in range(3))
    limits = (Limit(Reach.LEAVING, ("group0",), 1e8), Limit(Reach.ENTERING, ("group0",), 1e8),
              Limit(Reach.LEAVING, ("group1",), 1e8))  # fmt: skip
    structure = Structure(groups, limits, (1e8,) * 6, (1e8,) * 6, tuple(f"n{at}" for at in range(6)))
    lines = network_file.text(structure, "a test").splitlines()
    notes = {lines[at + 2]: line for at, line in enumerate(lines) if "No limit" in line}
    assert notes == {
        'between = ["group1", "core"]':
            "# No limit was found on what enters the group: this is the sum of its hosts' rates.",
        'between = ["group2", "core"]':
            "# No limit was found on what leaves the group or what enters the group: this is the sum of its "
            "hosts' rates.",
    }  # fmt: skip


def test_a_network_file_of_a_mesh_separates_limits_of_groups_and_hosts_from_switches(tmp_path):
    groups = tuple(Group(f"group{at}", (2 * at, 2 * at + 1)) for at in range(3))
    limits = (
        Limit(Reach.BETWEEN, ("group0", "group1"), 1e8),
        Limit(Reach.LEAVING, ("group0",), 1.5e8),
        Limit(Reach.BETWEEN, ("group1", "group0"), 0.5e8),
    )
    hosts = ("core", "group0", "group1-gate", "n3", "n4", "n5")
    structure = Structure(groups, limits, (1e8,) * 6, (1e8,) * 6, hosts)
    file = tmp_path / "network.toml"
    file.write_text(network_file.text(structure, "a test"))
    executable = core.find_executable(core.CORE)
    assert executable is not None
    done = subprocess.run([executable, "network", "check", file], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    links = {str(link["between"]): link for link in tomllib.loads(file.read_text())["links"]}
    assert links["['group0', 'group0-gate']"]["rate"] == "1200 Mbit/s"
    between = links["['group0-gate', 'group1']"]
    assert (between["rate"], between["back_rate"]) == ("800 Mbit/s", "400 Mbit/s")


def test_names_that_the_network_format_refuses_are_made_valid_and_stay_distinct():
    structure = Structure((), (), (1e8, 1e8), (1e8, 1e8), ("a:0", "a 0"))
    text = network_file.text(structure, 'quoted " source')
    assert '"a-0"' in text
    assert '"a-0-1"' in text


@pytest.mark.parametrize("seed", [3, 19, 23])
def test_meta_nodes_are_distinguished_by_latency_and_their_slow_hosts_found(seed):
    truth = networks.make(seed)
    assert truth.family == "meta-nodes"
    found = score(seed, 0.02)
    assert found.rand == 1
    assert (found.found, found.alarms) == (found.planted, found.planted)


def test_latency_below_the_noise_is_not_taken_for_structure():
    random = np.random.default_rng(5)
    source = np.repeat(np.arange(16), 15)
    destination = np.concatenate([np.delete(np.arange(16), rank) for rank in range(16)])
    phase = (destination - source) % 16
    rate = 1 / (100e-6 * np.exp(0.05 * random.standard_normal(len(source))))
    assert not idle.nearness(Observed(16, phase, source, destination, rate)).sure


@pytest.mark.parametrize("mistaken", [(), ((40, 45),)])
def test_two_small_groups_are_not_joined_by_a_message_that_seems_near_or_by_the_likelihood(mistaken):
    """Two switches of 5 and 7 hosts among larger ones."""
    labels = np.repeat(np.arange(4), [20, 20, 5, 7])
    ranks, random = len(labels), np.random.default_rng(3)
    phases = 40
    source = np.tile(np.arange(ranks), phases)
    phase = np.repeat(np.arange(phases), ranks)
    destination = (source + 1 + random.permutation(ranks - 1)[:phases][phase]) % ranks
    near = labels[source] == labels[destination]
    for a, b in mistaken:
        at = int(np.nonzero((labels[source] == labels[a]) & (labels[destination] == labels[b]))[0][0])
        near[at] = True
    seconds = np.where(near, 100e-6, 130e-6) * np.exp(0.01 * random.standard_normal(len(source)))
    found = idle.nearness(Observed(ranks, phase, source, destination, 1 / seconds))
    assert found.sure
    assert adjusted_rand(labels, found.grouping.labels) == 1


def test_a_limit_hidden_by_a_bad_trunk_is_measured_in_phases_that_avoid_the_trunk():
    """Seed 9: the trunk into one of six groups is slow, and no permutation of all fills that of another."""
    found = score(9, 0.02)
    assert len(found.capacity_errors) == found.limits == 12
    assert max(found.capacity_errors) < 0.05


def test_phases_that_fill_links_have_few_groups_on_one_side_and_never_a_rank_twice():
    labels = np.repeat(np.arange(6), 8)
    known = [
        Capacity(Reach.LEAVING, (0,), 1e7, 1e7, 1e7, ()),
        Capacity(Reach.ENTERING, (5,), 3e6, 3e6, 3e6, ()),
    ]
    for routes in filling.phases(known, labels, np.random.default_rng(2)):
        sources, destinations = ({labels[end] for end in ends} for ends in zip(*routes, strict=True))
        assert not sources & destinations
        assert min(len(sources), len(destinations)) == 1
        for ends in zip(*routes, strict=True):
            assert len(set(ends)) == len(ends)


def test_tallies_after_moving_a_rank_equal_a_new_count():
    random = np.random.default_rng(3)
    routes = some_routes(12, random)
    labels = random.integers(0, 3, 12)
    kept = tallies.Tallies(routes, labels, 3)
    kept.move(4, int(labels[4]), (int(labels[4]) + 1) % 3)
    labels[4] = (labels[4] + 1) % 3
    anew = tallies.Tallies(routes, labels, 3)
    for name in ("between", "out", "back"):
        assert (getattr(kept, name) == getattr(anew, name)).all()
    left = np.array([anew.without(rank, int(labels[rank])) for rank in range(12)])
    assert (anew.without_each(np.arange(12), labels) == left.swapaxes(0, 1)).all()


def test_average_linkage_always_joins_the_most_similar_pair():
    random = np.random.default_rng(8)
    score = random.standard_normal((30, 30))
    score += score.T
    np.fill_diagonal(score, -np.inf)
    labels = [{rank} for rank in range(30)]
    for found in grouping._linkage_levels(score):
        assert [set(np.nonzero(found == group)[0]) for group in range(len(labels))] == sorted(labels, key=min)
        alike = {
            (a, b): score[np.ix_(list(labels[a]), list(labels[b]))].mean()
            for a in range(len(labels)) for b in range(a)
        }  # fmt: skip
        a, b = max(alike, key=alike.__getitem__)
        labels = [one for at, one in enumerate(labels) if at not in (a, b)] + [labels[a] | labels[b]]


@pytest.mark.parametrize("seed", seeds(range(8), short=[1, 7]))
def test_two_racks_numbered_alternately_are_found_although_permutations_seldom_fill_their_trunk(seed):
    """A permutation of 2 x 32 hosts sends about 16 messages in each direction: a trunk for 18 is not full."""
    labels = np.arange(64) % 2
    truth = networks.tree_with(labels, 32 * HOST_RATE * 0.57, np.random.default_rng(seed))
    located = search(truth, 0.02, seed)
    assert adjusted_rand(labels, located.inferred.grouping.labels) == 1
    found = of_run.of_located(located, names(64))
    assert {one.kind for one in found} == {FindingKind.GROUPS, FindingKind.SHARED_LIMIT}


def test_racks_joined_without_a_limit_are_reported_as_such():
    labels = np.arange(48) % 3
    truth = networks.tree_with(labels, 16 * HOST_RATE, np.random.default_rng(2))
    located = search(truth, 0.02, 2)
    assert [one.kind for one in of_run.of_located(located, names(48))] == [FindingKind.NOTHING]
    assert not located.structure.groups
    (note,) = located.structure.notes
    assert note.startswith("latencies reveal 3 groups of hosts")
