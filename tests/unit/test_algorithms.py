"""Which algorithm of a collective operation is called the fastest, and over which sizes."""

from __future__ import annotations

import numpy as np
from made_runs import aapc_view

from crosscut.analysis.figures.algorithms import AlgorithmTimes
from crosscut.analysis.stats.intervals import Medians
from crosscut.reports.words import algorithms


def medians(*seconds: tuple[float, float]) -> Medians:
    """Each: a median and half the width of its interval; NaN: no interval."""
    middle, half = np.array(seconds).T
    return Medians(middle, middle - half, middle + half, np.full(len(seconds), 9))


def times(*sizes: tuple[int, Medians]) -> AlgorithmTimes:
    return AlgorithmTimes(
        tuple(size for size, _ in sizes), tuple(each for _, each in sizes), tuple(each for _, each in sizes)
    )


def test_the_least_median_is_the_fastest_and_those_that_overlap_it_are_too() -> None:
    found = times((1000, medians((5.0, 0.1), (4.0, 0.5), (4.2, 0.4))))
    assert found.fastest(0) == (1, 2)
    assert algorithms.rows(found, 0) == ("1 KB", "5.00 s", "4.0 s *", "4.20 s *")


def test_without_intervals_only_the_least_is_the_fastest() -> None:
    assert times((1, medians((5.0, np.nan), (4.0, np.nan), (4.0001, np.nan)))).fastest(0) == (1,)
    assert times((1, medians((np.nan, np.nan)))).fastest(0) == ()


def test_a_range_goes_on_while_one_algorithm_may_be_the_fastest() -> None:
    found = times(
        (1, medians((9.0, 0.1), (4.0, 0.1), (6.0, 0.1))),
        (10, medians((5.0, 0.5), (5.0, 0.5), (6.0, 0.1))),
        (100, medians((4.0, 0.1), (9.0, 0.1), (6.0, 0.1))),
        (1000, medians((4.0, 0.1), (9.0, 0.1), (6.0, 0.1))),
    )
    assert [(one.algorithms, one.first_bytes, one.last_bytes) for one in found.ranges()] == [
        ((1,), 1, 10),
        ((0,), 100, 1000),
    ]
    pattern = {"name": "collective", "parameters": {"operation": "all-reduce"}}
    view, names = aapc_view(attributes={"pattern": pattern}), ("ring", "doubling", "tree")
    (fastest, rate) = algorithms.sentences(found, view, names)
    assert fastest == "fastest all-reduce: doubling up to 10 B; ring from 100 B on"
    assert rate.startswith("bus bandwidth at 1 KB: 4.0")
