"""The figure in the middle of many, as `show`, `run` and the page print it."""

from __future__ import annotations

import math

import numpy as np

from crosscut.analysis.stats.intervals import Medians
from crosscut.reports.words import figures


def medians(*rows: tuple[float, float, float, int]) -> Medians:
    median, low, high, count = (np.array(column) for column in zip(*rows, strict=True))
    return Medians(median, low, high, count)


ABSENT = (math.nan, math.nan, math.nan, 0)


def test_an_odd_number_has_a_figure_in_the_middle_with_its_own_interval() -> None:
    found = figures.in_the_middle(
        medians((9.0, 8.0, 9.5, 20), ABSENT, (1.0, 0.5, 2.0, 20), (4.0, 3.0, 6.0, 12))
    )
    assert found == figures.Figure(4.0, 3.0, 6.0, 12)


def test_of_an_even_number_the_figures_beside_the_middle_are_averaged_with_their_bounds() -> None:
    rows = ((9.0, 8.0, 9.5, 20), (1.0, 0.5, 2.0, 20), (4.0, 3.0, 6.0, 12), (5.0, 4.0, 5.5, 20))
    found = figures.in_the_middle(medians(*rows))
    assert found == figures.Figure(4.5, 3.5, 5.75, 12)
    assert found.median == medians(*rows, ABSENT).middle == np.median([row[0] for row in rows])


def test_one_interval_alone_makes_no_interval_of_both() -> None:
    found = figures.in_the_middle(medians((4.0, math.nan, math.nan, 3), (6.0, 5.0, 7.0, 20)))
    assert found is not None
    assert (found.median, found.count) == (5.0, 3)
    assert math.isnan(found.low)
    assert math.isnan(found.high)
