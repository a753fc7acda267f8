"""Rate by phase: in an all-to-all, phase minimum against communication distance.

As Kurmann, Rauch and Stricker (ETH TR 391, 2003) draw it in figures 2 and 10.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from crosscut.analysis.stats.intervals import Medians
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
from crosscut.reports.words import figures

FEWEST = 2
# Patterns whose phases are numbers on an axis, by what a phase's label says before or after its number.
_NUMBERED = re.compile(r"(?:(?P<before>distance|stride) (?P<a>\d+)|(?P<b>\d+) (?P<after>pairs?))")
_AXES = {
    "distance": "communication distance",
    "stride": "stride between partners",
    "pairs": "pairs that communicate at once",
}


def picture(series: Sequence[RunAtSize], name: str) -> Picture | None:
    """None where no run has two phases with a rate."""
    shown = [one for one in series if np.isfinite(_rates(one).median).sum() >= FEWEST]
    if not shown:
        return None
    log = far_apart([_rates(one).median for one in shown])
    typical = max(float(np.nanmax(_rates(one).median)) for one in shown)
    what = "by the pattern's formula" if shown[0].by_formula else "per rank and direction"
    places = [positions(one) for one in shown]
    words = {word for word, _ in places}
    axis = Axis(_AXES.get(next(iter(words)), "phase") if len(words) == 1 else "phase")
    columns: dict[str, list[float | int | str | None]] = {
        key: []
        for key in (
            "phase", "label", "at", "rate", "low", "high", "slowest_message", "median_message",
            "fastest_message",
        )
    }  # fmt: skip
    for one, (_, at) in zip(shown, places, strict=True):
        there = np.nonzero(np.isfinite(_rates(one).median))[0]
        columns["phase"] += one.samples.phase[there].tolist()
        labels = one.view.labels(one.samples)
        columns["label"] += [labels[index] for index in there]
        columns["at"] += at[there].tolist()
        rates = _rates(one)
        for key, values in (("rate", rates.median), ("low", rates.low), ("high", rates.high)):
            columns[key] += values[there].tolist()
        for key, row in zip(
            ("slowest_message", "median_message", "fastest_message"), one.digest.messages, strict=True
        ):
            columns[key] += row[there].tolist()
    parts = [(one.name, int(np.isfinite(_rates(one).median).sum())) for one in shown]
    return Picture(
        kind="phases",
        name=name,
        title="Rate by communication distance" if "distance" in words else "Rate by phase",
        caption="\n".join(
            [
                *(_caption(one, len(shown) > 1) for one in shown),
                *_legend(shown),
                *([LOGARITHMIC] if log else []),
            ]
        ),
        columns={"run": repeated(parts), **columns},
        x=axis,
        y=rate_axis(f"rate of the phase, {what}", typical, log=log),
        more={"messages": len(shown) == 1 and not shown[0].by_formula},
    )


def _rates(one: RunAtSize) -> Medians:
    return one.digest.formula if one.by_formula else one.digest.rates


def positions(one: RunAtSize) -> tuple[str, np.ndarray[tuple[int], np.dtype[np.int64]]]:
    """(what the axis counts, where each phase is on it); by the pattern's own phase numbers where labels tell
    nothing else."""
    found = [_NUMBERED.fullmatch(label) for label in one.view.labels(one.samples)]
    words = {(match["before"] or "pairs") if match else "" for match in found}
    if len(words) != 1 or "" in words:
        return "phase", one.samples.phase
    at = np.array([int(match["a"] or match["b"]) for match in found if match], np.int64)
    return words.pop(), at


def _legend(shown: Sequence[RunAtSize]) -> list[str]:
    """Labels; with one run there is room for its messages."""
    if len(shown) > 1 or shown[0].by_formula or not np.isfinite(shown[0].digest.messages).any():
        return []
    return ["Shaded: from the slowest to the fastest message of a phase; dotted: its median message."]


def _caption(one: RunAtSize, named: bool) -> str:
    rates = _rates(one)
    worst, best = figures.extreme(rates), figures.extreme(rates, largest=True)
    assert worst is not None  # there are two phases with a rate
    assert best is not None
    low, high = figures.at(rates, worst), figures.at(rates, best)
    name = f"{one.name}: the" if named else "The"
    size = units.size(one.digest.size_bytes)
    if low.median >= 0.995 * high.median:
        return f"{name} phases all run at {low.rate()} ({size} messages)."
    return (
        f"{name} slowest phase, {one.view.phase_name(one.samples, worst)}, reaches {low.rate()}, "
        f"{units.percent(low.median / high.median)} of the fastest ({high.rate()}, "
        f"{one.view.phase_name(one.samples, best)}; {size} messages)."
    )
