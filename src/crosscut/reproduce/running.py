"""Runs an experiment's series on labs built for them, on the simulator or on this machine; keeps the runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import crosscut
from crosscut.base import core
from crosscut.base.errors import Interrupted, PlaceError, SessionError, UsageError
from crosscut.base.job import Job
from crosscut.base.spelling import spans
from crosscut.lab import lifecycle, state
from crosscut.lab.walk import walk as walking
from crosscut.network import paths, switch_words
from crosscut.network.switch_choice import KERNEL
from crosscut.places import DEFAULT, find_place
from crosscut.places.base import RANKS_PER_HOST
from crosscut.reproduce import applying, computing
from crosscut.reproduce.experiment import Experiment, Series
from crosscut.run.realm import Realm
from crosscut.session.client import Listener, Session
from crosscut.session.measure import Launch, decide, ready_session
from crosscut.workloads.applications import WorkloadError

Told = Callable[[str], None]
_WALK_SECONDS = 120.0
_SHOWN = 5


@dataclass(frozen=True)
class MeasuredSeries:
    """The runs of one series at one place: several if its phases are not consecutive."""

    series: Series
    place: Realm
    runs: tuple[Path, ...]
    dilation: float
    seconds: float
    values: tuple[float, ...] | None = None
    """A step's figures, in the series' order; None: they are in the runs."""
    limited: tuple[bool, ...] = ()
    """For each of `values`: True if the machine was the limit."""
    switch: str = KERNEL
    """The lab's switch, as typed: see crosscut.network.switch_choice."""


@dataclass(frozen=True)
class ReproduceOptions:
    """Options as typed."""

    words: tuple[str, ...]
    out: Path
    listener: Listener
    told: Told
    dilation: float | None = None
    """Overrides the file's dilation."""
    repetitions: int | None = None
    switch: str | None = None
    """The lab's switch; overrides the file's choice."""


@dataclass(frozen=True)
class Site:
    """A place, and the parameters of its lab."""

    place: Realm
    network: str
    switch: str
    dilation: float
    on: str = ""
    """The value for `--on` while the place exists."""

    def measured(
        self, series: Series, runs: Sequence[Path], seconds: float = 0.0,
        values: tuple[float, ...] | None = None, limited: tuple[bool, ...] = (),
    ) -> MeasuredSeries:  # fmt: skip
        return MeasuredSeries(
            series, self.place, tuple(runs), self.dilation, seconds, values, limited, self.switch
        )


def measure(experiment: Experiment, place: Realm, how: ReproduceOptions) -> list[MeasuredSeries]:
    """Measures all series at one place; returns them in the file's order. Series of one site share a lab."""
    wanted = [one for one in experiment.series if place in one.on]
    found: dict[str, MeasuredSeries] = {}
    for site in dict.fromkeys(_wanted_site(one, place, how) for one in wanted):
        with _built(site, how) as there:
            for one in _at([one for one in wanted if _wanted_site(one, place, how) == site], there, how):
                name = one.series.name
                if name in found:  # measured with another number of ranks
                    runs, seconds = found[name].runs + one.runs, found[name].seconds + one.seconds
                    found[name] = replace(found[name], runs=runs, seconds=seconds)
                else:
                    found[name] = one
    return [replace(found[one.name], series=one) for one in wanted if one.name in found]


def _wanted_site(series: Series, place: Realm, how: ReproduceOptions) -> Site:
    dilation = (how.dilation or series.dilation) if place is Realm.EMULATED else 1.0
    return Site(place, series.network, how.switch or series.settings.switch, dilation)


