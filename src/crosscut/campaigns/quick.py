"""Checks against a stored run in half a minute: measures as much of it as fits, to see what is worse now."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from crosscut.analysis.compare.comparing import ComparisonSettings
from crosscut.analysis.figures import samples, summary
from crosscut.analysis.figures.samples import Samples
from crosscut.analysis.stats import permutation
from crosscut.analysis.stats.intervals import Floats, medians
from crosscut.base.errors import CrosscutError, Interrupted, UsageError
from crosscut.base.job import Job
from crosscut.run.run import Run
from crosscut.session.client import Session
from crosscut.session.measure import Decided

MOST_REPETITIONS = 20
# Unrecorded repetitions at the start of a job (core/src/conduct/job.hpp).
_WARM_UP = 1
# Share of the remaining time to spend on measuring; the rest is for connecting, writing and misjudged speed.
_SHARE_MEASURED = 0.75
# The like for a first look at the present pace: planned at the baseline's pace, and at most.
_SHARE_LOOKED, _MOST_LOOKED = 0.005, 0.33


@dataclass(frozen=True)
class Pace:
    """The baseline's durations at its largest size."""

    numbers: tuple[int, ...]
    """Its phases, in the pattern's numbering."""
    seconds: Floats
    """[phase] seconds for one repetition."""
    whole: bool
    """True if it has all phases of the pattern."""


@dataclass(frozen=True)
class QuickPlan:
    repetitions: int
    phases: int
    """Number of phases to measure, from the baseline's first."""


def fewest(baseline: Run, asked: ComparisonSettings) -> int:
    """The fewest repetitions that can show a change. Raises UsageError if the baseline has too few itself."""
    there = samples.load(baseline.dataset, _largest(baseline)).rank_seconds.shape[0]
    enough = [
        n for n in range(3, MOST_REPETITIONS + 1) if permutation.smallest_doubt(there, n) <= asked.error_rate
    ]
    if not enough:
        raise UsageError(
            f"the baseline has {there} repetitions, too few to tell a change from noise; measure it again "
            "with --repetitions 20"
        )
    return enough[0]


def refuse(baseline: Run, decided: Decided, asked: ComparisonSettings) -> None:
    """Raises UsageError for an unsuitable baseline, before anything is started."""
    if decided.options.ranks != baseline.ranks:
        raise UsageError(
            f"the baseline has {baseline.ranks} ranks, but this place starts {decided.options.ranks}; give "
            f"-n {baseline.ranks}"
        )
    fewest(baseline, asked)


def pace(baseline: Run) -> Pace:
    taken = samples.load(baseline.dataset, _largest(baseline))
    return Pace(
        tuple(taken.phase.tolist()), _of_phase(taken), whole=not _recorded_job(baseline).get("phases")
    )


def _recorded_job(baseline: Run) -> Mapping[str, Any]:
    job = baseline.attributes.get("job")
    return job if isinstance(job, Mapping) else {}


def plan(known: Pace, needed: int, slower: float, seconds: float) -> QuickPlan:
    """Plans the repetitions that fit, or fewer phases if too few fit. `slower`: time now over baseline."""
    budget = _SHARE_MEASURED * seconds
    spent = slower * np.nancumsum(known.seconds)
    if (needed + _WARM_UP) * spent[-1] <= budget:
        count = budget / max(float(spent[-1]), 1e-9) - _WARM_UP
        return QuickPlan(int(min(MOST_REPETITIONS, count)), len(spent))
    return QuickPlan(needed, int(((needed + _WARM_UP) * spent <= budget).sum()))


def measure(
    session: Session, baseline: Run, decided: Decided, folder: Path, end: float, asked: ComparisonSettings,
    metadata: Mapping[str, object],
) -> Run:  # fmt: skip
    """Measures the baseline's job at its largest size until `end` (monotonic). Raises CrosscutError."""
    known, needed = pace(baseline), fewest(baseline, asked)

    def measured(planned: QuickPlan, name: str, until: float) -> Run:
        job = _job(baseline, known, planned, folder / name, decided, until)
        session.run(replace(job, metadata=metadata))
        if session.interrupted:
            raise Interrupted("interrupted")
        return Run.open(job.out)

    slower = _look(known, measured, end)
    planned = plan(known, needed, slower, end - time.monotonic())
    if planned.phases == 0:
        raise CrosscutError(
            f"phases take {slower:.1f} times as long as in the baseline, so there is no time to measure even "
            f"one {needed} times; give a larger --time-limit"
        )
    run = measured(planned, "quick.zarr", end)
    done = int(run.dataset["repetitions_done"].values.min())
    if done < needed:
        raise CrosscutError(
            f"time was up after {done} of the {needed} repetitions needed to distinguish a change from "
            f"noise: phases take about {slower:.1f} times as long as in the baseline; "
            "give a larger --time-limit"
        )
    return run


def _look(known: Pace, measured: Callable[[QuickPlan, str, float], Run], end: float) -> float:
    """Returns the first phases' time now over the baseline's. Even one bad cable slows every phase."""
    left = end - time.monotonic()
    looked = max(1, int((np.nancumsum(known.seconds) <= _SHARE_LOOKED * left).sum()))
    run = measured(QuickPlan(1, looked), "first-look.zarr", time.monotonic() + _MOST_LOOKED * left)
    now = _of_phase(samples.load(run.dataset, 0))
    seen = np.isfinite(now) & np.isfinite(known.seconds[: len(now)])
    before = float(known.seconds[: len(now)][seen].sum())
    if before <= 0:
        raise CrosscutError("there was no time to measure even one phase; give a larger --time-limit")
    return max(0.1, float(now[seen].sum()) / before)


def _job(baseline: Run, known: Pace, planned: QuickPlan, out: Path, decided: Decided, end: float) -> Job:
    given = _recorded_job(baseline)
    parameters = given.get("pattern_parameters")
    named = parameters.items() if isinstance(parameters, Mapping) else ()
    everything = known.whole and planned.phases == len(known.numbers)
    return Job(
        pattern=str(given.get("pattern", "")),
        out=out,
        pattern_parameters={str(name): str(value) for name, value in named},
        backend=decided.options.backend,
        sizes=(max(baseline.sizes_bytes),),
        phases=None if everything else (known.numbers[0], known.numbers[planned.phases - 1]),
        options={
            "repetitions": planned.repetitions,
            "time_limit_seconds": max(end - time.monotonic(), 0.1),
            **{key: given[key] for key in ("sync", "seed", "wait", "window", "rails") if key in given},
        },
    )


def _largest(run: Run) -> int:
    return run.size_index(max(run.sizes_bytes))


def _of_phase(taken: Samples) -> Floats:
    """[phase] seconds for one repetition, with all its iterations."""
    found: Floats = medians(summary.phase_seconds(taken)).median * max(taken.iterations, 1)
    return found
