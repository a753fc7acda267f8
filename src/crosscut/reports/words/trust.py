"""Measures of a lab's trustworthiness, read from a run's attributes as untrusted input."""

from __future__ import annotations

import math

from crosscut.analysis.figures.cautions import Emulation
from crosscut.reports.view import View, dig, items, number
from crosscut.run.realm import is_emulated

_MOST_PHASES = 1 << 20


def emulations(view: View) -> list[Emulation]:
    """Returns one entry per session that measured part of the run; empty if it was not a lab."""
    if not is_emulated(view.attributes):
        return []
    return [_emulation(entry) for entry in items(view.attributes, "trust")]


def _emulation(entry: object) -> Emulation:
    limited: dict[int, set[int]] = {}
    for each in items(entry, "limited"):
        size = number(each, "size")
        if math.isfinite(size):
            limited.setdefault(int(size), set()).update(_phases(each))
    return Emulation(
        limited={size: frozenset(phases) for size, phases in limited.items()},
        lateness_seconds=number(entry, "timer_lateness_seconds", "p90"),
        switch_cpu_share=number(entry, "switch", "cpu_share"),
        switch_lateness_seconds=number(entry, "switch", "lateness_seconds", "p99"),
        reference=(
            number(entry, "reference_before", "bytes_per_second"),
            number(entry, "reference_after", "bytes_per_second"),
        ),
        seen=dig(entry, "cpu_busy_share") is not None,
    )


def _phases(each: object) -> set[int]:
    found: set[int] = set()
    for span in items(each, "phases"):
        ends = [end for end in span if isinstance(end, int)] if isinstance(span, list | tuple) else []
        if len(ends) == 2 and 0 <= ends[1] - ends[0] < _MOST_PHASES:
            found.update(range(ends[0], ends[1] + 1))
    return found
