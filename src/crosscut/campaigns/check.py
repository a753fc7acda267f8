"""Measures, one session after another, until every promise is decided or time is up."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from crosscut.analysis.compare.promises import Checked, PromiseVerdict, Verdict, verdicts
from crosscut.analysis.compare.spec import Promise, Spec
from crosscut.analysis.stats import sequential
from crosscut.base.errors import UsageError
from crosscut.base.job import Job
from crosscut.run import launches
from crosscut.run.run import Run
from crosscut.session.client import Session
from crosscut.session.measure import Decided

_MOST_A_ROUND = 64
# The fewest repetitions that can decide are spread over this many sessions, so that no single launch decides.
_FIRST_LAUNCHES = 3
# Starting another session may take at most this share of the time left.
_MOST_STARTING = 0.1


@dataclass(frozen=True)
class CheckOptions:
    time_limit_seconds: float
    most_repetitions: int
    seed: int
    metadata: Mapping[str, object]


def measure(
    launch: Callable[[], AbstractContextManager[Session]], decided: Decided, spec: Spec, folder: Path,
    how: CheckOptions, told: Callable[[Sequence[PromiseVerdict]], None],
) -> tuple[Checked, bool]:  # fmt: skip
    """Measures in rounds; returns (what was checked, whether a signal asked to stop).

    Each round has a new session as long as starting one takes little of the time left. The time limit starts
    when the first session is ready. Raises UsageError if every measurement was refused.
    """
    rounds = _Rounds(decided, spec, folder, how)
    interrupted = False
    while rounds.go_on() and not interrupted:
        begun = time.monotonic()
        with launch() as session:
            ready = time.monotonic()
            rounds.begin(ready)
            while rounds.go_on() and not interrupted:
                rounds.measure(session)
                interrupted = session.interrupted
                told(rounds.checked.judged)
                if ready - begun <= _MOST_STARTING * rounds.seconds_left():
                    break
    if rounds.refused and not rounds.runs:
        raise UsageError(next(iter(rounds.refused.values())))
    return rounds.checked, interrupted


class _Rounds:
    """The measurements so far, and the promises that are still undecided."""

    def __init__(self, decided: Decided, spec: Spec, folder: Path, how: CheckOptions) -> None:
        self._decided, self._spec, self._folder, self._how = decided, spec, folder, how
        self._end = math.inf
        self._done: dict[str, int] = {}
        """Number of repetitions for each promise, by name."""
        self._number = 0
        self.runs: list[Run] = []
        self.refused: dict[str, str] = {}
        self.checked = verdicts(spec, self.runs)

    def begin(self, now: float) -> None:
        """Starts the time limit, if it has not started yet."""
        self._end = min(self._end, now + self._how.time_limit_seconds)

    def seconds_left(self) -> float:
        return self._end - time.monotonic()

    def go_on(self) -> bool:
        return self.seconds_left() > 0 and bool(self._open())

    def _open(self) -> list[Promise]:
        return [
            one.promise for one in self.checked.judged
            if one.verdict is Verdict.UNDECIDED and one.promise.name not in self.refused
            and self._done.get(one.promise.name, 0) < self._how.most_repetitions
        ]  # fmt: skip

    def measure(self, session: Session) -> None:
        """Measures one round for the undecided promises."""
        self._number += 1
        for promises in _jobs(self._open()):
            if self.seconds_left() <= 0 or session.interrupted:
                break
            before = max(self._done.get(promise.name, 0) for promise in promises)
            count = self._count(promises, before)
            out = self._folder / f"{len(self.runs):03}-{promises[0].pattern}.zarr"
            order_seed = launches.order_seed(self._how.seed, self._number)
            job = _job(promises, out, self._decided, self._how, count, self.seconds_left(), order_seed)
            self._done |= {promise.name: before + count for promise in promises}
            try:
                session.run(job)
            except UsageError as error:  # the other promises are still judged
                self.refused |= {promise.name: str(error) for promise in promises}
                continue
            self.runs.append(Run.open(job.out))
        self.checked = verdicts(self._spec, self.runs)

    def _count(self, promises: Sequence[Promise], before: int) -> int:
        """Number of repetitions in the next round.

        The first rounds share the fewest that can decide. Each later round doubles the total, adding at most
        _MOST_A_ROUND.
        """
        first = math.ceil(_first_round(promises, self._spec) / _FIRST_LAUNCHES)
        count = first if before < first * _FIRST_LAUNCHES else before
        return max(min(count, _MOST_A_ROUND, self._how.most_repetitions - before), 1)


def _first_round(promises: Sequence[Promise], spec: Spec) -> int:
    """The smallest number of agreeing repetitions that decides any of these promises."""
    share = max(max(promise.of_the_time, 0.5) for promise in promises)
    return agreeing(len(spec.promises), spec.error_rate, share) or _MOST_A_ROUND


def agreeing(promises: int, error_rate: float, share: float) -> int:
    """The smallest number of repetitions that, if all agree, decides one of so many promises; 0: too many."""
    needed = np.log(promises / error_rate)
    counts = np.arange(1, 2000)
    enough = np.nonzero(sequential.evidence(counts, np.zeros_like(counts), share) >= needed)[0]
    return int(counts[enough[0]]) if len(enough) else 0


def _jobs(promises: Sequence[Promise]) -> list[list[Promise]]:
    """Groups promises that a single measurement can decide."""
    found: dict[tuple[str, tuple[tuple[str, str], ...]], list[Promise]] = {}
    for promise in promises:
        found.setdefault((promise.pattern, tuple(sorted(promise.parameters.items()))), []).append(promise)
    return list(found.values())


def _job(
    promises: Sequence[Promise],
    out: Path,
    decided: Decided,
    how: CheckOptions,
    count: int,
    left: float,
    order_seed: int,
) -> Job:
    return Job(
        pattern=promises[0].pattern, out=out, pattern_parameters=promises[0].parameters,
        backend=decided.options.backend, sizes=tuple(sorted({promise.size_bytes for promise in promises})),
        options={"repetitions": count, "seed": how.seed, "order_seed": order_seed,
                 "time_limit_seconds": max(left, 0.1)},
        metadata=how.metadata,
    )  # fmt: skip
