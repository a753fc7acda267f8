"""The E7 (Kurmann, Rauch and Stricker, TR 391) with ranks numbered at random: its modules and limits are
found and explain each phase; simulated, and emulated at a small size."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from labs import needs_lab
from tiers import long

sys.path.insert(0, str(Path(__file__).parents[2]))  # benchmarks are no part of the installation

from benchmarks.e7_located import __main__ as e7
from benchmarks.e7_located.clusters import CLUSTERS, Cluster
from benchmarks.processes import BenchmarkError

HOW = e7.How(dilation=20.0, size="500KB", repetitions=1, phases="1-4", switch="kernel", seed=3)
# Configuration 1 has two modules of 20. Most permutations have 10 hosts send to the other; 8 fill the trunk.
SHORT = ("config1",)
SMALL = Cluster("small", "two modules of 20", "xibalba-e7-config1", (*range(20), *range(32, 52)), True)


@pytest.mark.parametrize("name", [*SHORT, *(long(one.name) for one in CLUSTERS if one.name not in SHORT)])
def test_modules_members_and_limits_of_the_simulated_e7_are_found_and_named_for_each_phase(name, tmp_path):
    (cluster,) = (one for one in CLUSTERS if one.name == name)
    found = e7.measure(cluster, "sim", HOW, tmp_path)
    assert (found.score.rand, found.score.misplaced) == (1, 0)
    assert np.isnan(found.score.asics_rand) or found.score.asics_rand == 1
    assert len(found.score.errors) == found.score.limits
    assert np.abs(found.score.errors).max() < 0.05
    assert found.phases <= len(cluster.hosts) - 1
    assert found.explained.full > 0
    assert (found.explained.named, found.explained.wrong) == (found.explained.full, 0)


@pytest.mark.long  # test_explain.py finds two modules of an emulated chassis in ten seconds
@needs_lab
@pytest.mark.usefixtures("own_labs")
def test_modules_and_their_limit_of_an_emulated_e7_are_found_over_tcp(tmp_path):
    try:
        found = e7.measure(SMALL, "lab", HOW, tmp_path)
    except BenchmarkError as error:
        if "no conclusion about the network: this machine's CPU" not in str(error):
            raise
        pytest.skip(str(error).splitlines()[-1])
    assert (found.modules, found.score.rand, found.score.misplaced) == (2, 1, 0)
    assert len(found.score.errors) == found.score.limits == 2
    assert np.abs(found.score.errors).max() < 0.1
