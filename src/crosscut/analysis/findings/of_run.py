"""Findings of one run or search: the interface for reports and `crosscut locate`."""

from __future__ import annotations

import importlib
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from crosscut.analysis.figures import limited as machine
from crosscut.analysis.figures import samples as samples_module
from crosscut.analysis.figures.digest import digest
from crosscut.analysis.figures.summary import Routes
from crosscut.analysis.findings import (
    hashed_paths,
    many_routes,
    shared_limits,
    slow_cables,
    slow_parts,
    slow_routes,
    slow_trunks,
)
from crosscut.analysis.findings.evidence import Evidence
from crosscut.analysis.findings.host_facts import HostFacts
from crosscut.analysis.findings.kinds import ORDER, FindingKind
from crosscut.analysis.findings.model import Direction, Finding
from crosscut.analysis.findings.slow_parts import SMALLEST_LOSS
from crosscut.analysis.structure import infer
from crosscut.analysis.structure.grouping import SLOW_WITHIN_AT_MOST
from crosscut.analysis.structure.infer import Inferred
from crosscut.analysis.structure.located import Located
from crosscut.analysis.structure.model import LOCATE_ON, Structure
from crosscut.analysis.structure.observed import Observed, of_samples
from crosscut.analysis.structure.upper_mode import SMALLEST_NOISE
from crosscut.base import units
from crosscut.run.realm import is_exact, is_simulated
from crosscut.run.run import Run
from crosscut.run.shape import reading

# Fewer phases do not show who shares what.
FEWEST_PHASES = 3
# Smallest distance to reach, as a share of the ring of ranks. Where only near ranks exchange messages, groups
# and limits reflect the choice of phases, not the network.
_FAR_ENOUGH = 0.25
# Noise of a log rate that hides faults an operator wants to know; and how many standard deviations low a
# single route must be to stand out among some thousands.
_NOISY, _FAR = 0.04, 5.0
NOTHING_STANDS_OUT = "nothing stands out"
"""Begins the finding that a network is sound, as far as the run tells."""
_SO_FAR = "the search did not finish; so far"
_AGAIN = "search again, with more time or when the machine is less busy: this search did not finish"
_NOT_FILLED = "search again: more trunks seemed slow than one search fills again"
_MOST_MESSAGES = 300_000


def machine_only(limited: str, facts: HostFacts, nodes: Sequence[str]) -> list[Finding]:
    """Returns findings from host facts alone, if the emulating machine limited every rate.

    `limited`: a sentence about this (machine.limited). `nodes`: [rank] name.
    """
    only = Finding(FindingKind.INCONCLUSIVE, f"{machine.NOTHING_TOLD}: {limited}", advice=machine.ADVICE)
    return facts.tied([only], nodes, is_limited=True)


def on_one_host(nodes: Sequence[str]) -> list[Finding]:
    """Returns the only finding there can be if all ranks are on one host; none if they are not.

    `nodes`: [rank] name.
    """
    if len(set(nodes)) != 1:
        return []
    what = f"all {len(nodes)} ranks run on one host, {nodes[0]}, so no network was measured"
    return [Finding(FindingKind.INCONCLUSIVE, what)]


def find(run: Run, size_index: int | None = None) -> list[Finding]:
    """Returns findings of a run of any dense pattern, at the given size or else the largest."""
    return look(run, size_index)[0]


def look(
    run: Run, size_index: int | None = None, routes: Routes | None = None
) -> tuple[list[Finding], Structure | None]:
    """Returns findings, the most important first, and the structure if the run is enough to infer one.

    `routes`: those of that size, if already known.
    """
    index = chosen(run, size_index)
    if index is None:
        return [], None
    dataset = run.measured_part(index)
    many = many_routes.too_many(dataset)
    samples = (many_routes.some_phases if many else samples_module.load)(dataset, index)
    limited = machine.limited_phases(run.attributes, samples.size_bytes)
    samples = samples_module.without(samples, limited)
    if not len(samples.phase):
        return machine_only(machine.limited(1, 1), HostFacts.of(run), run.node_names), None
    measured = samples.measured_phases().any()
    if samples.of_phases or not measured or not reading(run.attributes).findings:
        return [], None
    if only := on_one_host(run.node_names):
        return only, None
    names = rank_names(run)
    observed = of_samples(samples)
    if why := _too_little(run, observed):
        advice = "measure all phases, or those that crosscut locate --on PLACE chooses"
        if run.ranks <= FEWEST_PHASES:
            advice = "crosscut locate --on PLACE measures their routes one at a time, too"
        little = [Finding(FindingKind.INCONCLUSIVE, why, advice=advice)]
        return HostFacts.of(run).tied(little, run.node_names), None
    inferred = infer.infer(observed)
    # If the machine limited some phases, it disturbed others, too, which may look like groups.
    if infer.doubtful(inferred) or (limited and inferred.explained < infer.EXPLAINS_HARDLY_ANY):
        inferred = infer.infer(observed, divided=False)
    if many and limited:  # the given routes include phases that the machine limited
        believed = dataset.isel(phase=~np.isin(dataset["phase"].values, sorted(limited)))
        routes = digest(believed, index).routes
    elif many and routes is None:
        routes = digest(dataset, index).routes
    found = of_evidence(Evidence(observed, inferred, names, samples, dataset, routes if many else None))
    found = HostFacts.of(run).tied(found, run.node_names)
    found = ordered(found, inferred, exact=is_exact(run.attributes))
    if is_simulated(run.attributes):
        found = [one.of_description() for one in found]
    return found, infer.structure(inferred, names, observed.phases)


