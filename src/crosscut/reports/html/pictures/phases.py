"""Rate by phase: in an all-to-all, the phase minimum against communication distance.

After figures 2 and 10 of Kurmann, Rauch and Stricker (ETH TR 391, 2003).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from crosscut.base import units
from crosscut.reports.html.pictures.picture import (
    Axis,
    Column,
    Picture,
    RunAtSize,
    captions,
    far_apart,
    laid_over,
    rate_axis,
)
from crosscut.reports.words import figures

FEWEST = 2
# Labels of phases that have a number on an axis: the word before or after the number names the axis. A
# damaged label may have a number beyond any integer.
_NUMBERED = re.compile(r"(?:(?P<before>distance|stride) (?P<a>\d{1,15})|(?P<b>\d{1,15}) (?P<after>pairs?))")
_AXES = {
    "distance": "communication distance",
    "stride": "stride between partners",
    "pairs": "pairs that communicate at once",
}


def picture(series: Sequence[RunAtSize], name: str) -> Picture | None:
    """Returns None if no run has two phases with a rate."""
    shown = [one for one in series if np.isfinite(one.rates.median).sum() >= FEWEST]
    if not shown:
        return None
    medians = [one.rates.median for one in shown]
    log = far_apart(medians)
    what = shown[0].view.rate_counts
    words = {positions(one)[0] for one in shown}
    said = captions([(one.name, _caption(one)) for one in shown], log=log)
    if any(np.isfinite(one.rates.low).any() for one in shown):
        said += "\nBand around the line: the rate's 95 % interval."
    alone = len(shown) == 1 and not shown[0].view.by_formula
    if alone and (shown[0].digest.messages.min(0) < shown[0].digest.messages.max(0)).any():
        said += "\nPale area: from a phase's slowest to its fastest message; dotted line: its median message."
    return Picture(
        kind="phases",
        name=name,
        title="Rate by communication distance" if "distance" in words else "Rate by phase",
        caption=said,
        columns=laid_over([(one.name, _columns(one)) for one in shown]),
        x=Axis(_AXES.get(next(iter(words)), "phase") if len(words) == 1 else "phase"),
        y=rate_axis(f"rate of the phase, {what}", max(float(np.nanmax(one)) for one in medians), log=log),
        more={"messages": alone},
    )


def _columns(one: RunAtSize) -> dict[str, Column]:
    there = np.nonzero(np.isfinite(one.rates.median))[0]
    labels = one.view.labels(one.samples)
    slowest, middle, fastest = one.digest.messages[:, there]
    return {
        "phase": one.samples.phase[there], "label": [labels[index] for index in there],
        "at": positions(one)[1][there],
        "rate": one.rates.median[there], "low": one.rates.low[there], "high": one.rates.high[there],
        "slowest_message": slowest, "median_message": middle, "fastest_message": fastest,
    }  # fmt: skip


def positions(one: RunAtSize) -> tuple[str, NDArray[np.int64]]:
    """Returns (what the axis counts, position of each phase on it). Falls back to phase numbers if the labels
    do not all name one quantity."""
    found = [_NUMBERED.fullmatch(label) for label in one.view.labels(one.samples)]
    words = {(match["before"] or "pairs") if match else "" for match in found}
    if len(words) != 1 or "" in words:
        return "phase", one.samples.phase
    at = np.array([int(match["a"] or match["b"]) for match in found if match], np.int64)
    return words.pop(), at


def _caption(one: RunAtSize) -> str:
    worst, best = figures.extreme(one.rates), figures.extreme(one.rates, largest=True)
    assert worst is not None  # `picture` made sure of two phases with a rate
    assert best is not None
    low, high = figures.at(one.rates, worst), figures.at(one.rates, best)
    size = units.size(one.digest.size_bytes)
    if low.median >= 0.995 * high.median:
        free = one.digest.free_rate
        slowed = f"; their fastest messages reach {units.rate(free)}" if high.median < 0.995 * free else ""
        return f"the phases all run at {low.rate()} ({size} messages){slowed}."
    return (
        f"the slowest phase, {one.view.phase_name(one.samples, worst)}, reaches {low.rate()}, "
        f"{units.percent(low.median / high.median)} of the fastest phase's ({high.rate()}, "
        f"{one.view.phase_name(one.samples, best)}; {size} messages)."
    )
