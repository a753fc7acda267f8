"""Computing beside messages: how much a node still computes while it forwards messages, or while ranks on it
wait for theirs, and how much the messages slow down.

A worker process computes on one node of the lab, and counts. Its count is read at each progress event, while
messages are under way; its pace is compared with that before and after, without messages. The nodes of a lab
share the machine's cores; a worker on a node that takes no part shows how much of the loss is due to that.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from crosscut.base import process_group
from crosscut.base.errors import CrosscutError, SessionError, UsageError
from crosscut.base.job import Event
from crosscut.lab import enter, lifecycle, state
from crosscut.lab.faults import computing
from crosscut.lab.walk import walk
from crosscut.network import paths
from crosscut.reproduce import trusting
from crosscut.reproduce.quantities import QUANTITIES
from crosscut.run.run import Run
from crosscut.session.client import Listener

ALONE_SECONDS = 2.0
_LEAST_SECONDS = 0.5
"""Progress events that a busy machine delivers late arrive together: a shorter span may be theirs."""
_PATIENCE_SECONDS = 10.0


@dataclass(frozen=True)
class PhaseOutcome:
    """How much a phase and the worker slow each other down."""

    runs: tuple[Path, Path]
    """Without the worker, and with it."""
    computing_left: float
    rate_left: float
    passing: int
    """Routes of the phase through the worker's node."""
    routes: int
    limited: bool
    """The machine limited the rate even without the worker, so neither share says much."""


@dataclass
class Marks:
    """A listener that notes the worker's count at every progress event, and forwards all events."""

    inner: Listener
    worker: Worker | None = None
    seen: list[tuple[float, int]] = field(default_factory=list)

    def __call__(self, event: Event) -> None:
        if event["event"] == "progress" and self.worker is not None:
            self.seen.append((time.monotonic(), self.worker.count()))
        self.inner(event)


@dataclass(frozen=True)
class Worker:
    file: Path

    def count(self) -> int:
        return computing.read(self.file)

    def alone(self) -> float:
        """Counts per second while nothing else runs in the lab."""
        first = (time.monotonic(), self.count())
        time.sleep(ALONE_SECONDS)
        return per_second([first, (time.monotonic(), self.count())])


def per_second(seen: list[tuple[float, int]]) -> float:
    """Counts per second from the first to the last (time, count). SessionError if these are too close."""
    if len(seen) < 2 or seen[-1][0] - seen[0][0] < _LEAST_SECONDS:
        raise SessionError(
            f"the phase gave no two readings of the worker's count {_LEAST_SECONDS:g} s apart; give the "
            "series more repetitions or a longer lab_message"
        )
    return (seen[-1][1] - seen[0][1]) / (seen[-1][0] - seen[0][0])


@contextlib.contextmanager
def worker_on(record: state.Record, node: str) -> Iterator[Worker]:
    """Starts a worker on a node, and ends it afterwards."""
    if lifecycle.plan_of(record).host_number(node) is None:
        raise UsageError(f"key 'worker': {record.network} has no node {node}")
    with tempfile.TemporaryDirectory(prefix="crosscut-") as folder:
        file = Path(folder) / "count"
        file.write_bytes(bytes(computing.COUNT.size))
        words = [sys.executable, "-m", "crosscut.lab.faults.computing", str(file)]
        pipe = subprocess.PIPE
        process = process_group.start(
            enter.command(record, state.folder(record.name), node, words),
            stdin=pipe, stdout=pipe, stderr=pipe, text=True, process_group=0,
        )  # fmt: skip
        try:
            assert process.stdout is not None
            if process.stdout.readline().strip() != "computing":
                _, said = process.communicate(timeout=_PATIENCE_SECONDS)
                raise CrosscutError(f"no worker could be started on {node}: {said.strip()[-300:]}")
            yield Worker(file)
        finally:
            _end(process)


def _end(process: subprocess.Popen[str]) -> None:
    """Ends the process by closing its standard input."""
    try:
        process.communicate(timeout=_PATIENCE_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()


def measure(lab: str, node: str, marks: Marks, run: Callable[[str], Path]) -> PhaseOutcome:
    """Measures one phase without and with the worker. `run` measures it under a given name."""
    record = state.read(lab)
    without = run("alone")
    with worker_on(record, node) as worker:
        before = worker.alone()
        marks.worker, marks.seen = worker, []
        try:
            beside = run("worker")
        finally:
            marks.worker = None
        during = per_second(marks.seen)
        after = worker.alone()
    passing, routes = passing_through(record, node, Run.open(without))
    return PhaseOutcome(
        runs=(without, beside),
        computing_left=during / ((before + after) / 2),
        rate_left=_rate(beside) / _rate(without),
        passing=passing,
        routes=routes,
        limited=any(trusting.phases(Run.open(without), 0)),
    )


def _rate(path: Path) -> float:
    return float(np.mean(QUANTITIES["phase rate"].of(Run.open(path), 0)))


def passing_through(record: state.Record, node: str, run: Run) -> tuple[int, int]:
    """Counts the run's routes that the node forwards, by their computed paths, and all its routes."""
    network = paths.parse(state.read_network(record.name))
    names = walk.names_of(network)
    on_the_way = {
        (network.hosts[probe.source].name, names[probe.to]): {names[address] for address in way[:-1]}
        for probe, way in walk.computed(network).items()
    }
    routes = {
        (run.node_names[int(peer)], run.node_names[rank])
        for phase in run.dataset["peer"].values
        for rank, slots in enumerate(phase)
        for peer in slots
        if peer >= 0
    }
    return sum(node in on_the_way.get(route, ()) for route in routes), len(routes)
