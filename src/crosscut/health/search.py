"""Measures nodes for a verdict on each, and keeps what was measured: in the history, and in the ledger."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from statistics import median

from crosscut.analysis.compare.spec import Spec
from crosscut.base.errors import Interrupted
from crosscut.base.job import Job
from crosscut.cabling.model import Cabling
from crosscut.campaigns.check import agreeing
from crosscut.health import ledger
from crosscut.health.judge import (
    FEWEST_EARLIER,
    PATTERN,
    JudgedNodes,
    NodePromise,
    judge,
    of_history,
    of_spec,
)
from crosscut.health.ledger import HealthSearch
from crosscut.health.policy import Policy
from crosscut.history import database, queries, store
from crosscut.history.record import record
from crosscut.run.run import Run
from crosscut.session.client import Session
from crosscut.session.measure import Decided

FEWEST_NODES = 4
"""Fewer nodes do not show which of them is slow."""
_MOST_EARLIER = 60
# A run with more than twice, or less than half, as many nodes is not alike: trunks are loaded differently.
_ALIKE = 2
# Repetitions beyond those that decide if all agree, since some will not.
_MORE_REPETITIONS, _LEAST_REPETITIONS = 1.5, 20
_ERROR_RATE = 0.01


@dataclass(frozen=True)
class HealthOptions:
    policy: Policy
    ledger: Path
    size_bytes: int
    time_limit_seconds: float
    metadata: Mapping[str, object]
    spec: Spec | None = None
    history: Path | None = None
    cluster: str | None = None
    cabling: Cabling | None = None

    @property
    def error_rate(self) -> float:
        """Of all verdicts of one search together."""
        return self.spec.error_rate if self.spec is not None else _ERROR_RATE


def search(
    launch: Callable[[], AbstractContextManager[Session]], decided: Decided, nodes: Sequence[str], out: Path,
    how: HealthOptions,
) -> JudgedNodes:  # fmt: skip
    """Measures one rank on each of these nodes, and judges them; the ledger has the search when this returns.

    Raises Interrupted if a signal came, SessionError if a node was lost: nothing is kept then.
    """
    with launch() as session:
        session.run(_job(nodes, out, decided, how))
        if session.interrupted:
            raise Interrupted("interrupted; nothing is kept of this search")
    run = Run.open(out)
    # Rank by rank, the name that Slurm has for a node, which may not be its host name.
    names = dict(zip(run.node_names, nodes, strict=True))
    expected = of_spec(how.spec, run.node_names) if how.spec is not None else []
    found = judge(run, [*expected, *_own_history(run, names, how)], how.error_rate, how.cabling)
    found = replace(found, search=_renamed(found.search, names))
    ledger.add(how.ledger, found.search)
    return found


def _job(nodes: Sequence[str], out: Path, decided: Decided, how: HealthOptions) -> Job:
    promised = of_spec(how.spec, nodes) if how.spec is not None else []
    sizes = {one.promise.size_bytes for one in promised} | ({how.size_bytes} if how.history else set())
    verdicts = len(promised) + len(nodes) * bool(how.history)
    share = max((one.promise.of_the_time for one in promised), default=0.5)
    fewest = agreeing(max(verdicts, 1), how.error_rate, max(share, 0.5))
    count = max(_LEAST_REPETITIONS, math.ceil(_MORE_REPETITIONS * fewest))
    return Job(
        pattern=PATTERN, out=out, backend=decided.options.backend, sizes=tuple(sorted(sizes)),
        options={"repetitions": count, "time_limit_seconds": how.time_limit_seconds}, metadata=how.metadata,
    )  # fmt: skip


def _renamed(search: HealthSearch, names: Mapping[str, str]) -> HealthSearch:
    faults = tuple(replace(one, node=names.get(one.node, one.node)) for one in search.faults)
    return replace(search, sound=tuple(names.get(one, one) for one in search.sound), faults=faults)


def _own_history(run: Run, names: Mapping[str, str], how: HealthOptions) -> list[NodePromise]:
    """Adds the run to the history; returns what each node should reach by its earlier runs."""
    if how.history is None:
        return []
    kept = record(run.path, how.cluster, how.cabling)
    faulty = {(one.node, each.time) for each in ledger.read(how.ledger) for one in each.faults}
    with database.writing(how.history) as connection:
        alike = (math.ceil(kept.ranks / _ALIKE), kept.ranks * _ALIKE)
        rows = queries.earlier(connection, astuple(kept.series), kept.start, alike)
        store.add(connection, kept)
    sound = [row for row in rows if (names.get(row.host, row.host), row.start) not in faulty]
    return of_history(references(sound, run.node_names), how.policy.least_share, kept.series.message_bytes)


def references(rows: Sequence[queries.EarlierRow], nodes: Sequence[str]) -> dict[str, float]:
    """Returns what each node reaches, in its slower direction: the median over its latest runs, if they are
    enough. `rows`: the latest first."""
    taken: dict[str, list[queries.EarlierRow]] = defaultdict(list)
    for row in rows:
        if len(taken[row.host]) < _MOST_EARLIER:
            taken[row.host].append(row)
    return {
        node: min(median(row.sent for row in mine), median(row.received for row in mine))
        for node in dict.fromkeys(nodes)
        if len(mine := taken[node]) >= FEWEST_EARLIER
    }
