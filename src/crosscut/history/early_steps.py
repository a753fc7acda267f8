"""Large falls of the latest nights that are not yet significant.

Few nights cannot reach the error rate, however far a host falls. To say that nothing has changed would
mislead then, so the falls are listed, without a probability.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from crosscut.analysis.stats import change_points
from crosscut.analysis.stats.intervals import Floats
from crosscut.analysis.stats.rows import median as row_medians
from crosscut.history.nights import HostFlow, Nights

_LARGE = 0.1
# A single bad night is no step.
_FEWEST_AFTER = 2
_NIGHTS_BEFORE = 30


@dataclass(frozen=True)
class EarlyStep:
    """Hosts that have been slower since the same night, in each night than in any of those before."""

    hosts: tuple[int, ...]
    """Indices in `Nights.hosts`."""
    ways: tuple[HostFlow, ...]
    at: int
    """Index of the first slower night."""
    ratio: float
    """The median rate since then over that of up to 30 nights before; the median of the hosts."""
    more: int | None
    """Further nights as slow as these from which on it can be significant; None: more than a year's."""


def find(
    nights: Nights, told: Collection[tuple[int, HostFlow]], matters: float, level: float, tests: int
) -> list[EarlyStep]:
    """Returns the falls of hosts, and of all hosts together, that are not yet significant; the deepest first.

    `told`: hosts whose changes are known. The other arguments are those of the test for changes.
    """
    least = max(matters, _LARGE)
    found: dict[int, list[tuple[int, HostFlow, float, int | None]]] = {}
    for way, rates in nights.rates.items():
        logs = np.log(rates)
        middle = row_medians(logs)[:, None]
        falls = [*_falls(logs - middle)]
        falls += [(host, at) for _, at in _falls(middle) for host in range(logs.shape[1])]
        seen: set[int] = set()
        for host, at in falls:
            own = logs[:, host]
            before, after = (part[np.isfinite(part)] for part in (own[:at], own[at:]))
            if host in seen or (host, way) in told or not len(before) or not len(after):
                continue
            ratio = float(np.exp(np.median(after) - np.median(before[-_NIGHTS_BEFORE:])))
            needed = change_points.fewest_after(len(before), level=level, tests=tests)
            if ratio <= 1 - least and (needed is None or needed > len(after)):
                seen.add(host)
                more = None if needed is None else needed - len(after)
                found.setdefault(at, []).append((host, way, ratio, more))
    steps = [_step(at, some) for at, some in found.items()]
    return sorted(steps, key=lambda one: one.ratio)


def _step(at: int, some: Sequence[tuple[int, HostFlow, float, int | None]]) -> EarlyStep:
    ways = {way for _, way, _, _ in some}
    most = [more for *_, more in some if more is not None]
    return EarlyStep(
        tuple(sorted({host for host, *_ in some})),
        tuple(way for way in HostFlow if way in ways),
        at,
        float(np.median([ratio for _, _, ratio, _ in some])),
        max(most) if len(most) == len(some) else None,
    )


def _falls(values: Floats) -> Iterator[tuple[int, int]]:
    """Yields (series, first time after) for series of [time, series] whose latest values are all below those
    of the `_NIGHTS_BEFORE` times before; of several such times that with the widest gap."""
    count = len(values)
    highest = np.fmax.accumulate(values[::-1], axis=0)[::-1]
    gaps = np.full(values.shape, -np.inf)
    for at in range(max(change_points.FEWEST_ASIDE, count - _NIGHTS_BEFORE), count - _FEWEST_AFTER + 1):
        lowest = np.fmin.reduce(values[max(0, at - _NIGHTS_BEFORE) : at], axis=0)
        known = np.isfinite(values[at:]).sum(axis=0) >= _FEWEST_AFTER
        gaps[at] = np.where(known & np.isfinite(lowest), lowest - highest[at], -np.inf)
    if count:
        for series in np.nonzero((gaps > 0).any(axis=0))[0].tolist():
            yield series, int(gaps[:, series].argmax())
