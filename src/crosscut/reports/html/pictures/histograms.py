"""Histograms of routes and of phases (Kurmann, Rauch and Stricker, ETH TR 391, 2003, figures 3 and 11), and
the cumulative curve: the share of routes that are slower than a rate."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from crosscut.analysis.stats import binning
from crosscut.analysis.stats.intervals import Floats
from crosscut.base import units
from crosscut.reports.html.pictures.picture import (
    LOGARITHMIC,
    Axis,
    Picture,
    RunAtSize,
    far_apart,
    rate_axis,
    repeated,
)

FEWEST = 5  # fewer are better read in a table
MOST_BINS = 40
CURVE_POINTS = 200


def of_routes(series: Sequence[RunAtSize], name: str) -> Picture | None:
    return _histogram([(one.name, _finite(one.digest.routes.rates.median)) for one in series], name, "route")


def of_phases(series: Sequence[RunAtSize], name: str) -> Picture | None:
    found = [(one.digest.formula if one.by_formula else one.digest.rates).median for one in series]
    named = [(one.name, _finite(values)) for one, values in zip(series, found, strict=True)]
    return _histogram(named, name, "phase")


def _finite(values: Floats) -> Floats:
    return values[np.isfinite(values)]


def _histogram(named: Sequence[tuple[str, Floats]], name: str, noun: str) -> Picture | None:
    """One set of bins for all, so that they can be compared."""
    shown = [(label, values) for label, values in named if len(values) >= FEWEST]
    if not shown:
        return None
    whole = np.concatenate([values for _, values in shown])
    log = far_apart([values for _, values in shown])
    # Twice the root of the number of values, as far as that can be told apart on a page.
    most = int(np.clip(2 * max(len(values) for _, values in shown) ** 0.5, 8, MOST_BINS))
    edges = (
        10 ** binning.histogram(np.log10(whole), most).edges if log else binning.histogram(whole, most).edges
    )
    counts = [np.histogram(values, edges)[0] for _, values in shown]
    kept = [np.nonzero(found)[0] for found in counts]
    outside = [
        (label, int((values < edges[0]).sum()), int((values > edges[-1]).sum())) for label, values in shown
    ]
    notes = [
        f"{label + ': ' if len(shown) > 1 else ''}"
        + " and ".join(
            f"{units.count(number, noun)} {where} {units.rate(float(edge))}"
            for number, where, edge in ((below, "below", edges[0]), (above, "above", edges[-1]))
            if number
        )
        + " not drawn."
        for label, below, above in outside
        if below or above
    ]
    return Picture(
        kind="histogram",
        name=name,
        title=f"{noun.capitalize()}s by rate",
        caption="\n".join([_caption(shown, noun), *notes, *([LOGARITHMIC] if log else [])]),
        columns={
            "run": repeated([(label, len(there)) for (label, _), there in zip(shown, kept, strict=True)]),
            "from": np.concatenate([edges[there] for there in kept]),
            "to": np.concatenate([edges[there + 1] for there in kept]),
            "count": np.concatenate([found[there] for found, there in zip(counts, kept, strict=True)]),
        },
        x=rate_axis(f"rate of the {noun}", float(edges[-1]), log=log),
        y=Axis(f"{noun}s"),
        more={"from": float(edges[0]), "to": float(edges[-1])},
    )


def _caption(shown: Sequence[tuple[str, Floats]], noun: str) -> str:
    parts = []
    for label, values in shown:
        low, middle, high = (float(part) for part in np.percentile(values, (0, 50, 100)))
        name = f"{label}: " if len(shown) > 1 else ""
        spread = (
            f"all at {units.rate(middle)}"
            if low >= 0.995 * high
            else f"from {units.rate(low)} to {units.rate(high)}, the middle one at {units.rate(middle)}"
        )
        parts.append(f"{name}{units.count(len(values), noun)}, {spread}.")
    return "\n".join(parts)


def curve(series: Sequence[RunAtSize], name: str) -> Picture | None:
    """A step curve through quantiles: at every point, the share of routes that are no faster."""
    shown = [(one.name, np.sort(_finite(one.digest.routes.rates.median))) for one in series]
    shown = [(label, values) for label, values in shown if len(values) >= FEWEST]
    if not shown:
        return None
    points = [_curve(values) for _, values in shown]
    log = far_apart([values for _, values in shown])
    worst = [
        f"{label + ': the' if len(shown) > 1 else 'The'} slowest tenth of routes stays below "
        f"{units.rate(float(np.percentile(values, 10)))}, half below {units.rate(float(np.median(values)))}."
        for label, values in shown
    ]
    return Picture(
        kind="curve",
        name=name,
        title="Share of routes below a rate",
        caption="\n".join([*worst, *([LOGARITHMIC] if log else [])]),
        columns={
            "run": repeated(
                [(label, len(rates)) for (label, _), (rates, _) in zip(shown, points, strict=True)]
            ),
            "rate": np.concatenate([rates for rates, _ in points]),
            "share": np.concatenate([shares for _, shares in points]),
        },
        x=rate_axis("rate of the route", max(float(values[-1]) for _, values in shown), log=log),
        y=Axis("share of routes no faster", (0.01, "%")),
    )


def _curve(ordered: Floats) -> tuple[Floats, Floats]:
    count = len(ordered)
    # Evenly spaced, with the ends closer: faults are at the ends.
    picks = np.unique(np.concatenate([
        np.arange(min(count, 20)), np.linspace(0, count - 1, CURVE_POINTS).astype(np.int64),
        np.arange(max(0, count - 20), count),
    ]))  # fmt: skip
    rates, last = np.unique(ordered[picks], return_index=False), count
    shares = np.searchsorted(ordered, rates, side="right") / last
    return rates, np.asarray(shares, dtype=np.float64)
