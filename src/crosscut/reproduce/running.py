"""Runs an experiment's series, on labs that are built for it or on the simulator, and keeps the runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from crosscut import __version__, core
from crosscut.errors import Interrupted, SessionError
from crosscut.job import Job
from crosscut.measure import Launch, decide, open_session
from crosscut.reproduce.experiment import Experiment, Series
from crosscut.session import Listener, Session

Told = Callable[[str], None]


@dataclass(frozen=True)
class Measured:
    """The runs of one series at one place; several where its phases do not follow one another."""

    series: Series
    place: str
    runs: tuple[Path, ...]
    dilation: float
    seconds: float


@dataclass(frozen=True)
class How:
    """What was typed."""

    words: tuple[str, ...]
    out: Path
    listener: Listener
    told: Told
    dilation: float | None = None
    """In place of the file's."""
    repetitions: int | None = None


def measure(experiment: Experiment, place: str, how: How) -> list[Measured]:
    """All series at one place, in the file's order; those of one network share a lab."""
    wanted = [one for one in experiment.series if place in one.on]
    dilation = (how.dilation or experiment.dilation) if place == "lab" else 1.0
    found: dict[str, Measured] = {}
    for network in dict.fromkeys(one.network for one in wanted):
        there = [one for one in wanted if one.network == network]
        with _site(network, place, dilation, how) as on:
            for group in _sessions(there):
                for one in _group(group, place, on, dilation, how):
                    found[one.series.name] = one
    return [found[one.name] for one in wanted]


@contextmanager
def _site(network: str, place: str, dilation: float, how: How) -> Iterator[str]:
    """What to write after `--on`; a lab is there inside, and gone after."""
    if place == "sim":
        yield f"sim:{network}"
        return
    from crosscut.lab import lifecycle, state

    choices = lifecycle.for_one_run(network)
    choices = lifecycle.Choices(name=choices.name, dilation=dilation, owner=state.this_process())
    how.told(f"lab of {network}" + (f", all rates divided by {dilation:g}" if dilation != 1 else ""))
    record = lifecycle.up(network, choices)
    try:
        yield f"lab:{record.name}"
    finally:
        lifecycle.taking_down(record)()


def _sessions(series: list[Series]) -> list[list[Series]]:
    """Series that the same ranks can run, in the order of the file."""
    groups: dict[tuple[int, int], list[Series]] = {}
    for one in series:
        groups.setdefault((one.ranks, one.ranks_per_host), []).append(one)
    return [*groups.values()]


def _group(group: list[Series], place: str, on: str, dilation: float, how: How) -> Iterator[Measured]:
    first = group[0]
    launch = Launch(
        on=on,
        backend="sim" if place == "sim" else "tcp",
        ranks=first.ranks or None,
        ranks_per_host=first.ranks_per_host,
    )
    decided = decide(core.load(), launch)
    with ExitStack() as stack:
        session = stack.enter_context(open_session(decided, how.listener))
        stack.enter_context(session.interruptible())
        session.wait_ready()
        for series in group:
            how.told(f"{series.name} on {place}")
            yield _series(session, series, place, dilation, how)


def _series(session: Session, series: Series, place: str, dilation: float, how: How) -> Measured:
    runs, seconds = [], 0.0
    stem = "".join(c if c.isalnum() else "-" for c in series.name).strip("-")
    for at, phases in enumerate(series.phase_ranges() or (None,)):
        tail = f"-{at + 1}" if at else ""
        out = how.out / f"{stem}-{place}{tail}.zarr"
        outcome = session.run(_job(series, place, phases, out, how))
        if session.interrupted:
            raise Interrupted(f"interrupted; what was measured is in {how.out}")
        if outcome.state != "complete" or outcome.failures:
            raise SessionError(f"{out}: the run is {outcome.state}: {'; '.join(outcome.failures)}")
        runs.append(out)
        seconds += outcome.elapsed_seconds
    return Measured(series, place, tuple(runs), dilation, seconds)


def _job(series: Series, place: str, phases: tuple[int, int] | None, out: Path, how: How) -> Job:
    on_lab = place == "lab"
    options: dict[str, object] = {"iterations": 1}
    if on_lab:
        options["repetitions"] = how.repetitions or series.repetitions
        options["warm_up"] = series.warm_up
        if series.quantity.kind.value == "latency":
            del options["iterations"]  # short messages: as many to a sample as the clock needs
    return Job(
        pattern=series.pattern,
        out=out,
        pattern_parameters=series.parameters,
        backend="tcp" if on_lab else "sim",
        sizes=series.lab_messages if on_lab else series.messages,
        phases=phases,
        options=options if on_lab else {},
        metadata={"command_line": list(how.words), "crosscut": __version__},
    )
