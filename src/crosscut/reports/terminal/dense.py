"""Report of a dense pattern: rates by size and phase, histograms, the slowest routes, and steadiness.

The histograms are those of Kurmann, Rauch and Stricker (ETH TR 391, 2003), figures 3 and 11.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from crosscut.analysis.figures import summary
from crosscut.analysis.figures.cautions import skewed
from crosscut.analysis.figures.samples import Samples
from crosscut.analysis.figures.summary import Routes
from crosscut.analysis.stats import binning
from crosscut.analysis.stats.intervals import Floats, Medians, medians
from crosscut.analysis.stats.variation import FEWEST_FOR_PERCENTILE, Variation, variation
from crosscut.base import units
from crosscut.base.spelling import capital
from crosscut.reports.terminal.plot import PlotColumns, column_plot, histogram_plot
from crosscut.reports.terminal.screen import Rows, Screen
from crosscut.reports.view import View, text
from crosscut.reports.words import figures, sentences

SLOWEST_SHOWN = 8
PLOT_HEIGHT = 8
FEWEST_FOR_STEADINESS = 3  # ranks
_NO_RATE = "no rate, since no bytes moved"
FEWEST_FOR_HISTOGRAM = 5  # fewer values are clearer in the plot and the table


def render(screen: Screen, view: View, measured: list[Samples], detailed: Samples) -> None:
    if len(measured) > 1:
        screen.title("By message size")
        by_size(screen, view, measured)
    if not detailed.size_bytes:
        screen.title("Times")
        screen.line(f"{sentences.without_bytes(detailed)}.")
        _steadiness(screen, view, detailed)
        return
    rates = figures.of_phases(view, detailed)
    found = summary.routes(detailed)
    _headline(screen, view, detailed, rates)
    phases(screen, detailed, rates)
    if not detailed.of_phases:
        _message_rates(screen, view, detailed, rates)
    of_phases = ("Phases by rate", rates.median, units.rate_unit)
    if detailed.of_phases:
        times = medians(detailed.message_seconds[..., 0, 0]).median
        _histograms(screen, of_phases, ("Phases by time of the median message", times, units.time_unit))
        _slowest_phases(screen, view, detailed, rates)
    else:
        _histograms(screen, ("Routes by rate", found.rates.median, units.rate_unit), of_phases)
        slowest(screen, view, found)
    _steadiness(screen, view, detailed)


def by_size(screen: Screen, view: View, measured: Sequence[Samples]) -> None:
    """Draws one row per message size: the median and the slowest phase, each with its 95 % interval."""
    phases = ("median phase", "?95 % interval", "slowest phase", "?95 % interval")
    table = Rows("size", *phases, "?slowest route", "?formula", "?<", dash=_NO_RATE)
    for samples in measured:
        routes = summary.routes(samples)
        middle = figures.in_the_middle(summary.formula_rates(samples))
        table.add(
            units.size(samples.size_bytes),
            *figures.of_size(figures.of_phases(view, samples), routes.rates),
            units.rate(middle.median) if middle else "–",
            "skew > 5 %" if len(skewed(samples)) else "",
        )
    screen.table(table)


def _headline(screen: Screen, view: View, samples: Samples, rates: Medians) -> None:
    """Prints the main figures, and rates by the pattern's own formula next to them."""
    of = "rate of each phase, " if view.by_formula else "rate "
    screen.title(f"{units.size(samples.size_bytes)} messages, {of}{view.rate_counts}")
    worst, best = figures.extreme(rates), figures.extreme(rates, largest=True)
    if worst is None or best is None:
        screen.line("No phase has a rate: no bytes moved.")
        return
    if worst == best:
        count = int(np.isfinite(rates.median).sum())
        where = view.phase_name(samples, worst) if count == 1 else f"in each of {count:,} phases"
        screen.field("rate", f"{figures.at(rates, worst).rate()}, {where}")
    else:
        if (middle := figures.in_the_middle(rates)) is not None:
            screen.field("median phase", middle.rate())
        if figures.alike(rates):
            screen.field("slowest", figures.none_slower("phase"))
        else:
            screen.field("slowest", f"{figures.at(rates, worst).rate()} in {view.phase_name(samples, worst)}")
            screen.field("fastest", f"{figures.at(rates, best).rate()} in {view.phase_name(samples, best)}")
    formula = summary.formula_rates(samples)
    slowest = figures.extreme(formula)
    if slowest is not None:
        per = text(view.attributes, "pattern", "formula_per")
        formula_text = text(view.attributes, "pattern", "formula") + (f", per {per}" if per else "")
        rate = figures.at(formula, slowest).rate()
        if worst != best and not figures.alike(formula):
            rate = f"{units.rate(formula.middle)} in the median phase, {rate} in the slowest"
        screen.field("formula", f"{rate}: {formula_text}")
        if source := text(view.attributes, "pattern", "source"):
            screen.field("", f"({source})")
    if short := figures.messages(view, samples, rates):
        screen.field("messages", f"at most {short}")
    if (compute := _compute_share(view, samples)) is not None:
        kept = f"{units.percent(compute)} of the ranks' computing rate"
        screen.field("computing", f"{kept} was kept during communication (median)")


