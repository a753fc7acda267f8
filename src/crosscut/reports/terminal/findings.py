"""Findings and structure on a terminal, in about thirty lines."""

from __future__ import annotations

import math
from collections.abc import Sequence

from crosscut.analysis.findings.kinds import Sort
from crosscut.analysis.findings.model import Finding
from crosscut.analysis.stats.doubt import SMALLEST_CLAIMED
from crosscut.analysis.structure.model import Group, Limit, Reach, Structure
from crosscut.base import units
from crosscut.base.spelling import capital
from crosscut.reports.terminal.screen import Screen

FINDINGS_SHOWN = 10
GROUPS_SHOWN = 8


def render(screen: Screen, found: Sequence[Finding], structure: Structure | None) -> None:
    screen.title("Findings")
    for finding in found[:FINDINGS_SHOWN]:
        warns = finding.kind.warns
        screen.line(
            f"{screen.glyphs.warning if warns else '–'} {_sentence(finding.what)}{_doubt(finding)}",
            "bold yellow" if warns else "",
        )
        if finding.advice and finding.kind.sort is not Sort.DESIGN:
            screen.line(f"  {finding.advice}", "dim")
    if len(found) > FINDINGS_SHOWN:
        screen.line(f"  and {len(found) - FINDINGS_SHOWN} more; --json has all", "dim")
    if any(math.isfinite(finding.false_alarm) and finding.kind.warns for finding in found):
        screen.line(
            "p: probability that a healthy network shows a finding this strong anywhere (corrected for all "
            "tests made).", "dim",
        )  # fmt: skip
    if structure is not None:
        _structure(screen, structure)


def _sentence(text: str) -> str:
    return text if text.endswith(".") else f"{text}."


def _doubt(finding: Finding) -> str:
    if not math.isfinite(finding.false_alarm) or not finding.kind.warns:
        return ""
    if finding.false_alarm <= SMALLEST_CLAIMED:
        return f" (p < {100 * SMALLEST_CLAIMED:g} %)"
    return f" (p = {units.percent(finding.false_alarm)})"


def _structure(screen: Screen, structure: Structure) -> None:
    if structure.groups:
        screen.title("Structure")
    for group in structure.groups[:GROUPS_SHOWN]:
        _group(screen, group, structure, "")
    if len(structure.groups) > GROUPS_SHOWN:
        screen.line(f"and {units.count(len(structure.groups) - GROUPS_SHOWN, 'more group')}", "dim")
    for note in structure.notes:
        screen.line(_sentence(capital(note)), "dim")


def _group(screen: Screen, group: Group, structure: Structure, indent: str) -> None:
    names = structure.hosts or tuple(f"rank {rank}" for rank in range(structure.ranks))
    few = ", ".join(names[rank] for rank in group.ranks[:6]) + (", …" if len(group.ranks) > 6 else "")
    screen.line(f"{indent}{group.name}: {units.count(len(group.ranks), structure.noun)} ({few})")
    mine = [limit for limit in structure.limits if limit.groups[:1] == (group.name,)]
    if words := _limits(mine):
        screen.line(f"{indent}    {words}", "dim")
    for part in group.parts[:GROUPS_SHOWN]:
        _group(screen, part, structure, indent + "  ")


def _limits(limits: Sequence[Limit]) -> str:
    words = {Reach.LEAVING: "leaving", Reach.ENTERING: "entering", Reach.SENT: "sent in all",
             Reach.RECEIVED: "received in all"}  # fmt: skip
    said = [f"{words[limit.reach]} {capacity(limit)}" for limit in limits if limit.reach in words]
    between = [limit for limit in limits if limit.reach is Reach.BETWEEN]
    said += [f"to {limit.groups[1]} {capacity(limit)}" for limit in between[:4]]
    return "; ".join(said) + (" …" if len(between) > 4 else "")


def capacity(limit: Limit) -> str:
    """`100 MB/s [99.8 – 100]`, `395 GB/s by about 32 cables`"""
    unit = units.rate_unit(limit.bytes_per_second)
    middle = f"{units.number(limit.bytes_per_second, unit)} {unit[1]}"
    if limit.cables > 1:
        return f"{middle} by about {limit.cables} cables"
    if not math.isfinite(limit.low + limit.high):
        return middle
    return f"{middle} [{units.number(limit.low, unit)} – {units.number(limit.high, unit)}]"
