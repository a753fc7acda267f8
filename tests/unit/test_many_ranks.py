"""Groups of more ranks than are grouped together: a sample is, and the others are placed beside it."""

from __future__ import annotations

import numpy as np
import pytest

from crosscut.analysis.structure import many_ranks
from crosscut.analysis.structure.grouping import renumbered
from crosscut.analysis.structure.observed import Observed
from crosscut.analysis.structure.tallies import RouteCounts


@pytest.mark.parametrize(("groups", "each"), [(32, 32), (40, 16)])
def test_groups_of_which_a_sample_holds_few_are_all_found(groups: int, each: int) -> None:
    ranks, random = groups * each, np.random.default_rng(7)
    assert ranks > many_ranks.MOST_GROUPED
    labels = random.permutation(np.repeat(np.arange(groups), each))
    phases = [random.permutation(ranks) for _ in range(400)]
    source, destination = np.tile(np.arange(ranks), len(phases)), np.concatenate(phases)
    apart = source != destination
    phase, source, destination = (
        column[apart] for column in (np.repeat(np.arange(len(phases)), ranks), source, destination)
    )
    observed = Observed(ranks, phase, source, destination, np.ones(len(source)))
    slow = labels[source] != labels[destination]
    found = many_ranks.grouped(RouteCounts.of(observed, slow))
    assert renumbered(found.labels).tolist() == renumbered(labels).tolist()