def _message_rates(screen: Screen, view: View, samples: Samples, rates: Medians) -> None:
    """Draws how many messages per second each phase carried: in all, and on average for a sending rank and
    for a node with senders."""
    known = (samples.peer >= 0) & (samples.peer < view.ranks)
    there = np.nonzero(np.isfinite(rates.median) & known.any(axis=(1, 2)))[0]
    if not 0 < len(there) <= _MOST_PHASES or not figures.messages(view, samples, rates):
        return
    screen.title("Messages per second, by phase")
    table = Rows("<phase", "all", "each sender", "each node that sends")
    for at in there:
        senders = np.unique(samples.peer[at][known[at]])
        nodes = len(np.unique(view.rank_nodes[senders]))
        every = float(rates.median[at]) / samples.size_bytes
        table.add(
            view.phase_name(samples, int(at)),
            *(units.message_rate(every / count, short=True) for count in (1, len(senders), nodes)),
        )
    screen.table(table)


_MOST_PHASES = 20
"""A table of phases has at most this many rows."""


def _compute_share(view: View, samples: Samples) -> float | None:
    if "compute_fraction" not in view.dataset:
        return None
    values = view.dataset["compute_fraction"].isel(size=view.sizes_bytes.index(samples.size_bytes)).values
    finite = values[np.isfinite(values)]
    return float(np.median(finite)) if len(finite) else None


def phases(screen: Screen, samples: Samples, rates: Medians) -> None:
    """Plots rate by phase, unless there is only one phase."""
    there = np.isfinite(rates.median)
    if there.sum() < 2:
        return
    numbers = samples.phase[there]
    low = np.where(np.isfinite(rates.low), rates.low, rates.median)[there]
    high = np.where(np.isfinite(rates.high), rates.high, rates.median)[there]
    unit = units.rate_unit(float(np.nanmax(high)))
    lines = column_plot(
        PlotColumns(numbers.tolist(), low, high), unit=unit, width=screen.width, height=PLOT_HEIGHT,
        glyphs=screen.glyphs, x_label="phase",
    )  # fmt: skip
    if lines:
        notes = ["shaded: 95 % interval"] if (low < high).any() else []
        notes += ["neighbours merged"] if len(numbers) > screen.width else []
        screen.title("Rate by phase" + (f" ({', '.join(notes)})" if notes else ""))
        screen.show(screen.drawing(lines))


def _middle(values: Floats) -> float:
    return float(np.median(values)) if len(values) else 1.0


def _slowest_phases(screen: Screen, view: View, samples: Samples, rates: Medians) -> None:
    there = np.nonzero(np.isfinite(rates.median))[0]
    if len(there) < 2 or figures.alike(rates):
        return
    times = medians(summary.phase_seconds(samples)).median
    messages = medians(samples.message_seconds[..., 0, 0]).median
    middle = _middle(rates.median[there])
    rate_unit, time_unit = units.rate_unit(middle), units.time_unit(_middle(times[there]))
    screen.title("Slowest phases")
    table = Rows(
        "<phase", f"rate, {rate_unit[1]}", "?of median",
        f"slowest rank, {time_unit[1]}", f"?median message, {time_unit[1]}",
    )  # fmt: skip
    for index in there[np.argsort(rates.median[there], kind="stable")][:SLOWEST_SHOWN]:
        table.add(
            view.phase_name(samples, int(index)),
            figures.at(rates, int(index)).in_unit(rate_unit)[0],
            units.percent(float(rates.median[index]) / middle),
            units.number(float(times[index]), time_unit),
            units.number(float(messages[index]), time_unit),
        )
    screen.table(table)


def _histograms(screen: Screen, *shown: tuple[str, Floats, Callable[[float], tuple[float, str]]]) -> None:
    """Draws two histograms side by side, each given as (title, values, function that chooses the unit)."""
    plots = []
    for title, every, unit_of in shown:
        values = every[np.isfinite(every)]
        histogram = binning.histogram(values if len(values) >= FEWEST_FOR_HISTOGRAM else values[:0])
        unit = unit_of(_middle(values))
        if binning.equal(values):
            lines = [f"all at {units.number(_middle(values), unit)} {unit[1]}"]
        else:
            lines = histogram_plot(histogram, unit=unit, width=screen.half, glyphs=screen.glyphs)
        plots.append((f"{title} ({len(values):,})", lines if len(values) > 1 else []))
    screen.beside(plots[0], plots[1])


