"""Conditions other than the network that may explain differences between runs.

Runs of an emulated cluster may differ on purpose (switch, slow motion, planted faults), or because the
emulating machine was the limit. Attributes come from files and are not trusted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from crosscut.analysis.figures.cautions import LARGEST_SWITCH_SHARE, share_of_phases
from crosscut.analysis.figures.limited import ADVICE, NOTHING_TOLD, limited, limited_phases, listed, member
from crosscut.base import units
from crosscut.base.errors import UsageError
from crosscut.network import switch_words
from crosscut.run.realm import is_emulated
from crosscut.run.run import Run

_NAMED = 3


class UndecidedError(UsageError):
    """The runs were used correctly but allow no conclusion."""

    def __init__(self, why: str, conditions: Sequence[str]) -> None:
        super().__init__(why)
        self.conditions = tuple(conditions)
        """Sentences, as from `differences`."""


class UntoldError(UndecidedError):
    """The machine limited everything that the runs have in common, so the network remains unknown."""

    def __init__(self, whose: str, conditions: Sequence[str]) -> None:
        super().__init__(f"{NOTHING_TOLD}: {limited(1, 1)} of {whose}; measure again: {ADVICE}", conditions)


def differences(runs: Sequence[Run]) -> list[str]:
    """Returns a sentence for each condition that differs: switch, slow motion, planted faults."""
    labs = [run for run in runs if is_emulated(run.attributes)]
    return [
        *_differing(
            labs, _switch, "measured on different switches", "the switch alone may explain the change"
        ),
        *_differing(
            labs,
            _dilation,
            "measured in slow motion by different factors",
            "figures are those measured, not scaled",
        ),
        *_differing(
            runs, _faults, "measured with different planted faults", "the faults alone may explain the change"
        ),
    ]


Told = tuple[Hashable, str]
"""(value that must be equal, words for it)"""


def _differing(runs: Sequence[Run], told: Callable[[Run], Told], differing: str, hence: str) -> Iterator[str]:
    holders: dict[Hashable, list[Run]] = {}
    for run in runs:
        holders.setdefault(told(run)[0], []).append(run)
    if len(holders) > 1:
        each = "; ".join(f"{_names(some)}: {told(some[0])[1]}" for some in holders.values())
        yield f"{differing} ({each}): {hence}"


def _names(runs: Sequence[Run]) -> str:
    more = len(runs) - _NAMED
    return ", ".join(str(run.path) for run in runs[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def _switch(run: Run) -> Told:
    typed = member(run.attributes.get("lab"), "switch")
    switch = typed if isinstance(typed, str) else ""
    return (switch_words.identity(switch), switch_words.noun(switch))


def _dilation(run: Run) -> Told:
    times = member(run.attributes.get("lab"), "dilation")
    known = isinstance(times, int | float) and not isinstance(times, bool) and math.isfinite(times)
    divided_by = float(times) if known and isinstance(times, int | float) else 1.0
    return (divided_by, "none" if divided_by == 1 else f"all rates divided by {divided_by:g}")


def _faults(run: Run) -> Told:
    faults = listed(run.attributes.get("faults"))
    said = sorted({text for fault in faults if isinstance(text := member(fault, "says"), str) and text})
    return (tuple(said), "; ".join(said) or "none")


def overloaded(runs: Iterable[Run]) -> list[str]:
    """Returns a sentence for each run during which crosscut-switch used nearly all of its core."""
    found = []
    for run in runs:
        shares = [
            share
            for session in listed(run.attributes.get("trust"))
            if isinstance(share := member(member(session, "switch"), "cpu_share"), int | float)
        ]
        if is_emulated(run.attributes) and max(shares, default=0.0) > LARGEST_SWITCH_SHARE:
            found.append(
                f"crosscut-switch used {units.percent(max(shares))} of its core during {run.path}: this "
                "machine, not the network, limited its traffic"
            )
    return found


def unlimited(runs: Iterable[Run], size_bytes: int, phases: NDArray[np.int64]) -> NDArray[np.int64]:
    """Returns the phases that this machine limited in none of the runs."""
    bad = frozenset[int]().union(*(limited_phases(run.attributes, size_bytes) for run in runs))
    return phases[~np.isin(phases, sorted(bad))]


def is_all_limited(run: Run, sizes_bytes: Sequence[int], phases: NDArray[np.int64]) -> bool:
    """True if the machine limited every phase at every size to be compared."""
    return all(not len(unlimited([run], size, phases)) for size in sizes_bytes)


def left_out(runs: Iterable[Run], sizes_bytes: Sequence[int], phases: NDArray[np.int64]) -> list[str]:
    """Returns a sentence for each run in which the machine limited any phase."""
    found = []
    for run in runs:
        lost = {size: len(phases) - len(unlimited([run], size, phases)) for size in sizes_bytes}
        by_count: dict[int, list[int]] = {}
        for size, count in lost.items():
            if count:
                by_count.setdefault(count, []).append(size)
        if by_count:
            parts = [
                f"{share_of_phases(count, len(phases))} at {_sizes(sizes)}"
                for count, sizes in by_count.items()
            ]
            found.append(
                f"this machine, not the network, limited {', '.join(parts)} of {run.path}: these are left out"
            )
    return found


def _sizes(sizes: Sequence[int]) -> str:
    ordered = [units.size(size) for size in sorted(sizes)]
    return ", ".join(ordered) if len(ordered) <= 4 else f"{len(ordered)} sizes to {ordered[-1]}"
