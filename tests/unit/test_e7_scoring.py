"""The scores of benchmarks/e7_located for structures with known mistakes."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.e7_located.clusters import Truth
from benchmarks.e7_located.scoring import explained, score

from crosscut.analysis.structure.model import Group, Limit, Reach, Structure

TRUTH = Truth(np.repeat([0, 1], 24), np.repeat([0, 1, 2, 3], 12))
"""Two modules of 24 hosts; chips of 12 hosts, which cannot fill their limits."""
PAYLOAD_SHARE = 0.5
FULL = 800e6 / 8 * PAYLOAD_SHARE


def structure(*limits: Limit, moved: int = 0) -> Structure:
    """The modules in reverse order, with the first `moved` ranks of module 0 in the wrong group."""
    groups = (Group("group0", (*range(moved), *range(24, 48))), Group("group1", tuple(range(moved, 24))))
    return Structure(groups, limits, (1e8,) * 48, (1e8,) * 48)


def test_the_truth_scores_one_whatever_the_names_of_groups_and_each_limit_counts_once():
    limits = (
        Limit(Reach.LEAVING, ("group0",), FULL * 1.02), Limit(Reach.ENTERING, ("group1",), FULL * 0.96),
        Limit(Reach.BETWEEN, ("group1", "group0"), FULL),
    )  # fmt: skip
    found = score(structure(*limits), TRUTH, PAYLOAD_SHARE)
    assert (found.rand, found.misplaced, found.limits) == (1, 0, 2)
    assert sorted(found.errors) == pytest.approx([-0.04, 0.0])


def test_ranks_in_the_wrong_group_are_counted():
    found = score(structure(moved=3), TRUTH, PAYLOAD_SHARE)
    assert found.misplaced == 3
    assert 0 < found.rand < 1
    assert found.errors == ()


def test_no_groups_score_zero():
    everybody = (Limit(Reach.SENT, ("group0",), FULL),)
    found = score(Structure((), everybody, (1e8,) * 48, (1e8,) * 48), TRUTH, PAYLOAD_SHARE)
    assert (found.rand, found.misplaced) == (0, 24)


def test_chips_count_if_their_hosts_send_more_than_they_carry():
    asics = Truth(np.repeat([0, 1], 48), np.repeat([0, 1, 2, 3], 24))
    assert sorted({kind for kind, _, _ in asics.limits()}) == ["pair", "received", "sent"]
    assert len(asics.limits()) == 2 + 8


def test_phases_in_which_a_limit_is_full_must_be_named_and_no_others():
    everybody = np.arange(48)
    crossing, within = np.roll(everybody, 24), everybody ^ 1
    phases, sources = np.array([5, 6]), np.stack([crossing, within])
    told = [
        {"what": "from group0 to group1", "phases": [5, 6]},
        {"what": "from core to group0", "phases": [5]},
    ]
    found = explained(told, structure(), TRUTH, phases, sources)
    assert (found.full, found.named, found.wrong) == (2, 2, 1)
    assert explained([], structure(), TRUTH, phases, sources).named == 0
