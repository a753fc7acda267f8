"""Drives a search with a session: what it proposes becomes a job, what the job measured is learnt."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from crosscut.analysis.find import rank_names
from crosscut.analysis.intervals import Floats
from crosscut.analysis.located import Located
from crosscut.analysis.machine import limited_phases
from crosscut.analysis.observed import Route
from crosscut.analysis.search import SURE, Search
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
    confidence: float = SURE
    """Of every rank being in its group: less is measured where less is asked for."""
    most_seconds: float = math.inf
    """No step begins that would likely end later."""


def locate(
    session: Session, decided: Decided, folder: Path, how: How, told: Callable[[int, int], None]
) -> tuple[Located, tuple[str, ...]]:
    """What was found, and the ranks' names. `told`: phases measured so far, and now proposed."""
    search = Search(
        decided.options.ranks, most_phases=how.most_phases, seed=how.seed, confidence=how.confidence
    )
    began, step_began, seconds_a_phase = time.monotonic(), time.monotonic(), 0.0
    names: tuple[str, ...] = ()
    measured, step = 0, 0
    while phases := search.propose():
        step_began = time.monotonic()
        if measured and step_began - began + seconds_a_phase * len(phases) > how.most_seconds:
            break
        told(measured, len(phases))
        out = folder / f"step{step:03}.zarr"
        short = search.asks_latency
        outcome = session.run(_job(phases, out, decided, how, SHORT_BYTES if short else how.size_bytes))
        if session.interrupted or outcome.state != "complete":
            break
        run = Run.open(out)
        names = names or rank_names(run)
        numbers = np.asarray(run.dataset["phase"].values).tolist()
        limited = limited_phases(run.attributes, run.sizes_bytes[0])
        seen = network_only(rates(run, phases), phases, numbers, limited)
        seconds_a_phase = (time.monotonic() - step_began) / len(phases)
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


def network_only(
    seen: Floats, phases: Sequence[Sequence[Route]], numbers: Sequence[int], limited: frozenset[int]
) -> Floats:
    """NaN in place of rates of phases that the emulating machine limited; where it limited all of them they
    stay,
    for the search cannot go on without. `numbers`: [phase] as the run has them."""
    spoilt = np.repeat([number in limited for number in numbers], [len(routes) for routes in phases])
    return seen if spoilt.all() else np.where(spoilt, np.nan, seen)


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
