"""The algorithms of collective operations cost what their sources say, on a network without contention.

Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in MPICH, IJHPCA 19(1), 2005,
section 4, without the cost of sums. P is a power of two; a message of m bytes takes alpha + m beta.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from crosscut.analysis.figures import summary
from crosscut.analysis.figures.samples import load

RANKS = 16
ALPHA, BETA = 20e-6, 8 / 10e9
NETWORK = """
[generator]
kind = "crossbar"
hosts = 16
rate = "10 Gbit/s"
[switch]
latency = "20 us"
"""
ROUNDS, REST = math.log2(RANKS), (RANKS - 1) / RANKS
Cost = Callable[[float], float]


def each(rounds: float, share: float) -> Cost:
    """Rounds in each of which `share` of the vector moves."""
    return lambda size: rounds * (ALPHA + share * size * BETA)


def together(rounds: float, shares: float) -> Cost:
    """Rounds in which `shares` vectors move in all."""
    return lambda size: rounds * ALPHA + shares * size * BETA


def pipeline(depth: float, children: int) -> Cost:
    """Segments of 64 KiB; a rank sends each to all its children, who share its link."""
    return lambda size: depth * ALPHA + children * size * BETA * (1 + (depth - 1) / math.ceil(size / 65536))


COSTS = {
    "all-reduce": {
        "ring": each(2 * (RANKS - 1), 1 / RANKS),
        "recursive doubling": each(ROUNDS, 1),
        "Rabenseifner": together(2 * ROUNDS, 2 * REST),
        "binomial trees": each(2 * ROUNDS, 1),
    },
    "reduce-scatter": {"ring": each(RANKS - 1, 1 / RANKS), "recursive halving": together(ROUNDS, REST)},
    "all-gather": {"ring": each(RANKS - 1, 1 / RANKS), "Bruck": together(ROUNDS, REST)},
    "broadcast": {
        "binomial tree": each(ROUNDS, 1),
        "scatter and all-gather": together(ROUNDS + RANKS - 1, 2 * REST),
        "pipelined chain": pipeline(RANKS - 1, 1),
        "pipelined binary tree": pipeline(ROUNDS, 2),
    },
    "all-to-all": {"pairwise exchange": each(RANKS - 1, 1 / RANKS), "Bruck": each(ROUNDS, 0.5)},
}


@pytest.mark.parametrize("operation", COSTS)
# A sender of a short message goes on at once, so a tree's messages from one rank share its link.
@pytest.mark.parametrize(("size", "tolerance"), [(1600, 0.1), (1_600_000, 0.005)])
def test_each_algorithm_takes_the_time_of_its_formula(
    compare: ModuleType, tmp_path: Path, operation: str, size: int, tolerance: float
) -> None:
    network = tmp_path / "crossbar.toml"
    network.write_text(NETWORK)
    words = ["collective", "--operation", operation]
    run = compare.simulate(str(network), words, ranks=RANKS, message=size)
    samples = load(run.dataset, 0)
    seconds = summary.phase_seconds(samples)[0]
    named = dict(zip(run.dataset.attrs["phase_labels"], seconds.tolist(), strict=True))
    for name, cost in COSTS[operation].items():
        # In the binary tree, one rank has only one child.
        allowed = max(tolerance, 0.011) if name == "pipelined binary tree" else tolerance
        assert named.pop(name) == pytest.approx(cost(size), rel=allowed), name
    assert named == {}


def test_bus_bandwidth_is_that_of_the_links_where_an_algorithm_loses_nothing(
    compare: ModuleType, tmp_path: Path
) -> None:
    network = tmp_path / "crossbar.toml"
    network.write_text(NETWORK)
    for operation in ("all-reduce", "reduce-scatter", "all-gather", "all-to-all"):
        run = compare.simulate(
            str(network), ["collective", "--operation", operation], ranks=RANKS, message=1_600_000_000
        )
        rates = summary.formula_rates(load(run.dataset, 0)).median
        np.testing.assert_allclose(rates[0], 1 / BETA, rtol=0.005)
