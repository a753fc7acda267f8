"""Traffic of other programs through the adapters that carried the measurement.

Adapters count all bytes, crosscut counts its own: messages, and what its connections for barriers and control
carried. What adapters carried beyond that, and beyond what is usual for headers, acknowledgements and
warm-up, belongs to other programs. A host that is slow meanwhile, in the same direction, may be sound.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from crosscut.analysis.findings.kinds import FindingKind
from crosscut.analysis.findings.lossy_hosts import retransmissions
from crosscut.analysis.findings.model import AFTER_OTHERS, Direction, Finding
from crosscut.base import units

# Backends whose bytes adapters count. Others may bypass the kernel.
_COUNTED = ("tcp", "udp")
# With fewer hosts, the usual overhead is unknown.
_FEWEST_HOSTS = 3
# Bytes of other programs are more than this multiple of what the median host has beyond its own.
_TIMES_OTHERS = 5.0
# They explain a slow host if they are at least this share of what it lacks.
_EXPLAIN = 0.5
# By themselves they are reported from these on: in all, and as a share of the host's own. Acknowledgements
# are at most this share of the bytes that they answer.
_FEWEST_BYTES, _SMALLEST_SHARE, _OF_ANSWERS = 1_000_000, 0.25, 0.1
_MOST_NAMED = 6
_USUAL_MTU = 1500
# Bytes of a segment besides its payload: Ethernet, IP, TCP with its time stamps.
_HEADERS = 14 + 20 + 32
_WAYS = {Direction.OUT: "sent", Direction.IN: "received"}
_OfOthers = Mapping[tuple[str, Direction], int]


@dataclass(frozen=True)
class Traffic:
    """Bytes of one host: by direction, those of the measurement and those that its adapter counted."""

    own: Mapping[Direction, int]
    counted: Mapping[Direction, int]
    seconds: float
    adapter: str

    def __add__(self, later: Traffic) -> Traffic:
        return Traffic(
            {way: self.own[way] + later.own[way] for way in _WAYS},
            {way: self.counted[way] + later.counted[way] for way in _WAYS},
            self.seconds + later.seconds, later.adapter,
        )  # fmt: skip


def of(attributes: Mapping[str, object], nodes: Sequence[str]) -> dict[str, Traffic]:
    """Returns traffic by node, from a run's attributes; skips damage, and nodes with several adapters in use.

    Nodes with unequal numbers of ranks differ in what they send within, which no adapter counts: then
    returns nothing. `nodes`: [rank] name.
    """
    is_uneven = len(set(Counter(nodes).values())) > 1
    if is_uneven or _member(attributes.get("backend"), "name") not in _COUNTED:
        return {}
    own = {way: _own(attributes.get("effort"), member, nodes) for way, member in _MEMBERS.items()}
    before, after = (attributes.get(f"counters_{when}") for when in ("before", "after"))
    seconds = _seconds(attributes.get("start"), attributes.get("end"))
    repeated, found = _repeated(attributes, nodes), {}
    for node in dict.fromkeys(nodes):
        gained = _gained(_member(before, node), _member(after, node))
        control = _control(_member(before, node), _member(after, node))
        if len(gained) == 1 and seconds > 0:
            ((adapter, counted),) = gained.items()
            largest = _mtu(attributes.get("nodes"), node, adapter)
            found[node] = Traffic(
                {way: own[way].get(node, 0) for way in _WAYS},
                {way: max(0, counted[way] - repeated[node, way] * largest - control[way]) for way in _WAYS},
                seconds, adapter,
            )  # fmt: skip
    return found


_MEMBERS = {Direction.OUT: "sent_bytes", Direction.IN: "received_bytes"}
_COUNTERS = {Direction.OUT: "tx_bytes", Direction.IN: "rx_bytes"}


def _own(effort: object, member: str, nodes: Sequence[str]) -> dict[str, int]:
    """Returns the bytes of the measurement by node. `nodes`: [rank] name."""
    found: dict[str, int] = {}
    for record in effort if isinstance(effort, list) else ():
        values = _member(record, member)
        for node, value in zip(nodes, values if isinstance(values, list) else (), strict=False):
            if type(value) is int and value >= 0:
                found[node] = found.get(node, 0) + value
    return found


def _repeated(attributes: Mapping[str, object], nodes: Sequence[str]) -> Counter[tuple[str, Direction]]:
    """Counts the segments that TCP sent again, by node and direction. `nodes`: [rank] name."""
    found = Counter[tuple[str, Direction]]()
    for source, destination, _, again in retransmissions(attributes.get("retransmissions")):
        for rank, way in ((source, Direction.OUT), (destination, Direction.IN)):
            if 0 <= rank < len(nodes):
                found[nodes[rank], way] += again
    return found


def _mtu(described: object, node: str, adapter: str) -> int:
    """Returns the MTU of a node's adapter, by the run's attribute `nodes`."""
    for one in described if isinstance(described, list) else ():
        adapters = _member(one, "adapters") if _member(one, "name") == node else None
        for its in adapters if isinstance(adapters, list) else ():
            mtu = _member(its, "mtu") if _member(its, "name") == adapter else None
            if isinstance(mtu, int) and mtu > 0:
                return mtu
    return _USUAL_MTU


def _gained(before: object, after: object) -> dict[str, dict[Direction, int]]:
    """Returns by adapter how much its counters of bytes gained."""
    found = {}
    for adapter, now in after.items() if isinstance(after, dict) else ():
        gained = {}
        for way, name in _COUNTERS.items():
            was, is_ = _member(_member(before, adapter), name), _member(now, name)
            if isinstance(was, int) and isinstance(is_, int) and is_ >= was:
                gained[way] = is_ - was
        if len(gained) == len(_COUNTERS):
            found[adapter] = gained
    return found


def _control(before: object, after: object) -> dict[Direction, int]:
    """Returns the bytes of a node's connections for barriers and control, and on rank 0's of the conductor's,
    with headers."""
    found = dict.fromkeys(_WAYS, 0)
    for part in ("control", "conductor"):
        was, is_ = (_member(each, part) for each in (before, after))
        for way, name in _MEMBERS.items():
            for member, each in ((name, 1), (name.replace("bytes", "segments"), _HEADERS)):
                first, last = _member(was, member), _member(is_, member)
                if isinstance(first, int) and isinstance(last, int):  # new connections count from zero
                    found[way] += max(0, last - first) * each
    return found


def _member(value: object, name: str) -> object:
    return value.get(name) if isinstance(value, dict) else None


def _seconds(start: object, end: object) -> float:
    try:
        began, ended = (datetime.fromisoformat(str(one)) for one in (start, end))
        return max(1.0, (ended - began).total_seconds())  # times are whole seconds
    except (TypeError, ValueError):
        return 0.0


def added(one: Mapping[str, Traffic], other: Mapping[str, Traffic]) -> dict[str, Traffic]:
    """Returns the traffic of two runs of one session."""
    both = {node: one[node] + other[node] for node in one if node in other}
    return {**one, **other, **both}


def unusual(by_node: Mapping[str, Traffic]) -> dict[tuple[str, Direction], int]:
    """Returns the bytes of other programs by node and direction, where they stand out from other nodes'."""
    found: dict[tuple[str, Direction], int] = {}
    for way in _WAYS:
        busy = {node: one for node, one in by_node.items() if one.own[way] > 0}
        if len(busy) < _FEWEST_HOSTS:
            continue
        usual = statistics.median(one.counted[way] / one.own[way] for one in busy.values())
        beyond = {node: one.counted[way] - round(usual * one.own[way]) for node, one in busy.items()}
        ordinary = statistics.median(map(abs, beyond.values()))
        found |= {(node, way): count for node, count in beyond.items() if count > _TIMES_OTHERS * ordinary}
    return found


