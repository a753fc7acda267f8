"""Advice with the place where a run was measured, instead of the word PLACE."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace

from crosscut.analysis.findings.model import Finding
from crosscut.analysis.structure.model import Structure

_UNKNOWN = "--on PLACE"
_LONGEST = 200


def place_of(attributes: Mapping[str, object]) -> str:
    """Returns the place as typed after `--on`; "" if the run's attributes do not name a plausible one."""
    on = attributes.get("on")
    return on if isinstance(on, str) and on.isprintable() and len(on) <= _LONGEST else ""


def at_place(text: str, on: str) -> str:
    """Returns the text with the commands that it suggests completed; unchanged if the place is unknown."""
    return text.replace(_UNKNOWN, f"--on {shlex.quote(on)}") if on else text


def placed(
    found: Sequence[Finding], structure: Structure | None, on: str
) -> tuple[list[Finding], Structure | None]:
    """Returns findings and structure with `at_place` applied to advice and notes."""
    told = [replace(one, advice=at_place(one.advice, on)) for one in found]
    if structure is not None:
        structure = replace(structure, notes=tuple(at_place(note, on) for note in structure.notes))
    return told, structure
