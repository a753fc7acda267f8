"""Measures a folder's missing or partial launches, each with a session of its own."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from crosscut.base.errors import CrosscutError
from crosscut.base.job import Job
from crosscut.base.spelling import as_typed
from crosscut.campaigns.campaign import state_of
from crosscut.run.launches import LaunchPlan, Manifest
from crosscut.session.client import JobOutcome

# Measures a job with a session of its own; returns (outcome, whether a signal asked to stop).
Once = Callable[[Job], tuple[JobOutcome, bool]]


def measure(
    manifest: Manifest, job: Job, once: Once, told: Callable[[str], None]
) -> Iterator[tuple[JobOutcome, bool]]:
    """Yields (outcome, whether a signal asked to stop) for each launch; ends after such a signal.

    `job` is the job of every launch. Its time limit is for all launches together: each gets an equal share of
    the time left.
    """
    limit = job.options.get("time_limit_seconds")
    end = time.monotonic() + limit if isinstance(limit, int | float) else None
    missing = [launch for launch in manifest.launches if state_of(manifest.out(launch)) != "complete"]
    for at, launch in enumerate(missing):
        number, count = manifest.launches.index(launch) + 1, len(manifest.launches)
        told(f"launch {number} of {count}")
        left = len(missing) - at
        share = {} if end is None else {"time_limit_seconds": max((end - time.monotonic()) / left, 0.1)}
        try:
            outcome, interrupted = once(_job_of(manifest, launch, job, share))
        except CrosscutError as error:
            if manifest.there:
                folder = as_typed(manifest.path)
                how = f"this was launch {number} of {count}; continue with: crosscut run --resume {folder}"
                error.args = (f"{error}\n{how}", *error.args[1:])
            raise
        yield outcome, interrupted
        if interrupted:
            return


def _job_of(manifest: Manifest, launch: LaunchPlan, job: Job, share: dict[str, float]) -> Job:
    out = manifest.out(launch)
    options = {name: value for name, value in job.options.items() if name not in ("resume", "force")}
    if state_of(out) is not None:
        options |= {"resume": True, "force": bool(job.options.get("force", False))}
    return replace(job, out=out, options=options | share | {"order_seed": launch.order_seed})