def _at(series: list[Series], site: Site, how: ReproduceOptions) -> Iterator[MeasuredSeries]:
    """Measures series that share a site."""
    for one in series:
        if one.quantity.step == "walk":
            how.told(f"{one.name} on {site.place}")
            yield site.measured(one, (), values=_walk(one, site.on))
        elif one.settings.application is not None:
            yield from _applied(one, site, how)
    for group in _sessions([one for one in series if one.pattern]):
        try:
            yield from _group(group, site, how)
        except (UsageError, PlaceError) as error:
            if group[0].settings.backend != "mpi":
                raise
            # Not every machine has an MPI, and the other series do not need it.
            how.told(f"left out: {', '.join(one.name for one in group)}: {error}")


def _walk(series: Series, on: str) -> tuple[float, ...]:
    """Returns the number of routes for each number of forwarding nodes that the series names.

    On a lab they are traced; elsewhere they are counted in the computed tables.
    """
    place, argument = find_place(on)
    by_gateways = _traced(argument) if place.realm is Realm.EMULATED else counted(argument)
    return tuple(float(by_gateways.get(int(number), 0)) for number in series.x)


def counted(network: str) -> Mapping[int, int]:
    return Counter(len(way) - 1 for way in walking.computed(paths.load(network)).values())


def _traced(lab: str) -> Mapping[int, int]:
    walked = walking.walk(state.read(lab), "", "", _WALK_SECONDS)
    if walked.unlike or walked.not_walked:
        # Later series would not be measured on the network that the file describes.
        count = f"{len(walked.unlike)} routes are not as computed, {walked.not_walked} not walked"
        raise SessionError("\n  ".join([count, *map(walking.sentence, walked.unlike[:_SHOWN])]))
    return walked.by_gateways()


def _applied(series: Series, site: Site, how: ReproduceOptions) -> Iterator[MeasuredSeries]:
    how.told(f"{series.name} on {site.place}")
    kept = how.out / f"{series.stem}-{site.place}.json"
    try:
        shares, seconds = applying.measure(
            series, site.on or DEFAULT, kept, how.repetitions or series.repetitions
        )
    except (UsageError, PlaceError, WorkloadError) as error:
        # Not every machine has SimGrid, an MPI, or the processors asked for.
        how.told(f"left out: {series.name}: {error}")
        return
    yield site.measured(series, (kept,), seconds, shares)


@contextmanager
def _built(site: Site, how: ReproduceOptions) -> Iterator[Site]:
    """Builds a lab, if the place is one, and takes it down afterwards."""
    if site.place is not Realm.EMULATED:
        yield replace(site, on=f"{site.place}:{site.network}" if site.place is Realm.SIMULATED else "")
        return
    choices = lifecycle.for_one_run(site.network, site.switch)
    choices = replace(choices, dilation=site.dilation, owner=state.this_process())
    slowly = f"all rates divided by {site.dilation:g}" if site.dilation != 1 else ""
    parts = (f"lab of {site.network}", switch_words.clause(site.switch), slowly)
    how.told(", ".join(filter(None, parts)))
    record = lifecycle.up(site.network, choices)
    try:
        yield replace(site, on=f"{site.place}:{record.name}")
    finally:
        lifecycle.taking_down(record)()


def _sessions(series: list[Series]) -> list[list[Series]]:
    """Groups series that the same ranks can run, in the file's order, one group for each number of ranks."""
    groups: dict[tuple[int, int, str], list[Series]] = {}
    for one in series:
        for ranks in one.rank_counts or (one.ranks,):
            key = (ranks, one.ranks_per_host, one.settings.backend)
            groups.setdefault(key, []).append(replace(one, ranks=ranks))
    return [*groups.values()]


def _group(group: list[Series], site: Site, how: ReproduceOptions) -> Iterator[MeasuredSeries]:
    first = group[0]
    launch = Launch(
        on=site.on,
        backend=_backend(first, site.place),
        ranks=first.ranks or None,
        own={RANKS_PER_HOST.name: first.ranks_per_host} if first.ranks_per_host else {},
    )
    decided = decide(core.load(), launch)
    marks = computing.Marks(how.listener)
    known: dict[tuple[object, ...], list[computing.PhaseOutcome]] = {}
    with ready_session(decided, marks) as session:
        for series in group:
            how.told(f"{series.name} on {site.place}")
            if series.quantity.step == "computing":
                traffic = (series.pattern, *series.lab_parameters.items(), series.lab_messages, series.phases,
                           series.repetitions, series.warm_up, series.settings)  # fmt: skip
                if traffic not in known:
                    known[traffic] = _computing(session, series, site.on.partition(":")[2], marks, how)
                yield _computed(series, known[traffic], site)
            else:
                yield _series(session, series, site, how)


