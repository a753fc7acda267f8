"""Latency regressed on the length of the way: what each switch adds, and each host that forwards.

As Salmon, Stein and Sterling (SC98, section 3) tell a switch's 19 to 30 us from a host's 75. Ways of equal
length make a class; least squares through the classes' medians, weighted by routes, so that a few late
routes do not bend the line. Intervals by the percentile bootstrap over the routes of each class (Efron and
Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crosscut.analysis.figures.summary import Routes
from crosscut.analysis.stats.intervals import CONFIDENCE, Floats

# Above it the time of a message says as much of rates as of switches.
LARGEST_BYTES = 256
MOST_ROUTES = 4000
RESAMPLES = 999
_SEED = 1


NO_WAY = -1


@dataclass(frozen=True)
class Lengths:
    """[source node, destination node]; NO_WAY where there is none, or a node is not in the description."""

    switches: NDArray[np.int64]
    hosts: NDArray[np.int64]
    """Hosts that forward between the two ends."""


@dataclass(frozen=True)
class HopLatency:
    """Seconds, with a 95 % interval; NaN bounds where each class has but one route."""

    seconds: float
    low: float
    high: float


@dataclass(frozen=True)
class Class:
    """Routes of one length."""

    switches: int
    hosts: int
    routes: int
    median_seconds: float


@dataclass(frozen=True)
class ByHops:
    size_bytes: int
    ends: HopLatency
    """Both ends and the cables: of a way without any switch, by the line."""
    a_switch: HopLatency | None
    """None where all ways have as many."""
    a_host: HopLatency | None
    """What each host that forwards adds."""
    classes: tuple[Class, ...]


def by_hops(routes: Routes, nodes: NDArray[np.int64], lengths: Lengths, size_bytes: int) -> ByHops | None:
    """`routes`: timed; `nodes`: [rank]. None where all ways are alike, or too few differ to tell switches
    from hosts."""
    source, destination = nodes[routes.source], nodes[routes.destination]
    switches, hosts = lengths.switches[source, destination], lengths.hosts[source, destination]
    kept = np.nonzero((source != destination) & (switches >= 0) & np.isfinite(routes.rates.median))[0]
    if len(kept) > MOST_ROUTES:
        kept = np.sort(np.random.default_rng(_SEED).choice(kept, MOST_ROUTES, replace=False))
    if not len(kept):
        return None
    table = np.stack([switches[kept], hosts[kept]], axis=1)
    kinds, of_class, counts = np.unique(table, axis=0, return_inverse=True, return_counts=True)
    varies = [bool(len(np.unique(kinds[:, column])) > 1) for column in (0, 1)]
    design = np.column_stack([np.ones(len(kinds)), *(kinds[:, c] for c in (0, 1) if varies[c])]).astype(float)
    if not any(varies) or np.linalg.matrix_rank(design) < design.shape[1]:
        return None
    groups = [routes.rates.median[kept][of_class.ravel() == number] for number in range(len(kinds))]
    figures = _figures(design, groups, counts)
    slopes = iter(figures[1:])
    return ByHops(
        size_bytes,
        figures[0],
        next(slopes) if varies[0] else None,
        next(slopes) if varies[1] else None,
        tuple(
            Class(int(kind[0]), int(kind[1]), len(group), float(np.median(group)))
            for kind, group in zip(kinds, groups, strict=True)
        ),
    )


def _figures(design: Floats, groups: list[Floats], counts: NDArray[np.int64]) -> list[HopLatency]:
    """One for each column of the design."""
    weight = np.sqrt(counts)[:, None]
    solve = np.linalg.pinv(design * weight) * weight.T  # [column, class], for medians of classes
    found = solve @ np.array([float(np.median(group)) for group in groups])
    if max(len(group) for group in groups) < 2:
        return [HopLatency(float(value), np.nan, np.nan) for value in found]
    random = np.random.default_rng(_SEED)
    drawn = np.stack([
        np.median(group[random.integers(0, len(group), (RESAMPLES, len(group)))], axis=1) for group in groups
    ])  # fmt: skip
    tail = 100 * (1 - CONFIDENCE) / 2
    low, high = np.percentile(solve @ drawn, (tail, 100 - tail), axis=1)
    return [HopLatency(*map(float, values)) for values in zip(found, low, high, strict=True)]
