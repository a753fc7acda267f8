"""Trends and steps over many runs of one measurement, in the order of their dates.

Trend: Kendall's S (H. B. Mann, Econometrica 13, 1945) and Theil and Sen's slope (P. K. Sen, JASA 63, 1968).
Step: Pettitt's K (Applied Statistics 28, 1979). Probabilities come from permuting the order of the runs for
all series together, so they hold for all of them at once (`permutation`). Each run counts once, because its
repetitions share the noise from run to run.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from crosscut.analysis.compare import conditions
from crosscut.analysis.compare.comparing import ComparisonSettings, refuse_unreachable
from crosscut.analysis.compare.matching import match, on_phases
from crosscut.analysis.figures import samples
from crosscut.analysis.figures.route_class import Groups
from crosscut.analysis.figures.series import SampleColumns, Subject, columns
from crosscut.analysis.stats import permutation
from crosscut.analysis.stats.intervals import Floats
from crosscut.analysis.stats.permutation import Columns as Ways
from crosscut.base.errors import UsageError
from crosscut.run.run import Run

SECONDS_A_DAY = 86_400.0
_UNDATED = "not every run records its start: runs are taken in the order given, a day apart"


@dataclass(frozen=True)
class Trend:
    subject: Subject
    rates: tuple[float, ...]
    """[run] bytes per second"""
    change: float
    """Relative change over the whole time, by the slope."""
    per_day: float
    """Relative change per day, by the slope."""
    doubt: float
    step_at: int
    """Index of the first run after the likeliest step."""
    step: float
    """Median after the step over the median before, minus 1."""
    step_doubt: float

    def told(self, asked: ComparisonSettings) -> str:
        """Returns `step` or `trend` if significant and large enough, else an empty string; if both are, the
        one that fits better."""
        of_step = self.step_doubt <= asked.error_rate / 2 and abs(self.step) >= asked.matters
        of_trend = self.doubt <= asked.error_rate / 2 and abs(self.change) >= asked.matters
        if of_step and of_trend:
            return "step" if self._step_fits_better() else "trend"
        return "step" if of_step else "trend" if of_trend else ""

    def worse(self, asked: ComparisonSettings) -> bool:
        return {"step": self.step < 0, "trend": self.change < 0}.get(self.told(asked), False)

    def _step_fits_better(self) -> bool:
        logs = np.log(self.rates)
        after = np.arange(len(logs)) >= self.step_at
        level = np.where(after, np.median(logs[after]), np.median(logs[~after]))
        line = np.median(logs) + math.log1p(self.change) * np.linspace(-0.5, 0.5, len(logs))
        return float(np.abs(logs - level).sum()) <= float(np.abs(logs - line).sum())


@dataclass(frozen=True)
class Trends:
    series: tuple[Trend, ...]
    starts: tuple[str, ...]
    fewest_runs: int
    """With fewer runs, no trend is significant."""
    conditions: tuple[str, ...]
    """Circumstances other than the network that may explain a trend or a step."""
    notes: tuple[str, ...]

    @property
    def too_few(self) -> bool:
        return len(self.starts) < self.fewest_runs


def trends(runs: Sequence[Run], groups: Groups, asked: ComparisonSettings) -> tuple[Trends, tuple[Run, ...]]:
    """Returns the trends of route classes and nodes, and the runs used, in the order of their dates.

    Runs in which the machine limited everything are left out. Raises UsageError if the runs may not be
    compared or the error rate is unreachable, and UntoldError if fewer than two remain.
    """
    refuse_unreachable(asked.error_rate, of_tests=2)  # trend and step
    runs, said = _believed(runs)
    days, undated = np.arange(len(runs), dtype=np.float64), [_UNDATED]
    dated = [(moment, run) for run in runs if (moment := started(run)) is not None]
    if len(dated) == len(runs):
        dated.sort(key=lambda one: one[0])
        days, undated = np.array([moment.timestamp() for moment, _ in dated]) / SECONDS_A_DAY, []
        runs = [run for _, run in dated]
    subjects, values, notes = _values(runs, groups)
    found = _tested(subjects, values, days)
    fewest = next(n for n in range(3, 20) if 2 / math.factorial(n) <= asked.error_rate / 2)
    starts = tuple(str(run.attributes.get("start", "?")) for run in runs)
    said = (*conditions.differences(runs), *conditions.overloaded(runs), *said)
    return Trends(tuple(found), starts, fewest, said, (*notes, *undated)), tuple(runs)


def _believed(runs: Sequence[Run]) -> tuple[Sequence[Run], tuple[str, ...]]:
    """Returns the runs that the machine did not limit entirely, and sentences about the phases left out."""
    sizes, phases = _in_common(runs)
    kept = [run for run in runs if not conditions.is_all_limited(run, sizes, phases)]
    if len(kept) < 2:
        whose = "all runs" + (f" but {kept[0].path}" if kept else "")
        raise conditions.UntoldError(whose, conditions.differences(runs))
    return kept, tuple(conditions.left_out(runs, sizes, phases))


def _in_common(runs: Sequence[Run]) -> tuple[list[int], NDArray[np.int64]]:
    """Returns the sizes and phases that all runs have; raises UsageError if they may not be compared."""
    first = runs[0]
    sizes = [size for size in first.sizes_bytes if all(size in run.sizes_bytes for run in runs)]
    phases = reduce(np.intersect1d, [match(first, run).phases for run in runs])
    if not len(phases):
        raise UsageError("no phase was measured in all runs: compare them two at a time")
    return sizes, phases


def started(run: Run) -> datetime | None:
    """Returns when the run began; None if it does not say."""
    try:
        found = datetime.fromisoformat(str(run.attributes.get("start")))
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _values(runs: Sequence[Run], groups: Groups) -> tuple[tuple[Subject, ...], Floats, tuple[str, ...]]:
    """Returns the subjects that all runs have, [run, subject] medians of their log rates, and notes."""
    tables: list[dict[Subject, float]] = []
    notes: dict[str, None] = {}
    first = runs[0]
    sizes, phases = _in_common(runs)
    believed = {size: conditions.unlimited(runs, size, phases) for size in sizes}
    for run in runs:
        matched = match(first, run)
        notes |= dict.fromkeys(matched.notes)
        table: dict[Subject, float] = {}
        for size in sizes:
            if not len(believed[size]):
                continue
            taken = samples.load(on_phases(run, believed[size]), run.size_index(size))
            part: SampleColumns = columns(
                taken, matched.ranks, first.node_indices, groups, single=run.phase_summarised
            )
            for at, subject in enumerate(part.subjects):
                there = part.values[:, at][np.isfinite(part.values[:, at])]
                if len(there):
                    table[subject] = float(np.median(there))
        tables.append(table)
    subjects = tuple(subject for subject in tables[0] if all(subject in table for table in tables))
    if not subjects:
        if not any(map(len, believed.values())):
            raise conditions.UntoldError("one of them or another", conditions.differences(runs))
        raise UsageError(
            "no class of routes and no node was measured in all runs: compare them two at a time"
        )
    return subjects, np.array([[table[s] for s in subjects] for table in tables]), tuple(notes)


def _tested(subjects: Sequence[Subject], values: Floats, days: Floats) -> list[Trend]:
    ways, drawn = permutation.orders(len(days))
    as_it_was = np.arange(len(days))[None, :]
    kendall, pettitt = _kendall(values, as_it_was)[0], _pettitt(values, as_it_was)[:, 0]
    doubts = permutation.step_down(np.abs(kendall), np.abs(_kendall(values, ways)), drawn=drawn)
    step_doubts = permutation.step_down(
        np.abs(pettitt).max(axis=0), np.abs(_pettitt(values, ways)).max(axis=0), drawn=drawn
    )
    found = []
    for at, subject in enumerate(subjects):
        logs = values[:, at]
        slope = _slope(logs, days)
        cut = int(np.abs(pettitt[:, at]).argmax()) + 1
        found.append(
            Trend(
                subject=subject,
                rates=tuple(np.exp(logs).tolist()),
                change=math.expm1(slope * float(days[-1] - days[0])),
                per_day=math.expm1(min(slope, 50.0)),
                doubt=float(doubts[at]),
                step_at=cut,
                step=math.expm1(float(np.median(logs[cut:]) - np.median(logs[:cut]))),
                step_doubt=float(step_doubts[at]),
            )
        )
    return found


def _kendall(values: Floats, ways: Ways) -> Floats:
    """[way, series] Kendall's S with the runs in each order. `ways`: [way, run] position of the run."""
    one, other = np.triu_indices(len(values), 1)
    later = np.sign(ways[:, other] - ways[:, one]).astype(np.float64)
    return np.asarray(later @ np.sign(values[other] - values[one]), np.float64)


def _pettitt(values: Floats, ways: Ways) -> Floats:
    """[cut - 1, way, series] Pettitt's U for a step after `cut` runs."""
    one, other = np.triu_indices(len(values), 1)
    signs = np.sign(values[other] - values[one])
    found = []
    for cut in range(1, len(values)):
        after = (ways >= cut).astype(np.float64)
        found.append((after[:, other] - after[:, one]) @ signs)
    return np.stack(found)


def _slope(logs: Floats, days: Floats) -> float:
    """Returns the slope per day; pairs of runs that began at the same moment are left out."""
    one, other = np.triu_indices(len(days), 1)
    apart = days[other] - days[one]
    there = apart > 0
    return float(np.median((logs[other] - logs[one])[there] / apart[there])) if there.any() else 0.0
