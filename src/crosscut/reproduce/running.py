"""Runs an experiment's series, on labs that are built for it or on the simulator, and keeps the runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from crosscut import __version__
from crosscut.base import core
from crosscut.base.errors import Interrupted, PlaceError, SessionError, UsageError
from crosscut.base.job import Job
from crosscut.network import switch_words
from crosscut.network.switch_choice import KERNEL
from crosscut.places import DEFAULT
from crosscut.places.base import RANKS_PER_HOST
from crosscut.reproduce import applying, computing, steps
from crosscut.reproduce.experiment import Experiment, Series
from crosscut.run.realm import Realm
from crosscut.session.client import Listener, Session
from crosscut.session.measure import Launch, decide, ready_session
from crosscut.workloads.applications import WorkloadError

Told = Callable[[str], None]


@dataclass(frozen=True)
class MeasuredSeries:
    """The runs of one series at one place; several where its phases do not follow one another."""

    series: Series
    place: Realm
    runs: tuple[Path, ...]
    dilation: float
    seconds: float
    values: tuple[float, ...] | None = None
    """Figures of a step, in the series' own order; None: they are in the runs."""
    limited: tuple[bool, ...] = ()
    """For each of `values`: True if the machine was the limit."""
    switch: str = KERNEL
    """What carried the lab, as typed: crosscut.network.switch_choice."""


@dataclass(frozen=True)
class ReproduceOptions:
    """What was typed."""

    words: tuple[str, ...]
    out: Path
    listener: Listener
    told: Told
    dilation: float | None = None
    """In place of the file's."""
    repetitions: int | None = None
    switch: str | None = None
    """What carries the lab's frames, in place of the file's."""


def measure(experiment: Experiment, place: Realm, how: ReproduceOptions) -> list[MeasuredSeries]:
    """All series at one place, in the file's order; those of one network share a lab."""
    wanted = [one for one in experiment.series if place in one.on]
    found: dict[str, MeasuredSeries] = {}
    for site in dict.fromkeys(_wanted_site(one, place, how) for one in wanted):
        there = [one for one in wanted if _wanted_site(one, place, how) == site]
        network, switch, dilation = site
        with _site(network, switch, place, dilation, how) as on:
            for one in (replace(each, switch=switch) for each in _at(there, place, on, dilation, how)):
                before = found.get(one.series.name)
                found[one.series.name] = one if before is None else _together(before, one)
    by_name = {one.name: one for one in wanted}
    return [replace(found[name], series=one) for name, one in by_name.items() if name in found]


def _wanted_site(series: Series, place: Realm, how: ReproduceOptions) -> tuple[str, str, float]:
    """Network, switch, dilation: what a lab is built of."""
    dilation = (how.dilation or series.dilation) if place is Realm.EMULATED else 1.0
    return series.network, how.switch or series.settings.switch, dilation


def _together(one: MeasuredSeries, other: MeasuredSeries) -> MeasuredSeries:
    """One series, measured with different numbers of ranks."""
    return replace(one, runs=one.runs + other.runs, seconds=one.seconds + other.seconds)


def _at(
    series: list[Series], place: Realm, on: str, dilation: float, how: ReproduceOptions
) -> Iterator[MeasuredSeries]:
    """All that there is to measure on one network."""
    for one in series:
        if one.quantity.step == "walk":
            how.told(f"{one.name} on {place}")
            yield MeasuredSeries(one, place, (), dilation, 0.0, steps.walk(one, on))
        elif one.settings.application is not None:
            yield from _applied(one, place, on, how)
    for group in _sessions([one for one in series if one.pattern]):
        try:
            yield from _group(group, place, on, dilation, how)
        except (UsageError, PlaceError) as error:
            if group[0].settings.backend != "mpi":
                raise
            # Not every machine has an MPI; what is measured without one stands by itself.
            how.told(f"left out: {', '.join(one.name for one in group)}: {error}")


def _applied(series: Series, place: Realm, on: str, how: ReproduceOptions) -> Iterator[MeasuredSeries]:
    how.told(f"{series.name} on {place}")
    kept = how.out / f"{_stem(series)}-{place}.json"
    try:
        done = applying.measure(series, on or DEFAULT, kept, how.repetitions or series.repetitions)
    except (UsageError, PlaceError, WorkloadError) as error:
        # Not every machine has SimGrid, or an MPI, or as many processors as are asked for.
        how.told(f"left out: {series.name}: {error}")
        return
    yield MeasuredSeries(series, place, (done.results,), 1.0, done.seconds, done.shares)


@contextmanager
def _site(network: str, switch: str, place: Realm, dilation: float, how: ReproduceOptions) -> Iterator[str]:
    """What to write after `--on`; a lab is there inside, and gone after."""
    if place is not Realm.EMULATED:
        yield f"{place}:{network}" if place is Realm.SIMULATED else ""
        return
    from crosscut.lab import lifecycle, state

    choices = replace(lifecycle.for_one_run(network, switch), dilation=dilation, owner=state.this_process())
    slowly = f"all rates divided by {dilation:g}" if dilation != 1 else ""
    how.told(", ".join(part for part in (f"lab of {network}", switch_words.clause(switch), slowly) if part))
    record = lifecycle.up(network, choices)
    try:
        yield f"{place}:{record.name}"
    finally:
        lifecycle.taking_down(record)()


