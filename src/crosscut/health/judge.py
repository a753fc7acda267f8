"""Judges the nodes of one run: by what each should reach (a spec, or its own history), and by findings.

A node is at fault if its rate misses its bound beyond doubt (the sequential test of `crosscut check`), if a
finding of the run names it, or if its adapters counted what no sound link does and other nodes' did not. It
is sound if it keeps its bounds beyond doubt and nothing else names it. All other nodes are left open: too few
repetitions, a slow trunk, other programs' traffic, or more nodes below their bounds than single faults would
explain.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

import numpy as np

from crosscut.analysis.compare.promises import (
    PromiseVerdict,
    Quantities,
    Verdict,
    decided,
    measures,
    quantities,
)
from crosscut.analysis.compare.spec import DEFAULT_PATTERN, Promise, PromiseKind, Spec
from crosscut.analysis.figures import limited
from crosscut.analysis.figures.route_class import NO_GROUPS
from crosscut.analysis.findings import cable_names, counters, of_run, other_traffic
from crosscut.analysis.findings.groups import groups_of
from crosscut.analysis.findings.kinds import OF_ONE_HOST, FindingKind
from crosscut.analysis.findings.model import Direction, Finding
from crosscut.analysis.structure.model import Structure
from crosscut.base import units
from crosscut.base.node_sets import LIST_WIDTH, folded
from crosscut.cabling.model import Cabling
from crosscut.health.ledger import LINK_DOWN, OWN_HISTORY, PROMISE, WIRE_ERRORS, HealthSearch, NodeFault
from crosscut.reports.view import items, text
from crosscut.run.run import Run

PATTERN = DEFAULT_PATTERN
FEWEST_EARLIER = 5
"""Earlier searches that a node's own history needs."""
# A node's rate is what it reaches with the best quarter of the others: its own adapter and cable limit all of
# its routes, but other nodes and trunks only some. A node is at fault only if the best eighth is slow, too: a
# slow peer may be all that was missing to a quarter of fast routes.
_OF_THE_ROUTES, _OF_A_FAULT = 0.25, 0.125
# More nodes below their bounds than this share of all have a cause in common, which is no node's.
_MOST_AT_FAULT = 1 / 3
_OF_OTHERS = (FindingKind.OTHER_TRAFFIC, FindingKind.SLOW_TRUNK, FindingKind.SLOW_CABLE)


@dataclass(frozen=True)
class NodeBounds:
    """What nodes should reach, each by itself."""

    promise: Promise
    rates: Mapping[str, float]
    """Bytes per second by node."""
    below: float
    """A node that reaches less than this share of its rate is at fault."""
    kind: str
    """PROMISE or OWN_HISTORY."""

    @property
    def source(self) -> str:
        return "its own history" if self.kind == OWN_HISTORY else "what was promised"


def of_spec(spec: Spec, nodes: Sequence[str]) -> list[NodeBounds]:
    """Returns the promises of kind `node` for a run of this pattern."""
    found = []
    for promise in spec.promises:
        if promise.kind is PromiseKind.NODE and promise.pattern == PATTERN and not promise.parameters:
            mine = [node for node in nodes
                    if not promise.nodes or any(fnmatchcase(node, one) for one in promise.nodes)]  # fmt: skip
            found.append(NodeBounds(promise, dict.fromkeys(mine, promise.bound), 1.0, PROMISE))
    return found


def of_history(rates: Mapping[str, float], below: float, size_bytes: int) -> NodeBounds:
    """Returns as bounds a share `below` of each node's rate so far."""
    own = Promise(kind=PromiseKind.NODE, pattern=PATTERN, size_bytes=size_bytes)
    return NodeBounds(own, rates, below, OWN_HISTORY)


def _reached(usual: Mapping[str, Quantities]) -> dict[str, int]:
    """Returns what each node reaches in its slower direction, in bytes per second: with the best quarter of
    the others, by the median over repetitions."""
    found = {}
    for node, part in usual.items():
        columns = [values[np.isfinite(values)] for values in part.values.T]
        if all(map(len, columns)):
            found[node] = round(min(float(np.median(values)) for values in columns))
    return found


def _by_node(run: Run, found: Quantities) -> dict[str, Quantities]:
    places: dict[str, list[int]] = defaultdict(list)
    names = run.node_names
    for at, label in enumerate(found.labels):
        places[names[label[0]]].append(at)
    return {
        node: Quantities(tuple(found.labels[at] for at in mine), found.values[:, mine])
        for node, mine in places.items()
    }


@dataclass(frozen=True)
class JudgedNodes:
    search: HealthSearch
    notes: tuple[str, ...]
    """Sentences about what no node is blamed for."""


