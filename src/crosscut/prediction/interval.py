"""The interval of a predicted time: how far predictions were from what was measured afterwards.

Split conformal prediction (Lei, G'Sell, Rinaldo, Tibshirani and Wasserman, "Distribution-free predictive
inference for regression", JASA 113, 2018): of n errors, the one of rank 0.9 (n + 1) bounds a new one in nine
of ten cases, if the new case is like those. Here a case is a program on an emulated cluster on which it was
not traced, with noise fitted where it was; the error is that of the communication time
(docs/howto-predict.md).
"""

from __future__ import annotations

from dataclasses import dataclass

COVERED = "Nine of ten"


@dataclass(frozen=True)
class Calibration:
    cases: int
    error: float
    """The largest error of nine in ten cases."""
    clusters: str


LOSSLESS = Calibration(45, 0.086, "emulated clusters whose queues lose nothing")
"""The 42nd of 45: IS, CG, MG and FT on eight ranks, these and LU on four; 30 November 2026."""
OVERFLOWING = Calibration(16, 0.293, "emulated clusters whose queues overflow")
"""The largest of 16: IS, CG, MG and FT on four ranks, on the kernel's labs; 30 November 2026."""


def calibration(*, deep_queues: bool) -> Calibration:
    return LOSSLESS if deep_queues else OVERFLOWING


def seconds(whole: float, computing: float, ideal: float, error: float) -> tuple[float, float]:
    """Returns bounds of the run time. `whole`: predicted; `computing`: the mean of the ranks, part of it;
    `ideal`: the run time if messages took none; `error`: of the communication time."""
    communication = max(0.0, whole - computing)
    low = whole - communication * error / (1 + error)
    return max(low, min(whole, ideal)), whole + communication * error / (1 - error)
