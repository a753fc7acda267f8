"""Turns runs into rows of published, emulated and simulated figures with their errors."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from crosscut.reproduce import joint, trusting
from crosscut.reproduce.experiment import PLACES, Aim, Experiment, Series
from crosscut.reproduce.quantities import QUANTITIES, UNITS, Scaling, Values, scaled, unevenness
from crosscut.reproduce.running import MeasuredSeries
from crosscut.run.realm import Realm
from crosscut.run.run import Run


@dataclass(frozen=True)
class SeriesCurve:
    """All figures of a series at one place, scaled to the paper's network, in the series' unit."""

    series: str
    place: Realm
    x: tuple[float, ...]
    values: tuple[float, ...]
    routes: tuple[float, ...] = ()
    """Median over repetitions of each route's rate, or of its time if the series measures times."""
    route_bytes: tuple[int, ...] = ()
    phase_x: tuple[float, ...] = ()
    phase_rates: tuple[float, ...] = ()
    """MiB/s, for each phase measured: the message over the time of the slowest rank."""
    unevenness: tuple[float, ...] = ()
    """Coefficient of variation of the routes' rates, for each phase."""
    limited: tuple[bool, ...] = ()
    """For each of `values`: True if the machine, not the network, was the limit."""
    phase_limited: tuple[bool, ...] = ()
    """The same for each of `phase_x`."""


@dataclass(frozen=True)
class ComparisonRow:
    series: str
    where: str
    x: float | None
    """Phase, size, number of ranks or the file's own `x`; None for a single figure."""
    unit: str
    published: float | None
    calculated: float | None
    """Figure that follows from the paper's setup, if the paper prints none."""
    emulated: float | None
    simulated: float | None
    in_aim: bool
    note: str
    emulated_limited: bool = False
    """True if the machine, not the network, limited the emulation."""
    here: float | None = None
    """Measured on this machine itself, with no network between the ranks."""
    fitted: str = ""
    """What in the network's file was taken from this very figure."""

    @property
    def held_against(self) -> float | None:
        return self.calculated if self.published is None else self.published

    @property
    def against(self) -> str:
        """Kind of its error: of a prediction (`published`), of a fit, or of a calculated figure."""
        return "calculated" if self.published is None else "fitted" if self.fitted else "published"

    def at(self, place: Realm) -> float | None:
        return {
            Realm.EMULATED: self.emulated, Realm.SIMULATED: self.simulated, Realm.HERE: self.here
        }[place]  # fmt: skip

    def limited(self, place: Realm) -> bool:
        return place is Realm.EMULATED and self.emulated_limited

    def error(self, value: float | None) -> float | None:
        """Signed error relative to the published figure, or to the calculated one (`calculated`)."""
        against = self.held_against
        if value is None or against is None:
            return None
        return (value - against) / against


@dataclass(frozen=True)
class Summary:
    place: Realm
    against: str
    """As of each row."""
    errors: tuple[tuple[float, ComparisonRow], ...]
    """Absolute relative errors, with their rows, of the rows that count."""
    left_out: int
    """Number of rows left out because the machine was the limit."""
    aim: Aim

    @property
    def met(self) -> bool | None:
        """True if the aim is met; None if there is no aim or no row counts."""
        aims = [(self.mean, self.aim.mean), (self.worst, self.aim.worst)]
        given = [value <= aim for value, aim in aims if aim is not None]
        return all(given) if given and self.errors else None

    @property
    def rows(self) -> int:
        return len(self.errors)

    @property
    def mean(self) -> float:
        return float(np.mean([error for error, _ in self.errors])) if self.errors else math.nan

    @property
    def worst(self) -> float:
        return max((error for error, _ in self.errors), default=math.nan)

    @property
    def worst_row(self) -> ComparisonRow | None:
        return max(self.errors, key=lambda pair: pair[0])[1] if self.errors else None


def curve(measured: MeasuredSeries) -> SeriesCurve:
    series = measured.series
    if measured.values is not None:
        return SeriesCurve(
            series.name, measured.place, _named(series), measured.values, limited=measured.limited
        )
    runs = [Run.open(path) for path in measured.runs]
    x: list[float] = []
    values: list[float] = []
    limited: list[bool] = []
    phase_rate, figures_of = QUANTITIES["phase rate"].of, _figures_of(series, runs)
    for run in runs:
        for size in range(len(run.sizes_bytes)) if series.by_size else (0,):
            values += _scaled(series, measured, run, figures_of(run, size), size).tolist()
            x += _places_on_x(series, run, size)
            limited += trusting.figures(series.quantity, trusting.phases(run, size))
    x = list(series.x) or x
    order = np.argsort(x, kind="stable") if not series.x else np.arange(len(x))
    by_phase = [run for run in runs if not run.phase_summarised]
    return SeriesCurve(
        series.name, measured.place, tuple(x[i] for i in order), tuple(values[i] for i in order),
        *_routes(series, measured, runs),
        phase_x=_joined(run.dataset["phase"].values.astype(float) for run in by_phase),
        phase_rates=_joined(phase_rate(run, 0) * measured.dilation / UNITS["MiB/s"] for run in by_phase),
        unevenness=_joined(unevenness(run, 0) for run in by_phase),
        limited=tuple(limited[i] for i in order),
        phase_limited=tuple(chain.from_iterable(trusting.phases(run, 0) for run in by_phase)),
    )  # fmt: skip