def _too_little(run: Run, observed: Observed) -> str:
    """Returns why the messages are not enough to infer hosts and limits; "" if they are."""
    if observed.phases < FEWEST_PHASES or len(observed) < 2 * run.ranks:
        few = f"{run.ranks} ranks have" if run.ranks <= FEWEST_PHASES else "there are"
        return f"{few} too few phases to tell hosts and limits apart"
    farthest = _farthest(observed)
    if farthest >= _FAR_ENOUGH * run.ranks:
        return ""
    near = f"no message went farther than {units.count(farthest, 'rank')} of {run.ranks:,}"
    return f"{near}: too near to tell hosts, groups and limits apart"


def _farthest(observed: Observed) -> int:
    """Returns the largest distance of a message along the ring of ranks."""
    apart = np.abs(observed.source.astype(np.int64) - observed.destination)
    return int(np.minimum(apart, observed.ranks - apart).max())


def of_located(
    located: Located, names: tuple[str, ...],
    facts: HostFacts | None = None, nodes: tuple[str, ...] = (), *, exact: bool = False,
) -> list[Finding]:  # fmt: skip
    """Returns findings of a search; slow hosts only if they were also slow alone.

    `facts`: of all its runs. `nodes`: [rank] name. `exact`: its runs were computed.
    """
    inferred, observed = located.inferred, located.observed
    name = names.__getitem__
    hosts = slow_parts.hosts_alone(located.alone, inferred, name)
    slow = slow_parts.slow_once(located.alone, inferred)
    routes = slow_routes.after_search(observed, located.again, inferred, name, slow)
    grouped = [*slow_parts.kinds(observed, name), *slow_parts.grouped(inferred, name)]
    shared = [*slow_trunks.of_shared(observed, inferred, name), *hashed_paths.of_structure(inferred)]
    for inner in located.inner:
        grouped += slow_parts.parts(inner.inferred)
        shared += slow_trunks.of_shared(inner.observed, inner.inferred, name)
    # A slow host that forwards for others looks like a slow cable of its group.
    certain = hashed_paths.of_structure(inferred) or not slow
    cables = slow_cables.find(located.few, inferred, [*hosts, *shared]) if certain else []
    shared = [
        _once(one, _AGAIN if not located.finished else _NOT_FILLED)
        if one.kind is FindingKind.SLOW_TRUNK and frozenset(one.ranks) not in located.trunks_again
        else one
        for one in shared
    ]
    told = [*hosts, *cables, *grouped, *shared, *routes, *shared_limits.within(located)]
    if not located.finished:
        told += _not_measured_again(located, told, name)
    tied = (facts or HostFacts()).tied(told, nodes or names)
    return ordered(tied, inferred, exact=exact, finished=located.finished)


def _not_measured_again(
    located: Located, told: Sequence[Finding], name: Callable[[int], str]
) -> list[Finding]:
    """Returns as suspects what seems slow in a search that was ended before it measured that again."""
    observed, inferred = located.observed, located.inferred
    slow = observed.relative(inferred.alone.nominal) < inferred.alone.threshold
    # Among the few messages of a host, a single slow one makes the host seem slow.
    fast = {
        Direction.OUT: set(observed.source[~slow].tolist()),
        Direction.IN: set(observed.destination[~slow].tolist()),
    }
    measured_again = {*located.alone.source.tolist(), *located.alone.destination.tolist()}
    seen = [
        one for one in slow_parts.hosts(observed, inferred, name)
        if one.kind is not FindingKind.SHARED_LIMIT
        and not measured_again & set(one.ranks)
        and not any(one.ranks[0] in fast[way] for way in fast if one.direction in (way, Direction.BOTH))
    ]  # fmt: skip
    named = {host for one in (*told, *seen) if one.kind.warns for host in one.hosts}
    routes = slow_routes.suspected(observed, inferred).slow
    fast_since = slow_routes.refuted(routes, located.again, inferred)
    alone = {
        route: share for route, share in routes.items()
        if route not in fast_since and not named & set(map(name, route))
    }  # fmt: skip
    return [_once(one, _AGAIN) for one in (*seen, *slow_routes.once(alone, name, slow_routes.EACH_TIME))]


