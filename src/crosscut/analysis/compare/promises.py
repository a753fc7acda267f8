"""Judges promises by runs: a verdict on each, with the probability that it is wrong."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from fnmatch import fnmatchcase

import numpy as np
from numpy.typing import NDArray

from crosscut.analysis.compare.spec import Promise, PromiseKind, Spec
from crosscut.analysis.figures import limited as machine
from crosscut.analysis.figures import samples, summary
from crosscut.analysis.figures.launches import of_launches
from crosscut.analysis.figures.route_class import (
    BETWEEN_GROUPS,
    NO_GROUPS,
    WITHIN_GROUP,
    WITHIN_NODE,
    Groups,
    members,
)
from crosscut.analysis.figures.samples import Samples
from crosscut.analysis.figures.series import route_rates
from crosscut.analysis.findings.groups import groups_of
from crosscut.analysis.stats import sequential
from crosscut.analysis.stats.intervals import Floats
from crosscut.analysis.stats.rows import quantile
from crosscut.base import units
from crosscut.run.realm import is_exact
from crosscut.run.run import Run
from crosscut.run.shape import reading


class Verdict(Enum):
    PASS = "pass"  # noqa: S105  # no password
    FAIL = "fail"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Quantities:
    """The quantities that a promise bounds. `values`: [repetition, quantity] in the promise's unit."""

    labels: tuple[tuple[int, ...], ...]
    """[quantity] ranks of a node (with -1 appended: as receiver), source and destination of a route, or the
    negated number of a phase; an empty label: all routes together."""
    values: Floats


@dataclass(frozen=True)
class PromiseVerdict:
    promise: Promise
    verdict: Verdict
    doubt: float
    """Probability of reaching this verdict, at any time, if the opposite were true."""
    repetitions: int
    quantities: int
    broken: tuple[tuple[int, ...], ...]
    """Labels of quantities that each miss the bound significantly; the worst first."""
    worst_label: tuple[int, ...]
    worst: float = math.nan
    """Median of the worst quantity: the smallest for a floor, the largest for a ceiling."""
    middle: float = math.nan
    """Median of the medians of all quantities."""
    repetitions_needed: int | None = None
    """If undecided, how many would decide if the trend continues; None: unknown."""
    reason: str = ""
    """Why nothing could be decided."""
    left_out: str = ""
    """Measurements that were not judged, and why; empty: none."""
    of_launches: bool = False
    """The repetitions are launches."""
    exact: bool = False
    """The repetitions were computed, so the verdict has no error probability."""


def judge(
    promise: Promise, runs: Sequence[Run], groups: Mapping[str, Groups], error_rate: float
) -> PromiseVerdict:
    """Judges one promise by the repetitions, in order, of all runs that measured it.

    `groups`: by path of the run; `""`: of other runs. `error_rate`: of this verdict alone.
    """
    taken = [run for run in runs if measures(run, promise)]
    if not taken:
        return _nothing(
            promise,
            f"no run of {promise.pattern} at {units.size(promise.size_bytes)} with these parameters; "
            "crosscut check SPEC --on PLACE measures it",
        )
    counts = [of_launches(run) for run in taken]
    if any(counts) and not all(counts):
        return _nothing(promise, "some runs are launches and some are not: judge them apart")
    if any(
        run.summarised
        or (run.phase_summarised and promise.kind not in (PromiseKind.BISECTION, PromiseKind.PHASE))
        for run in taken
    ):
        return _nothing(
            promise,
            "the run holds summaries instead of repetitions: measure again with a larger --raw-budget",
        )
    parts = [quantities(promise, run, groups.get(str(run.path), groups[""])) for run in taken]
    labels = parts[0].labels
    if any(part.labels != labels for part in parts):
        return _nothing(promise, "the runs have different ranks or phases: check them one at a time")
    values = np.concatenate([part.values for part in parts])
    left_out = _left_out(promise, taken)
    known = any(groups.get(str(run.path), groups[""]).known for run in taken)
    if not labels or not np.isfinite(values).any():
        searched = any(reading(run.attributes).findings for run in runs)
        why = _why_nothing(promise, labels, left_out, "" if known else _unknown_groups(searched))
        return replace(_nothing(promise, why), left_out=left_out)
    exact = all(is_exact(run.attributes) for run in taken)
    judged = decided(promise, Quantities(labels, values), error_rate, exact=exact)
    return replace(judged, left_out=left_out, of_launches=any(counts))


