"""The quick check against a baseline: what fits into half a minute, even if the network has become slower."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
import pytest
from changed_runs import aapc

from crosscut.analysis.compare.comparing import ComparisonSettings
from crosscut.base.errors import CrosscutError, Interrupted, UsageError
from crosscut.campaigns import quick
from crosscut.reports.terminal import check as terminal_check
from crosscut.run.run import Run

ASKED = ComparisonSettings()
PACE = quick.Pace(tuple(range(1, 11)), np.full(10, 0.1), whole=True)  # a second per repetition


def test_phases_are_repeated_as_often_as_they_fit():
    assert quick.plan(PACE, 3, 1.0, 100.0) == quick.QuickPlan(20, 10)
    assert quick.plan(PACE, 3, 1.0, 12.0) == quick.QuickPlan(
        8, 10
    )  # nine of twelve seconds, one of them for warm-up


def test_slower_networks_get_fewer_phases_but_never_fewer_repetitions():
    planned = quick.plan(PACE, 3, 10.0, 30.0)
    assert planned == quick.QuickPlan(3, 5)
    assert quick.plan(PACE, 3, 1000.0, 30.0).phases == 0


def test_a_baseline_of_too_few_repetitions_is_refused_with_what_to_do():
    assert quick.fewest(aapc(1, repetitions=12), ASKED) <= 4
    with pytest.raises(UsageError, match="measure it again with --repetitions 20"):
        quick.fewest(aapc(1, repetitions=1), ASKED)


@dataclass
class Ranks:
    """Stands in for a session: answers a job with part of a run, and records the jobs."""

    run: Run
    interrupted: bool = False
    done: int | None = None

    def __post_init__(self):
        self.jobs = []
        self.answers = {}

    def run_job(self, job):
        self.jobs.append(job)
        first, last = job.phases or (1, 1 << 20)
        part = self.run.dataset.sel(phase=slice(first, last))
        part["repetitions_done"] = part["repetitions_done"] * 0 + (
            job.options["repetitions"] if self.done is None else self.done
        )
        self.answers[job.out] = Run(job.out, part)


@pytest.fixture
def measured(monkeypatch, tmp_path):
    def measure(baseline, ranks, seconds=30.0):
        monkeypatch.setattr(quick.Run, "open", lambda path: ranks.answers[path])
        session = SimpleNamespace(run=ranks.run_job, interrupted=ranks.interrupted)
        decided = SimpleNamespace(options=SimpleNamespace(backend="tcp", ranks=8))
        end = time.monotonic() + seconds
        return quick.measure(session, baseline, decided, tmp_path, end, ASKED, {})

    return measure


def test_a_network_that_became_slower_is_measured_in_fewer_phases(measured):
    baseline, slow = aapc(1, repetitions=12), Ranks(aapc(2, repetitions=12, factor=0.002))
    run = measured(baseline, slow)  # five seconds per phase instead of a hundredth
    assert [job.phases for job in slow.jobs] == [None, (1, 1)]
    assert slow.jobs[0].options["time_limit_seconds"] < 10
    assert run.dataset.sizes["phase"] == 1
    healthy = Ranks(aapc(3, repetitions=12))
    measured(baseline, healthy)
    assert [(job.phases, job.options["repetitions"]) for job in healthy.jobs] == [(None, 1), (None, 20)]
    assert all(0 < job.options["time_limit_seconds"] <= 30 for job in healthy.jobs)


def test_if_too_little_fits_the_error_says_how_slow_the_network_is(measured):
    baseline = aapc(1, repetitions=12)
    with pytest.raises(CrosscutError, match=r"\d{4,5}\.\d times as long as in the baseline.*--time-limit"):
        measured(baseline, Ranks(aapc(2, repetitions=12, factor=0.0001, noise=1e-3)))
    with pytest.raises(CrosscutError, match=r"time was up after 2 of the \d repetitions"):
        measured(baseline, Ranks(aapc(2, repetitions=12), done=2))


def test_an_interruption_ends_it(measured):
    with pytest.raises(Interrupted):
        measured(aapc(1, repetitions=12), Ranks(aapc(2), interrupted=True))


def test_phases_that_the_baseline_chose_are_kept(measured):
    baseline = aapc(1, repetitions=12, attributes={"job": {"pattern": "aapc", "phases": [3, 5]}})
    baseline = replace(baseline, dataset=baseline.dataset.sel(phase=slice(3, 5)))
    ranks = Ranks(aapc(2, repetitions=12))
    measured(baseline, ranks)
    assert [job.phases for job in ranks.jobs] == [(3, 5), (3, 5)]


def test_an_invalid_node_name_cannot_become_a_command():
    said = terminal_check._drain_command("n1; rm -rf /\x1b[2J", "sends at 50 % of the baseline")
    assert said == (
        "scontrol update nodename='n1; rm -rf /?[2J' state=drain "
        "reason='crosscut: sends at 50 % of the baseline'"
    )
