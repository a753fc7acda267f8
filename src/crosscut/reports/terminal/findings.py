"""Findings and structure on a terminal, in about thirty lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from crosscut.analysis.findings import of_run
from crosscut.analysis.findings.kinds import ORDER
from crosscut.analysis.findings.model import P_MEANS, Finding
from crosscut.analysis.structure.model import Group, Limit, Reach, Structure
from crosscut.base import units
from crosscut.base.node_sets import LIST_WIDTH, folded
from crosscut.base.spelling import sentence
from crosscut.reports.terminal.screen import Screen
from crosscut.run.run import Run
from crosscut.run.shape import reading

FINDINGS_SHOWN = 10
GROUPS_SHOWN = 8


def render(screen: Screen, found: Sequence[Finding], structure: Structure | None) -> None:
    screen.title("Findings")
    shown = found[:FINDINGS_SHOWN]
    for finding, after in zip(shown, [*shown[1:], None], strict=True):
        said = (finding.what.removesuffix("."), finding.chance)
        _finding(screen, finding, sentence("; ".join(filter(None, said))))
        repeated = after is not None and after.advice == finding.advice
        if finding.advice and not repeated:
            screen.line(f"  {sentence(finding.advice)}", "dim")
    if len(found) > FINDINGS_SHOWN:
        screen.line(f"  and {len(found) - FINDINGS_SHOWN} more; --json has all", "dim")
    if any(finding.chance for finding in found):
        screen.line(P_MEANS, "dim")
    if structure is not None:
        _structure(screen, structure)


def first(screen: Screen, run: Run, shown: str, *, apart: bool = False) -> None:
    """Prints a run's most important finding, and where the others are. `shown`: the run as a user types it;
    `apart`: an empty line comes first.

    Prints nothing if the run has a single node or says nothing about routes. If it has so many messages that
    finding takes long, says so.
    """
    if not _tells_of_routes(run):
        return
    if not of_run.is_quick(run):
        if apart:
            screen.line()
        screen.line(
            f"Not searched for faults, as that takes a while: crosscut show --findings {shown}", "bold"
        )
        return
    if found := _conclusive(run):
        if apart:
            screen.line()
        _first(screen, found, "", shown)


def worst(runs: Mapping[str, Run]) -> tuple[str, list[Finding]] | None:
    """Returns the name of the run with the most important finding, and its findings. `runs`: by name.

    None if no run tells of routes, or if finding takes long.
    """
    told = {
        name: found
        for name, run in runs.items()
        if _tells_of_routes(run) and of_run.is_quick(run) and (found := _conclusive(run))
    }
    return min(told.items(), key=lambda one: ORDER[one[1][0].kind]) if told else None


def render_worst(screen: Screen, name: str, found: Sequence[Finding], shown: str) -> None:
    """Prints what `worst` found, and where the others are. `shown`: the run as a user types it."""
    screen.line()
    _first(screen, found, f"{name}: ", shown)


def _tells_of_routes(run: Run) -> bool:
    return len(set(run.node_names)) > 1 and reading(run.attributes).findings


def _conclusive(run: Run) -> list[Finding]:
    """Returns the findings; none if the run tells nothing of its network."""
    found, structure = of_run.look(run)
    return found if found and (structure is not None or found[0].kind.warns) else []


def _first(screen: Screen, found: Sequence[Finding], begin: str, shown: str) -> None:
    more = f" ({units.count(len(found) - 1, 'more finding')})" if len(found) > 1 else ""
    _finding(screen, found[0], f"{begin}{found[0].what}{more}; details: crosscut show --findings {shown}")


def _finding(screen: Screen, finding: Finding, text: str) -> None:
    warns = finding.kind.warns
    screen.line(f"{screen.glyphs.warning if warns else '–'} {text}", "bold yellow" if warns else "")


def _structure(screen: Screen, structure: Structure) -> None:
    if structure.groups:
        screen.title("Structure")
    for group in structure.placed[:GROUPS_SHOWN]:
        _group(screen, group, structure, "")
    if (more := len(structure.placed) - GROUPS_SHOWN) > 0:
        screen.line(f"and {units.count(more, 'more group')}", "dim")
    for note in structure.notes:
        screen.line(sentence(note), "dim")


def _group(screen: Screen, group: Group, structure: Structure, indent: str) -> None:
    names = structure.hosts or tuple(f"rank {rank}" for rank in range(structure.ranks))
    few = folded([names[rank] for rank in group.ranks], LIST_WIDTH)
    screen.line(f"{indent}{group.name}: {units.count(len(group.ranks), structure.noun)} ({few})")
    mine = [limit for limit in structure.limits if limit.groups[:1] == (group.name,)]
    if untested := [limit for limit in mine if limit.cables > 1 and not _could_fill(group, limit, structure)]:
        screen.line(f"{indent}    too few of its hosts were measured to fill its cables", "dim")
        mine = [limit for limit in mine if limit not in untested]
    if words := _limits(mine):
        screen.line(f"{indent}    {words}", "dim")
    for part in group.parts[:GROUPS_SHOWN]:
        _group(screen, part, structure, indent + "  ")


def _could_fill(group: Group, limit: Limit, structure: Structure) -> bool:
    """Returns whether the group's hosts reach half of its cables, which other groups have shown."""
    leaves = limit.reach is Reach.LEAVING
    rates = structure.host_out_bytes_per_second if leaves else structure.host_in_bytes_per_second
    return not 2 * sum(rates[rank] for rank in group.ranks) < limit.bytes_per_second  # NaN: unknown


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
    if not units.spans(limit.low, limit.high):
        return middle
    low, high = units.number(limit.low, unit), units.number(limit.high, unit)
    return middle if low == high else f"{middle} [{low} – {high}]"
