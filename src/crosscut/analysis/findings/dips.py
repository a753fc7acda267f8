"""Finds periodic dips, such as from a monitor, a flapping link or a timer.

A dip is a point far below the others. A moment is a phase of a repetition, in measured order; its time is the
time spent in phases before it. Regular dips show in the periodogram of unequally spaced times. For noise, its
height at one frequency is exponentially distributed, which gives the distribution of the highest of many
independent heights (J. D. Scargle, Astrophysical Journal 263, 1982, section III). Dips in bursts raise all
low frequencies, so heights are divided by those of their neighbours.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crosscut.analysis.figures.samples import Samples
from crosscut.analysis.figures.summary import phase_seconds
from crosscut.analysis.findings.changes import Deviations
from crosscut.analysis.findings.kinds import FindingKind
from crosscut.analysis.findings.model import Effect, Finding
from crosscut.analysis.stats.doubt import FALSE_ALARMS
from crosscut.analysis.stats.intervals import Floats
from crosscut.analysis.stats.rows import median as of_rows
from crosscut.analysis.structure.observed import Integers
from crosscut.base import units

# A dip is deeper than both: a share of the rate, and a number of standard deviations.
SHALLOWEST, FAR_BELOW = 0.05, 4.0
FEWEST_DIPS = 8
# Share of the periods that must contain a dip.
_MOST_PERIODS = 0.7
# If more than this share of the moments is low, they are a level, not dips.
MOST_DIPS = 1 / 3
FEWEST_PERIODS = 6
# Moments are joined until there are no more than these.
MOST_MOMENTS = 1536
_HOSTS_LOOKED_AT = 4
# Number of frequencies tried per independent one.
_FINER = 3
# Share of the shortest period to which times are rounded: lowers its height by 5 %, others by less.
_ROUNDED = 1 / 8
# Neighbours of a frequency, on both sides together: at least this many, and at least this share of all.
_FEWEST_NEIGHBOURS, _NEIGHBOURS_SHARE = 40, 0.1
_AS_HIGH = 0.5
# Standard deviations by which the number of pairs of dips in one phase exceeds chance, if it is Poisson's.
_BEYOND_CHANCE = 3.0


@dataclass(frozen=True)
class Dips:
    period_seconds: float
    """Counted in time spent in phases."""
    count: int
    share: float
    """Share of the ordinary rate at the bottom of a dip: median of all dips."""
    doubt: float


def findings(samples: Samples, found: Deviations, name: Callable[[int], str]) -> list[Finding]:
    """Returns dips of all messages together; else of the hosts that dip most, each against the others."""
    at = moments(samples)
    numbers, start = np.unique(found.phase, return_index=True)
    parts = np.split(found.logs, start[1:], axis=1)
    together = np.stack([of_rows(part) for part in parts], axis=1)  # [repetition, phase with messages]
    began, phases = at[:, numbers].ravel(), np.tile(numbers, len(at))
    dips = regular(began, together.ravel(), phases)
    if dips is not None and dips.doubt < FALSE_ALARMS:
        what = f"all messages dip {_words(dips)}"
        effect = Effect(dips.share)
        return [Finding(FindingKind.PERIODIC, what, effect=effect, false_alarm=dips.doubt, advice=_ADVICE)]
    table = _by_host(found, together, samples.ranks)
    depths = np.where(np.isfinite(table), table, 0.0)
    counts = (depths < -SHALLOWEST).sum(axis=(0, 1))
    most = np.argsort(-counts, kind="stable")[:_HOSTS_LOOKED_AT]
    told = []
    for rank in most.tolist():
        dips = regular(began, table[:, :, rank].ravel(), phases)
        if dips is not None and (doubt := dips.doubt * samples.ranks) < FALSE_ALARMS:
            told.append(Finding(
                FindingKind.PERIODIC, f"{name(rank)} dips {_words(dips)}, and others do not", (rank,),
                (name(rank),), effect=Effect(dips.share), false_alarm=doubt, advice=_ADVICE,
            ))  # fmt: skip
    return told if len(told) <= max(2, samples.ranks // 8) else []


def moments(samples: Samples) -> Floats:
    """[repetition, phase] start in seconds spent in phases since the first began."""
    spent = phase_seconds(samples) * max(samples.iterations, 1)
    flat = np.where(np.isfinite(spent) & (spent > 0), spent, 0.0).ravel()
    return np.concatenate([[0.0], np.cumsum(flat)[:-1]]).reshape(spent.shape)


def _by_host(found: Deviations, together: Floats, ranks: int) -> Floats:
    """[repetition, phase with messages, rank] log rate of the rank's slowest message, less that of all."""
    _, phase = np.unique(found.phase, return_inverse=True)
    lowest = np.full((*together.shape, ranks), np.inf)
    for row, logs in zip(lowest, found.logs, strict=True):
        for ends in (found.source, found.destination):
            np.fmin.at(row, (phase, ends), logs)
    return np.where(np.isfinite(lowest), lowest, np.nan) - together[..., None]


