"""Quantiles of rows in which values may be missing."""

from __future__ import annotations

import numpy as np

from crosscut.analysis.stats.intervals import Floats


def quantile(values: Floats, share: float) -> Floats:
    """Returns [row] the quantile of the finite values, interpolated; NaN if there is none."""
    if not values.shape[1]:
        return np.full(len(values), np.nan)
    ordered = np.sort(values, axis=1)  # NaN last
    there = np.isfinite(values).sum(axis=1)
    rows, place = np.arange(len(values)), share * np.maximum(there - 1, 0)
    low = np.floor(place).astype(int)
    below, above = ordered[rows, low], ordered[rows, np.ceil(place).astype(int)]
    return np.where(there > 0, below + (place - low) * (above - below), np.nan)


def median(values: Floats) -> Floats:
    """Returns [row] the median of the finite values; NaN if there is none."""
    return quantile(values, 0.5)
