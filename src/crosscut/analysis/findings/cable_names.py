"""Adds the names of switches, ports and cables to findings: pure functions of findings and cabling.

Errors that switch ports counted are added to the finding on a slow host or trunk, or else reported alone. A
group is named after a switch if nearly all of its hosts are on that switch, and nearly all of the switch's
hosts are in the group. Exceptions are reported: a cable is in the wrong port, or the list is out of date.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations

from crosscut.analysis.findings.kinds import OF_ONE_HOST, CabledParts, FindingKind
from crosscut.analysis.findings.model import Finding
from crosscut.analysis.structure.model import Group, Reach, Structure
from crosscut.base import units
from crosscut.base.node_sets import LIST_WIDTH, folded
from crosscut.cabling import switch_counters
from crosscut.cabling.model import Cabling, Port, Trunk

NEARLY_ALL = 0.75
PLACES_SHOWN = 3
TRUNKS_SHOWN = 4
EXCEPTIONS_SHOWN = 6
PORTS_TOLD = 8
_ADVICE = "clean or swap the cable and its modules, and read the counter again"
_Place = tuple[str, str]
"""(switch, port)"""


# Largest difference of two switches' numbers of hosts, relative to the first, at which they are compared.
_ALIKE = 0.25
_ACROSS = (Reach.LEAVING, Reach.ENTERING, Reach.BETWEEN, Reach.CROSSING)


@dataclass(frozen=True)
class _Alias:
    name: str
    switches: tuple[str, ...]


def named(
    found: Sequence[Finding], structure: Structure | None, cabling: Cabling
) -> tuple[list[Finding], Structure | None]:
    """Returns both, with groups named after switches and the places of hosts added."""
    aliases = _aliases(structure, cabling) if structure is not None else {}
    told = [_told(finding, structure, aliases, cabling) for finding in found]
    told += _ports_alone([finding.what for finding in told], cabling)
    if structure is None:
        return told, None
    hidden = {rank for one in found if one.kind in OF_ONE_HOST for rank in one.ranks} | {*structure.unplaced}
    notes = (*_exceptions(structure, aliases, cabling, hidden), *cabling.disagreements)
    groups = tuple(_renamed(group, aliases) for group in structure.groups)
    limits = tuple(replace(limit, groups=_called(limit.groups, aliases)) for limit in structure.limits)
    return told, replace(structure, groups=groups, limits=limits, notes=(*structure.notes, *notes))


def _aliases(structure: Structure, cabling: Cabling) -> dict[str, _Alias]:
    """Returns aliases by group name. A switch that fits a group and also one of its parts names the group."""
    of_rank = [frozenset(cabling.switches_of(host)) for host in structure.hosts]
    everywhere = Counter(switch for switches in of_rank for switch in switches)
    found: dict[str, _Alias] = {}
    taken: set[tuple[str, ...]] = set()
    for top in structure.groups:
        for group in top.walk():
            here = Counter(switch for rank in group.ranks for switch in of_rank[rank])
            own = tuple(sorted(
                switch for switch, count in here.items() if count >= NEARLY_ALL * everywhere[switch]
            ))  # fmt: skip
            covered = sum(bool(of_rank[rank] & set(own)) for rank in group.ranks)
            if own and own not in taken and covered >= NEARLY_ALL * len(group.ranks):
                found[group.name] = _Alias(" + ".join(own), own)
                taken.add(own)
    return found


def _exceptions(
    structure: Structure, aliases: Mapping[str, _Alias], cabling: Cabling, hidden: Collection[int]
) -> list[str]:
    """Returns sentences on hosts that the cabling puts on one switch and the measurement on another.

    `hidden`: ranks on slow hosts, whose cable hides the group.
    """
    found: dict[str, str] = {}
    for name, alias in aliases.items():
        group = structure.group(name)
        for rank in group.ranks if group is not None else ():
            host = structure.hosts[rank]
            switches = cabling.switches_of(host) if rank not in hidden else set()
            if switches and not switches & set(alias.switches):
                found.setdefault(
                    host,
                    f"the cabling puts {host} on {', '.join(sorted(switches))}, but it measures like the "
                    f"hosts of {alias.name}: it is plugged in elsewhere, or the list is out of date",
                )
    more = len(found) - EXCEPTIONS_SHOWN
    shown = list(found.values())[:EXCEPTIONS_SHOWN]
    return [*shown, f"the same holds for {units.count(more, 'more host')}"] if more > 0 else shown


def _told(
    finding: Finding, structure: Structure | None, aliases: Mapping[str, _Alias], cabling: Cabling
) -> Finding:
    two = _only_two(finding, structure, aliases)
    if two is not None and structure is not None:
        finding = finding.adding(_beside_alike(two, structure, cabling))
    what = _with_names(finding.what, aliases)
    places: list[str] = []
    ports: list[Port] = []
    if finding.kind.place is CabledParts.HOSTS:
        hosts = list(dict.fromkeys(finding.hosts))
        ports = [port for host in hosts for port in cabling.of_host(host)]
        for host in hosts[:PLACES_SHOWN]:
            said = "; ".join(text for port in cabling.of_host(host) if (text := port.text()))
            if said:
                places.append(said if len(hosts) == 1 else f"{host}: {said}")
        absent = [host for host in hosts if not cabling.of_host(host)]
        if absent and cabling.ports and finding.kind.fault:
            which = "" if len(hosts) == 1 else f": {folded(absent, LIST_WIDTH)}"
            places.append(f"not in the list of cables{which}")
    trunks = _trunks(finding, aliases, cabling) if two is None else _trunks_of(two, cabling)
    places += [trunk.text() for trunk in trunks[:TRUNKS_SHOWN]]
    if len(trunks) > TRUNKS_SHOWN:
        places.append(f"and {units.count(len(trunks) - TRUNKS_SHOWN, 'more cable')}")
    if places:
        what = f"{what.removesuffix('.')} [{'; '.join(places)}]"
    groups = _called(finding.groups, aliases)
    named_ = replace(finding, what=what, groups=groups, advice=_with_names(finding.advice, aliases))
    return _beside_ports(named_, ports, trunks, cabling)


def _only_two(
    finding: Finding, structure: Structure | None, aliases: Mapping[str, _Alias]
) -> tuple[_Alias, _Alias] | None:
    """Returns the groups of a limit of the traffic between them, the one with fewer switches first, if these
    are the only groups and nothing else is limited."""
    if finding.kind is not FindingKind.SHARED_LIMIT or structure is None or len(structure.groups) != 2:
        return None
    across = all(one.reach in _ACROSS for one in structure.limits)
    names = [group.name for group in structure.groups]
    if not across or {*finding.groups} != {*names} or not {*names} <= {*aliases}:
        return None
    narrow, wide = sorted((aliases[name] for name in names), key=lambda alias: len(alias.switches))
    return narrow, wide


def _beside_alike(two: tuple[_Alias, _Alias], structure: Structure, cabling: Cabling) -> str:
    """Says which switches with about as many hosts do not share the limit of the only one that does.

    Switches without limits look like one group, so a limit of one of them has no other to be compared with.
    """
    narrow, wide = two
    if len(narrow.switches) != 1:
        return ""
    hosts = Counter(switch for host in set(structure.hosts) for switch in cabling.switches_of(host))
    own = hosts[narrow.switches[0]]
    alike = [one for one in wide.switches if abs(hosts[one] - own) <= _ALIKE * own]
    if len(alike) < 2:
        return ""
    return f"{folded(alike, LIST_WIDTH)}, with about as many hosts, share no such limit"


def _trunks_of(two: tuple[_Alias, _Alias], cabling: Cabling) -> list[Trunk]:
    """Returns the cables that leave the group with fewer switches; if both have as many, those of either."""
    fewest = len(two[0].switches)
    groups = [set(alias.switches) for alias in two if len(alias.switches) == fewest]
    return [
        one for one in cabling.trunks
        if any(len(mine & {one.switch, one.to_switch}) == 1 for mine in groups)
    ]  # fmt: skip


def _trunks(finding: Finding, aliases: Mapping[str, _Alias], cabling: Cabling) -> list[Trunk]:
    """Returns the cables of a slow trunk: from the group's switches to others, or to the second group's."""
    if finding.kind.place is not CabledParts.TRUNKS or not finding.groups or finding.groups[0] not in aliases:
        return []
    mine, *others = (set(aliases[name].switches) for name in finding.groups[:2] if name in aliases)
    found = [
        trunk
        for trunk in cabling.trunks
        for here, there in permutations((trunk.switch, trunk.to_switch))
        if here in mine and there not in mine and all(there in other for other in others)
    ]
    if others and not found:  # the groups are joined by a switch above both
        return _trunks(replace(finding, groups=finding.groups[:1]), aliases, cabling)
    return found


def _with_names(text: str, aliases: Mapping[str, _Alias]) -> str:
    if not aliases:
        return text
    names = sorted(map(re.escape, aliases), key=len, reverse=True)
    return re.sub(
        rf"(?<![\w.-])({'|'.join(names)})(?![\w-]|\.\w)", lambda match: aliases[match[1]].name, text
    )


def _called(groups: Sequence[str], aliases: Mapping[str, _Alias]) -> tuple[str, ...]:
    return tuple(aliases[name].name if name in aliases else name for name in groups)


def _renamed(group: Group, aliases: Mapping[str, _Alias]) -> Group:
    (name,) = _called([group.name], aliases)
    return replace(group, name=name, parts=tuple(_renamed(part, aliases) for part in group.parts))


def _beside_ports(
    finding: Finding, ports: Sequence[Port], trunks: Sequence[Trunk], cabling: Cabling
) -> Finding:
    """Adds the counts of the `ports` and of both ends of the `trunks`."""
    places = [(port.switch, port.port) for port in ports]
    places += [end for trunk in trunks for end in _ends(trunk)]
    said = "; ".join(
        f"switch {switch} port {port} counted {switch_counters.words(cabling.counted[switch, port])}"
        for switch, port in dict.fromkeys(places)
        if (switch, port) in cabling.counted
    )
    return finding.adding(said)


def _ports_alone(spoken: Sequence[str], cabling: Cabling) -> list[Finding]:
    """Returns findings on ports with errors on the wire that no sentence in `spoken` mentions."""
    found, places = [], []
    for (switch, port), grown in cabling.counted.items():
        counted = switch_counters.of_wire(grown)
        if not counted or any(f"switch {switch} port {port} counted" in text for text in spoken):
            continue
        hosts = tuple(one.host for one in cabling.ports if (one.switch, one.port) == (switch, port))
        others = [_other(trunk, (switch, port)) for trunk in cabling.trunks if (switch, port) in _ends(trunk)]
        to = ", ".join([*hosts, *others])
        places.append(f"{switch} port {port}")
        found.append(
            Finding(
                FindingKind.COUNTED,
                f"switch {switch} port {port}{f' (to {to})' if to else ''} counted errors between the two "
                f"lists that other ports did not: {switch_counters.words(counted)}",
                hosts=hosts, advice=_ADVICE,
            )
        )  # fmt: skip
    if len(found) <= PORTS_TOLD:
        return found
    few = ", ".join(places[:PORTS_TOLD])
    what = f"{len(found)} ports of switches counted errors on the wire between the two lists: {few}, …"
    return [Finding(FindingKind.COUNTED, what, advice=_ADVICE)]


def _ends(trunk: Trunk) -> tuple[_Place, _Place]:
    return (trunk.switch, trunk.port), (trunk.to_switch, trunk.to_port)


def _other(trunk: Trunk, place: _Place) -> str:
    here, there = _ends(trunk)
    switch, port = there if place == here else here
    return f"{switch} port {port}" if port else switch
