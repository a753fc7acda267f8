"""Findings: the conclusions of the analysis, with evidence and doubt.

They are plain records that convert to and from JSON, for the terminal, the HTML report and files.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from crosscut.analysis.findings.kinds import FindingKind, Sort
from crosscut.analysis.stats.doubt import SMALLEST_CLAIMED
from crosscut.analysis.structure.model import Structure
from crosscut.base import records, units
from crosscut.base.errors import UsageError

SCHEMA = {"name": "crosscut-findings", "version": 1}
P_MEANS = "p: probability that a healthy network shows a finding this strong (corrected for multiple tests)."

IN_ITS_FILE = "this is a simulation: look for the cause in the network's file"
"""Advice about a fault of a network that exists only as a description."""
AFTER_OTHERS = "measure again when these programs have ended"
"""Advice about what other programs disturbed."""


def alone(times: int) -> str:
    """Says how often something was measured while its ends had no other traffic."""
    return f" (measured alone {units.count(times, 'time')})"


class Direction(Enum):
    OUT = "out"
    IN = "in"
    BOTH = "both"


@dataclass(frozen=True)
class Effect:
    """Size of an effect: the share of the ordinary rate (0.5: half as fast), with its 95 % interval."""

    share: float = math.nan
    low: float = math.nan
    high: float = math.nan

    def text(self) -> str:
        """`50 % [48 – 52 %]`; without the interval if its bounds read alike."""
        share, low, high = (f"{100 * value:.0f}" for value in (self.share, self.low, self.high))
        known = units.spans(self.low, self.high) and low != high
        return f"{share} % [{low} – {high} %]" if known else f"{share} %"


@dataclass(frozen=True)
class Finding:
    kind: FindingKind
    what: str
    """A sentence for people, with names and figures."""
    ranks: tuple[int, ...] = ()
    hosts: tuple[str, ...] = ()
    routes: tuple[tuple[int, int], ...] = ()
    """(source rank, destination rank)"""
    groups: tuple[str, ...] = ()
    """Names of groups of the `Structure`."""
    direction: Direction | None = None
    effect: Effect | None = None
    false_alarm: float = math.nan
    """Probability of such a finding, or a stronger one, anywhere in a run of a healthy network; at least
    SMALLEST_CLAIMED."""
    phases: tuple[int, ...] = ()
    """Evidence: phases, by the pattern's numbers."""
    evidence_routes: tuple[tuple[int, int], ...] = ()
    advice: str = ""
    if_measured: str = ""
    """The part of `what` that is not said of a computed network; not in JSON."""

    def __post_init__(self) -> None:
        if self.false_alarm < SMALLEST_CLAIMED:
            object.__setattr__(self, "false_alarm", SMALLEST_CLAIMED)

    def computed(self) -> Finding:
        """Returns the finding as that of a computed network. It has no intervals, probabilities or
        repetitions, as nothing random happened, and no cables, ports or other traffic."""
        effect = self.effect and Effect(self.effect.share)
        what = self.what.replace(self.effect.text(), effect.text()) if self.effect and effect else self.what
        what = what.replace(self.if_measured, "")
        found = replace(self, what=what, if_measured="", effect=effect, false_alarm=math.nan)
        return found.of_description()

    def of_description(self) -> Finding:
        """Returns the finding with the advice for a network of which only a description exists."""
        advice = IN_ITS_FILE if self.kind.fault else "" if self.kind.sort is Sort.DESIGN else self.advice
        return replace(self, advice=advice)

    @property
    def chance(self) -> str:
        """`p < 1 %`, explained by P_MEANS; empty if unknown, or if nothing is wrong."""
        if not math.isfinite(self.false_alarm) or not self.kind.warns:
            return ""
        if self.false_alarm <= SMALLEST_CLAIMED:
            return f"p < {100 * SMALLEST_CLAIMED:g} %"
        return f"p = {units.percent(self.false_alarm)}"

    @property
    def ends(self) -> set[int]:
        """Ranks of the finding, and the ends of its routes."""
        return {*self.ranks, *(end for route in self.routes for end in route)}

    def adding(self, said: str, advice: str = "") -> Finding:
        """Returns the finding with `said` appended and `advice` if given; unchanged if `said` is empty."""
        if not said:
            return self
        what = f"{self.what.removesuffix('.')}; {said}"
        return replace(self, what=what, advice=advice or self.advice)

    def as_json(self) -> dict[str, Any]:
        members = records.plain(self)
        del members["if_measured"]
        return members | {"fault": self.kind.fault}


@dataclass(frozen=True)
class _FindingsDocument:
    findings: list[Finding]
    structure: Structure | None = None


def as_json(found: Sequence[Finding], structure: Structure | None = None) -> dict[str, Any]:
    """Returns the document of `crosscut locate --json`."""
    return {
        "schema": SCHEMA,
        "findings": [finding.as_json() for finding in found],
        "structure": records.plain(structure) if structure else None,
    }


def from_json(value: object, ranks: int | None = None) -> tuple[list[Finding], Structure | None]:
    """Reads a document of `as_json`; raises UsageError if it is not one, or not one of a run of `ranks`."""
    if not isinstance(value, dict) or value.get("schema") != SCHEMA:
        raise UsageError(f"not a {SCHEMA['name']} document of version {SCHEMA['version']}")
    try:
        document = records.parse(value, _FindingsDocument)
    except ValueError as error:
        raise UsageError(f"findings that cannot be read: {error}") from error
    structure = document.structure
    if structure is not None and (wrong := structure.contradiction()):
        raise UsageError(f"findings that cannot be read: {wrong}")
    if ranks is not None:
        if structure is not None and structure.ranks != ranks:
            raise UsageError(f"findings of another run: it has {structure.ranks} ranks, this one {ranks}")
        if stray := {end for found in document.findings for end in found.ends} - {*range(ranks)}:
            raise UsageError(f"findings of another run: they name rank {min(stray)}, this one has {ranks}")
    return document.findings, structure
