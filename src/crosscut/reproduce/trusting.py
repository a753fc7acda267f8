"""Finds the figures of a lab that the machine limited rather than the network.

Pure functions of a run's attribute `trust`.
"""

from __future__ import annotations

from collections.abc import Sequence

from crosscut.analysis.figures.cautions import LARGEST_SWITCH_SHARE
from crosscut.reports.view import View
from crosscut.reports.words.trust import emulations
from crosscut.reproduce.quantities import Quantity
from crosscut.run.run import Run

# A figure over all phases of a run counts if the machine limited at most this share of them. A figure that
# one or two phases decide (`worst phase`, `drop`) counts only if the machine limited none.
TOLERATED_SHARE = 0.1


def phases(run: Run, size: int) -> list[bool]:
    """[phase] True if the machine was the limit. False throughout for runs not on a lab, or not watched."""
    numbers = [int(number) for number in run.dataset["phase"].values]
    limited: set[int] = set()
    for about in emulations(View.of(run)):
        limited |= about.limited.get(run.sizes_bytes[size], frozenset())
        if about.switch_cpu_share > LARGEST_SWITCH_SHARE:
            limited |= set(numbers)
    return [number in limited for number in numbers]


def figures(quantity: Quantity, of_phases: Sequence[bool]) -> list[bool]:
    """One verdict for each figure that the quantity derives from a run with these phases."""
    if quantity.each_phase:
        return list(of_phases)
    tolerated = 0.0 if quantity.of_few_phases else TOLERATED_SHARE
    return [sum(of_phases) > tolerated * len(of_phases)]
