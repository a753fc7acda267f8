"""Nodes with several ranks: an adapter that they share, or one each."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.truth.fabrics import nodes_of_ranks, rails
from benchmarks.truth.score import of_family

from crosscut.analysis.findings.kinds import FindingKind
from crosscut.analysis.findings.model import Direction, Finding
from crosscut.analysis.search.adapters import Adapters
from crosscut.campaigns.locate import Senders

ROUTES = [(0, 1), (1, 2), (2, 3), (3, 0)]
SLOW_HOST = Finding(FindingKind.SLOW_HOST, "n2 sends at 50 %", (2,), ("n2",), direction=Direction.OUT)


def test_a_route_counts_as_if_all_ranks_were_as_slow_as_its_one_slow_rank():
    of_ranks = np.full((4, 4), 100.0)
    of_ranks[2, 3] = 50.0
    adapters = Adapters()
    assert adapters.rates(of_ranks, ROUTES).tolist() == [400, 400, 200, 400]
    assert adapters.at_fault(SLOW_HOST) == 3
    (told,) = Senders(((0, 1, 2, 3), (4, 5, 6, 7), (8, 9, 10, 11), (12, 13, 14, 15))).of_ranks(
        [SLOW_HOST], adapters
    )
    assert told.what.endswith("; only rank 11, of its 4 ranks, is slow")
    assert told.ranks == (11,)


def test_ranks_that_share_an_adapter_unevenly_count_by_their_sum():
    of_ranks = np.array([[30.0, 70.0], [65.0, 35.0], [60.0, 40.0], [28.0, 72.0]])
    adapters = Adapters()
    assert adapters.rates(of_ranks, ROUTES).tolist() == [100, 100, 100, 100]
    assert adapters.at_fault(SLOW_HOST) is None


def test_a_node_whose_ranks_are_slow_in_turn_has_no_single_slow_rank():
    adapters = Adapters()
    for rank in range(4):
        of_ranks = np.full((4, 4), 100.0)
        of_ranks[2, rank] = 50.0
        adapters.rates(of_ranks, ROUTES)
    assert adapters.at_fault(SLOW_HOST) is None


def test_one_odd_route_blames_no_rank_of_a_node_whose_ranks_are_all_slow():
    adapters = Adapters()
    of_ranks = np.full((4, 4), 100.0)
    of_ranks[2] = 50.0
    for _ in range(3):
        adapters.rates(of_ranks, ROUTES)
    of_ranks[2, 1] = 20.0
    adapters.rates(of_ranks, ROUTES)
    assert adapters.at_fault(SLOW_HOST) is None


def test_phases_that_the_machine_limited_stay_unknown():
    rates = Adapters().rates(np.array([[1.0, 1.0], [np.nan, np.nan]]), ROUTES[:2])
    assert rates[0] == 2
    assert np.isnan(rates[1])


@pytest.mark.parametrize("seed", range(7000, 7006))
def test_one_slow_adapter_is_found_in_either_kind_of_node(seed):
    for family in (rails, nodes_of_ranks):
        found = of_family(family, seed, healthy=False)
        assert (found.found, found.alarms) == (1, 1)
