"""Histograms of routes and phases (Kurmann, Rauch and Stricker, ETH TR 391, 2003, figures 3 and 11), and the
cumulative curve: the share of routes at or below each rate."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from crosscut.analysis.stats import binning
from crosscut.analysis.stats.intervals import Floats
from crosscut.base import units
from crosscut.reports.html.pictures.picture import (
    LOGARITHMIC,
    Axis,
    Column,
    Picture,
    RunAtSize,
    captions,
    far_apart,
    laid_over,
    rate_axis,
)
from crosscut.reports.words import about
from crosscut.run.realm import has_virtual_clock

FEWEST = 5  # fewer values are clearer in a table
MOST_BINS = 40
CURVE_POINTS = 200
# A histogram's axis spans at least this share of its middle.
LEAST_SPAN = 0.2
# Values this far apart are all drawn, since the few slow ones are what a reader looks for.
_ALL_DRAWN = 10.0


def of_routes(series: Sequence[RunAtSize], name: str) -> Picture | None:
    return _histogram(_of_routes(series), name, "route", max(map(_least_of_routes, series)))


def of_phases(series: Sequence[RunAtSize], name: str) -> Picture | None:
    shown = _shown((one.name, one.rates.median) for one in series)
    return _histogram(shown, name, "phase", max(map(_least_of_phases, series)))


def _least_of_routes(one: RunAtSize) -> float:
    """Returns the smallest difference between rates of routes: what a step of the clock makes."""
    rates = one.digest.routes.rates.median
    fastest = float(rates[np.isfinite(rates)].max(initial=0.0))
    return fastest**2 * _step_seconds(one) / one.digest.size_bytes if one.digest.size_bytes else 0.0


def _least_of_phases(one: RunAtSize) -> float:
    seconds, rates = one.samples.rank_seconds, one.rates.median
    quickest = float(seconds[np.isfinite(seconds) & (seconds > 0)].min(initial=math.inf))
    fastest = float(rates[np.isfinite(rates)].max(initial=0.0))
    return fastest * _step_seconds(one) / quickest


def _step_seconds(one: RunAtSize) -> float:
    """Returns by how much the times of a message may differ at least; 0 if unknown or computed."""
    step = about.clock_step_seconds(one.view)
    virtual = has_virtual_clock(one.view.attributes) or not math.isfinite(step)
    return 0.0 if virtual else step / max(one.samples.iterations, 1)


def _of_routes(series: Sequence[RunAtSize]) -> list[tuple[str, Floats]]:
    return _shown((one.name, one.digest.routes.rates.median) for one in series)


def _shown(named: Iterable[tuple[str, Floats]]) -> list[tuple[str, Floats]]:
    """Returns the finite values of each run that has at least `FEWEST`."""
    finite = [(label, _finite(values)) for label, values in named]
    return [(label, values) for label, values in finite if len(values) >= FEWEST]


def _finite(values: Floats) -> Floats:
    """Returns the finite values: the same array, if all are."""
    there = np.isfinite(values)
    return values if there.all() else values[there]


def _histogram(
    shown: Sequence[tuple[str, Floats]], name: str, noun: str, least: float
) -> Picture | None:  # fmt: skip
    """Draws all runs in one set of bins, so that they can be compared. `least`: no bin is narrower."""
    if not shown:
        return None
    every = [values for _, values in shown]
    log = far_apart(every)
    whole = every[0] if len(every) == 1 else np.concatenate(every)
    whole = np.log10(whole) if log else whole
    # Twice the square root of the number of values, within what a page can resolve.
    most = int(np.clip(2 * max(map(len, every)) ** 0.5, 8, MOST_BINS))
    if not log:
        most = _resolved(whole, most, least)
    edges = binning.histogram(whole, most, whole=not log and whole.max() <= _ALL_DRAWN * whole.min()).edges
    edges = 10**edges if log else _widened(edges, most, least)
    if any(_share_outside(values, edges) > binning.LARGEST_SHARE_FAR_OUT for values in every):
        edges = binning.histogram(whole, most, whole=True).edges
        edges = 10**edges if log else edges
    axis = rate_axis(f"rate of the {noun}", float(edges[-1]), log=log)
    outside = [(label, words) for label, values in shown if (words := _outside(values, edges, noun))]
    said = [captions([(label, _spread(values, noun)) for label, values in shown])]
    said += [f"{label}: {words}" if len(shown) > 1 else words for label, words in outside]
    width = f"{(edges[1] - edges[0]) / axis.unit[0]:.4g} {axis.unit[1]}"
    said.append(f"Each bar is {f'a factor of {edges[1] / edges[0]:.3g}' if log else width} wide.")
    return Picture(
        kind="histogram",
        name=name,
        title=f"{noun.capitalize()}s by rate",
        caption="\n".join([*said, LOGARITHMIC] if log else said),
        columns=laid_over([(label, _bins(values, edges)) for label, values in shown]),
        x=axis,
        y=Axis(f"{noun}s"),
        more={"from": float(edges[0]), "to": float(edges[-1])},
    )


def _resolved(values: Floats, most: int, least: float) -> int:
    """Returns how many bins, at most `most`, are no narrower than `least`."""
    span = float(np.ptp(values))
    return most if least <= 0 else int(np.clip(span / least, 1, most - 1)) + 1


def _widened(edges: Floats, most: int, least: float) -> Floats:
    """Returns round edges that span at least `LEAST_SPAN` of their middle, so that equal rates look equal."""
    middle = float(edges[0] + edges[-1]) / 2
    if edges[-1] - edges[0] >= LEAST_SPAN * middle:
        return edges
    step = binning.nice_step(max(LEAST_SPAN * middle, least * most), most)
    first, last = (
        np.floor((1 - LEAST_SPAN / 2) * middle / step),
        np.ceil((1 + LEAST_SPAN / 2) * middle / step),
    )
    return np.asarray(step * np.arange(first, last + 1))


def _bins(values: Floats, edges: Floats) -> dict[str, Column]:
    counts, _ = np.histogram(values, edges)
    there = np.nonzero(counts)[0]
    return {"from": edges[there], "to": edges[there + 1], "count": counts[there]}


def _share_outside(values: Floats, edges: Floats) -> float:
    return float(((values < edges[0]) | (values > edges[-1])).mean())


def _outside(values: Floats, edges: Floats, noun: str) -> str:
    """`2 routes below 1.2 MB/s not drawn.`, or empty if all are drawn."""
    ends = ((values < edges[0], "below", edges[0]), (values > edges[-1], "above", edges[-1]))
    words = [
        f"{units.count(int(beyond.sum()), noun)} {where} {units.rate(float(edge))}"
        for beyond, where, edge in ends
        if beyond.any()
    ]
    return f"{' and '.join(words)} not drawn." if words else ""


def _spread(values: Floats, noun: str) -> str:
    low, middle, high = (float(part) for part in np.percentile(values, (0, 50, 100)))
    spread = f"from {units.rate(low)} to {units.rate(high)}, median {units.rate(middle)}"
    if low >= 0.995 * high:
        spread = f"all at {units.rate(middle)}"
    return f"{units.count(len(values), noun)}, {spread}."


def curve(series: Sequence[RunAtSize], name: str) -> Picture | None:
    """Draws a step curve through quantiles: the share of routes at or below each rate."""
    shown = [(label, np.sort(values)) for label, values in _of_routes(series)]
    if not shown:
        return None
    log = far_apart([values for _, values in shown])
    return Picture(
        kind="curve",
        name=name,
        title="Share of routes at or below a rate",
        caption=captions([(label, _slow_end(values)) for label, values in shown], log=log),
        columns=laid_over([(label, _curve(values)) for label, values in shown]),
        x=rate_axis("rate of the route", max(float(values[-1]) for _, values in shown), log=log),
        y=Axis("share of routes at or below", (0.01, "%")),
    )


def _slow_end(values: Floats) -> str:
    return (
        f"a tenth of the routes reach at most {units.rate(float(np.percentile(values, 10)))}, "
        f"half at most {units.rate(float(np.median(values)))}."
    )


def _curve(ordered: Floats) -> dict[str, Column]:
    count = len(ordered)
    # Evenly spaced, but denser at both ends, where faults show.
    picks = np.unique(np.concatenate([
        np.arange(min(count, 20)), np.linspace(0, count - 1, CURVE_POINTS).astype(np.int64),
        np.arange(max(0, count - 20), count),
    ]))  # fmt: skip
    rates = np.unique(ordered[picks])
    return {"rate": rates, "share": np.searchsorted(ordered, rates, side="right") / count}
