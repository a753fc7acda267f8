"""The quantities that papers print, as pure functions of a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from crosscut.run.format import MEASURED
from crosscut.run.run import Run

Values = NDArray[np.float64]
Figures = Callable[[Run, int], Values]
"""[phase] or a single value, in bytes per second or seconds."""


class Scaling(Enum):
    """How a figure depends on the lab's dilation, and on messages shorter than the paper's."""

    RATE = "rate"
    """Divided by the dilation; practically independent of the message's length, if it is long."""
    TRANSFER = "transfer"
    """Time of long messages: multiplied by the dilation, and proportional to the message."""
    LATENCY = "latency"
    """Time spent in hosts and switches: depends on neither."""
    SHARE = "share"
    """A ratio of rates."""
    COUNT = "count"
    """A number of routes, independent of all rates."""


@dataclass(frozen=True)
class Quantity:
    kind: Scaling
    each_phase: bool
    """True: one figure for each phase; false: one for the whole run."""
    of: Figures
    help: str
    of_few_phases: bool = False
    """True for a figure of a run that one or two of its phases decide."""
    step: str = ""
    """The step that derives the figure, if a single run cannot: `walk` (running.py), `computing`
    (computing.py), `workload` (applying.py), or `joint` (joint.py), which needs all runs of a series."""


def _over_repetitions(figures: xr.DataArray) -> Values:
    """Median over repetitions, ignoring NaN."""
    return np.asarray(figures.median("repetition", skipna=True).values, dtype=np.float64)


def _slowest_seconds(run: Run, size: int) -> Values:
    """[phase] seconds of the slowest rank that takes part; median over repetitions.

    Repetitions in which a rank failed are NaN, as the slowest is then unknown.
    """
    complete = (run.dataset["status"].isel(size=size) == MEASURED).all("rank")
    return _over_repetitions(run.rank_seconds(size).max("rank").where(complete))


def _phase_rate(run: Run, size: int) -> Values:
    return run.sizes_bytes[size] / _slowest_seconds(run, size)


def _medians(of_routes: xr.DataArray) -> Values:
    phases = of_routes.transpose("phase", ...).values
    return np.asarray([np.nanmedian(phase) for phase in phases], dtype=np.float64)


def _slowest_rate(run: Run, size: int) -> Values:
    return _over_repetitions(run.message_rates(size).min(("rank", "slot"), skipna=True))


def _aggregate_rate(run: Run, size: int) -> Values:
    return _over_repetitions(run.phase_rates(size))


def _sum_of_rates(run: Run, size: int) -> Values:
    """Adds up the routes' own rates: more than the phase's formula, which waits for the slowest."""
    return _over_repetitions(run.message_rates(size).sum(("rank", "slot")))


def _drop(seconds: Values) -> float:
    rates = 1 / seconds
    return float(1 - rates[len(rates) // 2] / rates[0])


def _whole(one_of: Callable[[Values], float], of: Figures) -> Figures:
    """Derives one figure of a run from those of its phases, or of its routes in all phases."""
    return lambda run, size: np.asarray([one_of(of(run, size))], dtype=np.float64)


def _of_a_step(_run: Run, _size: int) -> Values:
    raise TypeError("a step derives this figure, not a single run")


QUANTITIES = {
    "median rate": Quantity(
        Scaling.RATE, True, lambda run, size: _medians(run.message_rates(size)),
        "median over all routes of a phase"),
    "slowest rate": Quantity(Scaling.RATE, True, _slowest_rate, "of the slowest route of a phase"),
    "aggregate rate": Quantity(
        Scaling.RATE, True, _aggregate_rate, "of all bytes of a phase, by the pattern's formula"),
    "phase rate": Quantity(
        Scaling.RATE, True, _phase_rate, "a message over the time of the slowest rank"),
    "sum of rates": Quantity(Scaling.RATE, True, _sum_of_rates, "of all routes, each at its own pace"),
    "joint rate": Quantity(
        Scaling.RATE, True, _of_a_step,
        "of all routes together while they fill a shared limit: the bytes that must have passed by a "
        "moment over the time until then, at the moment where this is largest", step="joint"),
    "median time": Quantity(
        Scaling.LATENCY, True, lambda run, size: _medians(run.message_seconds(size)),
        "median over all routes of a phase"),
    "median of all": Quantity(
        Scaling.RATE, False, _whole(np.nanmedian, lambda run, size: run.message_rates(size).values),
        "median over all routes of all phases"),
    "time of all": Quantity(
        Scaling.LATENCY, False, _whole(np.nanmedian, lambda run, size: run.message_seconds(size).values),
        "median time over all routes of all phases"),
    "drop": Quantity(
        Scaling.SHARE, False, _whole(_drop, _slowest_seconds),
        "from the first phase to the middle one, as a share of the first", of_few_phases=True),
    "total seconds": Quantity(
        Scaling.TRANSFER, False, _whole(np.sum, _slowest_seconds),
        "all phases, each as long as its slowest rank takes"),
    "mean rate": Quantity(
        Scaling.RATE, False, _whole(np.mean, _phase_rate),
        "mean over phases of a message over the time of the slowest rank"),
    "worst phase": Quantity(
        Scaling.RATE, False, _whole(np.min, _phase_rate),
        "a message over the time of the slowest rank of the slowest phase", of_few_phases=True),
    "mean aggregate rate": Quantity(
        Scaling.RATE, False, _whole(np.mean, _aggregate_rate),
        "mean over phases of the pattern's own formula"),
    "mean phase time": Quantity(
        Scaling.LATENCY, False, _whole(np.mean, _slowest_seconds),
        "mean over phases of the time of the slowest rank"),
    "routes": Quantity(
        Scaling.COUNT, False, _of_a_step,
        "between all nodes, by the number of nodes that forward on the way", step="walk"),
    "computing left": Quantity(
        Scaling.SHARE, True, _of_a_step,
        "the worker's pace while the phase runs, as a share of its mean pace before and after",
        step="computing"),
    "rate left": Quantity(
        Scaling.SHARE, True, _of_a_step,
        "of the slowest rank while the worker computes, as a share of the rate without the worker",
        step="computing"),
    "time left": Quantity(
        Scaling.SHARE, False, _of_a_step,
        "a workload's time, as a share of its time in the base run", step="workload"),
}  # fmt: skip

UNITS = {
    "MiB/s": float(1 << 20), "MB/s": 1e6, "KB/s": 1e3, "Mbit/s": 1e6 / 8,
    "s": 1.0, "ms": 1e-3, "us": 1e-6, "share": 1.0, "routes": 1.0,
}  # fmt: skip


def fits(unit: str, kind: Scaling) -> bool:
    """True if figures of this kind can have this unit."""
    if "/" in unit or unit in ("share", "routes"):
        return kind.value == {"share": "share", "routes": "count"}.get(unit, "rate")
    return kind in (Scaling.TRANSFER, Scaling.LATENCY)


def scaled(values: Values, kind: Scaling, dilation: float, message_ratio: float) -> Values:
    """Scales to the paper's network and message; `message_ratio` is the paper's message over the one sent."""
    if kind is Scaling.RATE:
        return values * dilation
    return values * (message_ratio / dilation) if kind is Scaling.TRANSFER else values


def unevenness(run: Run, size: int) -> Values:
    """[phase] coefficient of variation of the routes' rates; median over repetitions."""
    rates = run.message_rates(size)
    return _over_repetitions(rates.std(("rank", "slot")) / rates.mean(("rank", "slot")))
