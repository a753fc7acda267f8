"""Findings: what analysis concludes, with evidence and doubt.

Plain records with JSON in and out, for whoever tells people: the terminal, the HTML report, a file.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any

from crosscut.analysis.findings.kinds import BY_NAME, FindingKind
from crosscut.analysis.stats.doubt import SMALLEST_CLAIMED
from crosscut.analysis.structure.model import Structure, number_in, number_out
from crosscut.base.errors import UsageError

SCHEMA = {"name": "crosscut-findings", "version": 1}


class Direction(Enum):
    OUT = "out"
    IN = "in"
    BOTH = "both"


@dataclass(frozen=True)
class Effect:
    """How large: a share of what the like of it reach (0.5: half as fast), with its 95 % interval."""

    share: float
    low: float = math.nan
    high: float = math.nan

    def text(self) -> str:
        if not math.isfinite(self.low + self.high):
            return f"{100 * self.share:.0f} %"
        return f"{100 * self.share:.0f} % [{100 * self.low:.0f} – {100 * self.high:.0f} %]"


@dataclass(frozen=True)
class Finding:
    kind: FindingKind
    what: str
    """A sentence for people, names and figures included."""
    ranks: tuple[int, ...] = ()
    hosts: tuple[str, ...] = ()
    routes: tuple[tuple[int, int], ...] = ()
    """(source rank, destination rank)"""
    groups: tuple[str, ...] = ()
    """Names of groups of the `Structure`."""
    direction: Direction | None = None
    effect: Effect | None = None
    false_alarm: float = math.nan
    """Probability of such a finding, or a stronger one, anywhere in a run of a network that has none; never
    less than healthy networks showed (stats/doubt.py)."""
    phases: tuple[int, ...] = ()
    """Evidence: the pattern's numbers of phases."""
    evidence_routes: tuple[tuple[int, int], ...] = ()
    advice: str = ""

    def __post_init__(self) -> None:
        if self.false_alarm < SMALLEST_CLAIMED:
            object.__setattr__(self, "false_alarm", SMALLEST_CLAIMED)

    def as_json(self) -> dict[str, Any]:
        value = asdict(self)
        value["kind"], value["fault"] = self.kind.value, self.kind.fault
        value["direction"] = self.direction.value if self.direction else None
        value["effect"] = (
            {name: number_out(figure) for name, figure in value["effect"].items()} if self.effect else None
        )
        value["false_alarm"] = number_out(self.false_alarm)
        return value

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Finding:
        """UsageError where it is no finding."""
        try:
            effect = value.get("effect")
            direction = value.get("direction")
            return cls(
                kind=BY_NAME[value["kind"]],
                what=str(value["what"]),
                ranks=tuple(int(rank) for rank in value.get("ranks", ())),
                hosts=tuple(str(host) for host in value.get("hosts", ())),
                routes=_routes_in(value.get("routes", ())),
                groups=tuple(str(group) for group in value.get("groups", ())),
                direction=Direction(direction) if direction else None,
                effect=Effect(**{name: number_in(figure) for name, figure in effect.items()})
                if effect
                else None,
                false_alarm=number_in(value.get("false_alarm")),
                phases=tuple(int(phase) for phase in value.get("phases", ())),
                evidence_routes=_routes_in(value.get("evidence_routes", ())),
                advice=str(value.get("advice", "")),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise UsageError(f"no finding that can be read: {error!r}") from error


def as_json(found: Sequence[Finding], structure: Structure | None = None) -> dict[str, Any]:
    """The document of `crosscut locate --json`."""
    return {
        "schema": SCHEMA,
        "findings": [finding.as_json() for finding in found],
        "structure": structure.as_json() if structure else None,
    }


def from_json(value: object) -> tuple[list[Finding], Structure | None]:
    if not isinstance(value, dict) or value.get("schema") != SCHEMA:
        raise UsageError(f"no findings of {SCHEMA['name']}, version {SCHEMA['version']}")
    entries = value.get("findings")
    if not isinstance(entries, list):
        raise UsageError("'findings' is no list")
    structure = value.get("structure")
    return (
        [Finding.from_json(entry) for entry in entries],
        Structure.from_json(structure) if isinstance(structure, dict) else None,
    )


def _routes_in(value: Sequence[Sequence[int]]) -> tuple[tuple[int, int], ...]:
    return tuple((int(source), int(destination)) for source, destination in value)
