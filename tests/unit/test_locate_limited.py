"""Findings and advice of a search that was limited by the machine emulating the network."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from benchmarks.truth import networks, oracle
from changed_runs import aapc

from crosscut.analysis.findings import of_run, slow_routes
from crosscut.analysis.findings.host_facts import HostFacts
from crosscut.analysis.findings.kinds import FindingKind
from crosscut.analysis.findings.model import Finding
from crosscut.analysis.search.adapters import Adapters
from crosscut.analysis.search.search import Search
from crosscut.analysis.structure import infer
from crosscut.analysis.structure.model import LOCATE_ON
from crosscut.analysis.structure.observed import of_phases
from crosscut.campaigns.locate import Gathered, LocateOptions, Senders, _located, _sized

RANKS = 8
ALONE = Senders(tuple((rank,) for rank in range(RANKS)))
PHASES = [[(rank, (rank + distance) % RANKS) for rank in range(RANKS)] for distance in range(1, RANKS)]


def limited(*spans):
    trust = [{"limited": [{"size": 1_000_000, "phases": list(spans)}]}]
    faults = [{"id": "f1", "says": "n003 is slow"}]
    return aapc(1, attributes={"place": "lab", "trust": trust, "faults": faults})


def test_only_rates_of_the_network_are_learnt_and_those_left_out_are_counted():
    gathered = Gathered(ALONE)
    seen = gathered.learn(limited([2, 3]), PHASES, 1)
    assert seen is not None
    assert np.nonzero(np.isnan(seen).reshape(7, 8).all(axis=1))[0].tolist() == [1, 2]
    assert np.isnan(seen).sum() == 2 * RANKS
    assert gathered.told_limited == "this machine's CPU was the bottleneck in 2 of 7 phases"
    assert gathered.learn(limited([1, 7]), PHASES, 1) is None
    assert gathered.told_limited == "this machine's CPU was the bottleneck in 9 of 14 phases"
    assert gathered.planted == ("f1: n003 is slow",)


def test_a_route_of_two_nodes_is_a_message_of_each_of_their_ranks_and_its_rate_their_sum():
    nodes = Senders(((0, 1), (2, 3, 4), (5, 6, 7)))
    assert nodes.each == 2
    assert nodes.phases([[(0, 2), (2, 1)]], nodes.each) == [[(0, 5), (1, 6), (5, 2), (6, 3)]]
    assert nodes.phases([[(1, 0)]], 1) == [[(2, 0)]]
    slow = Finding(FindingKind.SLOW_ROUTE, "it is", ranks=(0, 1), routes=((0, 1),))
    (of_ranks,) = nodes.of_ranks([slow], Adapters())
    assert (of_ranks.ranks, of_ranks.routes) == ((0, 1, 2, 3, 4), ((0, 2),))

    run, pairs = limited(), Senders(tuple((rank, rank + 4) for rank in range(4)))
    seen = Gathered(pairs).learn(run, PHASES, 2)
    assert seen is not None
    rates = Gathered(ALONE).learn(run, PHASES, 1)
    assert rates is not None
    assert seen.tolist() == rates.reshape(-1, 2).tolist()
    total = Adapters().rates(seen, pairs.routes(PHASES, 2))
    assert total.tolist() == rates.reshape(-1, 2).sum(axis=1).tolist()


@pytest.mark.parametrize(("spoilt", "told"), [(0, True), (8, True), (16, False)])
def test_nothing_is_reported_if_the_machine_limited_most_of_the_measurement(spoilt, told):
    found = _located(_searched(), replace(Gathered(ALONE), measured=20, limited=spoilt), ended=False)
    assert (found is not None) == told
    if found is not None:
        notes = [note for note in found.structure.notes if "the bottleneck" in note]
        assert len(notes) == (spoilt > 0)


@pytest.mark.parametrize(("spoilt", "groups"), [((), 4), (([9, 9],), 1)])
def test_groups_that_explain_nothing_are_not_reported_for_a_run_that_the_machine_limited(spoilt, groups):
    """Messages between groups of four ranks are slow, by amounts that no shared limit explains."""
    random, ranks = np.random.default_rng(2), 16
    between = [(a, b) for a in range(ranks) for b in range(ranks) if a // 4 != b // 4]
    shares = dict(zip(between, random.uniform(0.2, 0.7, len(between)).tolist(), strict=True))
    trust = [{"limited": [{"size": 1_000_000, "phases": list(spoilt)}]}] if spoilt else []
    run = aapc(1, ranks=ranks, route=shares, attributes={"place": "lab", "trust": trust})
    _, structure = of_run.look(run)
    assert structure is not None
    assert max(len(structure.groups), 1) == groups


def test_a_search_that_the_machine_ended_says_so():
    found = _located(_searched(), replace(Gathered(ALONE), measured=20, limited=3), ended=True)
    assert found is not None
    assert "a whole step of the search, which ended there" in found.structure.notes[-1]


def _searched() -> Search:
    """Returns a finished search of a crossbar without faults."""
    truth, random = networks.crossbar(16, np.random.default_rng(1)), np.random.default_rng(1)
    search = Search(truth.ranks, seed=2)
    while phases := search.propose():
        search.learn(oracle.measure(truth.ways, truth.capacities, phases, 0.02, random))
    return search


def test_findings_of_a_search_do_not_advise_the_same_search():
    met = of_phases(RANKS, PHASES, np.full(RANKS * 7, 1e8))
    crowd = slow_routes.crowds(met, 0.5)
    outline = infer.structure(infer.infer(met), tuple("abcdefgh"), 7)
    noted = replace(outline, notes=("slow by what nobody knows", f"slow; {LOCATE_ON}"))
    assert LOCATE_ON in crowd.advice
    found, after = of_run.after_search(
        [crowd, *of_run.machine_only("it did", HostFacts(), tuple("abcdefgh"))], noted
    )
    assert [each.kind for each in found] == [FindingKind.SHARED_LIMIT, FindingKind.INCONCLUSIVE]
    assert found[0].advice == ""
    assert found[1].advice != ""
    assert after.notes == ("slow by what nobody knows", "slow")


def test_messages_that_take_too_little_time_are_made_larger_once():
    slow, fast = np.full(4, 1e9), np.array([5e10, 5e10, np.nan, 1e9])
    how = LocateOptions(1_000_000, may_grow=True, repetitions=1, seed=1, metadata={})
    assert _sized(how, np.full(4, np.nan)) == how
    larger = _sized(how, fast)
    assert (larger.size_bytes, _sized(larger, fast).size_bytes) == (10_000_000, 10_000_000)
    # The first step decides: later ones may have few, fast messages.
    assert _sized(_sized(how, slow), fast).size_bytes == 1_000_000
    assert _sized(replace(how, may_grow=False), fast).size_bytes == 1_000_000
