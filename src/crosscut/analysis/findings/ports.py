"""Findings with what the switch's own ports counted: beside a host or a trunk that is slow, else by
themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from crosscut.analysis.findings.kinds import FindingKind
from crosscut.analysis.findings.model import Finding
from crosscut.cabling import switch_counters
from crosscut.cabling.model import Cabling, Port, Trunk

MOST_FINDINGS = 8
_ADVICE = "clean or swap the cable and its modules, and read the counter again"
Place = tuple[str, str]


def beside(finding: Finding, ports: Sequence[Port], trunks: Sequence[Trunk], cabling: Cabling) -> Finding:
    """`ports`, `trunks`: of what it is about."""
    places = [(port.switch, port.port) for port in ports]
    places += [end for trunk in trunks for end in ends(trunk)]
    said = "; ".join(
        f"switch {switch} port {port} counted {switch_counters.words(cabling.counted[switch, port])}"
        for switch, port in dict.fromkeys(places)
        if (switch, port) in cabling.counted
    )
    return replace(finding, what=f"{finding.what.removesuffix('.')}; {said}") if said else finding


def alone(spoken: Sequence[str], cabling: Cabling) -> list[Finding]:
    """Ports with errors on the wire of which no finding speaks; `spoken`: sentences."""
    found = []
    for (switch, port), grown in cabling.counted.items():
        counted = switch_counters.of_wire(grown)
        if not counted or any(f"switch {switch} port {port} counted" in text for text in spoken):
            continue
        hosts = tuple(one.host for one in cabling.ports if (one.switch, one.port) == (switch, port))
        others = [_other(trunk, (switch, port)) for trunk in cabling.trunks if (switch, port) in ends(trunk)]
        to = ", ".join([*hosts, *others])
        found.append(
            Finding(
                FindingKind.COUNTED,
                f"switch {switch} port {port}{f' (to {to})' if to else ''} counted between the two lists "
                f"what other ports did not: {switch_counters.words(counted)}",
                hosts=hosts, advice=_ADVICE,
            )
        )  # fmt: skip
    if len(found) <= MOST_FINDINGS:
        return found
    few = ", ".join(f"{switch} port {port}" for switch, port in list(cabling.counted)[:MOST_FINDINGS])
    what = f"{len(found)} ports of switches counted errors on the wire between the two lists: {few}, …"
    return [Finding(FindingKind.COUNTED, what, advice=_ADVICE)]


def ends(trunk: Trunk) -> tuple[Place, Place]:
    return (trunk.switch, trunk.port), (trunk.to_switch, trunk.to_port)


def _other(trunk: Trunk, place: Place) -> str:
    here, there = ends(trunk)
    switch, port = there if place == here else here
    return f"{switch} port {port}" if port else switch