def _unknown_groups(searched: bool) -> str:
    """`searched`: one of the runs is of a pattern that shows groups if there are any."""
    if searched:
        return (
            "the runs show no groups of hosts, which need a shared bottleneck; promise routes between nodes"
        )
    return (
        "no groups of hosts are known; measure crosscut run aapc on the same hosts, and check both runs "
        "together"
    )


def _why_nothing(promise: Promise, labels: tuple[tuple[int, ...], ...], left_out: str, no_groups: str) -> str:
    """`no_groups`: why no groups of hosts are known; empty if they are."""
    if not labels and promise.routes in (WITHIN_GROUP, BETWEEN_GROUPS) and no_groups:
        return no_groups
    if not labels:
        return "there is no such route, node or phase"
    if left_out:
        return f"{machine.NOTHING_TOLD}: {left_out}"
    if promise.kind is PromiseKind.SPREAD:
        return "no repetition measured every route"
    return "no such route, node or phase was measured"


def _left_out(promise: Promise, runs: Sequence[Run]) -> str:
    """Says how many phases of all runs the emulating machine limited; empty if none."""
    there = [np.asarray(run.dataset["phase"].values) for run in runs]
    limited = [
        np.isin(phases, sorted(machine.limited_phases(run.attributes, promise.size_bytes)))
        for phases, run in zip(there, runs, strict=True)
    ]
    count = sum(int(spoilt.sum()) for spoilt in limited)
    return machine.limited(count, sum(map(len, there))) if count else ""


def measures(run: Run, promise: Promise) -> bool:
    pattern = run.attributes.get("pattern")
    if not isinstance(pattern, dict) or pattern.get("name") != promise.pattern:
        return False
    given = pattern.get("parameters") or {}
    return promise.size_bytes in run.sizes_bytes and all(
        str(given.get(key)) == value for key, value in promise.parameters.items()
    )


def quantities(promise: Promise, run: Run, groups: Groups) -> Quantities:
    """Returns what the promise bounds. Phases that the emulating machine limited count as unmeasured."""
    limited = machine.limited_phases(run.attributes, promise.size_bytes)
    taken = samples.voided(samples.load(run.dataset, run.size_index(promise.size_bytes)), limited)
    if promise.kind in (PromiseKind.BISECTION, PromiseKind.PHASE):
        moved = summary.moved_bytes(taken)
        with np.errstate(divide="ignore"):
            return Quantities(tuple((-int(p),) for p in taken.phase), moved / summary.phase_seconds(taken))
    return _of_routes(promise, run, taken, groups)


def _of_routes(promise: Promise, run: Run, taken: Samples, groups: Groups) -> Quantities:
    found = route_rates(taken, np.arange(run.ranks))
    node, names = run.node_indices, run.node_names
    mine = np.ones(len(found.source), bool)
    if promise.routes:
        mine &= members(promise.routes, found.source, found.destination, node, groups)
    if promise.nodes:
        chosen = np.array([any(fnmatchcase(name, one) for one in promise.nodes) for name in names])
        mine &= chosen[found.source] | chosen[found.destination]
    source, destination, logs = found.source[mine], found.destination[mine], found.logs[:, mine]
    routes = tuple(zip(source.tolist(), destination.tolist(), strict=True))
    if promise.kind is PromiseKind.ROUTE:
        return Quantities(routes, np.exp(logs))
    if promise.kind is PromiseKind.LATENCY:
        return Quantities(routes, promise.size_bytes / np.exp(logs))
    if promise.kind is PromiseKind.SPREAD:
        return Quantities(((),) if routes else (), _spread(logs))
    columns, labels = [], []
    for number in np.unique(node):
        ranks = tuple(np.nonzero(node == number)[0].tolist())
        if promise.nodes and not chosen[ranks[0]]:
            continue
        for ends in (source, destination):
            part = np.isin(ends, ranks)
            if part.any():
                columns.append(np.exp(quantile(logs[:, part], 1 - promise.of_the_routes)))
                labels.append(ranks if ends is source else (*ranks, -1))
    return Quantities(tuple(labels), np.stack(columns, axis=1) if columns else np.zeros((len(logs), 0)))


