"""`--window auto`: finds the smallest window that fills a route, on one route, before the run."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from crosscut.analysis.figures import samples
from crosscut.base import units
from crosscut.base.errors import CrosscutError, Interrupted, UsageError
from crosscut.base.job import Job
from crosscut.run.run import Run
from crosscut.session.client import Session
from crosscut.session.measure import Decided

LEAST_GROWTH = 0.05
"""Doubling the window must raise the rate by this share to be worth it."""
WIDEST = 1024
_PATTERN = "message-rate"
# The first rank of one half sends windows to the first of the other, which answers each.
_ONE_ROUTE = {"senders": "1"}
_KEPT_OPTIONS = ("wait", "memory_bytes", "seed")


@dataclass(frozen=True)
class WindowSearch:
    window: int
    size_bytes: int
    rates: tuple[tuple[int, float], ...]
    """(window, bytes per second) in the order measured."""

    def as_json(self, ranks: int) -> dict[str, object]:
        return {
            "window": self.window,
            "size": self.size_bytes,
            "pattern": _PATTERN,
            "route": [0, ranks // 2],
            "least_growth": LEAST_GROWTH,
            "rates": [{"window": window, "bytes_per_second": rate} for window, rate in self.rates],
        }

    def told(self) -> str:
        """`window 4: one route carries 1.2 GB/s, with 8 messages of 1 MB in flight 1.21 GB/s`"""
        rates = dict(self.rates)
        wider, rate = self.rates[-1]
        more = f", with {wider} {units.rate(rate)}" if wider != self.window else ""
        held = units.count(self.window, "message")
        return (
            f"window {self.window}: with {held} of {units.size(self.size_bytes)} in flight one route carries "
            f"{units.rate(rates[self.window])}{more}"
        )


def refuse(job: Job, lossy: bool) -> None:
    """Raises UsageError if no window can be found for the job, before anything is started."""
    if not job.sizes or min(job.sizes) == 0:
        raise UsageError("--window auto needs a --size of 1 byte or more: the window depends on it")
    if lossy:
        raise UsageError(
            f"--window auto needs a backend that loses nothing, and {job.backend} may lose what a route does "
            "not carry; give a number"
        )


def search(rate_of: Callable[[int], float], size_bytes: int, widest: int = WIDEST) -> WindowSearch:
    """Doubles the window until the rate grows by less than LEAST_GROWTH."""
    rates = [(1, rate_of(1))]
    while (window := rates[-1][0]) < widest:
        rates.append((2 * window, rate_of(2 * window)))
        if not rates[-1][1] >= (1 + LEAST_GROWTH) * rates[-2][1]:
            return WindowSearch(window, size_bytes, tuple(rates))
    return WindowSearch(window, size_bytes, tuple(rates))


def found(job: Job, session: Session, decided: Decided, told: Callable[[str], None]) -> Job:
    """Measures one route with the job's smallest size; returns the job with the window, which it tells."""
    size_bytes = min(job.sizes)
    options = {name: job.options[name] for name in _KEPT_OPTIONS if name in job.options}
    alone = replace(
        job, pattern=_PATTERN, pattern_parameters=_ONE_ROUTE, sizes=(size_bytes,), phases=None, metadata={}
    )
    # Beside the run, where rank 0 can write whatever node it is on.
    with tempfile.TemporaryDirectory(prefix=".crosscut-window-", dir=job.out.parent) as folder:

        def rate_of(window: int) -> float:
            out = Path(folder) / f"{window}.zarr"
            session.run(replace(alone, out=out, options={**options, "window": window}))
            if session.interrupted:
                raise Interrupted("interrupted while finding the window; nothing was measured yet")
            taken = samples.load(Run.open(out).dataset, 0)
            seconds = float(np.nanmedian(taken.message_seconds))
            if not seconds > 0:
                raise CrosscutError(f"--window auto: messages over {job.backend} take no time; give a number")
            return size_bytes / seconds

        chosen = search(rate_of, size_bytes)
    told(chosen.told())
    recorded = {"window_search": chosen.as_json(decided.options.ranks)}
    return replace(
        job, options={**job.options, "window": chosen.window}, metadata={**job.metadata, **recorded}
    )
