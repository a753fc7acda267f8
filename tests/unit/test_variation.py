"""Spread and tail of repeated measurements."""

from __future__ import annotations

import numpy as np
import pytest

from crosscut.analysis.stats.variation import variation


def test_spread_is_the_interquartile_range_and_the_tail_the_longest_over_the_median() -> None:
    found = variation(np.arange(1.0, 10)[:, None])  # 1 to 9: quartiles 3 and 7, median 5
    assert found.spread[0] == pytest.approx(4 / 5)
    assert found.tail[0] == pytest.approx(9 / 5)


def test_with_a_hundred_repetitions_the_tail_is_the_99th_percentile() -> None:
    times = np.ones((200, 1))
    times[:3] = 50.0
    assert variation(times).tail[0] > 1
    times[1:3] = 1.0
    assert variation(times).tail[0] == pytest.approx(1.0)  # one in two hundred lies beyond


def test_too_few_repetitions_have_neither_spread_nor_tail() -> None:
    times = np.full((10, 3), np.nan)
    times[:, 0] = 1.0
    times[:5, 1] = 1.0
    found = variation(times)
    assert np.isfinite(found.spread).tolist() == [True, False, False]
    assert found.widest() == 0
    assert variation(np.zeros((0, 2))).widest() is None
