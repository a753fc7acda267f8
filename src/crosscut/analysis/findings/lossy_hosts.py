"""Finds hosts that lose packets, from the connections on which TCP retransmitted.

A connection that retransmits segments has lost packets on its path. If nearly all such connections have one
host in common, and several others at their other ends, its own link or adapter loses the packets. But full
queues lose packets, too: before a trunk, by chance mostly those of one host, or before a link that is merely
slow, or that other programs use. So a search calls a host lossy only if it also lost packets while nearly all
others were silent, and losses of a host that is reported as slow are added to that finding. A host whose
adapter other programs used meanwhile is a suspect.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from crosscut.analysis.findings.counters import FEWEST_RETRANSMITTED, MOST_RETRANSMITTED, TIMES_OTHERS
from crosscut.analysis.findings.kinds import FindingKind
from crosscut.analysis.findings.model import AFTER_OTHERS, Direction, Finding
from crosscut.analysis.findings.slow_parts import LARGEST_SHARE_OF_HOSTS
from crosscut.base import units

# Fewest other hosts with which it loses packets; as a suspect. With only one, it may be the route.
_FEWEST_PEERS, _FEWEST_OF_SUSPECT = 3, 2
# A host must lose packets with this share of all others in a single run; in a search, on so many connections
# while the others are silent.
_OTHERS, _FEWEST_ALONE = 0.5, 2
# A suspect has at least this share of all retransmissions.
_OF_SUSPECT = 0.8
# More lossy hosts than these, and than LARGEST_SHARE_OF_HOSTS, have a cause in common and are not reported.
_MOST_HOSTS = 3
# Losses are in one direction if they are more than this many times those in the other.
_ONE_WAY = 10
_BESIDE = (FindingKind.SLOW_HOST, FindingKind.PARTLY_SLOW_HOST)
_EXPLAINED = (FindingKind.SLOW_ROUTE, FindingKind.SUSPECT, FindingKind.UNSTABLE)
_ADVICE = (
    "look at the error counters of its adapter and of its switch port, then clean or swap the cable or the "
    "optical module"
)

Connection = tuple[str, str]
"""(source node, destination node)"""


@dataclass(frozen=True)
class Losses:
    """Segments sent, and segments retransmitted, by connection that retransmitted."""

    segments: Mapping[Connection, int] = field(default_factory=dict)
    again: Mapping[Connection, int] = field(default_factory=dict)
    alone: Mapping[str, tuple[int, int]] | None = None
    """By suspected host: (connections that lost packets, all connections) while nearly all others were
    silent. None: suspects were not measured so, because this is one run."""

    @classmethod
    def of(cls, attributes: Mapping[str, object], nodes: Sequence[str]) -> Losses:
        """Reads the attribute `retransmissions` of a run; skips damage. `nodes`: [rank] name."""
        segments, again = Counter[Connection](), Counter[Connection]()
        for source, destination, sent, repeated in retransmissions(attributes.get("retransmissions")):
            if max(source, destination) >= len(nodes) or min(source, destination, sent, repeated) < 0:
                continue
            ends = nodes[source], nodes[destination]
            if ends[0] != ends[1]:
                segments[ends] += sent
                again[ends] += repeated
        return cls(dict(segments), dict(again))

    def __add__(self, later: Losses) -> Losses:
        return Losses(
            Counter(self.segments) + Counter(later.segments), Counter(self.again) + Counter(later.again),
            self.alone,
        )  # fmt: skip

    def again_alone(self, seen: Losses, hosts: Sequence[str], connections: int) -> Losses:
        """Adds what was `seen` while only these hosts and their partners sent, on `connections` each."""
        lost = {host: (sum(host in ends for ends in seen.again), connections) for host in hosts}
        return replace(self, alone={**(self.alone or {}), **lost})

    def sure(self, host: str, nodes: Sequence[str]) -> bool:
        """Returns True if the host itself loses the packets, and no full queue elsewhere. `nodes`: [rank]."""
        if self.alone is not None:
            return self.alone.get(host, (0, 0))[0] >= _FEWEST_ALONE
        return len(self.peers(host)) >= _OTHERS * (len(set(nodes)) - 2)

    def of_host(self, host: str) -> Losses:
        return self._where(lambda ends: host in ends)

    def without(self, host: str) -> Losses:
        return self._where(lambda ends: host not in ends)

    def _where(self, holds: Callable[[Connection], bool]) -> Losses:
        segments, again = (
            {ends: count for ends, count in counts.items() if holds(ends)}
            for counts in (self.segments, self.again)
        )
        return replace(self, segments=segments, again=again)

    def peers(self, host: str) -> set[str]:
        return {end for ends in self.again for end in ends if host in ends} - {host}

    def by_host(self) -> Counter[str]:
        """Returns the segments retransmitted to and by each host."""
        counts = Counter[str]()
        for ends, count in self.again.items():
            counts.update(dict.fromkeys(ends, count))
        return counts


def retransmissions(value: object) -> Iterator[tuple[int, int, int, int]]:
    """Yields (source, destination, segments, segments sent again) from a run's attribute; skips damage."""
    for record in value if isinstance(value, list) else []:
        rank, to = (record.get(key) for key in ("rank", "to")) if isinstance(record, dict) else (None, None)
        for one in to if isinstance(to, list) else []:
            numbers = [rank, *one] if isinstance(one, list) else []
            if len(numbers) == 4 and all(type(number) is int for number in numbers):
                yield (numbers[0], numbers[1], numbers[2], numbers[3])


