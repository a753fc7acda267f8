"""The sequential test keeps its error rate however often one looks."""

from __future__ import annotations

import math

import numpy as np
import pytest

from crosscut.analysis.stats import sequential


def evidence(met, missed, share=0.5):
    return float(sequential.evidence(np.array([met]), np.array([missed]), share)[0])


def test_looking_after_every_repetition_errs_no_more_often_than_promised():
    random = np.random.default_rng(7)
    met = random.random((4000, 300)) < 0.5  # the median lies just on the bound: the hardest case
    up = np.cumsum(met, axis=1)
    looks = np.arange(1, 301)
    highest = np.max(
        [sequential.evidence(up[:, n - 1], n - up[:, n - 1]) for n in looks], axis=0
    )  # fmt: skip
    assert (highest >= math.log(1 / 0.05)).mean() <= 0.05


def test_no_bet_gains_on_average():
    # E[stake after one more repetition] is the stake, exactly: a martingale.
    for share in (0.5, 0.9):
        now = math.exp(evidence(5, 2, share))
        then = share * math.exp(evidence(6, 2, share)) + (1 - share) * math.exp(evidence(5, 3, share))
        assert then == pytest.approx(now)


def test_ten_agreeing_repetitions_decide_at_one_per_cent_and_six_do_not():
    assert evidence(10, 0) > math.log(100)
    assert evidence(6, 0) < math.log(100)


def test_all_need_the_weakest_and_any_does_with_the_mean():
    logs = np.log([100.0, 1.0, 0.5])
    assert sequential.all_of(logs) == math.log(0.5)
    assert sequential.any_of(logs) == pytest.approx(math.log(101.5 / 3))


def needed(met, missed):
    return sequential.repetitions_needed(
        met + missed, lambda times: evidence(times * met, times * missed) >= math.log(100)
    )


@pytest.mark.parametrize(("met", "missed"), [(7, 1), (6, 2), (14, 4), (30, 10)])
def test_as_many_repetitions_decide_as_was_said_if_they_are_like_those_before(met, missed):
    count = met + missed
    enough = next(n for n in range(1, 1000) if evidence(met * n / count, missed * n / count) >= math.log(100))
    assert needed(met, missed) == pytest.approx(enough, rel=0.12)


def test_nothing_is_said_where_repetitions_lean_neither_way():
    assert needed(4, 4) is None
    assert needed(0, 0) is None