def _spread(logs: Floats) -> Floats:
    """[repetition, 1] range from the 5th to the 95th percentile of the routes' rates, over their median."""
    if not logs.shape[1]:
        return np.zeros((len(logs), 0))
    there: NDArray[np.bool_] = np.asarray(np.isfinite(logs).all(axis=1), bool)
    low, middle, high = np.percentile(np.exp(np.where(there[:, None], logs, 0)), (5, 50, 95), axis=1)
    return np.where(there, (high - low) / middle, np.nan)[:, None]


def decided(promise: Promise, found: Quantities, error_rate: float, *, exact: bool = False) -> PromiseVerdict:
    """Judges one promise by the repetitions of the quantities that it bounds. `exact`: they were computed, so
    one repetition decides, unless computed runs of different networks disagree."""
    values = found.values
    finite = np.isfinite(values)
    meets: NDArray[np.bool_] = np.asarray(
        (values >= promise.bound) if promise.at_least else (values <= promise.bound), bool
    )
    met, missed = (meets & finite).sum(axis=0), (~meets & finite).sum(axis=0)
    exact = exact and not ((met > 0) & (missed > 0)).any()

    def evidence(times: float = 1.0) -> tuple[float, float, Floats]:
        """Returns logs of the evidence that all quantities keep the promise, that some break it, and, by
        quantity, that it breaks it, had there been `times` as many repetitions."""
        if exact:
            certain = np.where(missed > 0, math.inf, 0.0)
            return (0.0 if missed.any() else math.inf), certain.max(initial=0.0), certain
        kept = sequential.evidence(times * met, times * missed, promise.of_the_time)
        broken = sequential.evidence(times * missed, times * met, 1 - promise.of_the_time)
        return sequential.all_of(kept), sequential.any_of(broken), broken

    all_kept, any_broken, broken = evidence()
    needed = math.log(1 / error_rate)
    verdict, log_evidence = Verdict.UNDECIDED, max(all_kept, any_broken)
    if any_broken >= needed:
        verdict = Verdict.FAIL
    elif all_kept >= needed:
        verdict = Verdict.PASS
    medians = np.array([float(np.median(values[finite[:, at], at])) if finite[:, at].any() else np.nan
                        for at in range(values.shape[1])])  # fmt: skip
    order = np.argsort(medians if promise.at_least else -medians, kind="stable")
    # A single quantity is named only if it is significant despite their number.
    sure = broken >= needed + math.log(values.shape[1])
    repetitions = int(finite.sum(axis=0).max())
    more = None
    if verdict is Verdict.UNDECIDED:
        more = sequential.repetitions_needed(repetitions, lambda times: max(evidence(times)[:2]) >= needed)
    return PromiseVerdict(
        promise=promise, verdict=verdict, doubt=sequential.doubt(log_evidence),
        repetitions=repetitions,
        repetitions_needed=more,
        quantities=values.shape[1], worst=float(medians[order[0]]),
        middle=float(np.nanmedian(medians)), broken=tuple(found.labels[at] for at in order if sure[at]),
        worst_label=found.labels[order[0]], exact=exact,
    )  # fmt: skip


def _nothing(promise: Promise, reason: str) -> PromiseVerdict:
    return PromiseVerdict(promise, Verdict.UNDECIDED, 1.0, 0, 0, (), (), reason=reason)


@dataclass(frozen=True)
class Checked:
    judged: tuple[PromiseVerdict, ...]
    runs: tuple[Run, ...]


def verdicts(spec: Spec, runs: Sequence[Run]) -> Checked:
    """Judges each promise at its share of the error rate, so that it holds for all together (Bonferroni)."""
    groups = {"": NO_GROUPS}
    if any(promise.routes and promise.routes != WITHIN_NODE for promise in spec.promises):
        groups |= _groups(runs)
    rate = spec.error_rate / len(spec.promises)
    return Checked(tuple(judge(promise, runs, groups, rate) for promise in spec.promises), tuple(runs))


def _groups(runs: Sequence[Run]) -> dict[str, Groups]:
    """Returns the groups of every run. A run without groups (a ping-pong) gets those of another run with as
    many ranks."""
    found = {str(run.path): groups_of(run) for run in runs}
    known = next(((run.ranks, groups) for run in runs if (groups := found[str(run.path)]).known), None)
    if known is not None:
        for run in runs:
            if not found[str(run.path)].known and run.ranks == known[0]:
                found[str(run.path)] = known[1]
    return found
