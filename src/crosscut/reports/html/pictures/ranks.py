"""Throughput of every rank over the whole pattern: bytes received divided by time spent in all phases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crosscut.base import units
from crosscut.reports.html.pictures.picture import (
    Axis,
    Picture,
    RunAtSize,
    captions,
    far_apart,
    laid_over,
    rate_axis,
)

FEWEST = 3
ALIKE = 0.99


def picture(series: Sequence[RunAtSize], name: str) -> Picture | None:
    shown = [one for one in series if np.isfinite(one.digest.rank_rates.median).sum() >= FEWEST]
    if not shown:
        return None
    runs = [(one.name, _columns(one)) for one in shown]
    rates = [columns["rate"] for _, columns in runs]
    log = far_apart(rates)
    return Picture(
        kind="ranks",
        name=name,
        title="Throughput of each rank over all phases",
        caption=captions([(label, _caption(columns)) for label, columns in runs], log=log),
        columns=laid_over(runs),
        x=Axis("node" if all(one.view.one_each for one in shown) else "rank"),
        y=rate_axis("received, over the time of all phases", max(float(r.max()) for r in rates), log=log),
    )


def _columns(one: RunAtSize) -> dict[str, NDArray[Any]]:
    rates = one.digest.rank_rates.median
    there = np.nonzero(np.isfinite(rates))[0]
    names = np.array([one.view.rank_name(int(rank)) for rank in there], object)
    return {"rank": there, "name": names, "rate": rates[there]}


def _caption(columns: dict[str, NDArray[Any]]) -> str:
    rates = columns["rate"]
    worst, middle = int(np.argmin(rates)), float(np.median(rates))
    slowest = float(rates[worst])
    if slowest >= ALIKE * middle:
        return f"no rank falls behind: the median rank gets {units.rate(middle)}."
    # In rates, since a share of the median rank differs from the share that a finding states.
    return (
        f"the slowest rank, {columns['name'][worst]}, gets {units.rate(slowest)}; the median rank gets "
        f"{units.rate(middle)}."
    )
