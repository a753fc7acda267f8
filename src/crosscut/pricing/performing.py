"""Times of a mix's works on the candidates: simulated, replayed, measured, or given by hand."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

import numpy as np

import crosscut
from crosscut.analysis.figures import samples, summary
from crosscut.analysis.stats import intervals
from crosscut.analysis.stats.intervals import Floats
from crosscut.base import core
from crosscut.base.errors import Interrupted, SessionError, UsageError
from crosscut.base.job import Job
from crosscut.network import description as network
from crosscut.prediction import calibrating, predicting
from crosscut.prediction import source as compute_source
from crosscut.prediction import trace as traces
from crosscut.pricing import performance
from crosscut.pricing.amounts import Interval
from crosscut.pricing.mix import Mix, Work
from crosscut.pricing.plant import Plant, plant
from crosscut.pricing.resizing import NotResizable
from crosscut.pricing.routing import Routing, variants
from crosscut.profile import tit
from crosscut.run.run import Run
from crosscut.session.client import Listener, Session
from crosscut.session.measure import Launch, decide, ready_session

Told = Callable[[str], None]


@dataclass(frozen=True)
class SizedCandidate:
    """A candidate with as many nodes as the mix needs."""

    plant: Plant
    description: str
    """A network file with these nodes, or a name in the catalogue."""
    ranks: int
    under: Mapping[Routing, tuple[str, ...]] = field(default_factory=dict)
    """Network files by routing, if the network's own leaves it open (routing.py)."""

    @property
    def name(self) -> str:
        return self.plant.traits.name


TimeSource = Callable[[Work, SizedCandidate], Interval]
"""Returns the time of a work on a candidate, in seconds. New kinds of sources fit in here."""


