"""Algorithms of a collective operation, each a phase: which is the fastest, by message size."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from crosscut.analysis.figures import summary
from crosscut.analysis.figures.samples import Samples
from crosscut.analysis.stats.intervals import Medians, medians


@dataclass(frozen=True)
class AlgorithmRange:
    """Consecutive sizes for which the same is true of some algorithms, such as being the fastest."""

    algorithms: tuple[int, ...]
    """Indices of phases; may be empty."""
    first_bytes: int
    last_bytes: int


@dataclass(frozen=True)
class Excess:
    """An algorithm takes longer than the fastest of some others at one size: their intervals are apart."""

    at: int
    """Index of the size."""
    fastest: int
    """Index of the fastest other's phase."""
    ratio: float
    """Of the medians; `low` and `high`: of the ends of the intervals."""
    low: float
    high: float


@dataclass(frozen=True)
class AlgorithmTimes:
    size_bytes: tuple[int, ...]
    """Ascending."""
    seconds: tuple[Medians, ...]
    """For each size: [phase] time of the slowest rank."""
    rates: tuple[Medians, ...]
    """For each size: [phase] bytes per second by the pattern's formula."""

    def of(self, phases: Sequence[int]) -> AlgorithmTimes:
        """Returns the times of some of the phases."""
        chosen = np.array(phases)
        seconds, rates = (tuple(each.where(chosen) for each in every) for every in (self.seconds, self.rates))
        return AlgorithmTimes(self.size_bytes, seconds, rates)

    def fastest(self, at: int, without: Sequence[int] = ()) -> tuple[int, ...]:
        """Returns the algorithm with the least median time at one size, and all whose intervals begin below
        the end of its own; empty if nothing was measured."""
        median = np.where(
            np.isin(np.arange(len(self.seconds[at].median)), without), np.nan, self.seconds[at].median
        )
        if not np.isfinite(median).any():
            return ()
        best = int(np.nanargmin(median))
        low, high = (
            np.where(np.isfinite(bound), bound, median)
            for bound in (self.seconds[at].low, self.seconds[at].high)
        )
        alike = np.nonzero((low <= high[best]) & np.isfinite(median))[0].tolist()
        return (best, *(one for one in alike if one != best))

    def excesses(self, of: int, others: Sequence[int]) -> list[Excess]:
        """Returns the sizes at which one algorithm takes longer than the fastest of the others."""
        found = []
        for at, seconds in enumerate(self.seconds):
            known = [other for other in others if np.isfinite(seconds.high[other])]
            if not known or not np.isfinite(seconds.low[of]):
                continue
            best = min(known, key=lambda other: float(seconds.median[other]))
            if 0 < seconds.high[best] < seconds.low[of] and seconds.low[best] > 0:
                low, high = seconds.low[of] / seconds.high[best], seconds.high[of] / seconds.low[best]
                ratio = seconds.median[of] / seconds.median[best]
                found.append(Excess(at, best, float(ratio), float(low), float(high)))
        return found

    def ranges(self, without: Sequence[int] = ()) -> list[AlgorithmRange]:
        """Returns, by ascending size, where the fastest algorithm changes, if some phases are left out."""
        fastest = {size: self.fastest(at, without) for at, size in enumerate(self.size_bytes)}
        return ranges({size: those for size, those in fastest.items() if those})


@dataclass(frozen=True)
class TakingPart:
    """Phases in which the same ranks took part, each an algorithm."""

    who: str
    """`every 4th rank`, `all ranks`; empty if the run has only one group."""
    every: int
    """The ranks 0, every, 2 every, … take part."""
    names: tuple[str, ...]
    """The algorithms' names."""
    labels: tuple[str, ...]
    """The phases' labels, as the run has them: the name, and who took part."""
    times: AlgorithmTimes


# core/patterns/collective.cpp
_LABEL = re.compile(r"(?P<name>.*), (?P<who>all ranks|every (?P<every>[1-9][0-9]{0,8})(?:st|nd|rd|th) rank)")


def groups(measured: Sequence[Samples], label: Callable[[int], str]) -> list[TakingPart]:
    """Returns the groups in the order of the phases. `label` returns that of the phase with this number."""
    numbers = phases_of(measured)
    labels = [label(number) for number in numbers]
    read = [_LABEL.fullmatch(one) for one in labels]
    found = algorithm_times(measured)
    phases: dict[str, list[int]] = {}
    for phase, match in enumerate(read):
        phases.setdefault(match["who"] if match else "", []).append(phase)
    together = []
    for who, those in phases.items():
        matches = [match for phase in those if (match := read[phase])]
        together.append(
            TakingPart(
                who,
                int(matches[0]["every"] or 1) if matches else 1,
                tuple(match["name"] for match in matches) or tuple(labels[phase] for phase in those),
                tuple(labels[phase] for phase in those),
                found.of(those),
            )
        )
    return together


def ranges(by_size: Mapping[int, tuple[int, ...]]) -> list[AlgorithmRange]:
    """Joins ascending sizes. A range goes on as long as its sizes have an algorithm in common, or all have
    none."""
    found: list[AlgorithmRange] = []
    for size, those in by_size.items():
        common = tuple(one for one in found[-1].algorithms if one in those) if found else ()
        if common or (found and not those and not found[-1].algorithms):
            found[-1] = AlgorithmRange(common, found[-1].first_bytes, size)
        else:
            found.append(AlgorithmRange(those, size, size))
    return found


def phases_of(measured: Sequence[Samples]) -> list[int]:
    """Returns the numbers of the phases that were measured at any size, ascending."""
    return sorted({number for samples in measured for number in samples.phase.tolist()})


def algorithm_times(measured: Sequence[Samples]) -> AlgorithmTimes:
    """[phase] means those of `phases_of`; NaN where a phase was not measured at a size."""
    numbers = phases_of(measured)
    ordered = sorted(measured, key=lambda samples: samples.size_bytes)
    return AlgorithmTimes(
        tuple(samples.size_bytes for samples in ordered),
        tuple(
            _spread(medians(summary.phase_seconds(samples), exact=samples.exact), samples, numbers)
            for samples in ordered
        ),
        tuple(_spread(summary.formula_rates(samples), samples, numbers) for samples in ordered),
    )


def _spread(found: Medians, samples: Samples, numbers: Sequence[int]) -> Medians:
    at = np.searchsorted(numbers, samples.phase)
    nothing = np.full((3, len(numbers)), np.nan)
    spread = Medians(nothing[0], nothing[1], nothing[2], np.zeros(len(numbers), np.int64))
    for column in ("median", "low", "high", "count"):
        getattr(spread, column)[at] = getattr(found, column)
    return spread
