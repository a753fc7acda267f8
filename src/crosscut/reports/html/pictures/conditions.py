"""Bars for named conditions: streams of each kind, victims beside each congestor, latency by kind of path."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from crosscut.analysis.figures.hops import ByHops
from crosscut.analysis.figures.slowdown import Slowdown
from crosscut.base import units
from crosscut.base.spelling import capital
from crosscut.reports.html.pictures.picture import Axis, Picture, RunAtSize, rate_axis, time_axis
from crosscut.reports.words import costs

MOST_BARS = 40


def of_streams(one: RunAtSize, name: str) -> Picture | None:
    """Draws the aggregate rate of each phase, with marks at its slowest, median and fastest stream."""
    rates = one.rates
    there = np.nonzero(np.isfinite(rates.median))[0][:MOST_BARS]
    if len(there) == 0:
        return None
    labels = one.view.labels(one.samples)
    best = int(there[np.argmax(rates.median[there])])
    slow, middle, fast = (row[there] for row in one.digest.messages)
    caption = f"At most {units.rate(float(rates.median[best]))} together ({labels[best]})."
    if np.isfinite(slow).any():
        uneven = int(np.nanargmin(slow / fast))
        least, each, most = (units.rate(float(row[uneven])) for row in (slow, middle, fast))
        caption += (
            f" Evenly shared: about {each} each."
            if slow[uneven] >= 0.98 * fast[uneven]
            else f" Most unevenly shared in {labels[there[uneven]]}: {least} for the slowest, {most} for the "
            "fastest."
        )
    return Picture(
        kind="bars",
        name=name,
        title="Aggregate rate of the streams",
        caption=caption,
        columns={
            "label": [labels[index] for index in there],
            "value": rates.median[there], "low": rates.low[there], "high": rates.high[there],
            "slowest_message": slow, "median_message": middle, "fastest_message": fast,
        },
        x=rate_axis("rate, all streams of the phase together; ticks: slowest, median and fastest stream",
                    float(rates.median[best])),
        y=Axis(""),
    )  # fmt: skip


def of_victims(found: Sequence[Slowdown], size: str, name: str) -> Picture | None:
    if not found:
        return None
    labels = [f"{entry.condition.label}, {units.size(entry.condition.bytes)}" for entry in found]
    worst = max(range(len(found)), key=lambda index: found[index].median)
    return Picture(
        kind="bars",
        name=name,
        title=f"Slowdown of victims beside congestors ({size})",
        caption=f"Worst: {labels[worst]}, whose median message takes {found[worst].median:.2f} times as long "
        "as idle.",
        columns={
            "label": labels,
            "value": [entry.median for entry in found],
            "tick": [entry.p99 if entry.condition.many else None for entry in found],
        },
        x=Axis("slowdown of the median message (tick: of the 99th percentile), times idle"),
        y=Axis(""),
        more={"from_one": True},
    )


def of_hops(found: ByHops, timed: str, name: str) -> Picture:
    """Draws latency by switches and forwarding hosts on the path. The caption states what each adds."""
    unit = max(one.median_seconds for one in found.classes)
    return Picture(
        kind="bars",
        name=name,
        title="Latency by path",
        caption=f"{capital(costs.hops_sentence(found))}. Least squares through these medians, weighted "
        "by routes; intervals by bootstrap over the routes of each path.",
        columns={
            "label": [f"{costs.way(one.switches, one.hosts)} ({one.routes:,})" for one in found.classes],
            "value": [one.median_seconds for one in found.classes],
            "switches": [one.switches for one in found.classes],
            "forwarding_hosts": [one.hosts for one in found.classes],
            "routes": [one.routes for one in found.classes],
        },
        x=time_axis(f"{timed}, median over routes (number of routes in brackets)", unit),
        y=Axis(""),
    )
