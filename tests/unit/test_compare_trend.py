"""Many runs: a trend, a step, or neither."""

from __future__ import annotations

import pytest
from changed_runs import aapc, halves

from crosscut.analysis.compare.comparing import ComparisonSettings
from crosscut.analysis.compare.trend import trends
from crosscut.analysis.figures.series import Family
from crosscut.base.errors import UsageError

ASKED = ComparisonSettings()


def runs(factors, seed=0, **more):
    return [
        aapc(
            100 * seed + day,
            factor=factor,
            repetitions=6,
            attributes={"start": f"2025-01-{day + 1:02}T00:00:00Z"},
            **more,
        )
        for day, factor in enumerate(factors)
    ]


def test_a_slow_decline_is_a_trend_with_its_slope():
    found, _ = trends(runs([1 - 0.02 * day for day in range(9)]), halves(), ASKED)
    overall = [t for t in found.series if t.subject.family is Family.CLASS]
    assert {t.told(ASKED) for t in overall} == {"trend"}
    assert all(-0.025 < t.per_day < -0.015 for t in overall)


def test_a_firmware_that_costs_a_tenth_is_a_step_at_its_run():
    found, _ = trends(runs([1] * 6 + [0.9] * 6), halves(), ASKED)
    overall = [t for t in found.series if t.subject.family is Family.CLASS]
    assert {t.told(ASKED) for t in overall} == {"step"}
    assert {t.step_at for t in overall} == {6}


def test_runs_are_put_in_the_order_of_their_dates():
    _, ordered = trends(runs([1, 1, 1])[::-1], halves(), ASKED)
    assert [run.attributes["start"][8:10] for run in ordered] == ["01", "02", "03"]


def test_an_error_rate_that_no_number_of_runs_reaches_is_refused():
    with pytest.raises(UsageError, match=r"--error-rate 0.040 %: .* at least 0.050 %"):
        trends(runs([1, 1, 1]), halves(), ComparisonSettings(error_rate=4e-4))


def test_steady_runs_have_neither():
    told = 0
    for seed in range(20):
        found, _ = trends(
            runs([1] * 7, seed, ranks=4, noise=0.2), halves(4), ComparisonSettings(error_rate=0.05)
        )
        told += any(t.told(ComparisonSettings(error_rate=0.05)) for t in found.series)
    assert told <= 5  # 5 % of 20 is 1; more than 5 has a probability of 0.03 %
