"""Gains of hosts' counters during a run: evidence for other findings, and findings of their own.

A counter shows that something happened, not what it cost. So it is added to a finding about the same host,
and reported alone only if the host stands out: by errors on the wire, which a sound link almost never has
(the objective for 10 Gbit/s is one wrong bit in 10^12: IEEE 802.3, 49.1), by a link that went down, or by far
more retransmissions than others.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from crosscut.analysis.findings.kinds import CabledParts, FindingKind
from crosscut.analysis.findings.model import Finding
from crosscut.base import units
from crosscut.base.node_sets import LIST_WIDTH, folded

# A host stands out if it retransmits more than this share of its segments, and more than this multiple of the
# median host's share.
MOST_RETRANSMITTED = 0.001
TIMES_OTHERS = 10.0
FEWEST_RETRANSMITTED = 20
MOST_FINDINGS = 8
# Counters that never grow on a sound link. Of several names for one event, the first that grew is reported.
_WIRE = (
    "rx_crc_errors", "rx_frame_errors", "rx_length_errors", "rx_errors", "tx_carrier_errors", "tx_errors",
    "collisions", "infiniband.symbol_error", "infiniband.port_rcv_errors",
)  # fmt: skip
_DOWN = ("infiniband.link_downed", "infiniband.link_error_recovery", "carrier_changes")
_LOST = ("rx_missed_errors", "rx_fifo_errors", "rx_dropped", "tx_dropped", "infiniband.port_xmit_discards")
_NAMES = {"wire": _WIRE, "down": _DOWN, "lost": _LOST}
_PARTS = (*_NAMES, "paused")


@dataclass(frozen=True)
class Gained:
    """Gains of one host's counters, by `adapter counter`."""

    segments: int = 0
    retransmitted: int = 0
    wire: Mapping[str, int] = field(default_factory=dict)
    down: Mapping[str, int] = field(default_factory=dict)
    lost: Mapping[str, int] = field(default_factory=dict)
    paused: Mapping[str, int] = field(default_factory=dict)

    def share(self) -> float:
        return self.retransmitted / self.segments if self.segments else 0.0

    def words(self) -> str:
        counted = {**self.down, **self.wire, **self.lost, **self.paused}
        said = [_in_words(name, count) for name, count in counted.items()]
        if self.retransmitted:
            said.append(f"{self.retransmitted} of {self.segments} TCP segments retransmitted")
        return ", ".join(said)


def _in_words(counter: str, count: int) -> str:
    """`eth0's link changed state 6 times`; other counters by their names: `eth0 rx_crc_errors +312`"""
    adapter, _, name = counter.partition(" ")
    if name == "carrier_changes":
        return f"{adapter}'s link changed state {units.count(count, 'time')}"
    return f"{counter} +{count}"


def gained(attributes: Mapping[str, object]) -> dict[str, Gained]:
    """Returns gains by node, from a run's attributes `counters_before` and `counters_after`; skips damage."""
    before, after = (_object(attributes.get(f"counters_{when}")) for when in ("before", "after"))
    return {node: _of_node(_object(before[node]), _object(after[node])) for node in after if node in before}


def added(one: Mapping[str, Gained], other: Mapping[str, Gained]) -> dict[str, Gained]:
    """Returns the sum of both, as for two runs of one session."""
    return {name: _sum(one.get(name, Gained()), other.get(name, Gained())) for name in {**one, **other}}


def _sum(one: Gained, other: Gained) -> Gained:
    parts = {part: dict(Counter(getattr(one, part)) + Counter(getattr(other, part))) for part in _PARTS}
    return Gained(one.segments + other.segments, one.retransmitted + other.retransmitted, **parts)


