"""Ping-pong sweep of one or several overlaid runs (Snell, Mikler and Gustafson: NetPIPE, 1996)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from crosscut.analysis.figures.pingpong import Sweep
from crosscut.base import units
from crosscut.base.spelling import capital
from crosscut.reports.html.pictures.picture import Axis, Column, Picture, captions, laid_over, time_axis
from crosscut.reports.words import figures


def pictures(sweeps: Sequence[tuple[str, Sweep]], name: str, mode: str = "") -> list[Picture]:
    """Draws rate and time by message size. Empty if no size has a rate or no run has two sizes. `mode`: of
    the ping-pong, in all runs."""
    shown = [(label, found) for label, found in sweeps if np.isfinite(found.rates.median).any()]
    if not shown or max(len(found.size_bytes) for _, found in shown) < 2:
        return []
    columns = laid_over([(label, _columns(found)) for label, found in shown])
    fastest = max(float(np.nanmax(found.rates.median)) for _, found in shown)
    quickest = min(float(np.nanmin(found.seconds.median)) for _, found in shown)
    peaks = [
        (label, f"peak rate {figures.peak(found)}; half of it from {units.size(found.half_rate_bytes())} on.")
        for label, found in shown
    ]
    timed, shortest = figures.timed(mode), figures.shortest(mode)
    size_axis = Axis("message size, bytes", log=True)
    return [
        Picture(
            "sweep", f"{name}-rate", "Rate by message size",
            captions(peaks),
            columns, size_axis, Axis("rate", units.rate_unit(fastest)), {"value": "rate"},
        ),
        Picture(
            "sweep", f"{name}-time", f"{capital(timed)} by message size",
            captions([(label, f"{shortest} {figures.latency(found)}.") for label, found in shown]),
            columns, size_axis, time_axis(timed, quickest, log=True), {"value": "seconds"},
        ),
    ]  # fmt: skip


def _columns(found: Sweep) -> dict[str, Column]:
    return {
        "size_bytes": found.size_bytes,
        "seconds": found.seconds.median, "seconds_low": found.seconds.low, "seconds_high": found.seconds.high,
        "rate": found.rates.median, "rate_low": found.rates.low, "rate_high": found.rates.high,
    }  # fmt: skip
