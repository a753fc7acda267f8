"""Measures small jobs on every backend, and checks what must hold for every run.

Patterns, backends and parameters come from `crosscut list`: new ones are tested without changes here.
"""

from __future__ import annotations

import contextlib
import functools
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import xarray as xr

from crosscut.base import core
from crosscut.base.errors import SessionError, UsageError
from crosscut.base.job import Job
from crosscut.run import fsck, implied
from crosscut.run.format import MEASURED, SKEW
from crosscut.run.run import Run
from crosscut.session.client import JobOutcome, Session
from crosscut.session.measure import Decided, Launch, decide, open_session

RANKS = (2, 3, 4, 5)
SMALL_BYTES = 20_000
SMALL_COUNT = 6
# A sample and its rank's time are differences of the same clock, with different divisors.
ROUNDING = 1 + 1e-9


@functools.cache
def usable(name: str) -> bool:
    """True if this machine can start ranks of this backend: a place may lack its launcher."""
    try:
        decided = decide(core.load(), Launch(backend=name, ranks=2))
        with _opened(decided):
            return True
    except (UsageError, SessionError):
        return False


@contextlib.contextmanager
def _opened(decided: Decided) -> Iterator[Session]:
    with open_session(decided, lambda _event: None) as session:
        session.wait_ready()
        yield session


@dataclass
class Sessions:
    """Sessions by backend and ranks, started once each: joining takes longer than a small job."""

    _open: dict[tuple[str, int], Session] = field(default_factory=dict)

    def get(self, backend: str, ranks: int) -> Session:
        session = self._open.get((backend, ranks))
        if session is None or not session.alive:
            decided = decide(core.load(), Launch(backend=backend, ranks=ranks))
            session = self._open[backend, ranks] = open_session(decided, lambda _event: None)
            session.wait_ready()
        return session

    def close(self) -> list[int]:
        """Closes all sessions and returns their exit statuses."""
        return [session.close() for session in self._open.values()]

    def measure(self, job: Job, ranks: int) -> JobOutcome:
        return self.get(job.backend, ranks).run(job)


def small(pattern: core.Pattern) -> dict[str, str]:
    """Returns parameters close to the defaults but with little data: larger defaults are lowered."""
    lowered = {}
    for parameter in pattern.parameters:
        if parameter.kind == "integer" and parameter.name != "seed" and int(parameter.default) > SMALL_COUNT:
            lowered[parameter.name] = str(SMALL_COUNT)
        if parameter.kind == "bytes" and parameter.default.upper().endswith(("MB", "MIB", "GB", "GIB")):
            lowered[parameter.name] = str(SMALL_BYTES)
    return lowered


def drawn(pattern: core.Pattern, chance: random.Random) -> dict[str, str]:
    """Returns random values for all parameters whose values the list tells."""
    values = small(pattern)
    for parameter in pattern.parameters:
        if parameter.choices:
            values[parameter.name] = chance.choice(parameter.choices)
        elif parameter.kind == "boolean":
            values[parameter.name] = chance.choice(("true", "false"))
        elif parameter.name == "seed":
            values[parameter.name] = str(chance.randrange(1000))
        elif parameter.kind == "integer":
            # At most 2, or 1 by default: more rails than interfaces are refused.
            values[parameter.name] = str(chance.choice((1, min(2, int(parameter.default)))))
    return values


def without_seconds(run: Path) -> xr.Dataset:
    """Returns the arrays that must be equal in two runs of one job, whatever their times."""
    dataset = xr.open_zarr(run, chunks=None).load()
    names = ("status", "credited_bytes", "repetitions_done")
    return dataset[list(names)].drop_attrs()


