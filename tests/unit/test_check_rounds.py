"""`check --on` measures in rounds, each in a new session if starting one is cheap."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from changed_runs import aapc

from crosscut.analysis.compare.promises import Verdict
from crosscut.analysis.compare.spec import Promise, PromiseKind, Spec
from crosscut.base.job import Job
from crosscut.campaigns import check
from crosscut.session.client import Session
from crosscut.session.measure import Decided

DECIDED = cast(Decided, SimpleNamespace(options=SimpleNamespace(backend="tcp")))
SECONDS_A_JOB = 1.0


class Machine:
    """Sessions with a fake clock, and the jobs that each got."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, starting: float, stop_in: int = 0) -> None:
        self.sessions: list[list[Job]] = []
        self._now, self._starting, self._stop_in = 0.0, starting, stop_in
        self._jobs: dict[Path, Job] = {}
        monkeypatch.setattr(check.time, "monotonic", lambda: self._now)
        monkeypatch.setattr(check, "Run", SimpleNamespace(open=self._open))

    def _open(self, out: Path) -> Any:
        return aapc(len(self._jobs), ranks=4, repetitions=cast(int, self._jobs[out].options["repetitions"]))

    @contextmanager
    def launch(self) -> Iterator[Session]:
        self._now += self._starting
        jobs: list[Job] = []
        self.sessions.append(jobs)
        session = SimpleNamespace(interrupted=False)

        def run(job: Job) -> None:
            self._now += SECONDS_A_JOB
            self._jobs[job.out] = job
            jobs.append(job)
            session.interrupted = len(self.sessions) == self._stop_in

        session.run = run
        yield cast(Session, session)

    def measure(self, bound: float = 5e7) -> tuple[Verdict, bool]:
        promise = Promise(
            name="enough", kind=PromiseKind.ROUTE, pattern="aapc", size_bytes=1_000_000, bound=bound
        )
        spec = Spec(promises=(promise,), error_rate=0.01)
        how = check.CheckOptions(100.0, 200, 1, {})
        checked, interrupted = check.measure(self.launch, DECIDED, spec, Path(), how, lambda _: None)
        return checked.judged[0].verdict, interrupted


def test_a_verdict_needs_at_least_three_launches(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(monkeypatch, starting=2.0)
    assert machine.measure() == (Verdict.PASS, False)
    assert [len(jobs) for jobs in machine.sessions] == [1, 1, 1]
    counts = [job.options["repetitions"] for jobs in machine.sessions for job in jobs]
    assert counts == [3, 3, 3]  # nine agreeing repetitions decide at 1 %
    seeds = {job.options["order_seed"] for jobs in machine.sessions for job in jobs}
    assert len(seeds) == 3


def test_one_session_measures_all_if_starting_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(monkeypatch, starting=20.0)
    assert machine.measure() == (Verdict.PASS, False)
    assert [len(jobs) for jobs in machine.sessions] == [3]


def test_an_undecided_promise_is_measured_until_time_is_up(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(monkeypatch, starting=0.5)
    verdict, _ = machine.measure(bound=1e8)  # the median lies on the bound
    counts = [cast(int, job.options["repetitions"]) for jobs in machine.sessions for job in jobs]
    assert verdict is not Verdict.PASS
    assert counts[:5] == [3, 3, 3, 9, 18]
    assert sum(counts) <= 200


def test_a_signal_ends_the_rounds_and_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(monkeypatch, starting=0.5, stop_in=2)
    assert machine.measure() == (Verdict.UNDECIDED, True)
    assert len(machine.sessions) == 2
