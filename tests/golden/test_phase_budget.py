"""One bad trunk cable is found within four phases per doubling of the hosts: the first twenty tuning seeds,
none left out. The aim is 95 %; over all tuning seeds the share is lower (docs/how-it-locates.md)."""

from __future__ import annotations

import pytest
from benchmarks.truth import budget

SEEDS = range(20)
# 18 of 20 networks are within the budget (not seeds 8 and 17); all faults are named, and nothing else.
FEWEST_WITHIN = 18


@pytest.mark.long
def test_a_bad_trunk_cable_is_named_within_its_budget_of_phases():
    found = [budget.outcome(budget.bad_trunk(seed), seed) for seed in SEEDS]
    assert sum(one.false_alarms for one in found) == 0
    assert sum(one.missed for one in found) == 0
    assert sum(one.success for one in found) >= FEWEST_WITHIN


@pytest.mark.parametrize("seed", [1, 3, 6, 11, 13])
def test_a_bad_trunk_cable_of_a_small_network_is_named_within_its_budget(seed):
    found = budget.outcome(budget.bad_trunk(seed), seed)
    assert (found.missed, found.false_alarms, found.success) == (0, 0, True)


def test_hosts_of_a_bad_trunk_are_not_called_slow_if_few_messages_are_slow_at_once():
    """Seed 507: one of two permutations shows the trunk, by 7 of 160 messages."""
    found = budget.outcome(budget.bad_trunk(507), 507)
    assert (found.missed, found.false_alarms) == (0, 0)


def test_a_trunk_is_compared_with_others_that_were_never_full():
    """Seeds 503 and 515: every other trunk carries all that its hosts send."""
    for seed in (503, 515):
        found = budget.outcome(budget.bad_trunk(seed), seed)
        assert (found.missed, found.false_alarms) == (0, 0)