def _once(seen: Finding, advice: str) -> Finding:
    """Returns as a suspect what was not measured again."""
    return replace(seen, kind=FindingKind.SUSPECT, false_alarm=math.nan, advice=advice)


def of_evidence(evidence: Evidence) -> list[Finding]:
    """Runs the finders of all kinds."""
    modules = dict.fromkeys(kind.finder for kind in FindingKind if kind.finder)
    finders = (importlib.import_module(f"{__package__}.{module}") for module in modules)
    found = [finding for finder in finders for finding in finder.of_run(evidence)]
    slow = {rank for one in found if one.kind is FindingKind.SLOW_HOST for rank in one.ranks}

    def explained(one: Finding) -> bool:
        """A slow host makes all of its routes seem slow or unsteady."""
        by_routes = one.routes and one.kind in (FindingKind.SUSPECT, FindingKind.UNSTABLE)
        return bool(by_routes) and slow.issuperset(one.ranks)

    return [one for one in found if not explained(one)]


def ordered(
    found: list[Finding], inferred: Inferred, *, exact: bool = False, finished: bool = True
) -> list[Finding]:
    """Sorts the findings, the most important first; adds one if there is nothing to report.

    `exact`: the run was computed, so what differs is not noise. `finished`: no search was ended early.
    """
    if exact:
        found = [each.computed() for each in found]
    if all(finding.kind is FindingKind.SETTINGS for finding in found):
        nothing = _nothing(inferred, exact)
        if not finished:
            nothing = replace(nothing, what=f"{_SO_FAR}, {nothing.what}", advice=_AGAIN)
        found = [*found, nothing]
    return sorted(found, key=lambda finding: ORDER[finding.kind])


def _nothing(inferred: Inferred, exact: bool) -> Finding:
    alone = inferred.alone
    hidden = -math.expm1(-_FAR * alone.noise)
    noisy = alone.noise > _NOISY
    if inferred.mostly_slow or (inferred.slow_share > SLOW_WITHIN_AT_MOST and not noisy):
        unknown = "no cause found: many messages are slow, but no host, route or group explains them"
        return Finding(FindingKind.NOTHING, unknown)
    slowest = min(alone.out_rate.min(), alone.in_rate.min()) / alone.nominal
    alike = "every host reaches the same rate under this load"
    if slowest < 1 - SMALLEST_LOSS:
        alike = f"the slowest host reaches {100 * slowest:.0f} % of the others' rate, too close to be a fault"
    what = f"{NOTHING_STANDS_OUT}: {alike}"
    if alone.noise > SMALLEST_NOISE and not exact:
        what += f", with {100 * alone.noise:.1f} % noise"
    if exact and noisy:
        what += f"; messages differ by {100 * alone.noise:.1f} %"
    if not noisy:
        return Finding(FindingKind.NOTHING, what)
    what += f", which would hide a route that loses less than {100 * hidden:.0f} %"
    advice = "" if exact else "more --repetitions, longer messages, or a time when nothing else runs"
    return Finding(FindingKind.NOTHING, what, advice=advice)


def is_quick(run: Run) -> bool:
    """True if finding takes at most some seconds of one processor."""
    return int(run.ranks * run.dataset.sizes.get("phase", 0)) <= _MOST_MESSAGES


def rank_names(run: Run) -> tuple[str, ...]:
    """[rank] name of its node, with the rank appended if the node has several."""
    counts = Counter(run.node_names)
    return tuple(name if counts[name] == 1 else f"{name}:{rank}" for rank, name in enumerate(run.node_names))


def chosen(run: Run, size_index: int | None) -> int | None:
    """Returns the index of the given size, else of the largest one; None if nothing of it was measured."""
    measured = np.nonzero(run.measured_repetitions.any(axis=1))[0].tolist()
    if size_index is not None:
        return size_index if size_index in measured else None
    return max(measured, key=run.sizes_bytes.__getitem__, default=None)


def after_search(found: Sequence[Finding], outline: Structure) -> tuple[list[Finding], Structure]:
    """Removes the advice to search, which was just done."""
    notes = tuple(note.removesuffix(f"; {LOCATE_ON}") for note in outline.notes)
    kept = [replace(each, advice="") if each.advice.startswith(LOCATE_ON) else each for each in found]
    return kept, replace(outline, notes=notes)
