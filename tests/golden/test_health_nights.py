"""Whom crosscut health drains in generated networks (benchmarks/truth/health.py): seeds looked at before."""

from __future__ import annotations

import pytest
from benchmarks.truth import health


@pytest.mark.parametrize(
    ("family", "seed"),
    [("any_crossbar", 80003), ("fat_tree", 80003), ("over_tcp", 80001)],
)
def test_a_host_that_became_slow_is_drained_and_no_other(family: str, seed: int) -> None:
    number = [one.__name__ for one in health.FAMILIES].index(family)
    found = health.nights((number, seed))
    assert (found.accused, found.drained, found.drained_in) == (0, 0, 2)
    assert found.judged > found.ranks
