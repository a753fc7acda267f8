"""The ping-pong sweep, several runs laid over each other (Snell, Mikler, Gustafson: NetPIPE, 1996)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from crosscut.analysis.figures.pingpong import Sweep
from crosscut.base import units
from crosscut.reports.html.pictures.picture import Axis, Column, Picture, repeated, time_axis
from crosscut.reports.words import figures


def pictures(sweeps: Sequence[tuple[str, Sweep]], name: str) -> list[Picture]:
    """Rate and time by message size; none where no size has a rate."""
    shown = [(label, found) for label, found in sweeps if np.isfinite(found.rates.median).any()]
    if not shown or max(len(found.size_bytes) for _, found in shown) < 2:
        return []
    parts = [(label, len(found.size_bytes)) for label, found in shown]
    columns: dict[str, Column] = {
        "run": repeated(parts),
        "size_bytes": [size for _, found in shown for size in found.size_bytes],
    }
    for key, which in (("seconds", "seconds"), ("rate", "rates")):
        for suffix, bound in (("", "median"), ("_low", "low"), ("_high", "high")):
            columns[key + suffix] = [
                value for _, found in shown for value in getattr(getattr(found, which), bound).tolist()
            ]
    fastest = max(float(np.nanmax(found.rates.median)) for _, found in shown)
    quickest = min(float(np.nanmin(found.seconds.median)) for _, found in shown)
    size_axis = Axis("message size, bytes", log=True)
    return [
        Picture(
            "sweep", f"{name}-rate", "Rate by message size",
            "\n".join(_peak(label, found, len(shown) > 1) for label, found in shown),
            columns, size_axis, Axis("rate", units.rate_unit(fastest)), {"value": "rate"},
        ),
        Picture(
            "sweep", f"{name}-time", "Half round trip by message size",
            "\n".join(_latency(label, found, len(shown) > 1) for label, found in shown),
            columns, size_axis, time_axis("half round trip", quickest, log=True), {"value": "seconds"},
        ),
    ]  # fmt: skip


def _peak(label: str, found: Sweep, named: bool) -> str:
    peak = found.peak_index()
    return (
        f"{label + ': peak' if named else 'Peak'} rate {figures.at(found.rates, peak).rate()} at "
        f"{units.size(found.size_bytes[peak])}; half of it from {units.size(found.half_rate_bytes())} on."
    )


def _latency(label: str, found: Sweep, named: bool) -> str:
    first = found.latency_index()
    return (
        f"{label + ': latency' if named else 'Latency'} {figures.at(found.seconds, first).seconds()} at "
        f"{units.size(found.size_bytes[first])}."
    )
