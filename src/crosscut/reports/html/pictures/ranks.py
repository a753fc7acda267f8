"""Throughput of every rank over the whole pattern: bytes received over the time spent in all phases."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

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

FEWEST = 3


def picture(series: Sequence[RunAtSize], name: str) -> Picture | None:
    shown = [one for one in series if np.isfinite(one.digest.rank_rates.median).sum() >= FEWEST]
    if not shown:
        return None
    there = [np.nonzero(np.isfinite(one.digest.rank_rates.median))[0] for one in shown]
    found = [one.digest.rank_rates.median[ranks] for one, ranks in zip(shown, there, strict=True)]
    parts = zip(shown, there, found, strict=True)
    captions = [_caption(one, ranks, rates, len(shown) > 1) for one, ranks, rates in parts]
    if log := far_apart(found):
        captions.append(LOGARITHMIC)
    return Picture(
        kind="ranks",
        name=name,
        title="Throughput of each rank over all phases",
        caption="\n".join(captions),
        columns={
            "run": repeated([(one.name, len(ranks)) for one, ranks in zip(shown, there, strict=True)]),
            "rank": np.concatenate(there),
            "name": [
                one.view.rank_name(int(rank))
                for one, ranks in zip(shown, there, strict=True)
                for rank in ranks
            ],
            "rate": np.concatenate(found),
        },
        x=Axis("rank"),
        y=rate_axis(
            "received, over the time of all phases", max(float(rates.max()) for rates in found), log=log
        ),
    )


def _caption(one: RunAtSize, ranks: NDArray[np.int64], rates: Floats, named: bool) -> str:
    worst, middle = int(np.argmin(rates)), float(np.median(rates))
    slowest = float(rates[worst])
    if slowest >= 0.99 * middle:
        start = f"{one.name}: no" if named else "No"
        return f"{start} rank falls behind: the median rank gets {units.rate(middle)}."
    start = f"{one.name}: the" if named else "The"
    return (
        f"{start} slowest rank, {one.view.rank_name(int(ranks[worst]))}, gets {units.rate(slowest)}, "
        f"{units.percent(slowest / middle)} of the median rank."
    )
