"""Medians with their intervals as text, rounded to the digits that the interval supports."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from crosscut.analysis.figures import summary
from crosscut.analysis.figures.pingpong import Sweep
from crosscut.analysis.figures.samples import Samples
from crosscut.analysis.stats.intervals import Medians
from crosscut.base import units
from crosscut.base.records import plain
from crosscut.reports.view import View
from crosscut.run.realm import is_simulated

# Programs that send such messages wait for how many there are, not for their bytes.
_SHORT_BYTES = 1024
# Rates that fall short of the middle one by less, as a share of it, are alike.
ALIKE = 0.05
_TIED = 1.0005
"""Rates up to this multiple of the slowest print as the same."""


@dataclass(frozen=True)
class Figure:
    """A median with its 95 % interval, whose bounds are NaN if there is none."""

    median: float
    low: float
    high: float
    count: int = 0

    @property
    def digits(self) -> int:
        return units.significant_digits((self.high - self.low) / self.median if self.median else math.nan)

    def in_unit(self, unit: tuple[float, str]) -> tuple[str, str]:
        """Returns (median, interval) without units, for two table columns."""
        values = (self.low, self.median, self.high)
        low, median, high = (units.number(value, unit, self.digits) for value in values)
        return median, f"{low} – {high}" if units.spans(self.low, self.high) else ""

    def rate(self) -> str:
        """`312 MB/s [301 – 320]`"""
        return self._with(units.rate_unit(self.median))

    def seconds(self) -> str:
        """`12.3 µs [12.1 – 12.9]`"""
        return self._with(units.time_unit(self.median))

    def _with(self, unit: tuple[float, str]) -> str:
        median, interval = self.in_unit(unit)
        return f"{median} {unit[1]}" + (f" [{interval}]" if interval else "") if median != "–" else "–"

    def as_json(self) -> dict[str, float | int | None]:
        return plain(self)


def at(medians: Medians, index: int) -> Figure:
    """Returns the figure at one index."""
    return Figure(
        float(medians.median[index]), float(medians.low[index]), float(medians.high[index]),
        int(medians.count[index]),
    )  # fmt: skip


def cells(
    figure: Figure | None, unit_of: Callable[[float], tuple[float, str]] = units.rate_unit
) -> tuple[str, str]:
    """Returns (median with unit, interval) for two table columns whose unit differs by row."""
    if figure is None:
        return "–", ""
    unit = unit_of(figure.median)
    median, interval = figure.in_unit(unit)
    return f"{median} {unit[1]}", interval


def timed(mode: str) -> str:
    """Returns what the times of a sweep in this mode are."""
    return "half round trip" if mode in ("", "pingpong", "ping-pong", "half-round-trip") else f"time ({mode})"


def shortest(mode: str) -> str:
    """Returns what the time of the smallest message is called: only half a round trip is a latency."""
    return "latency" if timed(mode) == timed("") else "time of the smallest message"


def latency(found: Sweep) -> str:
    """`12.3 µs [12.1 – 12.9] at 1 B`, with several pairs `12.3 µs [12.1 – 12.9] at 1 B, median of 6 pairs`"""
    if len(found.size_bytes) > 1 and found.timeless():
        return "unknown"
    index = found.latency_index()
    return f"{at(found.seconds, index).seconds()} at {units.size(found.size_bytes[index])}{_of_pairs(found)}"


def peak(found: Sweep) -> str:
    """`117 MB/s [116 – 118] at 1 MB`, or as `latency` with several pairs."""
    index = found.peak_index()
    if len(found.size_bytes) > 1 and found.timeless():
        return f"{at(found.rates, index).rate()} at every size"
    return f"{at(found.rates, index).rate()} at {units.size(found.size_bytes[index])}{_of_pairs(found)}"


def _of_pairs(found: Sweep) -> str:
    return f", median of {units.count(found.pairs, 'pair')}" if found.pairs > 1 else ""


def of_phases(view: View, samples: Samples) -> Medians:
    """Returns [P] the rate of each phase to show, by the pattern's formula if that counts phases."""
    return summary.formula_rates(samples) if view.by_formula else summary.phase_rates(samples)


