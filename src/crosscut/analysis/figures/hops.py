"""Regression of latency on path length: what each switch adds, and each forwarding host.

Salmon, Stein and Sterling (SC98, section 3.1) separate a switch's 19 to 30 us from a host's 75 us in this
way. Paths of equal length form a class. A line is fitted by least squares to the classes' medians, weighted
by their numbers of routes, so that a few late routes do not bend it. Intervals come from the percentile
bootstrap over the routes of each class (Efron and Tibshirani, An Introduction to the Bootstrap, 1993,
chapter 13).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crosscut.analysis.figures.summary import Routes
from crosscut.analysis.stats.intervals import CONFIDENCE, Floats

# Times of larger messages depend on rates as much as on switches.
LARGEST_BYTES = 256
MOST_ROUTES = 4000
RESAMPLES = 999
_SEED = 1


NO_WAY = -1


@dataclass(frozen=True)
class Lengths:
    """[source node, destination node]; NO_WAY if there is no path, or a node is not in the description."""

    switches: NDArray[np.int64]
    hosts: NDArray[np.int64]
    """Forwarding hosts between the two ends."""


@dataclass(frozen=True)
class HopLatency:
    """Seconds, with a 95 % interval; its bounds are NaN if each class has only one route."""

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
    """Both ends and the cables: the line's value for a path without switches."""
    a_switch: HopLatency | None
    """What each switch adds; None if all paths have the same number."""
    a_host: HopLatency | None
    """What each forwarding host adds; None if all paths have the same number."""
    classes: tuple[Class, ...]


def by_hops(routes: Routes, nodes: NDArray[np.int64], lengths: Lengths, size_bytes: int) -> ByHops | None:
    """Fits latency to path length; None if all paths are alike, or switches and hosts are inseparable.

    `routes`: timed, in seconds. `nodes`: [rank] node, as indexed in `lengths`.
    """
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
    """Returns one figure for each column of the design matrix."""
    weight = np.sqrt(counts)[:, None]
    solve = np.linalg.pinv(design * weight) * weight.T  # [column, class], applied to medians of classes
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