def _of_node(before: Mapping[str, object], after: Mapping[str, object]) -> Gained:
    parts: dict[str, dict[str, int]] = {part: {} for part in _PARTS}
    by_adapter = {adapter: _grown(_object(before.get(adapter)), _object(after[adapter])) for adapter in after}
    tcp = by_adapter.pop("tcp", {})
    for adapter, grown in by_adapter.items():
        for part, names in _NAMES.items():
            if first := next((name for name in names if name in grown), None):
                parts[part][f"{adapter} {first}"] = grown[first]
        if pauses := [name for name in grown if "pause" in name.lower()]:
            most = max(pauses, key=grown.__getitem__)
            parts["paused"][f"{adapter} {most.removeprefix('driver.')}"] = grown[most]
    return Gained(tcp.get("OutSegs", 0), tcp.get("RetransSegs", 0), **parts)


def _grown(before: Mapping[str, object], after: Mapping[str, object]) -> dict[str, int]:
    """Returns counters that grew; one that fell was reset. Missing driver counters were zero."""
    found = {}
    for name, now in after.items():
        was = before.get(name, 0 if name.startswith("driver.") else now)
        if type(was) is int and type(now) is int and now > was:
            found[name] = now - was
    return found


def _object(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def stands_out(by_node: Mapping[str, Gained]) -> dict[str, Gained]:
    """Returns the nodes with gains that others lack, each with only these."""
    shares = [node.share() for node in by_node.values()]
    ordinary = max(MOST_RETRANSMITTED, TIMES_OTHERS * statistics.median(shares)) if shares else 0.0
    # Events that more than half of all nodes count are normal there, such as drops of a virtual bridge.
    common = {
        part: 2 * sum(bool(getattr(node, part)) for node in by_node.values()) > max(len(by_node), 2)
        for part in _PARTS
    }
    found = {}
    for name, node in by_node.items():
        kept = {part: {} if common[part] else getattr(node, part) for part in common}
        many = node.retransmitted >= FEWEST_RETRANSMITTED and node.share() > ordinary
        kept_node = Gained(node.segments, node.retransmitted if many else 0, **kept)
        if kept_node.words():
            found[name] = kept_node
    return found


def tied(found: Sequence[Finding], by_node: Mapping[str, Gained], nodes: Sequence[str]) -> list[Finding]:
    """Returns the findings, with the counters of their hosts added, and findings from counters alone.

    `nodes`: [rank] name.
    """
    telling = stands_out(by_node)
    told, spoken = [], set()
    for finding in found:
        ends = {nodes[rank] for rank in finding.ends}
        of_hosts = finding.kind.place is CabledParts.HOSTS
        here = {name: telling[name] for name in telling if name in ends} if of_hosts else {}
        spoken |= set(here)
        told.append(finding.adding("; ".join(f"{name}'s counters: {here[name].words()}" for name in here)))
    told += _alone({name: node for name, node in telling.items() if name not in spoken}, nodes)
    return told


_ADVICE = (
    "a failing cable, plug or optical module shows in counters first: check those of the switch port, too"
)


def _alone(telling: Mapping[str, Gained], nodes: Sequence[str]) -> list[Finding]:
    """Returns findings from counters alone, without lost and paused frames: a sound network under load has
    them, too."""
    found = []
    for name, node in telling.items():
        told = replace(node, lost={}, paused={}).words()
        ranks = tuple(rank for rank, node_name in enumerate(nodes) if node_name == name)
        what = f"{name}: {told} during the run, unlike on other hosts"
        if told:
            found.append(Finding(FindingKind.COUNTED, what, ranks, (name,), advice=_ADVICE))
    return found if len(found) <= MOST_FINDINGS else [_together(found)]


def _together(found: Sequence[Finding]) -> Finding:
    hosts = tuple(host for finding in found for host in finding.hosts)
    what = (
        f"{units.count(len(hosts), 'host')} counted errors on the wire, links down, or far more "
        f"retransmissions than others: {folded(hosts, LIST_WIDTH)}"
    )
    ranks = tuple(rank for finding in found for rank in finding.ranks)
    return Finding(FindingKind.COUNTED, what, ranks, hosts, advice=_ADVICE)
