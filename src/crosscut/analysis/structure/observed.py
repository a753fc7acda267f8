"""Input of structure inference: messages that ran at the same time, and the rate of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crosscut.analysis.figures.samples import Samples
from crosscut.analysis.stats.intervals import Floats, medians
from crosscut.analysis.structure.upper_mode import SMALLEST_NOISE, upper_mode

Integers = NDArray[np.int64]
Route = tuple[int, int]
"""(source rank, destination rank)"""


@dataclass(frozen=True)
class Observed:
    """Messages, one entry each; those with equal `phase` ran at the same time."""

    ranks: int
    phase: Integers
    source: Integers
    destination: Integers
    rate: Floats
    """Bytes per second; the median if a phase was repeated. Latency measurements: messages per second."""
    of_kind: Floats | None = None
    """[rank] rate of hosts of its kind, as a share of the fastest kind's; None: all are of one kind."""
    abreast: Floats | None = None
    """[message] how many like it fill the link of its busier end, where others run beside it; None: one."""
    of_ranks: Floats | None = None
    """[message, rank of its node] bytes per second that add up to `rate`; None: nodes have one rank each."""

    def __len__(self) -> int:
        return len(self.rate)

    @cached_property
    def ordinary(self) -> tuple[float, float]:
        """The log rate of messages that nothing slowed, of the fastest kind, and its standard deviation."""
        logs = self.relative(1.0)
        return upper_mode(logs) if len(logs) else (0.0, SMALLEST_NOISE)

    def where(self, kept: NDArray[np.bool_]) -> Observed:
        phase, source, destination, rate = (column[kept] for column in self.columns)
        abreast, of_ranks = (None if one is None else one[kept] for one in (self.abreast, self.of_ranks))
        return Observed(self.ranks, phase, source, destination, rate, self.of_kind, abreast, of_ranks)

    @property
    def columns(self) -> tuple[NDArray[Any], ...]:
        return self.phase, self.source, self.destination, self.rate

    def relative(self, nominal: float) -> Floats:
        """Returns [message] the log of its rate over its share of the link of its slower end's kind.

        `nominal`: bytes per second of the fastest kind's links.
        """
        logs = np.log(self.rate / nominal)
        if self.abreast is not None:
            logs += np.log(self.abreast)
        if self.of_kind is None:
            return logs
        slower = np.minimum(self.of_kind[self.source], self.of_kind[self.destination])
        return np.asarray(logs - np.log(slower))

    def tells_of(self, ends: Integers) -> NDArray[np.bool_]:
        """Returns [message] True if it can show that the end in `ends` is slow.

        The other end must not be of a slower kind.
        """
        if self.of_kind is None:
            return np.ones(len(self), bool)
        others = self.source + self.destination - ends
        return np.asarray(self.of_kind[others] >= self.of_kind[ends])

    @property
    def phases(self) -> int:
        return len(np.unique(self.phase))


def nothing(ranks: int) -> Observed:
    none = np.zeros(0, np.int64)
    return Observed(ranks, none, none, none, np.zeros(0))


def of_phases(ranks: int, phases: Sequence[Sequence[Route]], rates: Floats, first_phase: int = 0) -> Observed:
    """Builds messages from phases; `rates` are in the order in which the phases list their routes."""
    lengths = [len(routes) for routes in phases]
    routes = np.array([route for listed in phases for route in listed], np.int64).reshape(-1, 2)
    numbers = np.repeat(np.arange(len(phases), dtype=np.int64) + first_phase, lengths)
    return Observed(ranks, numbers, routes[:, 0], routes[:, 1], np.asarray(rates, np.float64))


def joined(first: Observed, second: Observed) -> Observed:
    phase, source, destination, rate = map(np.concatenate, zip(first.columns, second.columns, strict=True))
    of_kind = first.of_kind if second.of_kind is None else second.of_kind
    abreast = None
    if first.abreast is not None or second.abreast is not None:
        abreast = np.concatenate([_or_ones(first), _or_ones(second)])
    known = [one.of_ranks for one in (first, second) if one.of_ranks is not None and len(one)]
    all_known = sum(map(len, known)) == len(phase)
    of_ranks = np.concatenate(known) if known and all_known else None
    return Observed(first.ranks, phase, source, destination, rate, of_kind, abreast, of_ranks)


def _or_ones(observed: Observed) -> Floats:
    return np.ones(len(observed)) if observed.abreast is None else observed.abreast


def of_samples(samples: Samples) -> Observed:
    """Returns each message of a run between different nodes, with its median rate over repetitions.

    Several messages of one route in a phase count as one, since one waits for the other. Returns messages
    within nodes if there are no others, and none if only phases were stored.
    """
    if samples.of_phases:
        return nothing(samples.ranks)
    phase, rank, slot = np.nonzero(samples.peer >= 0)
    source = samples.peer[phase, rank, slot].astype(np.int64)
    seconds = samples.message_seconds[:, phase, rank, slot]
    middle = medians(np.where(seconds > 0, seconds, np.nan)).median
    sent = samples.bytes[phase, rank, slot]
    if samples.peer.shape[2] > 1:
        number = (phase * samples.ranks + source) * samples.ranks + rank
        first, route = np.unique(number, return_index=True, return_inverse=True)[1:]
        slowest = np.zeros(len(first))
        np.maximum.at(slowest, route, middle)  # NaN stays
        total = np.zeros(len(first), sent.dtype)
        np.add.at(total, route, sent)
        sent, middle = total, slowest
        phase, source, rank = phase[first], source[first], rank[first]
    with np.errstate(over="ignore", invalid="ignore"):
        rate = sent / middle
    between = samples.node[source] != samples.node[rank]
    if not between.any():  # a single node has only routes within it
        between = np.ones(len(phase), bool)
    kept = between & np.isfinite(rate) & (rate > 0)
    found = Observed(samples.ranks, samples.phase[phase], source, rank.astype(np.int64), rate).where(kept)
    return replace(found, abreast=_abreast(found))


def _abreast(observed: Observed) -> Floats | None:
    """Returns `Observed.abreast`: the number of equals that share the link; or, for a message that takes more
    than an equal share, so many of it as fill the link."""
    phase = np.unique(observed.phase, return_inverse=True)[1]
    ends = [phase * observed.ranks + end for end in (observed.source, observed.destination)]
    equals = np.maximum(*(np.bincount(end)[end] for end in ends))
    if not (equals > 1).any():
        return None
    full = np.maximum(*(np.bincount(end, weights=observed.rate)[end] for end in ends))
    return np.asarray(np.minimum(equals, full / observed.rate))


def some_phases(observed: Observed, most_messages: int) -> Observed:
    """Returns all messages, or those of random phases that hold about `most_messages`; at least 3 phases."""
    numbers = np.unique(observed.phase)
    kept = max(3, len(numbers) * most_messages // max(len(observed), 1))
    if kept >= len(numbers):
        return observed
    drawn = np.random.default_rng(len(numbers)).choice(numbers, kept, replace=False)
    return observed.where(np.isin(observed.phase, drawn))