def sites(files: Sequence[str], mix: Mix, folder: Path) -> list[SizedCandidate]:
    """Sizes each candidate for the mix's ranks. Raises NotResizable if a network has no such size."""
    plants = [plant(file, None) for file in dict.fromkeys(files)]
    each = {one.traits.name: network.ranks(one.file) // one.own_nodes for one in plants}
    if len(each) < len(plants):
        raise UsageError('two of the networks have the same name: rename a file, or write name = "…" in it')
    ranks = mix.ranks or min(one.own_nodes * each[one.traits.name] for one in plants)
    found = []
    for one in plants:
        sized = Plant(one.file, one.figures, math.ceil(ranks / each[one.traits.name]))
        description = sized.description(folder)
        own = description if Path(description).parent == folder else str(one.figures["file"])
        found.append(
            SizedCandidate(sized, description, ranks, _under(Path(own), one.traits.name, mix, folder))
        )
    return found


def _under(description: Path, name: str, mix: Mix, folder: Path) -> dict[Routing, tuple[str, ...]]:
    """Writes the network under each routing of the mix, as far as it leaves that open, to `folder`.

    Raises UsageError if it can have none of them."""
    if not mix.is_simulated:
        return {}
    try:
        possible = variants(description)
    except NotResizable as error:
        raise UsageError(f"{description}: its routing: {error}") from error
    chosen = {routing: texts for routing, texts in possible.items() if routing in mix.routing}
    if Routing.BY_DESTINATION in possible and not chosen:  # its file leaves the routing open
        known = " or ".join(repr(routing.value) for routing in possible)
        raise UsageError(f"{mix.path}: routing: {name} can only be described with {known}")
    found = {}
    for routing, texts in chosen.items():
        paths = [folder / f"{name}.{routing.name}.{number}.toml" for number in range(len(texts))]
        for path, text in zip(paths, texts, strict=True):
            path.write_text(text, encoding="utf-8")
        found[routing] = tuple(map(str, paths))
    return found


def times(
    mix: Mix, site: SizedCandidate, sources: dict[str, TimeSource], listener: Listener
) -> dict[Routing | None, list[Interval]]:
    """Returns the time of each work, in the mix's order, under each routing; None: the network's own, if it
    leaves nothing open. `sources`: by the mix's keys, but for simulated patterns."""
    found: dict[Routing | None, list[Interval]] = {}
    files_of: dict[Routing | None, tuple[str, ...]] = dict(site.under.items())
    for routing, files in (files_of or {None: (site.description,)}).items():
        some = []
        for file in files:
            variant = replace(site, description=file)
            with simulating(variant, mix, listener) as simulated:
                some.append(_times(mix, variant, sources | {"pattern": simulated}))
        found[routing] = [hull(of_work) for of_work in zip(*some, strict=True)]
    return found


def hull(intervals: Sequence[Interval]) -> Interval:
    return Interval(min(one.low for one in intervals), max(one.high for one in intervals))


def _times(mix: Mix, site: SizedCandidate, sources: dict[str, TimeSource]) -> list[Interval]:
    found = []
    for work in mix.works:
        value = next(source for key, source in sources.items() if getattr(work, key))(work, site)
        if not 0 < value.low <= value.high or not math.isfinite(value.high):
            raise SessionError(
                f"{work.where}: '{work.name}' on {site.name}: the time is not valid ({value.low:g} s)"
            )
        found.append(value)
    return found


T = TypeVar("T")


def given(work: Work, by_network: Mapping[str, T], site: SizedCandidate) -> T:
    """Returns what the mix gives for this candidate. Raises UsageError if it gives nothing."""
    if site.name not in by_network:
        there = ", ".join(by_network)
        raise UsageError(f"{work.where}: '{work.name}' has nothing for {site.name}, only for {there}")
    return by_network[site.name]


def check_ranks(work: Work, file: Path, ranks: int, site: SizedCandidate) -> None:
    """Raises UsageError unless the file was measured with the mix's number of ranks."""
    if ranks != site.ranks:
        raise UsageError(
            f"{work.where}: {file} has {ranks:,} ranks, but the mix has {site.ranks:,}: compare like with "
            "like"
        )


def said(work: Work, site: SizedCandidate) -> Interval:
    return given(work, work.seconds, site)


def measured(work: Work, site: SizedCandidate) -> Interval:
    run = Run.open(given(work, work.runs, site))
    check_ranks(work, run.path, run.ranks, site)
    return of_run(run)


def computed(work: Work, site: SizedCandidate) -> Interval:
    """Time of 10^12 operations of HPL, from the fastest repetition to the slowest."""
    found = performance.load(given(work, work.hpl, site))
    check_ranks(work, found.file, found.ranks, site)
    return Interval(1e12 / found.between.high, 1e12 / found.between.low)


def worked() -> TimeSource:
    """A source of times that `crosscut workload run` measured.

    One source serves all candidates, to ensure that each ran the same program and class.
    """
    known: dict[str, tuple[str, Path]] = {}

    def source(work: Work, site: SizedCandidate) -> Interval:
        file = given(work, work.workload, site)
        results = performance.of_ranks(performance.workload_results(file), file, site.ranks, work.where)
        what = performance.problem(results[0])
        first, its_file = known.setdefault(work.name, (what, file))
        if what != first:
            raise UsageError(
                f"{work.where}: {file} ran {what}, but {its_file} ran {first}: compare like with like"
            )
        return between(np.array([one.seconds for one in results]))

    return source


def in_doubt(simulated: Interval, error: float) -> Interval:
    """Widens a simulated time. `error` is that of a ratio of two times; each time gets half of it."""
    half = math.sqrt(1 + error)
    return Interval(simulated.low / half, simulated.high * half)


def of_run(run: Run) -> Interval:
    """Time of all phases at the largest size, each as long as its slowest rank takes."""
    taken = samples.load(run.dataset, run.size_index(max(run.sizes_bytes)))
    totals = summary.phase_seconds(taken).sum(axis=1)
    totals = totals[np.isfinite(totals)]
    if not len(totals):
        raise UsageError(f"{run.path}: none of its repetitions is complete")
    return between(totals)


def between(times: Floats) -> Interval:
    """The 95 % interval of the median; for fewer than six times, the smallest and the largest."""
    middle = intervals.medians(times[:, np.newaxis])
    low, high = float(middle.low[0]), float(middle.high[0])
    return Interval(low, high) if math.isfinite(low) else Interval(float(times.min()), float(times.max()))


@contextmanager
def simulating(site: SizedCandidate, mix: Mix, listener: Listener) -> Iterator[TimeSource]:
    """A source that simulates all patterns of a candidate in one session, which starts with the first."""
    launch = Launch(on=f"sim:{site.description}", backend="sim", ranks=site.ranks)
    with ExitStack() as stack, tempfile.TemporaryDirectory(prefix="crosscut-price-") as folder:
        open_: list[Session] = []

        def source(work: Work, _site: SizedCandidate) -> Interval:
            if not open_:
                session = stack.enter_context(ready_session(decide(core.load(), launch), listener))
                open_.append(session)
            found = _simulated(open_[0], work, Path(folder) / f"{len(list(Path(folder).iterdir()))}.zarr")
            return in_doubt(found, mix.simulation_error)

        yield source
        if open_ and open_[0].interrupted:  # during the last pattern, with nothing left to stop
            raise Interrupted("interrupted")


def _simulated(session: Session, work: Work, out: Path) -> Interval:
    job = Job(
        pattern=work.pattern, out=out, pattern_parameters=work.parameters, backend="sim",
        sizes=(work.size_bytes,), metadata={"crosscut": crosscut.__version__, "work": work.name},
    )  # fmt: skip
    try:
        outcome = session.run(job)
    except UsageError as error:
        raise UsageError(f"{work.where}: '{work.name}': {error}") from error
    if session.interrupted:
        raise Interrupted("interrupted")
    if outcome.state != "complete" or outcome.failures:
        raise SessionError(f"{work.where}: '{work.name}' is {outcome.state}: {'; '.join(outcome.failures)}")
    return of_run(Run.open(out))


def is_trace(path: Path) -> bool:
    """True for a folder of `crosscut profile --trace`, or its list of files."""
    return path.is_dir() or path.name == tit.LIST


def mix_of(paths: Sequence[Path]) -> Mix:
    """The mix that `--performance TRACE` stands for, with equal weights. Raises UsageError."""
    found = [traces.read(path) for path in paths]
    ranks = found[0].ranks
    for path, trace in zip(paths, found, strict=True):
        if trace.ranks != ranks:
            raise UsageError(
                f"--performance {path}: has {trace.ranks:,} ranks, but {paths[0]} has {ranks:,}: compare "
                "like with like"
            )
    names = [_name(path) for path in paths]
    works = tuple(
        Work(name=name if names.count(name) == 1 else str(path), trace=path, where=f"--performance {path}")
        for path, name in zip(paths, names, strict=True)
    )
    return Mix(
        path=paths[0],
        title=" and ".join(dict.fromkeys(work.name for work in works)),
        ranks=ranks,
        works=works,
    )


def _name(path: Path) -> str:
    folder = (path if path.is_dir() else path.parent).absolute()
    return "".join(one if one.isprintable() else "?" for one in folder.name)


def replaying(error_share: float) -> TimeSource:
    """A source that replays traces. One serves all candidates, so noise is fitted once for each trace."""
    fitted: dict[str, calibrating.Fitted] = {}

    def replayed(work: Work, site: SizedCandidate) -> Interval:
        assert work.trace is not None
        trace = traces.read(work.trace)
        if trace.ranks != site.ranks:
            raise UsageError(
                f"{work.where}: {work.trace} has {trace.ranks:,} ranks, but the mix has {site.ranks:,}: "
                f"write ranks = {trace.ranks} at its top"
            )
        try:
            made = compute_source.find(trace, work.operations_per_second)
        except UsageError as error:
            raise UsageError(f"{work.where}: {error}; in a mix: operations_per_second = …") from error
        asked = predicting.PredictionRequest((site.description,), made.operations_per_second)
        with tempfile.TemporaryDirectory(prefix="crosscut-price-") as folder:
            if (home := _home(work, trace, made)) and made.inside_seconds is not None:
                if work.name not in fitted:
                    fitted[work.name] = calibrating.fit(trace, asked, home, made.inside_seconds, Path(folder))
                asked = calibrating.fitted(asked, fitted[work.name])
            (seconds,) = predicting.seconds(trace, asked, Path(folder))
        return in_doubt(Interval(seconds, seconds), error_share)

    return replayed


def _home(work: Work, trace: traces.Trace, made: compute_source.ComputeSource) -> str:
    """Returns the network to which noise is fitted; empty: to none."""
    try:
        return made.home(work.traced_on, trace.index)
    except UsageError as error:
        raise UsageError(f"{work.where}: traced_on: {error}") from error
