"""LogGP from sweeps with known parameters."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from made_runs import pingpong_view

from crosscut.analysis.figures.loggp import gap, loggp, parts
from crosscut.reports.words import loggp as loggp_words

SIZES = [2**exponent for exponent in range(23)]
LATENCY, PER_BYTE = 45e-6, 1 / 117e6


def straight(noise: float = 0.0) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    times = LATENCY + (np.array(SIZES) - 1) * PER_BYTE
    return times * np.exp(noise * np.random.default_rng(1).standard_normal(len(SIZES)))


def test_known_parameters_of_a_sweep_are_recovered():
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
def test_no_parameters_are_claimed_from_an_uninformative_sweep(sizes, times):
    assert loggp(sizes, np.array(times)) is None


@pytest.mark.parametrize("messages", [2, 16, 1000])
def test_the_gap_of_a_stream_excludes_its_ends(messages):
    gap_seconds, half = 3e-6, 20e-6
    stream = (2 * half + (messages - 1) * gap_seconds) / messages
    assert gap(stream, messages, half) == pytest.approx(gap_seconds)
    assert np.isnan(gap(half, 1, half))


def test_overhead_leaves_the_latency_and_shows_where_the_processor_limits():
    found = parts(short_seconds=20e-6, gap_seconds=9e-6, send_seconds=3e-6, receive_seconds=5e-6)
    assert found.latency_seconds == pytest.approx(12e-6)
    assert not found.gap_is_overhead
    assert parts(20e-6, 5e-6, 3e-6, 5e-6).gap_is_overhead
    assert np.isnan(parts(5e-6, 5e-6, 3e-6, 5e-6).latency_seconds)


def test_a_ping_pong_and_a_stream_together_give_parameters_that_neither_gives():
    bouncing = pingpong_view(sizes=(1, 1000, 100_000, 1_000_000))
    half = 10e-6 + 1e-9
    stream = pingpong_view(sizes=(1, 1000, 100_000, 1_000_000))
    # 16 messages 4 us apart, plus a round trip.
    stream.dataset["message_seconds"][0] = (2 * half + 15 * 4e-6) / 16
    pattern = {**stream.attributes["pattern"], "parameters": {"mode": "stream", "count": "16"}}
    effort = [{
        "size": 1, "processor_seconds": [0.002, 0.003], "elapsed_seconds": [0.1, 0.1],
        "sent_bytes": [1000, 0], "received_bytes": [0, 1000],
    }]  # fmt: skip
    given = {**stream.attributes, "pattern": pattern, "effort": effort, "wait": "block"}
    stream = dataclasses.replace(stream, dataset=stream.dataset.assign_attrs(given))
    found = loggp_words.together([bouncing, stream])
    assert found is not None
    assert found.gap_seconds == pytest.approx(4e-6)
    assert (found.send_seconds, found.receive_seconds) == pytest.approx((2e-6, 3e-6))
    assert found.latency_seconds == pytest.approx(half - 5e-6, rel=1e-3)
    assert loggp_words.sentence(found) == (
        "L 5.00 µs; o 2.00 µs to send and 3.00 µs to receive (processor time); g 4.00 µs"
    )
    polling = dataclasses.replace(stream, dataset=stream.dataset.assign_attrs(wait="poll"))
    told = loggp_words.together([bouncing, polling])
    assert told is not None
    assert "processor time of ranks that block" in loggp_words.sentence(told)
    assert loggp_words.together([bouncing, bouncing]) is None
