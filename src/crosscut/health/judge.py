"""Judges the nodes of one run: by what each should reach (a spec, or its own history), and by findings.

A node is at fault if its rate misses its bound beyond doubt (the sequential test of `crosscut check`), or if
a finding of the run names it. It is sound if it keeps its bound beyond doubt and nothing else names it. All
other nodes are left open: too few repetitions, a slow trunk, other programs' traffic, or more nodes below
their bounds than single faults would explain.
"""

from __future__ import annotations

import glob
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from crosscut.analysis.compare.promises import PromiseVerdict, Verdict, verdicts
from crosscut.analysis.compare.spec import DEFAULT_PATTERN, Promise, PromiseKind, Spec
from crosscut.analysis.figures import limited
from crosscut.analysis.findings import cable_names, of_run
from crosscut.analysis.findings.kinds import OF_ONE_HOST, FindingKind
from crosscut.analysis.findings.model import Finding
from crosscut.analysis.structure.model import Structure
from crosscut.base import units
from crosscut.base.node_sets import LIST_WIDTH, folded
from crosscut.cabling.model import Cabling
from crosscut.health.ledger import OWN_HISTORY, PROMISE, HealthSearch, NodeFault
from crosscut.reports.view import items, text
from crosscut.run.run import Run

PATTERN = DEFAULT_PATTERN
FEWEST_EARLIER = 5
"""Earlier runs that a node's own history needs."""
# More nodes below their bounds than this share of all have a cause in common, which is no node's.
_MOST_AT_FAULT = 1 / 3
_OF_OTHERS = (FindingKind.OTHER_TRAFFIC, FindingKind.SLOW_TRUNK, FindingKind.SLOW_CABLE)


@dataclass(frozen=True)
class NodePromise:
    """What one node should reach: a promise about it alone."""

    node: str
    promise: Promise
    rate: float
    """Bytes per second that the node should reach; the promise's bound may be lower."""
    kind: str
    """PROMISE or OWN_HISTORY."""

    @property
    def words(self) -> str:
        source = "its own history" if self.kind == OWN_HISTORY else "what was promised"
        return f"{units.rate(self.rate)} ({source})"


def of_spec(spec: Spec, nodes: Sequence[str]) -> list[NodePromise]:
    """Returns the promises of kind `node` for a run of this pattern, one for each node."""
    found = []
    for promise in spec.promises:
        if promise.kind is PromiseKind.NODE and promise.pattern == PATTERN and not promise.parameters:
            for node in nodes:
                if not promise.nodes or any(fnmatchcase(node, one) for one in promise.nodes):
                    own = replace(promise, name=f"{promise.name}: {node}", nodes=(glob.escape(node),))
                    found.append(NodePromise(node, own, promise.bound, PROMISE))
    return found


def of_history(rates: Mapping[str, float], below: float, size_bytes: int) -> list[NodePromise]:
    """Returns a promise for each node: no less than a share `below` of its rate so far."""
    found = []
    for node, rate in rates.items():
        own = Promise(
            name=f"{OWN_HISTORY}: {node}", kind=PromiseKind.NODE, pattern=PATTERN, size_bytes=size_bytes,
            bound=below * rate, said=f"at least {units.percent(below)} of {units.rate(rate)}",
            nodes=(glob.escape(node),),
        )  # fmt: skip
        found.append(NodePromise(node, own, rate, OWN_HISTORY))
    return found


@dataclass(frozen=True)
class JudgedNodes:
    search: HealthSearch
    notes: tuple[str, ...]
    """Sentences about what no node is blamed for."""


def judge(
    run: Run, expected: Sequence[NodePromise], error_rate: float, cabling: Cabling | None = None
) -> JudgedNodes:
    """Judges every node of a run. `error_rate`: of all verdicts on promises together."""
    nodes = tuple(dict.fromkeys(run.node_names))
    checked = _checked(run, expected, error_rate)
    found, structure = of_run.look(run)
    if cabling is not None:
        found, structure = cable_names.named(found, structure, cabling)
    if machine := [one.what for one in found if one.what.startswith(limited.NOTHING_TOLD)]:
        return JudgedNodes(HealthSearch(text(run.attributes, "start"), (), run=str(run.path)), tuple(machine))
    excused = _excused(found, structure)
    below = {one.node: fault for one, verdict in checked
             if (fault := _fault(one, verdict)) is not None and one.node not in excused}  # fmt: skip
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
    faults = [*below.values(), *_of_findings(found, {*keeps, *excused, *below})]
    where = {fault.node: _where(run, fault.node, cabling) for fault in faults}
    faults = [replace(fault, where=where[fault.node]) for fault in faults]
    at_fault = {fault.node for fault in faults}
    sound = tuple(node for node in nodes if node in keeps and node not in at_fault and node not in excused)
    if left := [node for node in nodes if node not in {*sound, *at_fault, *excused}]:
        notes.append(_open(left, {one.node for one in expected}))
    search = HealthSearch(text(run.attributes, "start"), sound, tuple(faults), str(run.path))
    return JudgedNodes(search, tuple(notes))


