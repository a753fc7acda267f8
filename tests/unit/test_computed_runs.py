"""Runs that were computed without noise have no intervals, no noise and no advice about cables."""

import html
import re

import numpy as np
import pytest
import test_finding_sentences
from made_runs import aapc_view, pingpong_view

from crosscut.analysis.figures.digest import digest
from crosscut.analysis.figures.pingpong import sweep
from crosscut.analysis.findings import of_run
from crosscut.analysis.findings.kinds import FindingKind
from crosscut.analysis.findings.model import IN_ITS_FILE, Finding
from crosscut.reports.html.page import render

COMPUTED = {"backend": {"name": "sim", "parameters": {"share-spread": "0"}}}
NOISY = {"backend": {"name": "sim", "parameters": {"share-spread": "0.05"}}}


def slow_host(attributes):
    view = aapc_view(ranks=16, repetitions=10, attributes=attributes)
    view.dataset["message_seconds"][:, :, :, 5] /= 0.58  # and rank_seconds with it
    shape = view.dataset["message_seconds"].shape
    view.dataset["message_seconds"][:] *= np.exp(0.03 * np.random.default_rng(1).standard_normal(shape))
    return view


@pytest.mark.parametrize(("attributes", "bounded"), [(COMPUTED, False), (NOISY, True), ({}, True)])
def test_only_runs_with_noise_have_intervals(attributes, bounded):
    found = digest(aapc_view(attributes=attributes).dataset, 1)
    swept = sweep(pingpong_view().measured())
    for medians in (found.rates, found.formula, found.routes.rates, found.rank_rates):
        assert np.isfinite(medians.low).all() == bounded
        assert np.isfinite(medians.median).all()
    assert np.isfinite(swept.seconds.low).all()


def test_a_page_of_a_computed_run_shows_no_interval():
    shown = {}
    for name, attributes in (("computed", COMPUTED), ("noisy", NOISY)):
        text = html.unescape(re.sub(r"<script.*?</script>", "", render([slow_host(attributes)]), flags=re.S))
        shown[name] = bool(re.search(r"\[[0-9.]+ –", text.replace("\u2060", ""))), "95 % interval" in text
    assert shown == {"computed": (False, False), "noisy": (True, True)}


def test_a_fault_of_a_computed_network_is_looked_for_in_its_file():
    computed, noisy = (of_run.find(slow_host(attributes))[0] for attributes in (COMPUTED, NOISY))
    assert computed.kind is noisy.kind
    assert computed.advice == noisy.advice == IN_ITS_FILE
    (measured, *_) = of_run.find(slow_host({}))
    assert "cable" in measured.advice
    assert "58 % of the rate" in computed.what
    assert re.search(r"58 % \[\d+ – \d+ %\] of the rate", noisy.what)
    assert (computed.chance, noisy.chance) == ("", "p < 1 %")


def test_no_other_job_slows_a_host_of_a_computed_network():
    said = "n1 sends at 50 % of the rate of the other hosts; a shared link or another job may be the cause"
    one = Finding(FindingKind.SUSPECT, said, if_measured=" or another job")
    assert one.computed().what.endswith("; a shared link may be the cause")
    assert "if_measured" not in one.as_json()


@pytest.mark.parametrize(
    ("kind", "slower"), [(FindingKind.SLOW_HOST, {7: 0.5}), (FindingKind.SLOW_TRUNK, {49: 0.5})]
)
def test_a_search_of_a_computed_network_tells_of_no_repetitions_chance_or_other_traffic(kind, slower):
    tree = test_finding_sentences.tree()
    measured, computed = (
        [one for one in test_finding_sentences.located(tree, slower, exact=exact) if one.kind is kind]
        for exact in (False, True)
    )
    only_measured = re.compile("measured alone|other traffic")
    assert computed
    assert all(only_measured.search(one.what) and one.chance for one in measured)
    assert not any(only_measured.search(one.what + one.advice) or one.chance for one in computed)


def test_differences_of_a_computed_network_are_not_called_noise():
    found = {}
    for name, attributes in (("computed", COMPUTED), ("noisy", NOISY)):
        view = aapc_view(ranks=12, repetitions=10, attributes=attributes)
        apart = 1 + 0.02 * np.random.default_rng(5).standard_normal((11, 12))
        view.dataset["message_seconds"][:] *= apart[..., None]
        found[name] = of_run.find(view)[0].what
    assert "noise" in found["noisy"]
    assert "noise" not in found["computed"]
