"""A digest read in blocks of phases equals that of the whole arrays."""

import dataclasses

import numpy as np
import pytest
from made_runs import aapc_view

from crosscut.analysis.figures import digest as digests
from crosscut.analysis.figures import samples, summary
from crosscut.analysis.figures.digest import digest


@pytest.fixture(params=[1, 100, 1 << 20], ids=["a phase a block", "some phases a block", "one block"])
def block_samples(request, monkeypatch):
    monkeypatch.setattr(digests, "BLOCK_SAMPLES", request.param)


def by_route(routes, ranks):
    order = np.argsort(routes.source.astype(np.int64) * ranks + routes.destination)
    return {
        "source": routes.source[order], "destination": routes.destination[order],
        **{name: getattr(routes.rates, name)[order] for name in ("median", "low", "high", "count")},
        "same_node": routes.same_node[order],
    }  # fmt: skip


def noisy_view(ranks=9, repetitions=7):
    view = aapc_view(ranks=ranks, repetitions=repetitions)
    random = np.random.default_rng(1)
    noise = random.uniform(1, 2, view.dataset["message_seconds"].shape)
    view.dataset["message_seconds"] *= noise
    view.dataset["rank_seconds"] = view.dataset["message_seconds"].max("slot")
    return view


def test_rates_of_routes_and_phases_are_those_of_the_whole_arrays(block_samples):
    view = noisy_view()
    whole = view.samples(1)
    found = digest(view.dataset, 1)
    assert np.array_equal(found.rates.median, summary.phase_rates(whole).median)
    assert np.array_equal(found.rates.low, summary.phase_rates(whole).low)
    assert np.array_equal(found.formula.median, summary.formula_rates(whole).median)
    expected, had = by_route(summary.routes(whole), 9), by_route(found.routes, 9)
    for name, values in expected.items():
        assert np.array_equal(values, had[name]), name
    assert np.array_equal(summary.phase_seconds(found.phases), summary.phase_seconds(whole))


def test_a_route_of_several_phases_is_pooled_over_all_of_them(block_samples):
    view = noisy_view(ranks=5)
    twice = dataclasses.replace(view, dataset=view.dataset.isel(phase=[0, 1, 2, 3, 0, 1]))
    assert np.array_equal(
        digest(twice.dataset, 0).routes.rates.count, summary.routes(twice.samples(0)).rates.count
    )
    assert digest(twice.dataset, 0).routes.rates.count.max() == 14


def test_messages_of_a_phase_range_from_its_slowest_to_its_fastest(block_samples):
    view = aapc_view(ranks=4, slow_route=(0, 2), repetitions=5)
    slow, middle, fast = digest(view.dataset, 1).messages
    assert slow[1] == pytest.approx(fast[1] / 2)
    assert middle[1] == pytest.approx(fast[1])
    assert slow[0] == pytest.approx(fast[0])


def test_throughput_of_a_rank_is_its_bytes_over_its_time_in_all_phases(block_samples):
    view = aapc_view(ranks=4, repetitions=1, sizes=(1_000_000,), seconds=0.01)
    assert digest(view.dataset, 0).rank_rates.median == pytest.approx(np.full(4, 1e8))


def test_cells_that_were_not_measured_are_left_out(block_samples):
    view = aapc_view(ranks=4, repetitions=4)
    view.dataset["status"][1, :, 1] = 0
    view.dataset["status"][1, 2:, 0] = 0
    found = digest(view.dataset, 1)
    assert np.isnan(found.rates.median[1])
    assert found.rates.count.tolist() == [2, 0, 4]
    assert len(found.routes.source) == 8
    assert np.isnan(found.messages[:, 1]).all()
    # A repetition that lacks phases has no total time.
    assert found.rank_rates.count.tolist() == [2, 2, 2, 2]


def test_only_the_requested_size_is_read(monkeypatch):
    view = aapc_view(sizes=(10, 20, 30))
    asked = []
    load = samples.load
    monkeypatch.setattr(samples, "load", lambda dataset, index: asked.append(index) or load(dataset, index))
    assert digest(view.dataset, 1).size_bytes == 20
    assert set(asked) == {1}
