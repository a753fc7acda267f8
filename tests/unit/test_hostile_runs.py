"""For any run, analysis gives figures, a sentence or nothing, but never a traceback or a warning (which the
tests turn into errors)."""

from __future__ import annotations

import io
import json
import math

import numpy as np
import pytest
from hostile_runs import hostile
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from rich.console import Console

from crosscut.analysis.figures import cautions, digest, hops, loggp, pingpong, samples, slowdown, summary
from crosscut.analysis.findings import changes, dips, explain, of_run, stability
from crosscut.analysis.findings import model as findings
from crosscut.analysis.findings.changes import deviations
from crosscut.analysis.stats import binning, doubt, intervals, variation
from crosscut.analysis.structure import network_file, observed
from crosscut.reports.terminal import run as terminal
from crosscut.reports.terminal.glyphs import UNICODE
from crosscut.reports.terminal.screen import Screen
from crosscut.reports.view import View
from crosscut.reports.words import sentences
from crosscut.run.run import Run

# Without shrinking, which takes longer than reading the example.
ANY = settings(
    max_examples=40, deadline=None, database=None, derandomize=True, phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow],
)  # fmt: skip


def each_size(run: Run) -> list[samples.Samples]:
    return [samples.load(run.dataset, index) for index in range(len(run.sizes_bytes))]


@ANY
@given(hostile())
def test_medians_rates_and_histograms_of_any_run(run: Run) -> None:
    for one in each_size(run):
        rates = summary.phase_rates(one)
        summary.formula_rates(one)
        summary.rank_rates(one)
        routes = summary.routes(one)
        assert len(routes.slowest(3)) <= 3
        binning.histogram(routes.rates.median)
        binning.histogram(rates.median)
        for timed in (True, False):
            assert np.isfinite(summary.routes(one, timed=timed).rates.count).all()
        variation.variation(summary.phase_seconds(one))
    for index in range(len(run.sizes_bytes)):
        found = digest.digest(run.dataset, index)
        assert len(found.rates.median) == run.dataset.sizes["phase"]


@ANY
@given(hostile(pattern="aapc"))
def test_findings_and_structure_of_any_run_are_sentences_and_json(run: Run) -> None:
    found, structure = of_run.look(run)
    assert all(one.what.strip() and "nan" not in one.what for one in found)
    json.dumps(findings.as_json(found, structure), allow_nan=False)
    if structure is not None:
        assert not structure.contradiction()
        text = network_file.text(structure, "a test")
        assert "nan" not in text
        assert "inf " not in text
        taken = of_run.chosen(run, None)
        assert taken is not None
        for one in explain.by_structure(observed.of_samples(taken), structure):
            assert one.most_flows >= 2


@ANY
@given(hostile())
def test_stability_of_any_run(run: Run) -> None:
    for one in each_size(run):
        told = stability.findings(one, lambda rank: f"n{rank}")
        assert all(0 < finding.false_alarm <= 1 for finding in told)
        if (found := deviations(one)) is not None:
            stability.unstable(one, found, str)
            stability.drift(found)
            changes.findings(found, one.ranks, str)
            dips.findings(one, found, str)


@ANY
@given(hostile())
def test_cautions_sweeps_and_slowdowns_of_any_run(run: Run) -> None:
    shown = each_size(run)
    cautions.of_samples(shown)
    cautions.of_intervals(shown)
    for step in (math.nan, 0.0, 1e-9, 1.0):
        cautions.of_clock(shown, step)
    found = pingpong.sweep(shown)
    model = loggp.loggp(found.size_bytes, found.seconds.median)
    assert model is None or model.short_seconds > 0
    labels = [f"phase {number}" for number in range(run.dataset.sizes["phase"])]
    for one in shown:
        slowdown.slowdowns(slowdown.conditions(one, labels))
        slowdown.early_ends(one, labels)


@ANY
@given(hostile(), st.integers(0, 2**32 - 1))
def test_latency_by_hops_of_any_run_and_any_ways(run: Run, seed: int) -> None:
    nodes = int(run.node_indices.max()) + 1
    random = np.random.default_rng(seed)
    lengths = hops.Lengths(*(random.integers(-1, 4, (nodes, nodes)) for _ in range(2)))
    for one in each_size(run):
        found = hops.by_hops(summary.routes(one, timed=True), run.node_indices, lengths, one.size_bytes)
        assert found is None or math.isfinite(found.ends.seconds)


@ANY
@given(hostile())
def test_any_run_can_be_shown(run: Run) -> None:
    view = View.of(run)
    stream = io.StringIO()
    terminal.render(Screen(Console(file=stream, width=90, color_system=None), UNICODE), view)
    assert stream.getvalue().strip()
    assert sentences.figures_of(view)


@ANY
@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), max_size=40), st.floats(0, 1e3))
def test_doubts_of_any_values_are_probabilities(values: list[float], noise: float) -> None:
    found = doubt.outliers_below(np.array(values), noise)
    assert ((found[np.isfinite(found)] >= 0) & (found[np.isfinite(found)] <= 1)).all()


@ANY
@given(
    st.lists(st.integers(0, 2**40), max_size=12),
    st.lists(st.floats(allow_nan=True, allow_infinity=True), min_size=12, max_size=12),
)
def test_loggp_of_any_sweep_is_a_model_or_none(sizes: list[int], seconds: list[float]) -> None:
    found = loggp.loggp(sizes, np.array(seconds[: len(sizes)]))
    assert found is None or (found.seconds_per_byte > 0 and math.isfinite(found.line.misfit_largest))


@ANY
@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), max_size=60))
def test_regular_dips_of_any_series(values: list[float]) -> None:
    at = np.cumsum(np.ones(len(values)))
    assert dips.regular(at, np.array(values)) is None or len(values) >= 24
    assert dips.regular(np.zeros(len(values)), np.array(values)) is None


@pytest.mark.parametrize("shape", [(0, 1), (0, 0), (3, 0), (1, 1)])
def test_an_empty_series_has_no_median_and_no_change(shape: tuple[int, int]) -> None:
    assert intervals.medians(np.full(shape, np.nan)).count.sum() == 0
    assert changes.changes(np.full(shape, np.nan)) == []
    assert variation.variation(np.full(shape, np.nan)).widest() is None