def regular(at: Floats, values: Floats, phase: Integers | None = None) -> Dips | None:
    """Returns the dips of a series, if there are enough, with the probability that they only seem regular.

    `phase`: of each moment. Returns None if dips keep to some phases: they recur with every repetition and
    belong to those phases.
    """
    there = np.isfinite(values)
    at, values = at[there], values[there]
    if len(values) < 3 * FEWEST_DIPS:
        return None
    values = values - np.median(values)
    depth = max(FAR_BELOW * 1.4826 * float(np.median(np.abs(values))), SHALLOWEST)
    is_dip = values < -depth
    count = int(is_dip.sum())
    if not FEWEST_DIPS <= count <= MOST_DIPS * len(values):
        return None
    if phase is not None and _keep_to_phases(phase[there], is_dip):
        return None
    bottom = float(np.median(values[is_dip]))
    times = at[is_dip]
    # Depths say nothing about times, so no single dip may outweigh the others.
    events = np.where(is_dip, np.maximum(values, 2 * bottom), 0.0)
    step = -(-len(at) // MOST_MOMENTS)
    at, events = _joined(at, step, np.mean), _joined(events, step, np.sum)
    lasted = float(at[-1] - at[0])
    if lasted <= 0:
        return None
    heights, frequencies = _periodogram(at, events, lasted)
    if not len(heights):
        return None
    told = _told(heights, frequencies, count, math.exp(bottom))
    return told if _in_most_periods(times, told.period_seconds, lasted) else None


def _keep_to_phases(phase: Integers, is_dip: NDArray[np.bool_]) -> bool:
    """True if more pairs of dips are in the same phase than chance puts there."""
    dips, all_ = np.bincount(phase[is_dip]), np.bincount(phase).astype(np.float64)
    pairs, of_all = float(dips @ (dips - 1)), float(all_ @ (all_ - 1))
    count, moments = float(dips.sum()), float(all_.sum())
    expected = count * (count - 1) * of_all / (moments * (moments - 1)) / 2
    return pairs / 2 > expected + _BEYOND_CHANCE * math.sqrt(expected) + 1


def _in_most_periods(times: Floats, period: float, lasted: float) -> bool:
    """False if the true period is a multiple of this one, too long to be found. `times`: of dips."""
    turns = times / period
    middle = np.angle(np.exp(2j * np.pi * turns).mean()) / (2 * np.pi)
    return len(np.unique(np.rint(turns - middle))) >= _MOST_PERIODS * lasted / period


def _joined(values: Floats, step: int, how: Callable[..., Floats]) -> Floats:
    kept = len(values) // step * step
    return np.asarray(how(values[:kept].reshape(-1, step), axis=1), np.float64)


def _periodogram(at: Floats, events: Floats, lasted: float) -> tuple[Floats, Floats]:
    """Returns (heights over their neighbours', frequencies): from a few periods in total to two moments per
    period."""
    centred = events - events.mean()
    variance = float(centred @ centred) / len(centred)
    lowest, highest = _FINER * FEWEST_PERIODS, math.ceil(_FINER * (len(at) - 1) / 2)
    if variance <= 0 or lowest >= highest:
        return np.zeros(0), np.zeros(0)
    # A series of equal steps, mostly empty, and long enough to resolve the frequencies.
    steps = 1 << math.ceil(math.log2(highest / _ROUNDED))
    step = _FINER * lasted / steps
    series = np.bincount(np.rint((at - at[0]) / step).astype(np.int64), weights=centred)
    heights = np.abs(np.fft.rfft(series, steps)[lowest:highest]) ** 2 / (len(centred) * variance)
    frequencies = np.arange(lowest, highest) / (_FINER * lasted)
    return heights / np.maximum(_floor(heights), 1.0), frequencies


def _floor(heights: Floats) -> Floats:
    """[frequency] mean of an exponential distribution whose median is that of the neighbours."""
    width = max(_FEWEST_NEIGHBOURS, int(_NEIGHBOURS_SHARE * len(heights)))
    if len(heights) <= width:
        return np.full(len(heights), float(np.median(heights)) / math.log(2))
    rows = np.lib.stride_tricks.sliding_window_view(heights, width)
    middle = np.median(rows, axis=1)
    before = (len(heights) - len(middle)) // 2
    after = len(heights) - len(middle) - before
    return np.pad(middle, (before, after), mode="edge") / math.log(2)


def _told(heights: Floats, frequencies: Floats, count: int, share: float) -> Dips:
    """Returns the dips at the lowest frequency that is nearly as high as the highest.

    Narrow dips are as high at every multiple of their frequency.
    """
    independent = len(heights) / _FINER
    chosen = int(np.nonzero(heights >= _AS_HIGH * heights.max())[0][0])
    # Climb to the top of that peak.
    near = slice(chosen, chosen + 2 * _FINER)
    top = chosen + int(np.argmax(heights[near]))
    doubt = -math.expm1(independent * math.log1p(-math.exp(-float(heights.max()))))
    return Dips(1 / float(frequencies[top]), count, share, doubt)


_ADVICE = (
    "look for activity with this period: a monitor, a timer, a flapping link (only time in phases counts, "
    "not the pauses between blocks)"
)


def _words(dips: Dips) -> str:
    return (
        f"every {units.seconds(dips.period_seconds, 2)}, to {100 * dips.share:.0f} % of the ordinary rate "
        f"({units.count(dips.count, 'dip')})"
    )
