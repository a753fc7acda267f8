"""Steps, trends and dips in time are found where they were planted, and nowhere else."""

from __future__ import annotations

import re

import numpy as np
import pytest
from timed_samples import all_to_all

from crosscut.analysis.figures.samples import Samples
from crosscut.analysis.findings import changes, dips, stability
from crosscut.analysis.findings.changes import deviations
from crosscut.analysis.findings.kinds import FindingKind
from crosscut.analysis.findings.model import Direction, Finding
from crosscut.analysis.stats.doubt import FALSE_ALARMS


def told(samples: Samples) -> list[Finding]:
    return stability.findings(samples, lambda rank: f"n{rank}")


def test_a_host_that_sends_at_half_rate_from_a_repetition_on_is_found_with_that_repetition() -> None:
    (one,) = told(all_to_all(1, slower=lambda r, s, d: np.where((s == 5) & (r >= 12), 2.0, 1.0)))
    assert (one.kind, one.ranks, one.direction) == (FindingKind.STEP, (5,), Direction.OUT)
    assert "it sends at 50 % of the earlier rate from repetition 13 of 20 on" in one.what
    assert one.false_alarm <= FALSE_ALARMS


def test_a_host_that_recovers_during_the_measurement_is_found_as_well() -> None:
    (one,) = told(all_to_all(2, slower=lambda r, s, d: np.where((d == 3) & (r < 6), 1.5, 1.0)))
    assert (one.kind, one.ranks, one.direction) == (FindingKind.STEP, (3,), Direction.IN)
    assert re.search("at 1(4[5-9]|5[0-5]) % of the earlier rate from repetition 7 of 20 on", one.what)


def test_a_host_that_slows_down_gradually_drifts() -> None:
    (one,) = told(all_to_all(3, slower=lambda r, s, d: np.where(s == 2, 1 + 0.02 * r, 1.0)))
    assert (one.kind, one.ranks) == (FindingKind.DRIFT, (2,))


def test_everything_that_slows_down_at_once_is_one_finding() -> None:
    (one,) = told(all_to_all(4, slower=lambda r, s, d: np.where(r >= 8, 1.25, 1.0)))
    assert (one.kind, one.ranks) == (FindingKind.STEP, ())
    assert "all messages change at once: at 80 % of the earlier rate from repetition 9 of 20 on" in one.what


def test_a_route_that_changes_while_its_hosts_do_not_is_found() -> None:
    (one,) = told(all_to_all(5, slower=lambda r, s, d: np.where((s == 1) & (d == 6) & (r >= 10), 3.0, 1.0)))
    assert (one.kind, one.routes) == (FindingKind.STEP, ((1, 6),))


def test_steps_of_very_few_repetitions_are_not_reported() -> None:
    few = all_to_all(6, repetitions=8, slower=lambda r, s, d: np.where((s == 5) & (r >= 4), 2.0, 1.0))
    found = deviations(few)
    assert found is not None
    assert changes.findings(found, few.ranks, str) == []


@pytest.mark.parametrize("stalls", [0.0, 0.02])
def test_steady_networks_raise_no_alarm(stalls: float) -> None:
    alarms = [one for seed in range(60) for one in told(all_to_all(100 + seed, noise=0.05, stalls=stalls))]
    assert len(alarms) <= 1  # each kind may have one in a hundred


def test_periodic_dips_are_found_with_their_period() -> None:
    """Every 0.7 s the rate halves for 30 ms; each repetition takes about 70 ms."""
    found = told(all_to_all(7, repetitions=120, at=lambda t: np.where(t % 0.7 < 0.03, 2.0, 1.0)))
    (one,) = [one for one in found if one.kind is FindingKind.PERIODIC]
    assert one.ranks == ()
    assert "all messages dip every 700 ms, to 50 %" in one.what or "every 0.70 s" in one.what


def test_a_host_with_its_own_periodic_dips_is_named() -> None:
    made = all_to_all(8, repetitions=100)
    began = dips.moments(made)
    slow = (began % 0.5) < 0.025
    seconds = made.message_seconds.copy()
    seconds[..., 4, 0] = np.where(slow, 2.0, 1.0) * seconds[..., 4, 0]
    found = deviations(Samples(**{**made.__dict__, "message_seconds": seconds}))
    assert found is not None
    (one,) = dips.findings(made, found, lambda rank: f"n{rank}")
    assert one.ranks == (4,)
    assert one.false_alarm <= FALSE_ALARMS


def test_dips_at_random_times_are_not_periodic() -> None:
    """Nor are bursts, in which a dip makes the next one likelier."""
    alarms = 0
    for seed in range(16):
        random = np.random.default_rng(seed)
        at = np.cumsum(0.01 * (1 + 0.1 * random.random(800)))
        state, values = False, np.zeros(800)
        for place in range(800):
            state = random.random() < (0.6 if state else 0.02)
            values[place] = -0.5 if state else 0.01 * random.standard_normal()
        found = dips.regular(at, values)
        alarms += found is not None and found.doubt < FALSE_ALARMS
    assert alarms <= 1


def test_dips_that_recur_with_some_phases_are_no_periodic_dips() -> None:
    """In three of the phases of each repetition, a host is slow in two of three repetitions."""
    told = seeming = 0
    for seed in range(20):
        random = np.random.default_rng(seed)
        at, phase = np.arange(300) * 0.1, np.tile(np.arange(15), 20)
        slow = (phase < 3) & (random.random(300) < 0.67)
        values = np.where(slow, -0.12, 0.0) + 0.01 * random.standard_normal(300)
        told += dips.regular(at, values, phase) is not None
        seeming += dips.regular(at, values) is not None
    assert (told, seeming) == (0, 20)


@pytest.mark.parametrize("period", [0.11, 0.37, 1.0])
def test_the_period_is_not_a_multiple_of_that_of_the_dips(period: float) -> None:
    random = np.random.default_rng(1)
    at = np.cumsum(0.01 * (1 + 0.3 * random.random(1500)))
    values = 0.02 * random.standard_normal(1500) - 0.4 * (at % period < 0.02)
    found = dips.regular(at, values)
    assert found is not None
    assert found.doubt < FALSE_ALARMS
    assert found.period_seconds == pytest.approx(period, rel=0.02)


def test_a_period_too_long_to_be_found_is_not_reported_as_half_of_it() -> None:
    random = np.random.default_rng(1)
    at = np.cumsum(0.01 * (1 + 0.1 * random.random(420)))
    values = 0.02 * random.standard_normal(420) - 0.4 * (at % 1.0 < 0.05)
    assert dips.regular(at, values) is None


@pytest.mark.parametrize("moments", [24, 25, 26, 27, 30, 37, 48, 61, 100, 1537, 3001])
def test_any_number_of_moments_can_be_asked(moments: int) -> None:
    random = np.random.default_rng(moments)
    at = np.cumsum(0.01 * (1 + 0.5 * random.random(moments)))
    values = 0.01 * random.standard_normal(moments)
    values[:: max(3, moments // 12)] -= 0.5
    found = dips.regular(at, values)
    assert found is None or 0 < found.period_seconds <= (at[-1] - at[0]) / dips.FEWEST_PERIODS
