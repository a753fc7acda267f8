"""Rates of phases and routes of runs with known figures."""

from __future__ import annotations

import numpy as np
import pytest
from made_runs import aapc_view, pingpong_view

from crosscut.analysis.figures import samples as samples_module
from crosscut.analysis.figures import summary
from crosscut.analysis.figures.pingpong import sweep
from crosscut.analysis.figures.summary import Routes
from crosscut.analysis.stats.intervals import Medians


def test_a_phase_is_as_fast_as_its_slowest_rank() -> None:
    samples = aapc_view(ranks=4, slow_route=(1, 3), seconds=0.01).samples(1)
    rates = summary.phase_rates(samples).median
    # median over repetitions of 0.01 s * (1 + 0.001 * 0 … 9): factor 1.0045
    assert rates == pytest.approx(np.array([1e8, 0.5e8, 1e8]) / 1.0045)


def test_the_pattern_formula_uses_the_credited_bytes() -> None:
    samples = aapc_view(ranks=4).samples(0)
    assert summary.formula_rates(samples).median == pytest.approx(2 * summary.phase_rates(samples).median)


def test_every_route_is_listed_once_with_the_slow_one_first() -> None:
    samples = aapc_view(ranks=5, slow_route=(4, 1)).samples(1)
    routes = summary.routes(samples)
    pairs = set(zip(routes.source.tolist(), routes.destination.tolist(), strict=True))
    assert pairs == {(a, b) for a in range(5) for b in range(5) if a != b}
    slowest = int(routes.slowest(1)[0])
    assert (routes.source[slowest], routes.destination[slowest]) == (4, 1)
    assert not routes.same_node.any()
    assert (routes.rates.count == 10).all()


def test_a_route_that_occurs_in_several_phases_pools_its_samples() -> None:
    view = aapc_view(ranks=3, repetitions=4)
    view.dataset["peer"][1] = view.dataset["peer"][0]
    routes = summary.routes(view.samples(0))
    assert len(routes.source) == 3
    assert (routes.rates.count == 8).all()


def test_cells_that_are_not_measured_do_not_count() -> None:
    view = aapc_view(ranks=4, repetitions=8)
    view.dataset["status"][1, 6:] = 0  # the last two repetitions are missing
    view.dataset["status"][1, :, 2] = 3  # and all of phase 3
    rates = summary.phase_rates(view.samples(1))
    assert rates.count.tolist() == [6, 6]
    assert [view.phase_name(view.samples(1), index) for index in (0, 1)] == ["phase 1", "phase 2"]
    assert view.measured_sizes() == [0, 1]


def test_the_busiest_direction_counts() -> None:
    """Three ranks send to one: the receiver's bytes are the phase's, not a sender's."""
    view = aapc_view(ranks=4, sizes=(1000,))
    peer = np.full((3, 4, 3), -1, np.int32)
    peer[:, 0] = [1, 2, 3]
    dataset = view.dataset.drop_vars(["peer", "message_seconds"]).assign(
        peer=(("phase", "rank", "slot"), peer),
        message_seconds=(view.dataset["message_seconds"].dims, np.full((1, 10, 3, 4, 3), 0.01)),
    )
    assert summary.moved_bytes(samples_module.load(dataset, 0)).tolist() == [3000.0] * 3


def test_summaries_stand_in_for_raw_samples_without_intervals() -> None:
    view = aapc_view(ranks=3)
    raw = view.dataset
    dims = ("size", "phase", "rank", "slot", "statistic")
    median = raw["message_seconds"].median("repetition").values
    dataset = raw.drop_vars(["message_seconds", "rank_seconds"]).assign(
        message_summary=(dims, np.repeat(median[..., None], 5, axis=-1)),
        rank_summary=(("size", "phase", "rank", "statistic"), np.repeat(median[..., 0, None], 5, axis=-1)),
    )
    found = samples_module.load(dataset, 1)
    assert found.summarised
    rates = summary.phase_rates(found)
    assert rates.median == pytest.approx(summary.phase_rates(view.samples(1)).median)
    assert np.isnan(rates.low).all()


def test_a_sweep_gives_latency_peak_and_half_rate_size() -> None:
    view = pingpong_view(sizes=(1, 1000, 10_000, 1_000_000))
    found = sweep([view.samples(index) for index in (3, 1, 0, 2)])
    assert found.size_bytes == [1, 1000, 10_000, 1_000_000]
    assert found.seconds.median[found.latency_index()] == pytest.approx(10.001e-6)
    assert found.peak_index() == 3
    assert found.half_rate_bytes() == 10_000  # 10 us + 1 ns a byte: half of 1 GB/s at 10 KB


@pytest.mark.parametrize("at_once", [1 << 20, 64])
@pytest.mark.parametrize("timed", [False, True])
def test_the_slowest_few_are_those_of_a_full_sort_ties_included(timed, at_once, monkeypatch):
    monkeypatch.setattr(summary, "_AT_ONCE", at_once)
    random = np.random.default_rng(4)
    values = random.integers(1, 6, 500).astype(float)
    values[::7] = np.nan
    none = np.full(len(values), np.nan)
    ends = np.arange(len(values), dtype=np.int32)
    rates = Medians(values, none, none, np.ones(len(values), np.int64))
    found = Routes(ends, ends, rates, ends < 0, timed)
    order = np.argsort(-values if timed else values, kind="stable")
    order = order[np.isfinite(values[order])]
    for count in (1, 3, 150, 428, 429, 600):
        assert found.slowest(count).tolist() == order[:count].tolist()


def test_a_phase_keeps_its_label_where_phases_before_it_were_not_measured() -> None:
    view = aapc_view(ranks=4, repetitions=8, attributes={"phase_labels": ["one", "two", "three"]})
    view.dataset["status"][1, :, 0] = 0
    samples = view.samples(1)
    assert view.labels(samples) == ["two", "three"]
    assert view.phase_name(samples, 0) == "phase 2 (two)"
    assert view.samples(0).phase.tolist() == [1, 2, 3]
