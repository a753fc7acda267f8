"""The joint rate of routes, from the end times of each, against a fluid model with a known rate."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from numpy.typing import NDArray

from crosscut.reproduce import joint
from crosscut.run.format import MEASURED
from crosscut.run.run import Run

LINK = 11.0
MESSAGE = 1000.0
Floats = NDArray[np.float64]


def shares(weights: Floats, capacity: float) -> Floats:
    """Rates under one limit, in proportion to the weights, none above its own link."""
    rates = np.zeros_like(weights)
    open_ = np.ones(len(weights), dtype=bool)
    while open_.any():
        offered = capacity * weights[open_] / weights[open_].sum()
        if (offered <= LINK).all():
            rates[open_] = offered
            break
        full = np.flatnonzero(open_)[offered > LINK]
        rates[full], open_[full] = LINK, False
        capacity -= LINK * len(full)
        if capacity <= 0:
            break
    return rates


def ends(weights: Floats, capacity: float) -> Floats:
    """Returns the end times of equal messages that share the limit by these weights."""
    missing, now = np.full(len(weights), MESSAGE), 0.0
    found = np.zeros(len(weights))
    left = np.arange(len(weights))
    while len(left):
        rates = shares(weights[left], min(capacity, LINK * len(left)))
        step = (missing[left] / rates).min()
        now += step
        missing[left] -= step * rates
        found[left[missing[left] < 1e-9]] = now
        left = left[missing[left] >= 1e-9]
    return found


def together(done: Floats) -> float:
    return joint.least_mean_rate(done, np.full(len(done), MESSAGE), LINK)


@pytest.mark.parametrize("streams", [24, 32, 64])
@pytest.mark.parametrize("spread", [0.0, 0.1, 0.3])
def test_the_joint_rate_of_streams_that_share_a_limit_unevenly_is_the_limit(
    streams: int, spread: float
) -> None:
    weights = np.exp(np.random.default_rng(7).normal(0, spread, streams))
    capacity = 20 * LINK
    done = ends(weights, capacity)
    assert together(done) == pytest.approx(capacity, rel=0.02)
    assert together(done) <= capacity * (1 + 1e-9)
    if spread:
        own_pace = (MESSAGE / done).sum()
        slowest = MESSAGE * streams / done.max()
        assert slowest < together(done) < own_pace


def test_below_the_limit_streams_have_the_rates_of_their_links() -> None:
    assert together(np.full(8, MESSAGE / LINK)) == pytest.approx(8 * LINK)
    assert together(np.asarray([MESSAGE / LINK])) == pytest.approx(LINK)


def test_a_straggler_does_not_make_the_others_slow() -> None:
    done = np.full(10, MESSAGE / LINK)
    done[3] *= 3
    assert 9 * LINK <= together(done) <= 10 * LINK


@pytest.mark.parametrize("bad", [[], [1.0, float("nan")], [1.0, 0.0]])
def test_streams_that_were_not_measured_have_no_rate(bad: list[float]) -> None:
    assert np.isnan(joint.least_mean_rate(np.asarray(bad), np.full(len(bad), MESSAGE), LINK))


def run_of(seconds: Floats) -> Run:
    """[repetition, phase, rank] with one slot each; NaN: the rank receives nothing."""
    repetitions, phases, ranks = seconds.shape
    there = np.isfinite(seconds).any(axis=0)
    dataset = xr.Dataset(
        {
            "message_seconds": (("size", "repetition", "phase", "rank", "slot"), seconds[None, ..., None]),
            "status": (
                ("size", "repetition", "phase", "rank"),
                np.full((1, repetitions, phases, ranks), MEASURED),
            ),
            "peer": (("phase", "rank", "slot"), np.where(there, 0, -1)[..., None]),
        },
        coords={"size": [int(MESSAGE)]},
    )
    return Run(Path("none"), dataset)


def test_the_pace_is_that_of_the_fastest_route_of_all_runs() -> None:
    alone, crowd = run_of(np.full((1, 1, 1), MESSAGE / LINK)), run_of(np.full((3, 1, 4), 1000.0))
    assert joint.pace([crowd, alone]) == pytest.approx(LINK)


def test_separate_limits_are_added_up_however_long_each_is_busy() -> None:
    # Ranks 1 to 4 fill a limit of two links; rank 5 has its own link and ends in half the time.
    done = np.asarray([np.nan, *[2 * MESSAGE / LINK] * 4, MESSAGE / LINK])
    run = run_of(np.asarray([[done]]))
    (apart,) = joint.rates(run, 0, [(1, 4)], LINK)
    assert apart == pytest.approx(3 * LINK)
    (one,) = joint.rates(run, 0, [], LINK)
    assert one < 2.6 * LINK  # as for one limit that is always busy


def test_a_repetition_in_which_a_rank_failed_does_not_count() -> None:
    fine = np.full((1, 2), MESSAGE / LINK)
    failed = np.asarray([[MESSAGE / LINK, np.nan]])
    assert joint.rates(run_of(np.asarray([fine, failed])), 0, [], LINK) == pytest.approx([2 * LINK])
    both = run_of(np.asarray([fine, fine]))
    both.dataset["status"][:] = MEASURED + 1
    assert np.isnan(joint.rates(both, 0, [], LINK)).all()