def _computing(
    session: Session, series: Series, lab: str, marks: computing.Marks, how: ReproduceOptions
) -> list[computing.PhaseOutcome]:
    """Measures each phase without and with a computing worker."""
    outcomes = []
    for phase in series.phases:

        def run(beside: str, phase: int = phase) -> Path:
            out = how.out / f"{series.stem}-{phase}-{beside}.zarr"
            _run(session, _job(series, Realm.EMULATED, (phase, phase), out, how))
            return out

        outcomes.append(computing.measure(lab, series.settings.worker, marks, run))
        passing, routes = outcomes[-1].passing, outcomes[-1].routes
        how.told(f"  phase {phase}: {series.settings.worker} forwards {passing or 'none'} of {routes} routes")
    return outcomes


def _computed(series: Series, outcomes: list[computing.PhaseOutcome], site: Site) -> MeasuredSeries:
    is_work = series.quantity_name == "computing left"
    values = tuple(one.computing_left if is_work else one.rate_left for one in outcomes)
    # Polling ranks keep all cores busy by themselves, which is then the very effect that the series measures.
    limited = tuple(one.limited and series.settings.wait != "poll" for one in outcomes)
    return site.measured(series, [path for one in outcomes for path in one.runs], 0.0, values, limited)


def _run(session: Session, job: Job) -> float:
    """Runs a job and returns the seconds it took. Raises SessionError unless it completed without failure."""
    outcome = session.run(job)
    if session.interrupted:
        raise Interrupted("interrupted")
    if outcome.state != "complete" or outcome.failures:
        raise SessionError(f"{job.out}: the run is {outcome.state}: {'; '.join(outcome.failures)}")
    return outcome.elapsed_seconds


def _series(session: Session, series: Series, site: Site, how: ReproduceOptions) -> MeasuredSeries:
    runs, seconds = [], 0.0
    stem = series.stem + (f"-{series.ranks}-ranks" if series.rank_counts else "")
    for at, phases in enumerate(spans(series.phases) or (None,)):
        tail = f"-{at + 1}" if at else ""
        runs.append(how.out / f"{stem}-{site.place}{tail}.zarr")
        seconds += _run(session, _job(series, site.place, phases, runs[-1], how))
    return site.measured(series, runs, seconds)


def _backend(series: Series, place: Realm) -> str:
    return Realm.SIMULATED.value if place is Realm.SIMULATED else series.settings.backend


def _job(
    series: Series, place: Realm, phases: tuple[int, int] | None, out: Path, how: ReproduceOptions
) -> Job:
    on_lab, is_live = place is Realm.EMULATED, place is not Realm.SIMULATED
    options: dict[str, object] = {"iterations": 1} | series.settings.options()
    if is_live:
        options["repetitions"] = how.repetitions or series.repetitions
        options["warm_up"] = series.warm_up
        if series.quantity.kind.value == "latency" or place is Realm.HERE:
            del options["iterations"]  # short messages: the clock decides how many make a sample
    return Job(
        pattern=series.pattern,
        out=out,
        pattern_parameters=series.lab_parameters if on_lab else series.parameters,
        backend=_backend(series, place),
        backend_parameters={} if is_live else series.simulator,
        sizes=series.lab_messages if on_lab else series.messages,
        phases=phases,
        options=options if is_live else {},
        metadata={"command_line": list(how.words), "crosscut": crosscut.__version__},
    )
