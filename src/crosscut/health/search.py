"""Measures nodes for a verdict on each, and keeps what was measured: in the history, and in the ledger."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
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
    judge,
    of_history,
    of_spec,
)
from crosscut.health.ledger import HealthSearch
from crosscut.health.policy import Policy
from crosscut.history import database, store
from crosscut.history.record import record
from crosscut.run.run import Run
from crosscut.session.client import Session
from crosscut.session.measure import Decided

FEWEST_NODES = 4
"""Fewer nodes do not show which of them is slow."""
MOST_PHASES = 64
"""Each node exchanges messages with at most so many others in each direction."""
_MOST_EARLIER = 60
# A search of more than twice, or less than half, as many nodes is not alike: trunks are loaded differently.
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
    kept: bool = False
    """The run stays on disk, so the ledger names it."""

    @property
    def error_rate(self) -> float:
        """Error rate of all verdicts of one search together."""
        return self.spec.error_rate if self.spec is not None else _ERROR_RATE


def in_order(nodes: Sequence[str], draw: random.Random) -> list[str]:
    """Returns the nodes in the order of their ranks: if each meets only some others, in a random one, so that
    these are of all parts of the network."""
    return draw.sample(nodes, len(nodes)) if len(nodes) > MOST_PHASES + 1 else list(nodes)


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
    promised = of_spec(how.spec, run.node_names) if how.spec is not None else []
    rates = references(ledger.read(how.ledger), nodes, how.size_bytes)
    mine = {host: rates[node] for host, node in names.items() if node in rates}
    own = of_history(mine, how.policy.least_share, how.size_bytes)
    judged = judge(run, own, promised, how.error_rate, how.cabling)
    kept = str(run.path) if how.kept else ""
    found = replace(judged, search=replace(_renamed(judged.search, names), run=kept))
    ledger.add(how.ledger, found.search)
    if how.history is not None:
        with database.writing(how.history) as connection:
            store.add(connection, record(run.path, how.cluster, how.cabling))
    return found


def _job(nodes: Sequence[str], out: Path, decided: Decided, how: HealthOptions) -> Job:
    promised = of_spec(how.spec, nodes) if how.spec is not None else []
    sizes = {one.promise.size_bytes for one in promised} | {how.size_bytes}
    verdicts = sum(len(one.rates) for one in promised) + len(nodes)
    share = max((one.promise.of_the_time for one in promised), default=0.5)
    fewest = agreeing(verdicts, how.error_rate, max(share, 0.5))
    count = max(_LEAST_REPETITIONS, math.ceil(_MORE_REPETITIONS * fewest))
    phases = (1, MOST_PHASES) if len(nodes) > MOST_PHASES + 1 else None
    return Job(
        pattern=PATTERN, out=out, phases=phases, backend=decided.options.backend, sizes=tuple(sorted(sizes)),
        options={"repetitions": count, "time_limit_seconds": how.time_limit_seconds}, metadata=how.metadata,
    )  # fmt: skip


def _renamed(search: HealthSearch, names: Mapping[str, str]) -> HealthSearch:
    faults = tuple(replace(one, node=names.get(one.node, one.node)) for one in search.faults)
    rates = {names.get(one, one): rate for one, rate in search.reached.items()}
    return replace(
        search, sound=tuple(names.get(one, one) for one in search.sound), faults=faults, reached=rates
    )


def references(searches: Sequence[HealthSearch], nodes: Sequence[str], size_bytes: int) -> dict[str, float]:
    """Returns what each node reached so far: the median over the latest searches that are alike and in which
    it was not at fault, if they are enough. `searches`: in the order of their times."""
    fewest, most = len(nodes) / _ALIKE, len(nodes) * _ALIKE
    alike = [one for one in reversed(searches)
             if one.size_bytes == size_bytes and fewest <= len(one.reached) <= most]  # fmt: skip
    found = {}
    for node in nodes:
        mine = [one.reached[node] for one in alike if node in one.reached and not one.of(node)][
            :_MOST_EARLIER
        ]
        if len(mine) >= FEWEST_EARLIER:
            found[node] = median(mine)
    return found
