"""Published, emulated, simulated, error: pure functions from runs to rows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from crosscut.reproduce.experiment import Experiment, Series
from crosscut.reproduce.quantities import QUANTITIES, UNITS, Kind, Values, scaled, unevenness
from crosscut.reproduce.running import Measured
from crosscut.run import Run


@dataclass(frozen=True)
class Curve:
    """All figures of a series at one place, as on the network itself, in the series' unit."""

    series: str
    place: str
    x: tuple[float, ...]
    values: tuple[float, ...]
    routes: tuple[float, ...] = ()
    """Of each route the rate, or the time where the series is of those: medians over repetitions."""
    route_bytes: tuple[int, ...] = ()
    phase_x: tuple[float, ...] = ()
    phase_rates: tuple[float, ...] = ()
    """MiB/s: a message over the time of the slowest rank, of each phase measured."""
    unevenness: tuple[float, ...] = ()
    """Coefficient of variation of the routes of each phase."""


@dataclass(frozen=True)
class Row:
    series: str
    where: str
    x: float | None
    """Phase, size or what the file calls it; None: one figure for all."""
    unit: str
    published: float | None
    emulated: float | None
    simulated: float | None
    in_aim: bool
    note: str

    def error(self, value: float | None) -> float | None:
        """Relative to the published figure, with its sign."""
        if value is None or self.published is None:
            return None
        return (value - self.published) / self.published


@dataclass(frozen=True)
class Summary:
    place: str
    rows: int
    mean: float
    worst: float
    worst_row: Row
    met: bool | None
    """None: the file has no aim."""


def curve(measured: Measured) -> Curve:
    series = measured.series
    runs = [Run.open(path) for path in measured.runs]
    x: list[float] = []
    values: list[float] = []
    uneven: list[float] = []
    phase_x: list[float] = []
    phase_rates: list[float] = []
    phase_rate = QUANTITIES["phase rate"].of
    for run in runs:
        sizes = range(len(run.sizes_bytes)) if series.by_size else (0,)
        for size in sizes:
            found = _scaled(series, measured, run, series.quantity.of(run, size), size)
            values += found.tolist()
            x += _places_on_x(series, run, size)
        if not run.phase_summarised:
            uneven += unevenness(run, 0).tolist()
            phase_x += run.dataset["phase"].values.astype(float).tolist()
            phase_rates += (phase_rate(run, 0) * measured.dilation / UNITS["MiB/s"]).tolist()
    if series.x:
        x = list(series.x)
    order = np.argsort(x, kind="stable") if not series.x else np.arange(len(x))
    routes, route_bytes = _routes(series, measured, runs)
    return Curve(
        series.name, measured.place, tuple(x[i] for i in order), tuple(values[i] for i in order),
        routes, route_bytes, tuple(phase_x), tuple(phase_rates), tuple(uneven),
    )  # fmt: skip


def _places_on_x(series: Series, run: Run, size: int) -> list[float]:
    if series.by_size:
        return [float(run.sizes_bytes[size])]
    if series.quantity.each_phase:
        return [float(phase) for phase in run.dataset["phase"].values]
    return [0.0]


def _scaled(series: Series, measured: Measured, run: Run, values: Values, size: int) -> Values:
    ratio = series.messages[size] / run.sizes_bytes[size]
    done = scaled(values, series.quantity.kind, measured.dilation, ratio)
    return np.asarray(done / UNITS[series.unit], dtype=np.float64)


_MOST_ROUTES = 20_000


def _routes(
    series: Series, measured: Measured, runs: Sequence[Run]
) -> tuple[tuple[float, ...], tuple[int, ...]]:
    found: list[float] = []
    sizes: list[int] = []
    is_rate = series.quantity.kind is not Kind.LATENCY
    unit = UNITS[series.unit if "/" in series.unit or not is_rate else "MiB/s"]
    for run in runs:
        if run.summarised or run.phase_summarised or len(found) > _MOST_ROUTES:
            continue
        seconds = run.message_seconds(0).median("repetition").values.ravel()
        sent = np.broadcast_to(run.message_bytes(0).values, run.message_seconds(0).values.shape[1:]).ravel()
        kept = np.isfinite(seconds) & (seconds > 0)
        values = sent[kept] / seconds[kept] * measured.dilation if is_rate else seconds[kept]
        found += (values / unit).tolist()
        sizes += sent[kept].astype(int).tolist()
    return tuple(found[:_MOST_ROUTES]), tuple(sizes[:_MOST_ROUTES])


def rows(experiment: Experiment, curves: Sequence[Curve]) -> Iterator[Row]:
    by_name = {(one.series, one.place): one for one in curves}
    for series in experiment.series:
        lab, sim = (by_name.get((series.name, place)) for place in ("lab", "sim"))
        wanted = _wanted(series, lab or sim)
        for at, x in enumerate(wanted):
            published = series.published[at] if series.published else None
            yield Row(
                series.name, series.where, x if len(wanted) > 1 or series.phases else None, series.unit,
                published, _at(lab, x), _at(sim, x),
                published is not None and x not in series.outside_the_aim, series.note,
            )  # fmt: skip


def _wanted(series: Series, found: Curve | None) -> tuple[float, ...]:
    """Where on x the figures are: those that are published, else all that came out."""
    if series.x:
        return series.x
    if series.phases:
        return tuple(float(phase) for phase in series.phases)
    if series.by_size:
        return tuple(float(size) for size in series.messages)
    return (0.0,) if not series.quantity.each_phase else found.x if found else ()


def _at(found: Curve | None, x: float) -> float | None:
    if found is None or x not in found.x:
        return None
    value = found.values[found.x.index(x)]
    return value if math.isfinite(value) else None


def summaries(experiment: Experiment, found: Sequence[Row]) -> Iterator[Summary]:
    """Of the rows with which an aim goes, for each place."""
    for place in ("lab", "sim"):
        held = [
            (abs(error), row)
            for row in found
            if row.in_aim
            and (error := row.error(row.emulated if place == "lab" else row.simulated)) is not None
        ]
        if not held:
            continue
        errors = [error for error, _ in held]
        mean, (worst, row) = float(np.mean(errors)), max(held, key=lambda pair: pair[0])
        aims = [(mean, experiment.mean_aim), (worst, experiment.worst_aim)]
        given = [value <= aim for value, aim in aims if aim is not None]
        yield Summary(place, len(held), mean, worst, row, all(given) if given else None)
