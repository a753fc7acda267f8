"""Histograms."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crosscut.analysis.stats import binning


@given(st.lists(st.floats(min_value=1e-3, max_value=1e12), min_size=1, max_size=200))
def test_a_histogram_counts_every_value_once_in_at_most_the_given_bins(values: list[float]) -> None:
    histogram = binning.histogram(np.array(values), most_bins=12)
    assert histogram.counts.sum() + len(histogram.below) + len(histogram.above) == len(values)
    assert len(histogram.counts) <= 13
    inside = np.array(sorted(values))[len(histogram.below) : len(values) - len(histogram.above)]
    assert histogram.edges[0] <= inside.min() * (1 + 1e-12)
    assert histogram.edges[-1] >= inside.max() * (1 - 1e-12)


def test_a_few_outliers_leave_the_body_readable() -> None:
    body = np.linspace(95e6, 105e6, 100)
    histogram = binning.histogram(np.concatenate([body, [12e6, 850e6, 900e6]]))
    assert histogram.below.tolist() == [12e6]
    assert histogram.above.tolist() == [850e6, 900e6]
    assert len(histogram.counts) >= 6
    assert histogram.counts.max() <= 20


@pytest.mark.parametrize(
    "values",
    [
        np.concatenate([np.linspace(99e6, 101e6, 80), np.linspace(49e6, 51e6, 20)]),  # a second peak
        np.append(np.linspace(40e6, 100e6, 50), 130e6),  # far, but not beyond the plot
    ],
)
def test_values_that_are_not_outliers_are_drawn_to_scale(values: np.ndarray) -> None:
    histogram = binning.histogram(values)
    assert len(histogram.below) + len(histogram.above) == 0
    assert histogram.counts.sum() == len(values)


@pytest.mark.parametrize(
    ("span", "most", "step"), [(100, 4, 25), (99, 4, 25), (7, 4, 2), (10, 4, 2.5), (1, 1, 1)]
)
def test_steps_are_round_numbers(span: float, most: int, step: float) -> None:
    assert binning.nice_step(span, most) == pytest.approx(step)