def slowest(screen: Screen, view: View, found: Routes, at_size: str = "") -> None:
    """Lists the routes that are slower than the median, or all of a few. `at_size`: such as ` at 1 MB`."""
    order, middle = found.slowest(SLOWEST_SHOWN), found.rates.middle
    if len(order) == 0:
        return
    few = len(found.source) <= SLOWEST_SHOWN
    # A few are also listed if one is faster.
    sides = (True, False) if few else (found.timed,)
    if all(figures.alike(found.rates, timed=side) for side in sides):
        usual = units.seconds(middle) if found.timed else units.rate(middle)
        screen.title(f"Routes{at_size}")
        screen.line(f"{capital(figures.none_slower('route'))}, {usual}.")
        return
    screen.title(f"Slowest routes{at_size} ({view.rank_words})")
    unit = units.time_unit(middle) if found.timed else units.rate_unit(middle)
    heading = f"{'time' if found.timed else 'rate'}, {unit[1]}"
    table = Rows("<from", "<", "<to", heading, "?95 % interval", "?of median", "?samples", "?<")
    for index in order:
        slower = _slower(float(found.rates.median[index]), middle, found.timed)
        if not (few or slower or index == order[0]):
            break
        table.add(
            view.rank_name(int(found.source[index])),
            screen.glyphs.arrow,
            view.rank_name(int(found.destination[index])),
            *figures.beside_the_middle(figures.at(found.rates, int(index)), middle, unit),
            "same node" if found.same_node[index] and len(view.nodes) > 1 else "",
        )
    screen.table(table)


def _slower(value: float, usual: float, timed: bool) -> bool:
    return value > usual if timed else value < usual


def _steadiness(screen: Screen, view: View, samples: Samples) -> None:
    """Prints spread and tail over repetitions, and the ranks that fall behind. Prints nothing if single
    repetitions were not kept or are too few."""
    if samples.summarised:
        return
    seconds = summary.phase_seconds(samples)
    of_phases = variation(seconds)
    if (at := of_phases.widest()) is None:
        return
    measured = int(np.isfinite(seconds).any(axis=1).sum())
    screen.title(f"Steadiness over {units.count(measured, 'repetition')}")
    least = min(measured, FEWEST_FOR_PERCENTILE)
    tail = "99th percentile" if least == FEWEST_FOR_PERCENTILE else "longest"
    screen.field("phases", _words(of_phases, at, tail, view.phase_name(samples, at)))
    if samples.of_phases:
        return
    phase, rank, slot = np.nonzero(samples.peer >= 0)
    of_messages = variation(samples.message_seconds[:, phase, rank, slot])
    if (at := of_messages.widest()) is not None:
        source = int(samples.peer[phase[at], rank[at], slot[at]])
        ends = f"{view.rank_name(source)} {screen.glyphs.arrow} {view.rank_name(int(rank[at]))}"
        screen.field(
            "messages", _words(of_messages, at, tail, f"{ends}, {view.phase_name(samples, int(phase[at]))}")
        )
    _ranks(screen, view, samples, tail)


def _words(found: Variation, at: int, tail: str, where: str) -> str:
    """`IQR/median typically 1.2 %, at most 4 %: phase 3, whose longest took 1.8 times its median`"""
    known = np.isfinite(found.spread)
    spreads = found.spread[known]
    if spreads.max() == 0 and found.tail[known].max() == 1:
        return "all repetitions took the same time"
    middle, most = units.percent(float(np.median(spreads))), units.percent(float(spreads.max()))
    longest = f"{tail} took {found.tail[at]:.3g} times"
    if len(spreads) == 1:
        return f"IQR/median {most}; the {longest} the median"
    return f"IQR/median typically {middle}, at most {most}: {where}, whose {longest} its median"


def _ranks(screen: Screen, view: View, samples: Samples, tail: str) -> None:
    """Prints the rank with the lowest rate and the one whose repetitions vary most."""
    rates, seconds = summary.rank_rates(samples), summary.rank_spent(samples)[1]
    worst = figures.extreme(rates)
    if worst is None or np.isfinite(rates.median).sum() < FEWEST_FOR_STEADINESS:
        return
    middle, least = rates.middle, figures.at(rates, worst)
    share = units.percent(least.median / middle)
    slowest = f"slowest {view.rank_name(worst)} with {least.rate()}, {share} of the median"
    lacks = figures.none_slower("rank") if figures.alike(rates) else slowest
    screen.field("ranks", f"median {units.rate(middle)} over all phases; {lacks}")
    of_ranks = variation(seconds)
    if (at := of_ranks.widest()) is not None:
        screen.field("", _words(of_ranks, at, tail, view.rank_name(at)))