def messages(view: View, samples: Samples, rates: Medians) -> str:
    """Returns how many short messages per second the fastest phase carried, if the pattern's formula counts
    phases: `3.91 million messages/s, phase 3 (4 pairs)`. Otherwise returns an empty string, as for a
    simulation, which knows bytes but not what a message costs."""
    best = extreme(rates, largest=True)
    counted = view.by_formula and 0 < samples.size_bytes <= _SHORT_BYTES
    if best is None or not counted or is_simulated(view.attributes):
        return ""
    number = units.message_rate(float(rates.median[best]) / samples.size_bytes)
    return f"{number}, {view.phase_name(samples, best)}"


def extreme(medians: Medians, largest: bool = False) -> int | None:
    """Returns the index of the smallest (or largest) median, or None if there is none."""
    values = medians.median
    if not np.isfinite(values).any():
        return None
    return int(np.nanargmax(values) if largest else np.nanargmin(values))


def others_as_slow(medians: Medians, worst: int) -> str:
    """Returns words such as ` and 3 others` on those as slow as the slowest, which alone would look singled
    out; empty if there are none."""
    count = int((medians.median <= _TIED * medians.median[worst]).sum()) - 1
    return f" and {units.count(count, 'other')}" if count > 0 else ""


def alike(medians: Medians, *, timed: bool = False) -> bool:
    """Returns True if none is slower than the middle one by more than `ALIKE`: to name the slowest would make
    chance look like a fault. `timed`: of times, not rates."""
    worst, usual = extreme(medians, largest=timed), medians.middle
    if worst is None or np.isfinite(medians.median).sum() < 2:
        return False
    value = float(medians.median[worst])
    slower = value / usual - 1 if timed else 1 - value / usual
    return slower <= ALIKE


def none_slower(what: str) -> str:
    return f"no {what} is more than {100 * ALIKE:.0f} % slower than the median"


def slowest(medians: Medians) -> Figure | None:
    index = extreme(medians)
    return at(medians, index) if index is not None else None


def of_size(rates: Medians, routes: Medians) -> tuple[str, ...]:
    """Returns the rates of the median and slowest phase, each with its interval, and of the slowest route."""
    route = slowest(routes)
    middle = units.rate(route.median) if route else "–"
    return *cells(in_the_middle(rates)), *cells(slowest(rates)), middle


def of_sweep(found: Sweep, index: int) -> tuple[str, ...]:
    """Returns size, time, interval of the time, and rate at one size."""
    return (
        units.size(found.size_bytes[index]),
        *cells(at(found.seconds, index), units.time_unit),
        units.rate(at(found.rates, index).median),
    )


def beside_the_middle(figure: Figure, whole: float, unit: tuple[float, str]) -> tuple[str, ...]:
    """Returns median, interval, share of `whole` (the median of medians), and number of samples."""
    share = units.percent(figure.median / whole) if whole else "–"
    return *figure.in_unit(unit), share, f"{figure.count:,}"


def in_the_middle(medians: Medians) -> Figure | None:
    """Returns the median cell with its interval; for an even count, the mean of both middle cells.

    The mean of their bounds is an interval of that mean whatever their correlation: their mean varies most if
    both always err alike.
    """
    there = np.nonzero(np.isfinite(medians.median))[0]
    if len(there) == 0:
        return None
    order = there[np.argsort(medians.median[there], kind="stable")]
    one, other = (at(medians, int(order[index])) for index in ((len(order) - 1) // 2, len(order) // 2))
    return Figure(
        (one.median + other.median) / 2,
        (one.low + other.low) / 2,
        (one.high + other.high) / 2,
        min(one.count, other.count),
    )
