"""LogGP from sweeps of which the parameters are known."""

from __future__ import annotations

import numpy as np
import pytest

from crosscut.analysis.loggp import loggp

SIZES = [2**exponent for exponent in range(23)]
LATENCY, PER_BYTE = 45e-6, 1 / 117e6


def straight(noise: float = 0.0) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    times = LATENCY + (np.array(SIZES) - 1) * PER_BYTE
    return times * np.exp(noise * np.random.default_rng(1).standard_normal(len(SIZES)))


def test_a_sweep_made_of_known_parameters_gives_them_back():
    found = loggp(SIZES, straight())
    assert found is not None
    assert found.short_seconds == pytest.approx(LATENCY, rel=1e-9)
    assert found.seconds_per_byte == pytest.approx(PER_BYTE, rel=1e-9)
    assert found.line.adequate
    assert found.line.misfit_largest < 1e-6


def test_noise_of_two_percent_changes_the_parameters_by_no_more():
    found = loggp(SIZES, straight(0.02))
    assert found is not None
    assert found.short_seconds == pytest.approx(LATENCY, rel=0.06)
    assert found.seconds_per_byte == pytest.approx(PER_BYTE, rel=0.06)
    assert found.line.adequate


def test_a_protocol_that_changes_with_the_size_misfits_the_line_and_the_worst_size_is_named():
    times = straight()
    rendezvous = np.array(SIZES) >= 65536
    found = loggp(SIZES, np.where(rendezvous, times + 400e-6, times))
    assert found is not None
    assert not found.line.adequate
    assert 1024 <= found.line.misfit_bytes <= 262144
    assert found.seconds_per_byte == pytest.approx(PER_BYTE, rel=1e-6)


@pytest.mark.parametrize(
    ("sizes", "times"),
    [
        ([1, 2, 4], [1e-6, 1e-6, 1e-6]),
        ([0, 0, 0, 0], [1e-6] * 4),
        ([1, 2, 4, 8], [np.nan] * 4),
        ([1, 2, 4, 8], [4e-6, 3e-6, 2e-6, 1e-6]),
    ],
)
def test_of_what_tells_no_parameters_none_are_claimed(sizes, times):
    assert loggp(sizes, np.array(times)) is None