def _joined(of_runs: Iterable[Values]) -> tuple[float, ...]:
    return tuple(value for values in of_runs for value in values.tolist())


def _figures_of(series: Series, runs: Sequence[Run]) -> Callable[[Run, int], Values]:
    if series.quantity.step != "joint":
        return series.quantity.of
    route_rate = joint.pace(runs)
    return lambda run, size: joint.rates(run, size, series.limits, route_rate)


def _named(series: Series) -> tuple[float, ...]:
    """The x values of a step's figures."""
    return series.x or tuple(map(float, series.rank_counts or series.phases)) or (0.0,)


def _places_on_x(series: Series, run: Run, size: int) -> list[float]:
    if series.rank_counts:
        return [float(run.ranks)]
    if series.by_size:
        return [float(run.sizes_bytes[size])]
    if series.quantity.each_phase:
        return [float(phase) for phase in run.dataset["phase"].values]
    return [0.0]


def _scaled(series: Series, measured: MeasuredSeries, run: Run, values: Values, size: int) -> Values:
    ratio = series.messages[size] / run.sizes_bytes[size]
    done = scaled(values, series.quantity.kind, measured.dilation, ratio)
    return np.asarray(done / UNITS[series.unit], dtype=np.float64)


_MOST_ROUTES = 20_000


def _routes(
    series: Series, measured: MeasuredSeries, runs: Sequence[Run]
) -> tuple[tuple[float, ...], tuple[int, ...]]:
    found: list[float] = []
    sizes: list[int] = []
    is_rate = series.quantity.kind is not Scaling.LATENCY
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


def rows(experiment: Experiment, curves: Sequence[SeriesCurve]) -> Iterator[ComparisonRow]:
    by_name = {(one.series, one.place): one for one in curves}
    for series in experiment.series:
        lab, sim, here = (by_name.get((series.name, place)) for place in PLACES)
        wanted = _wanted(series, lab or sim or here)
        for at, x in enumerate(wanted):
            published = series.published[at] if series.published else None
            calculated = series.calculated[at] if series.calculated else None
            is_named = len(wanted) > 1 or series.x or (series.phases and series.quantity.each_phase)
            yield ComparisonRow(
                series.name, series.where, x if is_named else None, series.unit, published,
                calculated, _at(lab, x), _at(sim, x),
                (published or calculated) is not None and x not in series.outside_the_aim, series.note,
                _limited(lab, x), _at(here, x), series.fitted,
            )  # fmt: skip


def _wanted(series: Series, found: SeriesCurve | None) -> tuple[float, ...]:
    """The x values to show: those named in the file, else all that were measured."""
    by_size = series.messages if series.by_size else ()
    phases = series.phases if series.quantity.each_phase else ()
    if said := series.x or phases or series.rank_counts or by_size:
        return tuple(map(float, said))
    return (0.0,) if not series.quantity.each_phase else found.x if found else ()


def _at(found: SeriesCurve | None, x: float) -> float | None:
    if found is None or x not in found.x:
        return None
    value = found.values[found.x.index(x)]
    return value if math.isfinite(value) else None


def _limited(found: SeriesCurve | None, x: float) -> bool:
    return found is not None and x in found.x and any(found.limited[found.x.index(x) :][:1])


def summaries(experiment: Experiment, found: Sequence[ComparisonRow]) -> Iterator[Summary]:
    """Summarises the errors of rows in the aim, for each place and kind of error."""
    for place in (Realm.EMULATED, Realm.SIMULATED):
        for against in ("published", "fitted", "calculated"):
            held = [
                (abs(error), row)
                for row in found
                if row.in_aim and row.against == against and (error := row.error(row.at(place))) is not None
            ]
            if held:
                errors = tuple(pair for pair in held if not pair[1].limited(place))
                aim = experiment.aim if against == "published" else Aim()
                yield Summary(place, against, errors, len(held) - len(errors), aim)