def judge(
    run: Run, own: NodeBounds, promised: Sequence[NodeBounds], error_rate: float,
    cabling: Cabling | None = None,
) -> JudgedNodes:  # fmt: skip
    """Judges every node of a run. `own`: by their history. `error_rate`: of all verdicts together."""
    nodes = tuple(dict.fromkeys(run.node_names))
    bounds = (own, *promised)
    rates = [_rates(run, one.promise) for one in bounds]
    share = error_rate / max(sum(len(one.rates) for one in bounds), 1)
    checked = [
        (node, one, there.verdict(node, one, share))
        for one, there in zip(bounds, rates, strict=True)
        for node in one.rates
    ]
    search = HealthSearch(
        text(run.attributes, "start"), (), size_bytes=own.promise.size_bytes,
        reached=_reached(rates[0].usual),
    )  # fmt: skip
    counted = _of_counters(run)
    found, structure = of_run.look(run)
    if cabling is not None:
        found, structure = cable_names.named(found, structure, cabling)
    if machine := [one.what for one in found if one.what.startswith(limited.NOTHING_TOLD)]:
        return JudgedNodes(replace(search, faults=_placed(run, counted, cabling)), tuple(machine))
    excused = _busy(run, checked) | _excused(found, structure)
    below = {node: fault for node, bounds, verdict in checked
             if (fault := _fault(node, bounds, verdict)) is not None and node not in excused}  # fmt: skip
    notes = [f"{what}: no node is blamed" for what in dict.fromkeys(excused.values())]
    if len(below) > max(1, _MOST_AT_FAULT * len(nodes)):
        names = folded(sorted(below), LIST_WIDTH)
        notes.append(
            f"{len(below)} of {units.count(len(nodes), 'node')} are below what they should reach ({names}): "
            "more than single nodes' faults explain, so none is blamed; crosscut locate finds such causes"
        )
        excused |= dict.fromkeys(below, "")
        below = {}
    keeps = _keeping(checked)
    by_design = _keeping([one for one in checked if one[1].kind == PROMISE])
    faults = [*below.values(), *_of_findings(found, {*by_design, *excused, *below}), *counted]
    at_fault = {fault.node for fault in faults}
    sound = tuple(node for node in nodes if node in keeps and node not in at_fault and node not in excused)
    if left := [node for node in nodes if node not in {*sound, *at_fault, *excused}]:
        notes.append(_open(left, {node for node, _, _ in checked}, _cut_short(run)))
    return JudgedNodes(replace(search, sound=sound, faults=_placed(run, faults, cabling)), tuple(notes))


def _placed(run: Run, faults: Sequence[NodeFault], cabling: Cabling | None) -> tuple[NodeFault, ...]:
    return tuple(replace(fault, where=_where(run, fault.node, cabling)) for fault in faults)


_Checked = Sequence[tuple[str, NodeBounds, PromiseVerdict | None]]


@dataclass(frozen=True)
class _NodeRates:
    """What each node reached: with the best quarter of the others, and with the best eighth."""

    usual: Mapping[str, Quantities]
    best: Mapping[str, Quantities]

    def verdict(self, node: str, bounds: NodeBounds, error_rate: float) -> PromiseVerdict | None:
        """Returns None if the node was not measured."""
        if node not in self.usual or not np.isfinite(self.usual[node].values).any():
            return None
        own = replace(bounds.promise, bound=bounds.below * bounds.rates[node])
        kept = decided(own, self.usual[node], error_rate)
        if kept.verdict is Verdict.PASS:
            return kept
        broken = decided(own, self.best[node], error_rate)
        return broken if broken.verdict is Verdict.FAIL else replace(broken, verdict=Verdict.UNDECIDED)


def _rates(run: Run, promise: Promise) -> _NodeRates:
    if not measures(run, promise) or run.summarised:
        return _NodeRates({}, {})
    groups = groups_of(run) if promise.routes else NO_GROUPS
    usual, best = (
        _by_node(run, quantities(replace(promise, of_the_routes=share), run, groups))
        for share in (_OF_THE_ROUTES, _OF_A_FAULT)
    )
    return _NodeRates(usual, best)


def _fault(node: str, bounds: NodeBounds, verdict: PromiseVerdict | None) -> NodeFault | None:
    if verdict is None or verdict.verdict is not Verdict.FAIL:
        return None
    does = "receives" if _way(verdict) is Direction.IN else "sends"
    rate = bounds.rates[node]
    share = verdict.worst / rate
    said = f"{units.percent(share)} of {units.rate(rate)} ({bounds.source})"
    return NodeFault(node, bounds.kind, f"{does} {units.rate(verdict.worst)}, {said}", share)


def _way(verdict: PromiseVerdict) -> Direction:
    return Direction.IN if verdict.worst_label[-1:] == (-1,) else Direction.OUT


