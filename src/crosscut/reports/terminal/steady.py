"""How steady phases, messages and ranks are over repetitions: spread, tail, and the ranks that fall
behind."""

from __future__ import annotations

import numpy as np

from crosscut.analysis.figures import summary
from crosscut.analysis.figures.samples import Samples
from crosscut.analysis.stats.intervals import Floats
from crosscut.analysis.stats.variation import FEWEST_FOR_PERCENTILE, Variation, variation
from crosscut.base import units
from crosscut.reports.terminal.screen import Screen
from crosscut.reports.view import View
from crosscut.reports.words import figures

_FEWEST_RANKS = 3


def render(screen: Screen, view: View, samples: Samples) -> None:
    """Nothing where single repetitions are not kept, or too few."""
    of_phases = variation(summary.phase_seconds(samples)) if not samples.summarised else None
    if of_phases is None or of_phases.widest() is None:
        return
    screen.title(f"Steadiness over {units.count(len(samples.rank_seconds), 'repetition')}")
    least = min(len(samples.rank_seconds), FEWEST_FOR_PERCENTILE)
    tail = "99th percentile" if least == FEWEST_FOR_PERCENTILE else "longest"
    at = of_phases.widest()
    assert at is not None
    screen.field("phases", _words(of_phases, tail, view.phase_name(samples, at)))
    if samples.of_phases:
        return
    phase, rank, slot = np.nonzero(samples.peer >= 0)
    of_messages = variation(samples.message_seconds[:, phase, rank, slot])
    if (at := of_messages.widest()) is not None:
        source = int(samples.peer[phase[at], rank[at], slot[at]])
        ends = f"{view.rank_name(source)} {screen.glyphs.arrow} {view.rank_name(int(rank[at]))}"
        screen.field(
            "messages", _words(of_messages, tail, f"{ends}, {view.phase_name(samples, int(phase[at]))}")
        )
    _ranks(screen, view, samples, tail)


def _words(found: Variation, tail: str, where: str) -> str:
    """`half vary by less than 1.2 % (interquartile range); longest 1.8 times the median, in phase 3`"""
    at = found.widest()
    assert at is not None
    middle = float(np.median(found.spread[np.isfinite(found.spread)]))
    return (
        f"half of them spread by {units.percent(middle)} or less (interquartile range over median), at most "
        f"{units.percent(float(np.nanmax(found.spread)))}; {tail} up to {found.tail[at]:.3g} times the "
        f"median: {where}"
    )


def _ranks(screen: Screen, view: View, samples: Samples, tail: str) -> None:
    """The rank that gets least, and the one whose repetitions differ most."""
    rates, seconds = summary.rank_rates(samples), summary.rank_spent(samples)[1]
    worst = figures.extreme(rates)
    if worst is None or np.isfinite(rates.median).sum() < _FEWEST_RANKS:
        return
    share = float(rates.median[worst]) / figures.middle(rates)
    of_ranks = variation(_or_nan(seconds))
    screen.field(
        "ranks",
        f"median {units.rate(figures.middle(rates))} over all phases; least "
        f"{figures.at(rates, worst).rate()}, "
        f"{units.percent(share)} of it: {view.rank_name(worst)}",
    )
    if (at := of_ranks.widest()) is not None:
        screen.field("", _words(of_ranks, tail, view.rank_name(at)))


def _or_nan(seconds: Floats) -> Floats:
    return np.where(seconds > 0, seconds, np.nan)
