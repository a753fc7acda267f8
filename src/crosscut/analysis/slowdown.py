"""Victims' samples, congested against idle (the question of GPCNeT: Chunduri et al., SC19).

Ratios are taken of raw statistics, never of rounded ones, and percentiles and extremes of the same
samples as the median.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crosscut.analysis.intervals import Floats
from crosscut.analysis.samples import Samples


@dataclass(frozen=True)
class Condition:
    """Victims' samples under one condition."""

    label: str
    seconds: Floats
    """Flat; seconds a message."""
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


@dataclass(frozen=True)
class Slowdown:
    condition: Condition
    median: float
    p99: float
    longest: float


def conditions(samples: Samples, labels: list[str]) -> list[Condition]:
    """Samples of the victims, who are the ranks timed in the first (idle) condition, by label and bytes."""
    found: dict[tuple[str, float], list[Floats]] = {}
    victims = np.asarray((samples.peer[_idle(labels)] >= 0).any(axis=(0, 2)))
    for phase, label in enumerate(labels):
        there = (samples.peer[phase] >= 0) & victims[:, None]
        for amount in np.unique(samples.bytes[phase][there]):
            cells = there & (samples.bytes[phase] == amount)
            seconds = samples.message_seconds[:, phase][:, cells]
            seconds = seconds[np.isfinite(seconds)]
            if len(seconds):
                found.setdefault((label, float(amount)), []).append(seconds)
    return [Condition(label, np.concatenate(parts), amount) for (label, amount), parts in found.items()]


def _idle(labels: list[str]) -> list[int]:
    """Phases of the idle condition: those labelled so, else those that are labelled as the first."""
    idle = [index for index, label in enumerate(labels) if "idle" in label]
    return idle or [index for index, label in enumerate(labels) if label == labels[0]]


def slowdowns(found: list[Condition]) -> list[Slowdown]:
    """Each condition against the idle one of the same message size."""
    idle = {condition.bytes: condition for condition in reversed(found) if "idle" in condition.label}
    for condition in found:  # nothing is labelled idle: the first condition is the reference
        idle.setdefault(condition.bytes, condition)
    return [
        Slowdown(
            condition,
            condition.median / idle[condition.bytes].median,
            condition.p99 / idle[condition.bytes].p99,
            condition.longest / idle[condition.bytes].longest,
        )
        for condition in found
    ]
