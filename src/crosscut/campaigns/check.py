"""Measures with a session until every promise is decided, or time is up."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from crosscut.analysis.compare.promises import Checked, PromiseVerdict, Verdict, verdicts
from crosscut.analysis.compare.spec import Promise, Spec
from crosscut.analysis.stats import sequential
from crosscut.base.errors import UsageError
from crosscut.base.job import Job
from crosscut.run.run import Run
from crosscut.session.client import Session
from crosscut.session.measure import Decided

_MOST_A_ROUND = 64


@dataclass(frozen=True)
class CheckOptions:
    time_limit_seconds: float
    most_repetitions: int
    seed: int
    metadata: Mapping[str, object]


def measure(
    session: Session,
    decided: Decided,
    spec: Spec,
    folder: Path,
    how: CheckOptions,
    told: Callable[[Sequence[PromiseVerdict]], None],
) -> Checked:
    end = time.monotonic() + how.time_limit_seconds
    runs: list[Run] = []
    refused: dict[str, str] = {}
    done: dict[str, int] = {}
    checked = verdicts(spec, runs)
    while not session.interrupted and time.monotonic() < end:
        open_promises = [
            one.promise for one in checked.judged
            if one.verdict is Verdict.UNDECIDED and one.promise.name not in refused
            and done.get(one.promise.name, 0) < how.most_repetitions
        ]  # fmt: skip
        if not open_promises:
            break
        for promises in _jobs(open_promises):
            left = end - time.monotonic()
            if left <= 0 or session.interrupted:
                break
            before = max(done.get(promise.name, 0) for promise in promises)
            count = min(before or _first_round(promises, spec), _MOST_A_ROUND, how.most_repetitions - before)
            count = max(count, 1)
            out = folder / f"{len(runs):03}-{promises[0].pattern}.zarr"
            job = _job(promises, out, decided, how, count, left)
            done |= {promise.name: before + count for promise in promises}
            try:
                session.run(job)
            except UsageError as error:  # the others are judged all the same
                refused |= {promise.name: str(error) for promise in promises}
                continue
            runs.append(Run.open(job.out))
        checked = verdicts(spec, runs)
        told(checked.judged)
    if refused and not runs:
        raise UsageError(next(iter(refused.values())))
    return checked


def _first_round(promises: Sequence[Promise], spec: Spec) -> int:
    """So many that agree decide any of these."""
    needed = np.log(len(spec.promises) / spec.error_rate)
    counts = np.arange(1, 2000)
    share = max(max(promise.of_the_time, 0.5) for promise in promises)
    enough = np.nonzero(sequential.evidence(counts, np.zeros_like(counts), share) >= needed)[0]
    return int(counts[enough[0]]) if len(enough) else _MOST_A_ROUND


def _jobs(promises: Sequence[Promise]) -> list[list[Promise]]:
    """Those that one measurement answers, together."""
    found: dict[tuple[str, tuple[tuple[str, str], ...]], list[Promise]] = {}
    for promise in promises:
        found.setdefault((promise.pattern, tuple(sorted(promise.parameters.items()))), []).append(promise)
    return list(found.values())


def _job(
    promises: Sequence[Promise], out: Path, decided: Decided, how: CheckOptions, count: int, left: float
) -> Job:
    return Job(
        pattern=promises[0].pattern, out=out, pattern_parameters=promises[0].parameters,
        backend=decided.options.backend, sizes=tuple(sorted({promise.size_bytes for promise in promises})),
        options={"repetitions": count, "seed": how.seed, "time_limit_seconds": max(left, 0.1)},
        metadata=how.metadata,
    )  # fmt: skip
