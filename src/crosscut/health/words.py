"""A search and its decisions in words, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from crosscut.base import records, units
from crosscut.base.node_sets import LIST_WIDTH, folded
from crosscut.base.records import finite
from crosscut.health.decide import Decision, Verb, reason
from crosscut.health.judge import JudgedNodes
from crosscut.health.ledger import HealthSearch

SCHEMA = {"name": "crosscut-health", "version": 1}
_DONE = {
    Verb.DRAIN: "drained", Verb.RESUME: "resumed", Verb.REPORT: "at fault", Verb.WAIT: "at fault",
    Verb.HOLD: "at fault", Verb.KEEP: "stays drained", Verb.LEAVE: "left alone",
}  # fmt: skip
_WOULD = {Verb.DRAIN: "would be drained", Verb.RESUME: "would be resumed"}


def lines(
    found: JudgedNodes | None, why_not: str, decisions: Sequence[Decision], *, dry_run: bool
) -> Iterator[tuple[str, str]]:
    """Yields (line, style)."""
    if found is None:
        yield f"nothing was measured: {why_not}", ""
    else:
        search = found.search
        at_fault = sorted({fault.node for fault in search.faults})
        sound, named = units.count(len(search.sound), "node"), folded(at_fault, LIST_WIDTH) or "none"
        known = search.sound or at_fault
        yield (
            f"{sound} sound; at fault: {named}" if known else f"No node could be judged{_reached(search)}.",
            "bold",
        )
        yield from ((note, "") for note in found.notes)
    for one in decisions:
        done = (_WOULD if dry_run else _DONE).get(one.verb, _DONE[one.verb])
        yield f"{one.node} {done}: {one.says}", "" if one.verb is Verb.RESUME else "yellow"


def _reached(search: HealthSearch) -> str:
    """Returns `; 16 nodes reached 11.6 MB/s to 11.9 MB/s`; empty if no rate is known."""
    if not search.reached:
        return ""
    low, high = (units.rate(f(search.reached.values())) for f in (min, max))
    return (
        f"; {units.count(len(search.reached), 'node')} reached {low if low == high else f'{low} to {high}'}"
    )


def document(
    found: JudgedNodes | None, why_not: str, decisions: Sequence[Decision], *, dry_run: bool
) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "search": records.plain(found.search) if found is not None else None,
        "notes": list(found.notes) if found is not None else [],
        "not_measured": why_not,
        "dry_run": dry_run,
        "decisions": [
            {"node": one.node, "decision": one.verb.value, "says": one.says, "share": finite(one.share),
             "reason": reason(one) if one.verb is Verb.DRAIN else None}
            for one in decisions
        ],
    }  # fmt: skip
