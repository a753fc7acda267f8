"""Cautions for readers of verdicts about the machine that emulated the network, merged over all runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from crosscut.analysis.figures import cautions
from crosscut.analysis.figures.cautions import Caution, CautionKind
from crosscut.reports.view import View
from crosscut.reports.words import about
from crosscut.reports.words.trust import emulations
from crosscut.run.realm import is_emulated, is_simulated
from crosscut.run.run import Run


def of_runs(runs: Sequence[Run], sizes_bytes: Iterable[int]) -> list[Caution]:
    """Returns cautions about the promised sizes; empty without a lab. The first of each kind stands for
    all runs that have it."""
    sizes = frozenset(sizes_bytes)
    found: dict[tuple[CautionKind, str], list[Caution]] = {}
    for run in runs:
        for one in _of_run(View.of(run), sizes):
            found.setdefault((one.kind, one.advice), []).append(one)
    return [_together(alike, len(runs)) for alike in found.values()]


def _of_run(view: View, sizes: frozenset[int]) -> list[Caution]:
    sessions = emulations(view)
    if not sessions:
        return []
    shown = view.measured()
    return cautions.of_emulations([samples for samples in shown if samples.size_bytes in sizes], sessions)


def _together(alike: Sequence[Caution], runs: int) -> Caution:
    if len(alike) == 1:
        return alike[0]
    return replace(alike[0], text=f"{alike[0].text}; {len(alike)} of {runs} runs have a caution of this kind")


def not_built(runs: Sequence[Run]) -> str:
    """Says that the network of some runs was simulated or emulated; empty if none was."""
    ways = {is_simulated: "computed by the simulator", is_emulated: "emulated on one machine"}
    how = [said for is_so, said in ways.items() if any(is_so(run.attributes) for run in runs)]
    return f"{', '.join(how)}: these verdicts say nothing about a real network" if how else ""


def planted(runs: Sequence[Run]) -> list[str]:
    """Returns the faults planted in the lab during any of the runs, without duplicates."""
    told = [one for run in runs for one in about.planted(View.of(run))]
    return list(dict.fromkeys(told))
