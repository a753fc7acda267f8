"""Slowdown of victims under congestion, as in GPCNeT (Chunduri et al., SC19).

Ratios are taken of raw statistics, never of rounded ones. Percentiles and extremes come from the same
samples as the median.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crosscut.analysis.figures.samples import Samples
from crosscut.analysis.stats.intervals import Floats


@dataclass(frozen=True)
class Condition:
    """Victims' samples under one condition."""

    label: str
    seconds: Floats
    """Flat; seconds per message."""
    bytes: float

    @property
    def median(self) -> float:
        return float(np.median(self.seconds))

    @property
    def p99(self) -> float:
        return float(np.percentile(self.seconds, 99))

    @property
    def longest(self) -> float:
        return float(self.seconds.max())

    @property
    def many(self) -> bool:
        """False: the 99th percentile of so few samples is the longest."""
        return len(self.seconds) >= 100


@dataclass(frozen=True)
class Slowdown:
    """Ratios of a condition's statistics to those of the idle condition."""

    condition: Condition
    median: float
    p99: float
    longest: float


def conditions(samples: Samples, labels: list[str]) -> list[Condition]:
    """Returns the victims' samples by label and bytes. Victims are the ranks timed in the idle condition."""
    found: dict[tuple[str, float], list[Floats]] = {}
    measuring = victims(samples, labels)
    for phase, label in enumerate(labels):
        there = (samples.peer[phase] >= 0) & measuring[:, None]
        for amount in np.unique(samples.bytes[phase][there]):
            cells = there & (samples.bytes[phase] == amount)
            seconds = samples.message_seconds[:, phase][:, cells]
            seconds = seconds[np.isfinite(seconds) & (seconds > 0)]  # 0: too short for the clock
            if len(seconds):
                found.setdefault((label, float(amount)), []).append(seconds)
    return [Condition(label, np.concatenate(parts), amount) for (label, amount), parts in found.items()]


def _idle(labels: list[str]) -> list[int]:
    """Returns the phases labelled idle; without any, those with the first phase's label."""
    idle = [index for index, label in enumerate(labels) if "idle" in label]
    return idle or [index for index, label in enumerate(labels) if label == labels[0]]


@dataclass(frozen=True)
class EarlyEnd:
    """A condition in which a congestor ended before the victims did."""

    label: str
    share: float
    """When the first congestor had sent all its data, as a share of the victims' time: the median over
    repetitions, below 1."""


def early_ends(samples: Samples, labels: list[str]) -> list[EarlyEnd]:
    """Returns the conditions in which a congestor ended early.

    A congestor's slot 0 records when it has sent everything (core/patterns/congestion.hpp). A victim is done
    after its last message.
    """
    measuring = victims(samples, labels)
    found = []
    for phase, label in enumerate(labels):
        congestors = (samples.peer[phase, :, 0] >= 0) & ~measuring
        if not congestors.any() or not measuring.any():
            continue
        sent = samples.message_seconds[:, phase, congestors, 0].min(axis=1)  # NaN if one is unknown
        done = samples.rank_seconds[:, phase, measuring].max(axis=1)
        known = np.isfinite(sent) & np.isfinite(done) & (done > 0)
        with np.errstate(over="ignore"):
            shares = sent[known] / done[known]
        if known.any() and (share := float(np.median(shares))) < 1:
            found.append(EarlyEnd(label, share))
    return found


def victims(samples: Samples, labels: list[str]) -> NDArray[np.bool_]:
    """[N] True if the rank is timed in the idle condition."""
    return np.asarray((samples.peer[_idle(labels)] >= 0).any(axis=(0, 2)))


def slowdowns(found: list[Condition]) -> list[Slowdown]:
    """Compares each condition with the idle one of the same message size."""
    idle = {condition.bytes: condition for condition in reversed(found) if "idle" in condition.label}
    for condition in found:  # no idle condition of this size: the first is the reference
        idle.setdefault(condition.bytes, condition)
    pairs = [(one, idle[one.bytes]) for one in found]
    return [Slowdown(a, a.median / b.median, a.p99 / b.p99, a.longest / b.longest) for a, b in pairs]