def _sessions(series: list[Series]) -> list[list[Series]]:
    """Series that the same ranks can run, in the order of the file; those by ranks for each number apart."""
    groups: dict[tuple[int, int, str], list[Series]] = {}
    for one in series:
        for ranks in one.rank_counts or (one.ranks,):
            key = (ranks, one.ranks_per_host, one.settings.backend)
            groups.setdefault(key, []).append(replace(one, ranks=ranks))
    return [*groups.values()]


def _group(
    group: list[Series], place: Realm, on: str, dilation: float, how: ReproduceOptions
) -> Iterator[MeasuredSeries]:
    first = group[0]
    launch = Launch(
        on=on,
        backend=Realm.SIMULATED.value if place is Realm.SIMULATED else first.settings.backend,
        ranks=first.ranks or None,
        own={RANKS_PER_HOST.name: first.ranks_per_host} if first.ranks_per_host else {},
    )
    decided = decide(core.load(), launch)
    marks = computing.Marks(how.listener)
    known: dict[tuple[object, ...], list[computing.PhaseOutcome]] = {}
    with ready_session(decided, marks) as session:
        for series in group:
            how.told(f"{series.name} on {place}")
            if series.quantity.step == "computing":
                traffic = (series.pattern, *series.lab_parameters.items(), series.lab_messages, series.phases,
                           series.settings)  # fmt: skip
                if traffic not in known:
                    known[traffic] = _computing(session, series, on.partition(":")[2], marks, how)
                yield _computed(series, known[traffic], dilation)
            else:
                yield _series(session, series, place, dilation, how)


def _computing(
    session: Session, series: Series, lab: str, marks: computing.Marks, how: ReproduceOptions
) -> list[computing.PhaseOutcome]:
    """Phase by phase, without and with a worker that computes."""
    outcomes = []
    for phase in series.phases:

        def run(beside: str, phase: int = phase) -> Path:
            out = how.out / f"{_stem(series)}-{phase}-{beside}.zarr"
            _run(session, _job(series, Realm.EMULATED, (phase, phase), out, how))
            return out

        outcomes.append(computing.measure(lab, series.settings.worker, marks, run))
        passing, routes = outcomes[-1].passing, outcomes[-1].routes
        how.told(f"  phase {phase}: {series.settings.worker} forwards {passing or 'none'} of {routes} routes")
    return outcomes


def _computed(series: Series, outcomes: list[computing.PhaseOutcome], dilation: float) -> MeasuredSeries:
    is_work = series.quantity_name == "computing left"
    values = tuple(one.computing_left if is_work else one.rate_left for one in outcomes)
    runs = tuple(path for one in outcomes for path in one.runs)
    # Ranks that poll keep all cores busy by themselves: that is what is asked then.
    limited = tuple(one.limited and series.settings.wait != "poll" for one in outcomes)
    return MeasuredSeries(series, Realm.EMULATED, runs, dilation, 0.0, values, limited)


def _stem(series: Series) -> str:
    return "".join(c if c.isalnum() else "-" for c in series.name).strip("-")


def _run(session: Session, job: Job) -> float:
    """Seconds that it took."""
    outcome = session.run(job)
    if session.interrupted:
        raise Interrupted("interrupted")
    if outcome.state != "complete" or outcome.failures:
        raise SessionError(f"{job.out}: the run is {outcome.state}: {'; '.join(outcome.failures)}")
    return outcome.elapsed_seconds


def _series(
    session: Session, series: Series, place: Realm, dilation: float, how: ReproduceOptions
) -> MeasuredSeries:
    runs, seconds = [], 0.0
    stem = _stem(series) + (f"-{series.ranks}-ranks" if series.rank_counts else "")
    for at, phases in enumerate(series.phase_ranges() or (None,)):
        tail = f"-{at + 1}" if at else ""
        out = how.out / f"{stem}-{place}{tail}.zarr"
        seconds += _run(session, _job(series, place, phases, out, how))
        runs.append(out)
    return MeasuredSeries(series, place, tuple(runs), dilation, seconds)


def _job(
    series: Series, place: Realm, phases: tuple[int, int] | None, out: Path, how: ReproduceOptions
) -> Job:
    on_lab, is_live = place is Realm.EMULATED, place is not Realm.SIMULATED
    options: dict[str, object] = {"iterations": 1} | series.settings.options()
    if is_live:
        options["repetitions"] = how.repetitions or series.repetitions
        options["warm_up"] = series.warm_up
        if series.quantity.kind.value == "latency" or place is Realm.HERE:
            del options["iterations"]  # short messages: as many to a sample as the clock needs
    return Job(
        pattern=series.pattern,
        out=out,
        pattern_parameters=series.lab_parameters if on_lab else series.parameters,
        backend=series.settings.backend if is_live else Realm.SIMULATED.value,
        sizes=series.lab_messages if on_lab else series.messages,
        phases=phases,
        options=options if is_live else {},
        metadata={"command_line": list(how.words), "crosscut": __version__},
    )