def check_whole(path: Path, lossy: bool = False) -> Run:
    """Checks that everything promised was measured and is consistent. Returns the run."""
    report = fsck.check(path)
    assert report.problems == (), report.problems
    attributes = json.loads((path / "zarr.json").read_text())["attributes"]
    assert attributes["state"] == "complete"
    run = Run.open(path)
    data = run.dataset.load()
    check_coordinates(run)
    promised = promised_cells(data)
    np.testing.assert_array_equal(data["status"].values == MEASURED, promised)
    assert promised.any()
    check_seconds(data, promised, lossy)
    present = promised.any(axis=(1, 3))
    timed = present & (data["peer"].values >= 0).any(axis=(1, 2))[None]
    credited = data["credited_bytes"].values
    assert np.isfinite(credited[present]).all()
    # If the figure is not a rate (a slowdown), no bytes are credited.
    assert (credited[timed] > 0).all() or (credited[present] == 0).all()
    assert (data["iterations"].values >= 1).all()
    check_skew(run, present)
    return run


def check_skew(run: Run, present: np.ndarray) -> None:
    """Checks that every phase behind a barrier has a skew. `present`: [size, phase] measured."""
    backend, job = run.attributes["backend"], run.attributes["job"]
    assert isinstance(backend, dict)
    assert isinstance(job, dict)
    expected = job["sync"] == "barrier" and backend["name"] not in ("null", "sim")
    assert (SKEW in run.dataset) == expected
    if expected:
        skew = run.dataset[SKEW].values.transpose(0, 2, 1)[present]
        assert (np.isfinite(skew).any(axis=-1)).all()
        assert (skew[np.isfinite(skew)] >= 0).all()


def promised_cells(data: xr.Dataset) -> np.ndarray:
    """Returns [size, repetition, phase, rank] the cells measured according to `repetitions_done`."""
    done = data["repetitions_done"].values
    repetition = np.arange(data.sizes["repetition"])
    measured = repetition[None, :, None] < done[:, None, :]
    return np.broadcast_to(measured[..., None], data["status"].shape)


def check_coordinates(run: Run) -> None:
    """Checks that peers are other ranks, the same that the core computes from the job alone."""
    data = run.dataset
    phases = data["phase"].values
    np.testing.assert_array_equal(phases, np.arange(phases[0], phases[0] + len(phases)))
    peer = data["peer"].values
    _, rank, _ = np.indices(peer.shape)
    assert ((peer >= -1) & (peer < run.ranks) & (peer != rank)).all()
    job = run.attributes["job"]
    assert isinstance(job, dict)
    computed = implied.from_core(job, run.ranks, peer.shape[2])(int(phases[0]), int(phases[-1]))
    np.testing.assert_array_equal(peer, computed.peer)
    if run.attributes["peers"] == "stored" and len(run.sizes_bytes) == 1:
        there = peer >= 0
        stored = run.message_bytes(0).values
        implied_bytes = np.where(computed.bytes >= 0, computed.bytes, run.sizes_bytes[0])
        np.testing.assert_array_equal(stored[there], implied_bytes[there])


def check_seconds(data: xr.Dataset, promised: np.ndarray, lossy: bool) -> None:
    """Checks that samples exist just for peers, none outlasts its rank, and peers took part in the phase."""
    seconds, of_rank = data["message_seconds"].values, data["rank_seconds"].values
    there = promised[..., None] & (data["peer"].values >= 0)
    assert np.isnan(seconds[~there]).all()
    if lossy:
        lost = data["message_lost_bytes"].values
        assert (lost >= 0).all()
        there = there & ((lost == 0) | np.isfinite(seconds))
    assert np.isfinite(seconds[there]).all()
    # A simulated short send enters a buffer at once if the network's hosts have no overhead.
    may_be_none = lossy or data.attrs["backend"]["name"] == "sim"
    assert ((seconds[there] >= 0) if may_be_none else (seconds[there] > 0)).all()
    at = np.nonzero(there)
    assert (seconds[at] <= of_rank[at[:4]] * ROUNDING).all()
    peer = np.broadcast_to(data["peer"].values, seconds.shape)[at]
    assert np.isfinite(of_rank[at[0], at[1], at[2], peer]).all(), "a peer did nothing in the phase"
