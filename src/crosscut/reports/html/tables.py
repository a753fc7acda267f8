"""Figures as tables: by size, slowest routes, phases, processor time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from crosscut.analysis.figures.algorithms import groups
from crosscut.analysis.figures.digest import Digest
from crosscut.analysis.figures.pingpong import Sweep, sweep
from crosscut.base import units
from crosscut.base.spelling import capital, sentence
from crosscut.reports.html.markup import Markup, element, join, table
from crosscut.reports.html.pictures.picture import RunAtSize
from crosscut.reports.view import View
from crosscut.reports.words import algorithms, costs, figures, loggp
from crosscut.reports.words.sentences import of_digest
from crosscut.run.shape import Shape

SLOWEST_ROUTES = 20
MOST_PHASES = 20
MOST_SIZES = 12
_NO_RATE, _NO_TIME = "no rate, since no bytes moved", "no time passed"


def by_size(found: Sequence[Digest], *, formula: bool) -> Markup:
    """Returns a table of the median phase, slowest phase and slowest route by size."""
    shown = ((one, one.formula if formula else one.rates) for one in found)
    rows = [(units.size(one.size_bytes), *figures.of_size(rates, one.routes.rates)) for one, rates in shown]
    head = ("size", "median phase", "95 % interval", "slowest phase", "95 % interval", "slowest route")
    return table(head, rows, words=frozenset(), caption="By message size", dash=_NO_RATE)


def side_by_side(runs: Sequence[tuple[str, RunAtSize]]) -> Markup:
    """Returns a row for each run, with its main figures. `runs`: each with the anchor of its section."""
    head = (
        "run", "pattern", "ranks", "size", "median phase", "slowest phase", "slowest route", "latency",
        "peak rate", "figures",
    )  # fmt: skip
    rows = [
        (
            element("a", one.name, href=f"#{anchor}"), one.view.pattern, f"{one.view.ranks:,}",
            *_main_figures(one),
        )
        for anchor, one in runs
    ]  # fmt: skip
    return table(
        head, rows, words=frozenset({0, 1, 9}), caption="The main figures of each run", dash=_NO_RATE
    )


def _main_figures(one: RunAtSize) -> tuple[str, ...]:
    """Returns size, median phase, slowest phase, slowest route, latency, peak rate, other figures."""
    if one.view.shape.by_phase or one.samples.of_phases:
        median, _, slowest, _, route = figures.of_size(one.rates, one.digest.routes.rates)
        return _size(one), median, slowest, route, "", "", ""
    if one.view.shape is not Shape.SWEEP:
        return "", "", "", "", "", "", sentence(of_digest(one.view, one.digest)[0])
    found = sweep(one.view.measured())
    quickest = units.seconds(float(found.seconds.median[found.latency_index()]))
    known = np.isfinite(found.rates.median).any()
    peak = units.rate(float(found.rates.median[found.peak_index()])) if known else ""
    is_latency = figures.shortest(loggp.mode(one.view)) == "latency" and not found.timeless()
    return "", "", "", "", quickest if is_latency else "", peak, ""


def of_sweep(found: Sweep, mode: str) -> Markup:
    rows = [
        (*figures.of_sweep(found, index), f"{count:,}")
        for index, count in enumerate(found.seconds.count.tolist())
    ]
    head = ("size", figures.timed(mode), "95 % interval", "rate", "samples")
    return table(head, rows, words=frozenset(), caption="By message size", dash=_NO_RATE)


def of_algorithms(view: View) -> Markup:
    measured = view.measured()
    tables = []
    for group in groups(measured, view.label):
        rows = [algorithms.rows(group.times, at) for at in range(len(group.times.size_bytes))]
        taking_part = f" with {algorithms.who(group, view)}" if group.who else ""
        caption = f"Time of each algorithm{taking_part}, by the size of the vector. {algorithms.FASTEST}"
        tables.append(table(("size", *group.names), rows, words=frozenset(), caption=caption))
    return join(*tables)


def slowest_routes(one: RunAtSize) -> Markup:
    routes = one.digest.routes
    order = routes.slowest(SLOWEST_ROUTES)
    if len(order) == 0 or (len(routes.source) == 1 and one.view.shape is Shape.SWEEP):
        return Markup("")  # the table by message size has the only route
    middle = routes.rates.middle
    if figures.alike(routes.rates):
        return element("p", f"{capital(figures.none_slower('route'))}, {units.rate(middle)}.")
    unit = units.rate_unit(middle)
    rows = [
        (
            one.view.rank_name(int(routes.source[index])), one.view.rank_name(int(routes.destination[index])),
            *figures.beside_the_middle(figures.at(routes.rates, int(index)), middle, unit),
        )
        for index in order
    ]  # fmt: skip
    head = (
        f"from ({one.view.rank_words})", "to", f"rate, {unit[1]}", "95 % interval", "of the median", "samples"
    )  # fmt: skip
    many = f"The slowest {len(rows)} of {len(routes.source):,} routes"
    caption = f"{many if len(routes.source) > 1 else 'The route'}, {_size(one)} messages"
    others = figures.others_as_slow(routes.rates, int(order[-1]))
    if others and len(order) < len(routes.source):
        caption += f"; as slow as the last one or slower:{others.removeprefix(' and')}"
    return table(head, rows, words=frozenset({0, 1}), caption=caption)


def _size(one: RunAtSize) -> str:
    return units.size(one.digest.size_bytes)


def phases(one: RunAtSize) -> Markup:
    rates = one.rates
    there = np.nonzero(np.isfinite(rates.median))[0]
    if len(there) < 2:
        return Markup("")
    shown = there
    caption = f"Phases, {_size(one)} messages"
    if len(there) > MOST_PHASES:
        shown = there[np.argsort(rates.median[there], kind="stable")][:MOST_PHASES]
        caption += f": the slowest {MOST_PHASES} of {len(there):,}; the picture's CSV has them all"
    unit = units.rate_unit(rates.middle)
    rows = []
    for index in shown:
        figure = figures.at(rates, int(index))
        median, interval = figure.in_unit(unit)
        spread = [units.number(float(value), unit) for value in one.digest.messages[:, index]]
        rows.append((
            one.view.phase_name(one.samples, int(index)), median, interval, *spread, f"{figure.count:,}"
        ))  # fmt: skip
    head = (
        "phase", f"rate, {unit[1]}", "95 % interval", "slowest message", "median message", "fastest message",
        "repetitions",
    )  # fmt: skip
    return table(head, rows, words=frozenset({0}), caption=caption, dash="no message was measured")


def effort(view: View) -> Markup:
    """Returns tables of processor time by size, and by rank at the largest size."""
    found = costs.effort_of(view)
    if not found or costs.polls(view):
        return Markup("")
    by_size = table(
        ("size", *costs.EFFORT_HEAD), [costs.effort_row(one) for one in costs.some(found, MOST_SIZES)],
        words=frozenset(), caption="Processor time for moving bytes",
    )  # fmt: skip
    largest = found[-1]
    each = largest.per_gigabyte()
    there = np.nonzero(np.isfinite(each))[0]
    order = there[np.argsort(-each[there], kind="stable")][:SLOWEST_ROUTES]
    rows = [
        (
            view.rank_name(int(rank)), units.number(float(each[rank]), (1.0, "s")),
            units.percent(float(largest.processor_seconds[rank] / largest.elapsed_seconds[rank]))
            if largest.elapsed_seconds[rank] > 0 else "–",
        )
        for rank in order
    ]  # fmt: skip
    caption = f"Processor time by rank, highest first, {units.size(largest.size_bytes)} messages"
    head = (f"rank ({view.rank_words})", "s/GB sent or received", "CPU share")
    return join(by_size, table(head, rows, words=frozenset({0}), caption=caption, dash=_NO_TIME))
