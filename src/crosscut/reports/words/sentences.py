"""A run's figures in one to three sentences, for the summary after a run and reports of several runs."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from crosscut.analysis.figures import summary
from crosscut.analysis.figures.algorithms import groups
from crosscut.analysis.figures.digest import Digest
from crosscut.analysis.figures.pingpong import sweep
from crosscut.analysis.figures.samples import Samples, messages
from crosscut.analysis.figures.slowdown import conditions, slowdowns
from crosscut.analysis.figures.summary import Routes
from crosscut.analysis.stats.intervals import Medians
from crosscut.base import units
from crosscut.reports.view import View
from crosscut.reports.words import algorithms, figures
from crosscut.reports.words.loggp import mode
from crosscut.run.shape import Shape

MEDIAN_PAIR = "the median pair's rate"
# Fewest slow routes of one rank, and their share of all slow ones, for which it is named instead of a pair.
_FEWEST_ROUTES, _SHARE_OF_ROUTES = 3, 0.8


def figures_of(view: View) -> list[str]:
    """Returns the figures, one sentence each."""
    measured = view.measured()
    if not measured:
        return ["nothing is measured yet"]
    sentences = _dense if measured[0].of_phases else _SENTENCES[view.shape]
    return sentences(view, measured)


def _sweep(view: View, measured: list[Samples]) -> list[str]:
    found = sweep(measured)
    if not np.isfinite(found.rates.median).any():
        return ["no size has a rate: no bytes moved"]
    if len(found.size_bytes) == 1:
        return [f"time {figures.latency(found)}", f"rate {figures.peak(found)}"]
    peak, shortest = f"peak rate {figures.peak(found)}", figures.shortest(mode(view))
    told = [f"{shortest} {figures.latency(found)}", peak]
    return [*_slow_pair(view, measured), *(told if shortest == "latency" else told[::-1])]


def _slow_pair(view: View, measured: list[Samples]) -> list[str]:
    """Returns a sentence on the slowest of several pairs, which the median of all hides, if its interval lies
    below that of the middle one."""
    samples = max(measured, key=lambda samples: samples.size_bytes)
    found = summary.routes(samples)
    worst, middle = figures.extreme(found.rates), figures.in_the_middle(found.rates)
    if len(found.source) < 2 or worst is None or middle is None or figures.alike(found.rates):
        return []
    least = figures.at(found.rates, worst)
    if math.isfinite(least.high) and math.isfinite(middle.low) and least.high >= middle.low:
        return []
    of = f"{MEDIAN_PAIR} at {units.size(samples.size_bytes)}"
    slow = found.rates.median < (least.median + middle.median) / 2
    if (slow_host := _host_of(found, slow)) is not None:
        rank, mine = slow_host
        usual = float(np.median(found.rates.median[mine]))
        share, rate = units.percent(usual / middle.median), units.rate(usual)
        return [f"all pairs with {view.rank_name(rank)} are slow: {share} of {of}, {rate}"]
    ends = (view.rank_name(int(end)) for end in (found.source[worst], found.destination[worst]))
    share = units.percent(least.median / middle.median)
    return [f"{' → '.join(ends)} reaches {share} of {of}: {least.rate()}"]


def _host_of(found: Routes, slow: NDArray[np.bool_]) -> tuple[int, NDArray[np.bool_]] | None:
    """Returns the rank that most slow routes have in common and a mask of its routes, if all are `slow`."""
    ends = np.concatenate([found.source[slow], found.destination[slow]])
    rank = int(np.bincount(ends).argmax())
    mine = (found.source == rank) | (found.destination == rank)
    enough = mine.sum() >= max(_FEWEST_ROUTES, _SHARE_OF_ROUTES * slow.sum())
    return (rank, mine) if enough and slow[mine].all() else None


def _loaded(_view: View, measured: list[Samples]) -> list[str]:
    _, seconds = messages(measured)
    if len(seconds) == 0:
        return ["no message was measured"]
    parts = np.median(seconds), np.percentile(seconds, 99), seconds.max()
    median, p99, longest = (units.seconds(float(part)) for part in parts)
    return [
        f"half round trip of {units.count(len(seconds), 'message')} under load: median {median}, "
        f"99th percentile {p99}, longest {longest}"
    ]


def _victims(view: View, measured: list[Samples]) -> list[str]:
    largest = max(measured, key=lambda samples: samples.size_bytes)
    found = slowdowns(conditions(largest, view.labels(largest)))
    congested = [entry for entry in found if entry.condition.label != found[0].condition.label]
    if not congested:
        return ["victims were measured under one condition only, so their slowdown is unknown"]
    worst = max(congested, key=lambda entry: entry.p99 if entry.condition.many else entry.longest)
    median = max(entry.median for entry in congested)
    tail = (
        f"99th percentile {worst.p99:.2f}" if worst.condition.many else f"longest message {worst.longest:.2f}"
    )
    return [
        f"victims' worst slowdown against an idle network: median {median:.2f} times; {tail} "
        f"times, beside {worst.condition.label}, at {units.size(worst.condition.bytes)}"
    ]


def _algorithms(view: View, measured: list[Samples]) -> list[str]:
    return algorithms.sentences(groups(measured, view.label), view)


def _dense(view: View, measured: list[Samples]) -> list[str]:
    samples = max(measured, key=lambda samples: samples.size_bytes)
    rates = figures.of_phases(view, samples)
    return _of_dense(view, samples, rates, summary.routes(samples))


def of_digest(view: View, found: Digest) -> list[str]:
    """Returns what `figures_of` does, but uses an existing digest for figures by phase."""
    if not found.phases.of_phases and not view.shape.by_phase:
        return figures_of(view)
    return _of_dense(view, found.phases, found.formula if view.by_formula else found.rates, found.routes)


def _of_dense(view: View, samples: Samples, rates: Medians, routes: Routes) -> list[str]:
    worst, route = figures.extreme(rates), figures.extreme(routes.rates)
    size, middle = units.size(samples.size_bytes), figures.in_the_middle(rates)
    if not samples.size_bytes:
        return [without_bytes(samples)]
    if worst is None or middle is None:
        return ["no phase has a rate: no bytes moved"]
    least = figures.at(rates, worst).rate()
    slowest = f"slowest {least}, {view.phase_name(samples, worst)}"
    if figures.alike(rates):
        slowest = figures.none_slower("phase")
    lines = [f"{size}: median phase {middle.rate()} {view.rate_counts}; {slowest}"]
    if len(rates.median) == 1:
        lines = [f"{size}: {least} {view.rate_counts}"]
    if short := figures.messages(view, samples, rates):
        lines.append(f"at most {short}")
    if route is not None and len(routes.source) > 1:
        ends = routes.source[route], routes.destination[route]
        names = " → ".join(view.rank_name(int(rank)) for rank in ends)
        median = units.rate(routes.rates.middle)
        others = figures.others_as_slow(routes.rates, route)
        slowest = f"slowest {figures.at(routes.rates, route).rate()}, {names}{others}"
        if figures.alike(routes.rates):
            slowest = figures.none_slower("route")
        lines.append(f"median route {median}; {slowest}")
    return lines


def without_bytes(samples: Samples) -> str:
    """Returns the sentence on messages of 0 bytes."""
    seconds = units.seconds(float(np.nanmedian(samples.message_seconds)))
    return f"0 B: the median message takes {seconds}; without bytes, there is no rate"


_SENTENCES: dict[Shape, Callable[[View, list[Samples]], list[str]]] = {
    Shape.DENSE: _dense,
    Shape.STREAMS: _dense,
    Shape.SWEEP: _sweep,
    Shape.LOADED: _loaded,
    Shape.VICTIMS: _victims,
    Shape.ALGORITHMS: _algorithms,
}