def _keeping(checked: _Checked) -> list[str]:
    """Nodes that keep every bound on them, of which there is one at least."""
    open_ = {node for node, _, verdict in checked if verdict is None or verdict.verdict is not Verdict.PASS}
    return [node for node in dict.fromkeys(node for node, _, _ in checked) if node not in open_]


def _excused(found: Sequence[Finding], structure: Structure | None) -> dict[str, str]:
    """Returns nodes whose rates have causes elsewhere, with the finding that says so."""
    causes: dict[str, str] = {}
    for finding in found:
        if finding.kind in _OF_OTHERS:
            hosts = {*finding.hosts, *_members(finding.groups, structure)}
            causes |= dict.fromkeys(sorted(hosts), finding.what.removesuffix("."))
    return causes


def _busy(run: Run, checked: _Checked) -> dict[str, str]:
    """Returns nodes that lack what other programs carried meanwhile, with a sentence on these programs. Less
    than `OTHER_TRAFFIC` names may be too much for a node's bounds."""
    traffic = other_traffic.of(run.attributes, run.node_names)
    of_others, busy = other_traffic.unusual(traffic), {}
    for node, bounds, verdict in checked:
        if verdict is not None and verdict.verdict is Verdict.FAIL and node in traffic:
            way, share = _way(verdict), verdict.worst / bounds.rates[node]
            if other_traffic.explain(of_others, node, way, traffic[node], share):
                busy[node] = other_traffic.sentence({(node, way): of_others[node, way]}, traffic)
    return busy


def _members(groups: Sequence[str], structure: Structure | None) -> Iterator[str]:
    if structure is None:
        return
    for name in groups:
        if (group := structure.group(name)) is not None:
            yield from (structure.hosts[rank] for rank in group.ranks)


def _of_findings(found: Sequence[Finding], exempt: set[str]) -> list[NodeFault]:
    """Returns faults that findings name. `exempt`: nodes that are not compared with others, since one that
    keeps what was promised may be slower by design. A node that keeps to its own history may still be slower
    than the others: a trunk may limit its best quarter."""
    faults = []
    for finding in found:
        if finding.kind not in OF_ONE_HOST:
            continue
        for host in dict.fromkeys(name.partition(":")[0] for name in finding.hosts):
            if finding.kind is FindingKind.SLOW_HOST and host in exempt:
                continue
            share = finding.effect.share if finding.effect is not None else float("nan")
            faults.append(NodeFault(host, finding.kind.value, finding.what.removesuffix("."), share))
    return faults


def _of_counters(run: Run) -> list[NodeFault]:
    """Returns faults that adapters counted. Retransmissions are none: other traffic causes them, too."""
    return [
        NodeFault(node, kind, f"{what}: {', '.join(f'{name} +{count}' for name, count in gains.items())}")
        for node, counted in counters.stands_out(counters.gained(run.attributes)).items()
        for kind, what, gains in (
            (LINK_DOWN, "a link went down", counted.down),
            (WIRE_ERRORS, "errors on the wire", counted.wire),
        )
        if gains
    ]


def _where(run: Run, node: str, cabling: Cabling | None) -> str:
    """Returns `adapter eth0, switch leaf1 port 3`."""
    record = next((one for one in items(run.attributes, "nodes") if text(one, "name") == node), None)
    names = [name for one in items(record, "adapters") if (name := text(one, "name"))] if record else []
    ports = [said for port in cabling.of_host(node) if (said := port.text())] if cabling is not None else []
    adapters = [f"adapter{'s' * (len(names) > 1)} {', '.join(names)}"] if names else []
    return ", ".join([*adapters, *ports])


def _cut_short(run: Run) -> str:
    """Says how much was measured if the time limit ended the run; empty if it did not."""
    if run.attributes.get("state") == "complete":
        return ""
    done = run.dataset["repetitions_done"].values
    return (
        f"the time limit ended the search after {units.count(int(done.min()), 'repetition')} (--time-limit)"
    )


def _open(nodes: Sequence[str], known: set[str], cut_short: str) -> str:
    """Says why nodes were neither sound nor at fault."""
    strangers = [node for node in nodes if node not in known]
    others = [node for node in nodes if node in known]
    words = []
    if strangers:
        names = folded(strangers, LIST_WIDTH)
        words.append(
            f"nothing says yet what {names} should reach: a node's own history needs {FEWEST_EARLIER} "
            "earlier searches of half to twice as many nodes as this one"
        )
    if others:
        words.append(
            f"{folded(others, LIST_WIDTH)}: undecided: "
            f"{cut_short or 'too noisy, or only some of its routes are slow'}"
        )
    return "; ".join(words)
