"""Launches of one measurement: joins them into one run, a repetition each, and tells how much they differ.

A launch starts new processes and new connections, whose ports hash to other paths. Hunold and Carpen-Amarie
(IEEE TPDS 27(12), 2016) find that launches often differ by more than the repetitions within them. So the
launch is the sampling unit, and its medians are the samples.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import xarray as xr

from crosscut.analysis.figures import samples, summary
from crosscut.analysis.figures.limited import listed
from crosscut.analysis.figures.samples import Samples
from crosscut.analysis.stats.intervals import Floats, Medians, medians, stretch
from crosscut.base.errors import UsageError
from crosscut.run import launches
from crosscut.run.format import MEASURED
from crosscut.run.run import Run
from crosscut.run.shape import reading


def open_run(path: Path) -> Run:
    """Opens a run, or a folder of launches as one run (`joined`); UsageError if none is measured yet."""
    if not launches.is_launches(path):
        return Run.open(path)
    there = launches.load(path).there
    if not there:
        raise UsageError(
            f"{path}: no launch has been measured yet; continue with: crosscut run --resume {path}"
        )
    return joined(path, [Run.open(run) for run in there])


def of_launches(run: Run) -> int:
    """Returns how many launches were joined into this run; 0: it is a single launch."""
    return len(list(listed(run.attributes.get("launches"))))


def joined(path: Path, runs: Sequence[Run]) -> Run:
    """Returns a run with a repetition for each launch: the medians over the launch's own repetitions.

    Attributes are those of the first launch, except those that concern all. Raises UsageError if launches do
    not belong to one measurement.
    """
    for run in runs[1:]:
        if (what := _differing(runs[0], run)) is not None:
            raise UsageError(
                f"{path}: the {what} of {run.path.name} and {runs[0].path.name} differ, so these are not "
                f"launches of one measurement; name a single run, such as {runs[0].path}"
            )
    parts = [_as_repetition(run.dataset) for run in runs]
    alike = [name for name, variable in parts[0].variables.items() if "repetition" not in variable.dims]
    whole = xr.concat([part.drop_vars(alike) for part in parts], "repetition", combine_attrs="override")
    whole = whole.merge(parts[0][alike]).assign_attrs(_attributes(runs))
    done = xr.full_like(whole["repetitions_done"], len(runs)) if "repetitions_done" in whole else None
    return Run(path, whole if done is None else whole.assign(repetitions_done=done))


def _differing(first: Run, other: Run) -> str | None:
    if first.ranks != other.ranks:
        return "ranks"
    if first.node_names != other.node_names:
        return "nodes"
    for name, words in (("size", "sizes"), ("phase", "phases"), ("peer", "partners")):
        here, there = (run.dataset.get(name) for run in (first, other))
        if (here is None) != (there is None):
            return words
        if here is not None and there is not None and not np.array_equal(here.values, there.values):
            return words
    kept = (set(run.dataset.variables) for run in (first, other))
    return "arrays" if len(set(map(frozenset, kept))) > 1 else None


_STATUS = ("status", "phase_status")


def _as_repetition(dataset: xr.Dataset) -> xr.Dataset:
    """Returns one repetition in place of all: their medians."""
    found = dataset
    if "message_summary" in dataset:  # repetitions are already summarised on disk
        kept = {f"{of}_seconds": dataset[f"{of}_summary"].sel(statistic="median", drop=True)
                for of in ("message", "rank")}  # fmt: skip
        found = dataset.drop_vars(["message_summary", "rank_summary", "statistic"]).assign(
            {name: array.expand_dims("repetition", 1) for name, array in kept.items()}
        )
    status = next(dataset[name] for name in _STATUS if name in dataset)
    measured = status == MEASURED
    ever = measured.any("repetition")
    changed = {}
    for name, array in found.data_vars.items():
        if "repetition" not in array.dims:
            continue
        if name in _STATUS:
            value = array.isel(repetition=-1).where(~ever, MEASURED).astype(array.dtype)
        elif array.sizes["repetition"] == measured.sizes["repetition"]:
            by_rank = "rank" in array.dims or "rank" not in measured.dims
            there = measured if by_rank else measured.any("rank")
            value = array.where(there).reduce(_middle, "repetition")
        else:
            value = array.isel(repetition=0).where(ever)
        changed[str(name)] = value.expand_dims("repetition", 1).transpose(*array.dims)
    return found.drop_vars(list(changed)).assign(changed)


def _middle(values: Floats, axis: int) -> Floats:
    """Returns the median along an axis, ignoring NaN; NaN where all are."""
    return medians(np.moveaxis(values, axis, 0), in_time_order=False).median


def _attributes(runs: Sequence[Run]) -> dict[str, object]:
    """Returns the attributes of all launches together.

    The state is `stopped` if theirs differ. Machine limits, planted faults and failed ranks are collected.
    """
    first = dict(runs[0].attributes)
    states = {run.attributes.get("state") for run in runs}
    first |= {"state": states.pop() if len(states) == 1 else "stopped"}
    first |= {"end": runs[-1].attributes.get("end"), "launches": [run.path.name for run in runs]}
    for name in ("trust", "faults", "failed_ranks"):
        if any(name in run.attributes for run in runs):
            told: list[object] = []
            for run in runs:
                told += [entry for entry in listed(run.attributes.get(name)) if entry not in told]
            first[name] = told
    return first


@dataclass(frozen=True)
class LaunchSpread:
    """How much launches differ at one size, compared with repetitions of one launch."""

    size_bytes: int
    timed: bool
    """True: figures are times in seconds; False: rates in bytes per second."""
    launches: Floats
    """[launch] median over its repetitions; NaN if it has none."""
    middle: Medians
    """[1] median of the launches, with its interval."""
    between: float
    """Relative standard deviation between launches, beyond what repetitions explain; NaN: unknown."""
    within: float
    """Relative standard deviation between repetitions of one launch; NaN: unknown."""

    @property
    def dominates(self) -> bool:
        """True if launches differ by more than their repetitions do."""
        return (
            self.between > max(self.within, _ROUNDING) and np.isfinite(self.launches).sum() >= FEWEST_LAUNCHES
        )


# Smaller differences are rounding errors.
_ROUNDING = 1e-9
# Fewer launches do not show a spread.
FEWEST_LAUNCHES = 3


def spreads(runs: Sequence[Run]) -> list[LaunchSpread]:
    """Returns the spread at each size, smallest first. `runs`: launches of one measurement."""
    sizes = sorted({size for run in runs for size in run.sizes_bytes})
    return [found for size in sizes if (found := _spread(runs, size)) is not None]


def _spread(runs: Sequence[Run], size_bytes: int) -> LaunchSpread | None:
    shape = reading(runs[0].attributes).shape
    figure = _phase_rates if shape.by_phase else _message_seconds
    rows = [
        figure(samples.load(run.dataset, run.size_index(size_bytes)))
        if size_bytes in run.sizes_bytes else np.zeros(0)
        for run in runs
    ]  # fmt: skip
    rows = [row[np.isfinite(row) & (row > 0)] for row in rows]
    if not any(map(len, rows)):
        return None
    each = np.array([float(np.median(row)) if len(row) else math.nan for row in rows])
    between, within = components([np.log(row) for row in rows if len(row)])
    return LaunchSpread(
        size_bytes, not shape.by_phase, each, medians(each[:, None], in_time_order=False), between, within
    )


def _phase_rates(taken: Samples) -> Floats:
    """[repetition] bytes per second of the median phase."""
    seconds = summary.phase_seconds(taken)
    with np.errstate(divide="ignore", invalid="ignore"):
        return _median(summary.moved_bytes(taken) / np.where(seconds > 0, seconds, np.nan))


def _message_seconds(taken: Samples) -> Floats:
    """[repetition] seconds of the median message."""
    return _median(taken.message_seconds.reshape(len(taken.message_seconds), -1))


def _median(values: Floats) -> Floats:
    """[row] median; NaN if the row has no value."""
    return medians(values.T, in_time_order=False).median


def components(launches: Sequence[Floats]) -> tuple[float, float]:
    """Returns standard deviations (between launches, within one) of each launch's values [repetition].

    One-way analysis of variance with launches as random effects of unequal size (Searle, Casella and
    McCulloch, Variance Components, Wiley 1992, section 3.6). If successive repetitions are correlated, the
    mean of a launch is less certain (`intervals.stretch`).
    """
    counts = np.array([len(values) for values in launches], np.float64)
    free = counts.sum() - len(counts)
    means = np.array([values.mean() for values in launches])
    if free <= 0:
        return (float(means.std(ddof=1)) if len(means) > 1 else math.nan), math.nan
    inside = sum(float(((values - values.mean()) ** 2).sum()) for values in launches) / free
    if len(launches) < 2:
        return math.nan, math.sqrt(inside)
    inflated = inside * float(np.mean([stretch(values[:, None])[0] ** 2 for values in launches]))
    overall = float((counts * means).sum() / counts.sum())
    among = float((counts * (means - overall) ** 2).sum() / (len(counts) - 1))
    typical = (counts.sum() - (counts**2).sum() / counts.sum()) / (len(counts) - 1)
    return math.sqrt(max(0.0, (among - inflated) / typical)), math.sqrt(inside)