def _are_many(node: str, way: Direction, of_others: _OfOthers, by_node: Mapping[str, Traffic]) -> bool:
    """Returns True if they are worth a finding by themselves: not if they acknowledge the other direction."""
    count = of_others[node, way]
    answered = max(of_others.get((node, each), 0) for each in _WAYS)
    return count >= max(_FEWEST_BYTES, _SMALLEST_SHARE * by_node[node].own[way], _OF_ANSWERS * answered)


def explain(of_others: _OfOthers, node: str, way: Direction, traffic: Traffic, share: float) -> bool:
    """Returns True if other programs carried much of what a node lacks, which reaches a share of its rate."""
    lacking = traffic.own[way] * (1 / share - 1) if share > 0 else math.inf
    return of_others.get((node, way), 0) >= max(1, _EXPLAIN * lacking)


def tied(found: Sequence[Finding], by_node: Mapping[str, Traffic], nodes: Sequence[str]) -> list[Finding]:
    """Returns the findings without slow hosts that other programs explain, and a finding on these programs.

    `nodes`: [rank] name.
    """
    of_others = unusual(by_node)
    told = {key for key in of_others if _are_many(*key, of_others, by_node)}
    kept, explained = [], []
    for one in found:
        slowed = _slowed(one, nodes) if one.kind is FindingKind.SLOW_HOST else set()
        share = one.effect.share if one.effect else 1.0
        if slowed and all(
            node in by_node and explain(of_others, node, way, by_node[node], share) for node, way in slowed
        ):
            explained.append(one)
            told |= slowed
        else:
            kept.append(one)
    if not told:
        return kept
    return [
        *kept,
        _finding({key: of_others[key] for key in of_others if key in told}, by_node, nodes, explained),
    ]


def sentence(of_others: _OfOthers, by_node: Mapping[str, Traffic]) -> str:
    said = [
        f"{node}'s {by_node[node].adapter} {_WAYS[way]} {units.rate(count / by_node[node].seconds)}"
        for (node, way), count in sorted(of_others.items(), key=lambda item: -item[1])[:_MOST_NAMED]
    ]
    hosts = {node for node, _ in of_others}
    more = f" and more on {len(hosts)} hosts in all" if len(of_others) > _MOST_NAMED else ""
    return f"other programs used the network during the measurement: {', '.join(said)}{more}"


def _slowed(slow: Finding, nodes: Sequence[str]) -> set[tuple[str, Direction]]:
    ways = _WAYS if slow.direction in (Direction.BOTH, None) else (slow.direction,)
    return {(nodes[rank], way) for rank in slow.ranks for way in ways}


def _finding(
    of_others: _OfOthers, by_node: Mapping[str, Traffic], nodes: Sequence[str],
    explained: Sequence[Finding],
) -> Finding:  # fmt: skip
    hosts = tuple(dict.fromkeys(node for node, _ in of_others))
    meanwhile = [one.what.split(" (measured")[0] for one in explained]
    but = f"; meanwhile {', and '.join(meanwhile)}, which need not be a fault" if meanwhile else ""
    return Finding(
        FindingKind.OTHER_TRAFFIC,
        f"{sentence(of_others, by_node)}{but}",
        tuple(rank for rank, node in enumerate(nodes) if node in hosts), hosts,
        advice=AFTER_OTHERS,
    )  # fmt: skip
