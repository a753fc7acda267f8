"""Differences between launches in words."""

from __future__ import annotations

import math

from crosscut.analysis.figures.launches import LaunchSpread
from crosscut.base import units
from crosscut.reports.words import figures


def middle(of: LaunchSpread) -> str:
    """`312 MB/s [301 – 320]`, the figure of the median launch."""
    figure = figures.at(of.middle, 0)
    return figure.seconds() if of.timed else figure.rate()


def share(value: float) -> str:
    """`2.1 %`, or `–` if unknown."""
    return units.percent(round(value, 6)) if math.isfinite(value) else "–"


def sentence(of: LaunchSpread) -> str | None:
    """Returns advice if launches differ by more than repetitions within one, otherwise None."""
    if not of.dominates:
        return None
    return (
        f"{units.size(of.size_bytes)}: launches differ by more (standard deviation {share(of.between)}) than "
        f"the repetitions of one ({share(of.within)}): measure more launches rather than more repetitions"
    )
