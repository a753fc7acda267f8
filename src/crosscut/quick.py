"""Half a minute against a stored run: as much of it again as fits, and what became worse."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from crosscut.analysis import permutation, samples, summary
from crosscut.analysis.comparing import Asked, Change, Comparison
from crosscut.analysis.series import Family
from crosscut.errors import UsageError
from crosscut.job import Job
from crosscut.measure import Decided
from crosscut.run import Run

MOST_REPETITIONS = 20
# Of the time: the rest goes to starting ranks, connecting and warming up.
_SHARE_MEASURED = 0.6


def plan(
    baseline: Run, out: Path, decided: Decided, seconds: float, asked: Asked, metadata: Mapping[str, object]
) -> Job:
    """The baseline's job at its largest size, with as many repetitions as fit; where too few do, fewer
    phases."""
    if decided.options.ranks != baseline.ranks:
        raise UsageError(
            f"the baseline has {baseline.ranks} ranks, and this place starts {decided.options.ranks}: give "
            f"-n {baseline.ranks}"
        )
    job = baseline.attributes.get("job")
    given = job if isinstance(job, dict) else {}
    size = max(baseline.sizes_bytes)
    taken = samples.load(baseline.dataset, baseline.size_index(size))
    of_phase = np.nanmedian(summary.phase_seconds(taken), axis=0) * max(taken.iterations, 1)
    needed = _fewest(taken.rank_seconds.shape[0], asked)
    a_repetition = float(np.nansum(of_phase))
    repetitions = int(min(MOST_REPETITIONS, max(needed, _SHARE_MEASURED * seconds / max(a_repetition, 1e-9))))
    phases = None
    if needed * a_repetition > _SHARE_MEASURED * seconds:
        spent = needed * np.nancumsum(of_phase)
        phases = (1, max(1, int((spent <= _SHARE_MEASURED * seconds).sum())))
    options: dict[str, object] = {"repetitions": repetitions}
    for key in ("sync", "seed", "wait"):
        if key in given:
            options[key] = given[key]
    parameters = given.get("pattern_parameters")
    return Job(
        pattern=str(given.get("pattern", "")),
        out=out,
        pattern_parameters={str(k): str(v) for k, v in parameters.items()}
        if isinstance(parameters, dict)
        else {},
        backend=decided.options.backend,
        sizes=(size,),
        phases=phases,
        options=options,
        metadata=metadata,
    )


def _fewest(there: int, asked: Asked) -> int:
    enough = [
        n for n in range(3, MOST_REPETITIONS + 1) if permutation.smallest_doubt(there, n) <= asked.error_rate
    ]
    if not enough:
        raise UsageError(
            f"the baseline has {there} repetitions: too few to tell a change from noise; measure it again "
            "with --repetitions 20"
        )
    return enough[0]


def drain(found: Comparison, baseline: Run) -> list[tuple[str, str]]:
    """Nodes that became worse themselves, with the reason."""
    worst: dict[str, Change] = {}
    for change in found.changes:
        if change.worse and change.subject.family in (Family.OUT, Family.IN) and change.explained_by is None:
            name = baseline.node_names[change.subject.ranks[0]]
            if name not in worst or change.shift.middle < worst[name].shift.middle:
                worst[name] = change
    return [
        (
            name,
            f"{'sends' if c.subject.family is Family.OUT else 'receives'} at "
            f"{100 * math.exp(c.shift.middle):.0f} % "
            f"of the baseline",
        )
        for name, c in sorted(worst.items(), key=lambda item: item[1].shift.middle)
    ]
