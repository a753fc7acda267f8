"""The median's non-parametric interval."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crosscut.analysis.stats.intervals import interval_ranks, medians, stretch


def coverage(count: int, low: int, high: int) -> float:
    """Returns the probability that the median lies between order statistics `low` and `high` (from 0)."""
    return sum(math.comb(count, k) for k in range(low + 1, high + 1)) / 2**count


@given(st.integers(min_value=6, max_value=400))
def test_the_interval_covers_95_per_cent_and_no_narrower_symmetric_one_does(count: int) -> None:
    ranks = interval_ranks(count)
    assert ranks is not None
    low, high = ranks
    assert low == count - 1 - high
    assert coverage(count, low, high) >= 0.95
    assert coverage(count, low + 1, high - 1) < 0.95


# Le Boudec 2010, table A.1 (95 %), ranks from 1: n = 6: 1 and 6; n = 20: 6 and 15; n = 50: 18 and 33.
@pytest.mark.parametrize(("count", "expected"), [(6, (0, 5)), (20, (5, 14)), (50, (17, 32))])
def test_ranks_are_those_of_the_published_table(count: int, expected: tuple[int, int]) -> None:
    assert interval_ranks(count) == expected


def test_fewer_than_six_samples_have_no_interval() -> None:
    assert interval_ranks(5) is None
    found = medians(np.arange(5.0)[:, None])
    assert found.median[0] == 2
    assert np.isnan(found.low[0])
    assert np.isnan(found.high[0])


def test_the_approximation_continues_the_exact_ranks() -> None:
    exact, approximate = interval_ranks(1000), interval_ranks(1001)
    assert exact is not None
    assert approximate is not None
    assert abs(exact[0] - approximate[0]) <= 1
    assert coverage(1001, *approximate) >= 0.949


def test_columns_with_different_numbers_of_samples_each_have_their_own_interval() -> None:
    values = np.full((10, 3), np.nan)
    values[:, 0] = np.arange(10)
    values[:4, 1] = [4, 1, 3, 2]
    found = medians(values)
    assert found.count.tolist() == [10, 4, 0]
    assert found.median[:2].tolist() == [4.5, 2.5]
    assert (found.low[0], found.high[0]) == (1, 8)
    assert np.isnan(found.low[1])
    assert np.isnan(found.median[2])


@given(st.lists(st.floats(min_value=-1e6, max_value=1e6), min_size=1, max_size=50))
def test_the_median_is_numpys_and_lies_within_its_interval(values: list[float]) -> None:
    found = medians(np.array(values)[:, None])
    assert found.median[0] == pytest.approx(np.median(values))
    if len(values) >= 6:
        assert found.low[0] <= found.median[0] <= found.high[0]


@pytest.mark.parametrize("shape", [(), (1,), (5,), (2, 3), (2, 3, 4)])
@pytest.mark.parametrize("missing", [0.0, 0.3, 1.0])
def test_medians_of_any_shape_are_those_of_each_cell(shape: tuple[int, ...], missing: float) -> None:
    random = np.random.default_rng(1)
    values = random.random((9, *shape))
    values[random.random(values.shape) < missing] = np.nan
    found = medians(values)
    for cell in np.ndindex(shape):
        there = np.sort(values[(slice(None), *cell)])
        there = there[np.isfinite(there)]
        assert found.count[cell] == len(there)
        assert found.median[cell] == pytest.approx(np.median(there) if len(there) else np.nan, nan_ok=True)
        ranks = interval_ranks(len(there))
        bounds = (np.nan, np.nan) if ranks is None else (there[ranks[0]], there[ranks[1]])
        assert (found.low[cell], found.high[cell]) == pytest.approx(bounds, nan_ok=True)


WAVE = np.array([5, 6, 7, 7, 8, 9, 9, 8, 7, 6, 5, 4, 4, 3, 4, 5, 6, 7, 6, 5], float)[:, None]
DIGITS = np.array([3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2, 3, 8, 4], float)[:, None]


# core/tests/test_median_interval.cpp has the same numbers.
@pytest.mark.parametrize(
    ("samples", "expected"),
    [
        (WAVE, 3.9745),
        (np.arange(20.0)[:, None] * 7 % 20, 1),
        (np.ones((25, 1)), 1.1336),
        (DIGITS, 1.3083),
        (WAVE[:19], 1),
    ],
)
def test_autocorrelated_samples_widen_the_interval(samples: np.ndarray, expected: float) -> None:
    assert stretch(samples)[0] == pytest.approx(expected, abs=1e-3)


def test_very_correlated_samples_have_their_extremes_as_the_interval() -> None:
    found = medians(np.arange(20.0)[:, None])
    assert (found.low[0], found.median[0], found.high[0]) == (0, 9.5, 19)


def test_samples_without_an_order_are_taken_as_independent() -> None:
    found = medians(np.arange(20.0)[:, None], in_time_order=False)
    assert (found.low[0], found.high[0]) == (5, 14)


def test_missing_samples_do_not_change_the_order_of_the_others() -> None:
    samples = np.random.default_rng(2).random((60, 2))
    gaps = np.insert(samples, [3, 9, 9, 40], np.nan, axis=0)
    gaps[-1, 1] = np.nan  # one cell with fewer samples
    found, whole = medians(gaps), medians(samples)
    assert (found.low[0], found.high[0]) == (whole.low[0], whole.high[0])
    assert found.count.tolist() == [60, 59]


@pytest.mark.parametrize(("rho", "count"), [(0.0, 20), (0.3, 20), (0.5, 30), (0.5, 100)])
def test_the_interval_of_correlated_samples_has_its_nominal_coverage(rho: float, count: int) -> None:
    random = np.random.default_rng(1)
    samples = random.standard_normal((count, 2000))
    samples[1:] *= math.sqrt(1 - rho**2)
    for now in range(1, count):
        samples[now] += rho * samples[now - 1]
    found = medians(samples)
    assert ((found.low <= 0) & (found.high >= 0)).mean() > 0.94


@given(st.integers(1, 12), st.floats(0, 0.6), st.integers(0, 2**32 - 1))
def test_medians_and_bounds_are_order_statistics_of_what_is_there(count: int, lost: float, seed: int) -> None:
    random = np.random.default_rng(seed)
    values = random.integers(0, 9, (count, 5, 4)).astype(float)
    values[random.random(values.shape) < lost] = np.nan
    found = medians(values)
    for cell in np.ndindex(values.shape[1:]):
        there = np.sort(values[(slice(None), *cell)])
        there = there[np.isfinite(there)]
        assert found.count[cell] == len(there)
        ranks = interval_ranks(len(there))
        bounds = (np.nan, np.nan) if ranks is None else there[list(ranks)]
        middle = np.median(there) if len(there) else np.nan
        np.testing.assert_equal(
            [found.median[cell], found.low[cell], found.high[cell]], [middle, *bounds], str(there)
        )
