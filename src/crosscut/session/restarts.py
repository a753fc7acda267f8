"""`--tolerate-failures` when a lost rank ends all others (MPI): restarts the job without the rank's node.

Samples so far are on disk; the new ranks measure the rest, as with `--resume`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol, runtime_checkable

from crosscut.base.errors import RanksLost, UsageError
from crosscut.base.job import Job
from crosscut.places.base import PlaceOptions
from crosscut.session.client import JobOutcome, Listener
from crosscut.session.measure import Decided

MOST_RESTARTS = 3


@runtime_checkable
class Restartable(Protocol):
    """A place whose session ends when it loses a rank, and which can leave nodes out."""

    def without(self, options: PlaceOptions, nodes: Sequence[str]) -> PlaceOptions: ...


# Measures a job once; the second value is True if a signal asked to stop.
Once = Callable[[Job, Decided], tuple[JobOutcome, bool]]


def measure(job: Job, decided: Decided, once: Once, listener: Listener) -> tuple[JobOutcome, bool]:
    """Measures in one session, or in several if ranks are lost and that is tolerated. The losses still count
    as failures of the outcome: a script must notice."""
    failures: list[str] = []
    while True:
        try:
            outcome, interrupted = once(job, decided)
        except RanksLost as error:
            failures.append(str(error).splitlines()[0].removesuffix(", saying:"))
            following = _following(job, decided, error, len(failures))
            if following is None:
                raise
            before, (job, decided) = decided, following
            left_out = before.options.launcher_arguments != decided.options.launcher_arguments
            how = f" without {', '.join(dict.fromkeys(error.nodes))}" if left_out else ""
            listener({"event": "warning", "message": f"{failures[-1]}; starting again{how}"})
            continue
        return replace(outcome, failures=(*failures, *outcome.failures)), interrupted


def _following(job: Job, decided: Decided, error: RanksLost, losses: int) -> tuple[Job, Decided] | None:
    """Returns the job and launch of a restart; None if a restart is not wanted or not possible."""
    wanted = job.options.get("tolerate_failures") and losses <= MOST_RESTARTS
    is_begun = (job.out / "zarr.json").is_file()
    if not wanted or not is_begun or not isinstance(decided.place, Restartable):
        return None
    try:
        options = decided.place.without(decided.options, error.nodes)
    except UsageError:
        return None
    changed = options.launcher_arguments != decided.options.launcher_arguments
    # `force`, because the nodes changed: the run records them by block.
    again = dict(job.options) | {"resume": True} | ({"force": True} if changed else {})
    return replace(job, options=again), replace(decided, options=options)
