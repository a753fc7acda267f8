"""The interval of a predicted time: how far predictions were from what was measured afterwards.

Split conformal prediction (Lei, G'Sell, Rinaldo, Tibshirani and Wasserman, "Distribution-free predictive
inference for regression", JASA 113, 2018): of n errors, the one of rank 0.9 (n + 1) bounds a new one in nine
of ten cases, if the new case is like those. Here a case is a program on an emulated cluster on which it was
not traced, with noise fitted where it was; the error is that of the communication time
(docs/howto-predict.md).
"""

from __future__ import annotations

COVERED = "Nine of ten"
CASES = 45
ERROR = 0.086
"""The 42nd of 45: IS, CG, MG and FT on eight ranks, these and LU on four; 30 November 2026."""


def seconds(whole: float, computing: float, ideal: float) -> tuple[float, float]:
    """Returns bounds of the run time. `whole`: predicted; `computing`: the mean of the ranks, part of it;
    `ideal`: the run time if messages took none."""
    communication = max(0.0, whole - computing)
    low = whole - communication * ERROR / (1 + ERROR)
    return max(low, min(whole, ideal)), whole + communication * ERROR / (1 - ERROR)
