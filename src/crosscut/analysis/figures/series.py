"""Series that may change from run to run: rates of route classes, nodes, phases and single routes.

A series has one number per repetition, the logarithm of a rate. Rates of several routes are combined by their
median, so that one bad host does not pull its partners down: with the mean, one halved link among sixteen
hosts would cost each of the others 4.5 %.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from crosscut.analysis.figures import summary
from crosscut.analysis.figures.route_class import CLASSES, Groups, members
from crosscut.analysis.figures.samples import Samples
from crosscut.analysis.stats.intervals import Floats
from crosscut.analysis.stats.rows import median

Ints = NDArray[np.int64]

# Single routes are left out if there are more than this.
MOST_ROUTES = 1 << 16


class Family(Enum):
    CLASS = "routes"
    OUT = "node, out"
    IN = "node, in"
    PHASE = "phase"
    ROUTE = "route"


@dataclass(frozen=True)
class Subject:
    """What a column is about."""

    family: Family
    size_bytes: int
    name: str = ""
    """Name of a class."""
    ranks: tuple[int, ...] = ()
    """A node's ranks; or a route's source and destination."""
    phase: int = -1
    within: str = ""
    """Class of a route."""


@dataclass(frozen=True)
class RouteRates:
    """Rates by route. `logs`: [repetition, route] logarithm of bytes per second; NaN where not measured."""

    source: Ints
    destination: Ints
    logs: Floats


def route_rates(samples: Samples, ranks: Ints) -> RouteRates:
    """Returns the rate of each route in each repetition: the median if it has several samples in it.

    `ranks`: [rank of the run] its new number; -1 leaves the rank out.
    """
    there = (samples.peer >= 0) & (not samples.of_phases)
    if there.any():
        there &= (ranks[np.maximum(samples.peer, 0)] >= 0) & (ranks >= 0)[None, :, None]
    cells = np.nonzero(there)
    source = ranks[samples.peer[cells]] if there.any() else np.zeros(0, np.int64)
    destination = ranks[cells[1]] if there.any() else np.zeros(0, np.int64)
    phase, rank, slot = cells
    seconds = samples.message_seconds[:, phase, rank, slot]
    amounts = np.log(np.maximum(samples.bytes[cells], 1))
    logs = amounts - np.log(np.where(seconds > 0, seconds, np.nan))
    keys = source.astype(np.int64) * samples.ranks + destination
    order = np.argsort(keys, kind="stable")
    unique, start = np.unique(keys[order], return_index=True)
    if len(unique) != len(keys):
        columns = np.split(logs[:, order], start[1:], axis=1)
        logs = np.stack([median(part) for part in columns], axis=1)
    else:
        logs = logs[:, order]
    return RouteRates(unique // samples.ranks, unique % samples.ranks, logs)


@dataclass(frozen=True)
class SampleColumns:
    subjects: tuple[Subject, ...]
    values: Floats
    """[repetition, subject]"""


def columns(
    samples: Samples, ranks: Ints, node: Ints, groups: Groups, *, single: bool = True
) -> SampleColumns:
    """Returns all series of one size.

    `node`: [rank] its node, by the numbers that `ranks` maps to. `single`: phases and single routes, too.
    """
    size = samples.size_bytes
    found = route_rates(samples, ranks)
    parts: list[tuple[Subject, Floats]] = []
    if len(found.source):
        parts += _classes(found, size, node, groups)
        for family, ends in ((Family.OUT, found.source), (Family.IN, found.destination)):
            parts += _nodes(found, family, ends, size, node)
    same = len(ranks) == samples.ranks and bool((ranks == np.arange(len(ranks))).all())
    if single and (same or samples.of_phases):
        moved = summary.moved_bytes(samples)
        with np.errstate(divide="ignore", invalid="ignore"):
            rates = np.log(np.maximum(moved, 1)) - np.log(summary.phase_seconds(samples))
        rates = np.where(np.isfinite(rates), rates, np.nan)
        numbers = zip(samples.phase.tolist(), rates.T, strict=True)
        parts += [(Subject(Family.PHASE, size, phase=number), column) for number, column in numbers]
    if single and 1 < len(found.source) <= MOST_ROUTES:
        within = _within(found, node, groups)
        parts += [
            (Subject(Family.ROUTE, size, ranks=(int(a), int(b)), within=name), column)
            for a, b, name, column in zip(found.source, found.destination, within, found.logs.T, strict=True)
        ]
    nothing = np.zeros((len(samples.rank_seconds), 0))
    values = np.stack([column for _, column in parts], axis=1) if parts else nothing
    return SampleColumns(tuple(subject for subject, _ in parts), values)


def _classes(found: RouteRates, size: int, node: Ints, groups: Groups) -> Iterator[tuple[Subject, Floats]]:
    by_group = False
    for name in CLASSES:
        mine = members(name, found.source, found.destination, node, groups)
        if name == CLASSES[-1] and by_group:
            continue  # the classes by group already cover it
        if mine.any():
            by_group |= name in CLASSES[1:3]
            yield Subject(Family.CLASS, size, name=name), median(found.logs[:, mine])


def _nodes(
    found: RouteRates, family: Family, ends: Ints, size: int, node: Ints
) -> Iterator[tuple[Subject, Floats]]:
    """Yields the rates at which each node sends to, or receives from, other nodes."""
    outside = np.nonzero(node[found.source] != node[found.destination])[0]
    mine = node[ends[outside]]
    order = outside[np.argsort(mine, kind="stable")]
    nodes, start = np.unique(node[ends[order]], return_index=True)
    if len(nodes) < 3:
        return  # with two nodes, single routes say as much
    for number, part in zip(nodes, np.split(order, start[1:]), strict=True):
        ranks = tuple(np.nonzero(node == number)[0].tolist())
        yield Subject(family, size, ranks=ranks), median(found.logs[:, part])


def _within(found: RouteRates, node: Ints, groups: Groups) -> list[str]:
    names = np.full(len(found.source), CLASSES[-1], dtype=object)
    for name in CLASSES[:3]:
        names[members(name, found.source, found.destination, node, groups)] = name
    return [str(name) for name in names]