def lossy(losses: Losses, nodes: Sequence[str]) -> dict[str, Losses]:
    """Returns the hosts that lose packets, with their connections; the worst first."""
    found: dict[str, Losses] = {}
    every, hosts = sum(losses.again.values()), set(nodes)
    while losses.again:
        host, count = losses.by_host().most_common(1)[0]
        mine, losses = losses.of_host(host), losses.without(host)
        others = losses.by_host()
        ordinary = statistics.median([others[other] for other in hosts - {host}] or [0])
        share, peers = count / max(1, sum(mine.segments.values())), len(mine.peers(host))
        stands_out = (
            count >= max(FEWEST_RETRANSMITTED, TIMES_OTHERS * ordinary) and share >= MOST_RETRANSMITTED
        )
        suspected = peers >= _FEWEST_OF_SUSPECT and count >= _OF_SUSPECT * every
        if not stands_out or not (peers >= _FEWEST_PEERS or suspected):
            break
        found[host] = mine
    return found


def suspects(losses: Losses, nodes: Sequence[str]) -> tuple[str, ...]:
    """Returns the hosts that may lose packets; none if there are too many. `nodes`: as for `lossy`."""
    hosts = tuple(lossy(losses, nodes))
    return hosts if _are_few(len(hosts), nodes) else ()


def _are_few(lossy_hosts: int, nodes: Sequence[str]) -> bool:
    return lossy_hosts <= max(_MOST_HOSTS, LARGEST_SHARE_OF_HOSTS * len(set(nodes)))


def tied(
    found: Sequence[Finding], losses: Losses, nodes: Sequence[str], *, is_limited: bool = False
) -> list[Finding]:
    """Returns the findings that lossy hosts do not explain, and findings on the lossy hosts.

    `nodes`: [rank] name. `is_limited`: the emulating machine was the bottleneck, so slow hosts are unknown.
    """
    hosts = lossy(losses, nodes)
    if not hosts or not _are_few(len(hosts), nodes):
        return list(found)
    told, beside = [], set[str]()
    for one in found:
        ends = [{nodes[end] for end in route} for route in one.routes] or [
            {nodes[rank] for rank in one.ranks}
        ]
        if one.kind in _EXPLAINED and all(here & set(hosts) for here in ends):
            continue
        mine = [host for host in hosts if one.kind in _BESIDE and host in {nodes[rank] for rank in one.ranks}]
        beside |= set(mine)
        said = "; ".join([one.what, *(_beside(host, hosts[host]) for host in mine)])
        told.append(replace(one, what=said))
    alone = [(host, its) for host, its in hosts.items() if host not in beside]
    shared = {host for one in found if one.kind is FindingKind.OTHER_TRAFFIC for host in one.hosts}
    return told + [
        _finding(host, its, nodes, is_limited=is_limited, is_shared=host in shared) for host, its in alone
    ]


def _beside(host: str, its: Losses) -> str:
    """Returns words on the losses of a slow host. A slow link makes senders lose packets, too."""
    lost, _ = (its.alone or {}).get(host, (0, 0))
    begin = "it also loses packets: " if lost else ""
    return f"{begin}{_words(host, its)}{'' if lost else ', as a slow link alone may cause'}"


def _words(host: str, its: Losses) -> str:
    again, sent = sum(its.again.values()), sum(its.segments.values())
    words = (
        f"{again:,} of {sent:,} TCP segments were retransmitted on its connections with "
        f"{units.count(len(its.peers(host)), 'other host')}"
    )
    lost, of = (its.alone or {}).get(host, (0, 0))
    return f"{words}, and on {lost} of {of} while the other hosts were silent" if of else words


def _finding(host: str, its: Losses, nodes: Sequence[str], *, is_limited: bool, is_shared: bool) -> Finding:
    out = sum(count for ends, count in its.again.items() if ends[0] == host)
    back = sum(its.again.values()) - out
    direction = Direction.BOTH
    if max(out, back) > _ONE_WAY * min(out, back):
        direction = Direction.OUT if out > back else Direction.IN
    way = {
        Direction.BOTH: "in both directions", Direction.OUT: "when sending", Direction.IN: "when receiving"
    }[direction]  # fmt: skip
    sure = len(its.peers(host)) >= _FEWEST_PEERS and its.sure(host, nodes) and not (is_limited or is_shared)
    or_else, advice = "", _ADVICE
    if is_shared:
        or_else = ". Other programs used its adapter at the time, and full queues lose packets, too"
        advice = AFTER_OTHERS
    elif is_limited:
        or_else = ". It may also be slow, or this machine may be too busy to carry all traffic"
    return Finding(
        FindingKind.LOSSY_HOST if sure else FindingKind.SUSPECT,
        f"{host} {'loses' if sure else 'may lose'} packets {way}: {_words(host, its)}, and hardly any "
        f"between other hosts{or_else}",
        tuple(rank for rank, name in enumerate(nodes) if name == host), (host,), direction=direction,
        advice=advice,
    )  # fmt: skip
