"""Drives a search with a session: what it proposes becomes a job, what the job measured is learnt."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from crosscut.analysis.find import rank_names
from crosscut.analysis.intervals import Floats
from crosscut.analysis.observed import Route
from crosscut.analysis.search import Located, Search
from crosscut.errors import SessionError
from crosscut.job import Job
from crosscut.measure import Decided
from crosscut.run import Run
from crosscut.session import Session

PATTERN = "routes"
# Of messages whose time is latency.
SHORT_BYTES = 1


@dataclass(frozen=True)
class How:
    """One measurement of the search."""

    size_bytes: int
    repetitions: int
    most_phases: int
    seed: int
    metadata: Mapping[str, object]


def locate(
    session: Session, decided: Decided, folder: Path, how: How, told: Callable[[int, int], None]
) -> tuple[Located, tuple[str, ...]]:
    """What was found, and the ranks' names. `told`: phases measured so far, and now proposed."""
    search = Search(decided.options.ranks, most_phases=how.most_phases, seed=how.seed)
    names: tuple[str, ...] = ()
    measured, step = 0, 0
    while phases := search.propose():
        told(measured, len(phases))
        out = folder / f"step{step:03}.zarr"
        short = search.asks_latency
        outcome = session.run(_job(phases, out, decided, how, SHORT_BYTES if short else how.size_bytes))
        if session.interrupted or outcome.state != "complete":
            break
        run = Run.open(out)
        names = names or rank_names(run)
        seen = rates(run, phases)
        search.learn(seen / SHORT_BYTES if short else seen)
        measured, step = measured + len(phases), step + 1
    if not measured:
        raise SessionError("nothing was measured: the search needs its first phases at least")
    return search.located(names), names


def _job(phases: Sequence[Sequence[Route]], out: Path, decided: Decided, how: How, size_bytes: int) -> Job:
    return Job(
        pattern=PATTERN, out=out, pattern_parameters={"routes": text(phases)},
        backend=decided.options.backend,
        sizes=(size_bytes,), options={"repetitions": how.repetitions, "seed": how.seed},
        metadata=how.metadata,
    )  # fmt: skip


def text(phases: Sequence[Sequence[Route]]) -> str:
    """As the pattern `routes` reads them."""
    return ";".join(
        ",".join(f"{source}-{destination}" for source, destination in routes) for routes in phases
    )


def rates(run: Run, phases: Sequence[Sequence[Route]]) -> Floats:
    """Of every route of every phase, bytes per second: its median over repetitions."""
    seconds = np.asarray(run.message_seconds(0).values)
    peer = np.asarray(run.dataset["peer"].values)
    size = run.sizes_bytes[0]
    found = []
    for phase, routes in enumerate(phases):
        for source, destination in routes:
            slots = np.nonzero(peer[phase, destination] == source)[0]
            times = seconds[:, phase, destination, slots[0]] if len(slots) else np.zeros(0)
            times = times[np.isfinite(times) & (times > 0)]
            if not len(times):
                raise SessionError(
                    f"{run.path}: route {source} to {destination} of phase {phase + 1} has no time"
                )
            found.append(size / float(np.median(times)))
    return np.array(found)
