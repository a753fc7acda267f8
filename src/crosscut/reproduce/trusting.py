"""Which figures of a lab are the machine's and not the network's: pure functions of what a run says about
itself (attribute `trust`)."""

from __future__ import annotations

from collections.abc import Sequence

from crosscut.analysis.figures.cautions import LARGEST_SWITCH_SHARE
from crosscut.reports.view import View
from crosscut.reports.words.trust import emulations
from crosscut.reproduce.quantities import Quantity
from crosscut.run.run import Run

# A figure over all phases of a run stands while the machine limited no more than this share of them. One that
# a phase or two decide (`worst phase`, `drop`) stands only if it limited none.
TOLERATED_SHARE = 0.1


def phases(run: Run, size: int) -> list[bool]:
    """[phase] of a run, whether the machine was its limit. Of what is no lab, or was not watched: never."""
    numbers = [int(number) for number in run.dataset["phase"].values]
    limited: set[int] = set()
    for about in emulations(View.of(run)):
        limited |= about.limited.get(run.sizes_bytes[size], frozenset())
        if about.switch_cpu_share > LARGEST_SWITCH_SHARE:
            limited |= set(numbers)
    return [number in limited for number in numbers]


def figures(quantity: Quantity, of_phases: Sequence[bool]) -> list[bool]:
    """One for each figure that the quantity makes of a run with these phases."""
    if quantity.each_phase:
        return list(of_phases)
    tolerated = 0.0 if quantity.of_few_phases else TOLERATED_SHARE
    return [sum(of_phases) > tolerated * len(of_phases)]
