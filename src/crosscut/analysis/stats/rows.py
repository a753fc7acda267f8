"""Medians of rows in which values may be missing."""

from __future__ import annotations

import numpy as np

from crosscut.analysis.stats.intervals import Floats


def median(values: Floats) -> Floats:
    """Returns [row] the median of the finite values; NaN if there is none."""
    if not values.shape[1]:
        return np.full(len(values), np.nan)
    ordered = np.sort(values, axis=1)  # NaN last
    there = np.isfinite(values).sum(axis=1)
    rows = np.arange(len(values))
    low, high = (
        ordered[rows, np.maximum(there - 1, 0) // 2],
        ordered[rows, np.minimum(there // 2, values.shape[1] - 1)],
    )
    return np.where(there > 0, (low + high) / 2, np.nan)
