"""The median's non-parametric interval."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crosscut.analysis.stats.intervals import interval_ranks, medians


def coverage(count: int, low: int, high: int) -> float:
    """Probability that the median lies between the order statistics `low` and `high` (ranks from 0)."""
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


def test_columns_with_different_numbers_of_samples_are_each_judged_by_their_own() -> None:
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