def _checked(
    run: Run, expected: Sequence[NodePromise], error_rate: float
) -> list[tuple[NodePromise, PromiseVerdict]]:
    if not expected:
        return []
    spec = Spec(error_rate=error_rate, promises=tuple(one.promise for one in expected))
    return list(zip(expected, verdicts(spec, [run]).judged, strict=True))


def _fault(one: NodePromise, verdict: PromiseVerdict) -> NodeFault | None:
    if verdict.verdict is not Verdict.FAIL:
        return None
    does = "receives" if verdict.worst_label[-1:] == (-1,) else "sends"
    share = verdict.worst / one.rate
    says = f"{does} {units.rate(verdict.worst)}, {units.percent(share)} of {one.words}"
    return NodeFault(one.node, one.kind, says, share)


def _keeping(checked: Sequence[tuple[NodePromise, PromiseVerdict]]) -> list[str]:
    """Nodes that keep every promise about them, of which there is one at least."""
    broken = {one.node for one, verdict in checked if verdict.verdict is not Verdict.PASS}
    return [node for node in dict.fromkeys(one.node for one, _ in checked) if node not in broken]


def _excused(found: Sequence[Finding], structure: Structure | None) -> dict[str, str]:
    """Returns nodes whose rates have causes elsewhere, with the finding that says so."""
    causes: dict[str, str] = {}
    for finding in found:
        if finding.kind in _OF_OTHERS:
            hosts = {*finding.hosts, *_members(finding.groups, structure)}
            causes |= dict.fromkeys(sorted(hosts), finding.what.removesuffix("."))
    return causes


def _members(groups: Sequence[str], structure: Structure | None) -> Iterator[str]:
    if structure is None:
        return
    for name in groups:
        if (group := structure.group(name)) is not None:
            yield from (structure.hosts[rank] for rank in group.ranks)


def _of_findings(found: Sequence[Finding], judged: set[str]) -> list[NodeFault]:
    """Returns faults that findings name. `judged`: nodes that are not compared with others, since one that
    keeps its bound may be slower than others by design."""
    faults = []
    for finding in found:
        if finding.kind not in OF_ONE_HOST:
            continue
        for host in dict.fromkeys(name.partition(":")[0] for name in finding.hosts):
            if finding.kind is FindingKind.SLOW_HOST and host in judged:
                continue
            share = finding.effect.share if finding.effect is not None else float("nan")
            faults.append(NodeFault(host, finding.kind.value, finding.what.removesuffix("."), share))
    return faults


def _where(run: Run, node: str, cabling: Cabling | None) -> str:
    """Returns `adapter eth0, switch leaf1 port 3`."""
    record = next((one for one in items(run.attributes, "nodes") if text(one, "name") == node), None)
    names = [name for one in items(record, "adapters") if (name := text(one, "name"))] if record else []
    ports = [said for port in cabling.of_host(node) if (said := port.text())] if cabling is not None else []
    adapters = [f"adapter{'s' * (len(names) > 1)} {', '.join(names)}"] if names else []
    return ", ".join([*adapters, *ports])


def _open(nodes: Sequence[str], known: set[str]) -> str:
    """Says why nodes were neither sound nor at fault."""
    strangers = [node for node in nodes if node not in known]
    others = [node for node in nodes if node in known]
    words = []
    if strangers:
        names = folded(strangers, LIST_WIDTH)
        words.append(f"nothing says what {names} should reach; its own history needs {FEWEST_EARLIER} runs")
    if others:
        words.append(f"{folded(others, LIST_WIDTH)}: too few repetitions, or too much noise, for a verdict")
    return "; ".join(words)
