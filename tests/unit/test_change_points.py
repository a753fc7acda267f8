"""Steps in series of noisy values: found, dated, and absent where nothing changed."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from crosscut.analysis.stats import change_points
from crosscut.analysis.stats.change_points import is_gradual, steps


def correlated(nights: int, series: int, rho: float, seed: int) -> np.ndarray:
    fresh = np.random.default_rng(seed).standard_normal((nights + 30, series))
    values = np.zeros_like(fresh)
    for at in range(1, len(values)):
        values[at] = rho * values[at - 1] + math.sqrt(1 - rho**2) * fresh[at]
    return values[30:]


def test_the_rank_sum_s_distribution_is_that_of_all_draws():
    for size in (1, 3, 4):
        sums = [sum(draw) - size * (size - 1) // 2 for draw in itertools.combinations(range(9), size)]
        tail = change_points._tail(9, size)
        assert tail == pytest.approx([np.mean(np.array(sums) <= most) for most in range(len(tail))])


@pytest.mark.parametrize("count", [101, 180, 364])
def test_the_normal_approximation_claims_no_smaller_probability_than_there_is(count, monkeypatch):
    monkeypatch.setattr(change_points, "_EXACT", 16)
    change_points._counts.cache_clear()
    change_points._tail.cache_clear()
    for size in range(13, 17):
        exact = 2 * change_points._tail(count, size)
        most = size * (count - size)
        below = np.arange(len(exact))
        deviations = (most / 2 - 0.5 - below) / math.sqrt(most * (count + 1) / 12)
        small = (exact < 1e-3) & (exact > 0)
        assert (change_points._two_sided(deviations[small]) >= 0.98 * exact[small]).all()
    change_points._counts.cache_clear()
    change_points._tail.cache_clear()


@pytest.mark.parametrize("rho", [0.0, 0.3, 0.5])
def test_healthy_series_with_correlated_noise_show_no_step(rho):
    assert not any(steps(0.01 * correlated(90, 200, rho, seed), level=0.01) for seed in range(3))


def test_a_step_is_dated_and_measured():
    values = 0.01 * correlated(60, 20, 0.3, 1)
    values[40:, 7] += math.log(0.92)
    (found,) = steps(values, level=0.01)
    assert (found.series, found.at) == (7, 40)
    assert found.earliest <= 40 <= found.latest
    assert math.exp(found.effect) == pytest.approx(0.92, abs=0.01)
    assert found.doubt < 0.01


def test_a_dip_that_has_passed_is_two_steps():
    values = 0.01 * correlated(200, 20, 0.3, 2)
    values[100:121, 3] += math.log(0.7)
    assert [(one.series, one.at, one.effect < 0) for one in steps(values, level=0.01)] == [
        (3, 100, True), (3, 121, False),
    ]  # fmt: skip


def test_single_bad_nights_and_nights_without_values_are_no_step():
    values = 0.01 * correlated(90, 50, 0.3, 3)
    values[50, :20] += math.log(0.2)
    values[70:75, 20:] = np.nan
    assert not steps(values, level=0.01)


def test_steps_of_series_with_gaps_are_dated_by_the_night():
    values = 0.01 * correlated(80, 20, 0.0, 4)
    values[50:, 5] -= 0.2
    values[10:20, 5] = np.nan
    (found,) = steps(values, level=0.01)
    assert (found.series, found.at) == (5, 50)


def test_equal_values_as_of_a_simulation_show_only_true_steps():
    values = np.full((40, 3), 20.0)
    values[20:, 1] -= 0.1
    assert [(one.series, one.at) for one in steps(values, level=0.01)] == [(1, 20)]


def test_few_values_and_no_series_give_nothing():
    assert not steps(np.zeros((3, 2)), level=0.01)
    assert not steps(np.zeros((30, 0)), level=0.01)
    assert not steps(np.full((30, 2), np.nan), level=0.01)


def test_a_slow_decline_is_gradual_and_a_step_is_not():
    noise = 0.005 * correlated(100, 1, 0.3, 5)[:, 0]
    assert is_gradual(noise - 0.002 * np.arange(100), [35, 70])
    assert not is_gradual(noise - 0.1 * (np.arange(100) >= 35), [35])
