"""One bad trunk cable within four phases for each doubling of the hosts: of the seeds for tuning the first
twenty, none left out. The aim is 95 %; of all seeds for tuning it is less (docs/how-it-locates.md)."""

from __future__ import annotations

import pytest
from benchmarks.truth import budget

SEEDS = range(20)
# 18 of 20 networks are within the budget (seeds 8 and 17 are not); all are named, and nothing else is.
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


def test_where_few_messages_are_slow_at_once_hosts_of_a_bad_trunk_are_not_called_slow():
    """Seed 507: of two permutations one shows the trunk, and that by 7 of 160 messages."""
    found = budget.outcome(budget.bad_trunk(507), 507)
    assert (found.missed, found.false_alarms) == (0, 0)


def test_a_trunk_is_held_against_what_others_carried_though_they_were_never_full():
    """Seeds 503 and 515: every other trunk carries all that its hosts send."""
    for seed in (503, 515):
        found = budget.outcome(budget.bad_trunk(seed), seed)
        assert (found.missed, found.false_alarms) == (0, 0)
