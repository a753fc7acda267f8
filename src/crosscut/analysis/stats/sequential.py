"""A test of a median that may be looked at after every repetition, and stopped whenever one likes.

Each repetition is a coin: it meets the bound or not. Where the median misses the bound, the coin shows `met`
with probability at most 1/2, whatever came before; then the stake of a gambler who bets on `met`, spread over
several probabilities above 1/2, is a supermartingale that starts at 1. That it ever reaches 1/α has
probability at most α (J. Ville, Étude critique de la notion de collectif, 1939; for confidence sequences of
quantiles S. R. Howard and A. Ramdas, Bernoulli 28, 2022). So a verdict reached at any time is wrong with
probability at most α, however often one looked. Nothing is assumed of the distribution of the times, nor of
how routes depend on each other.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from crosscut.analysis.stats.intervals import Floats

_BETS = 16


def evidence(met: NDArray[np.int64], missed: NDArray[np.int64], share: float = 0.5) -> Floats:
    """[quantity] log of the stake: evidence that more than `share` of repetitions meet the bound. At most as
    large as α allows, with probability 1 - α, where they do not."""
    bets = share + (1 - share) * np.arange(1, _BETS + 1) / _BETS
    up = np.log(bets / share)
    down = np.log1p(-bets[:-1]) - math.log1p(-share)
    stakes: Floats = np.asarray(met[:, None] * up, np.float64)
    stakes[:, :-1] = stakes[:, :-1] + missed[:, None] * down
    stakes[missed > 0, -1] = -np.inf  # the bet that all meet it is lost with the first that misses
    highest = stakes.max(axis=1, keepdims=True)
    return np.asarray(highest[:, 0] + np.log(np.exp(stakes - highest).mean(axis=1)), np.float64)


def all_of(logs: Floats) -> float:
    """Evidence that every quantity meets its bound: the weakest. An intersection-union test needs no
    correction for their number (R. L. Berger, Technometrics 24, 1982)."""
    return float(logs.min()) if len(logs) else 0.0


def any_of(logs: Floats) -> float:
    """Evidence that some quantity misses its bound: the mean stake is itself a fair one, under any dependence
    (V. Vovk and R. Wang, Annals of Statistics 49, 2021)."""
    if not len(logs):
        return 0.0
    highest = float(logs.max())
    return highest + math.log(float(np.exp(logs - highest).mean()))


def repetitions_needed(count: int, reaches: Callable[[float], bool]) -> int | None:
    """Fewest repetitions, more than the `count` measured, for which `reaches(times)` holds: `times` what was
    counted is evidence enough. None if a hundred times is not."""
    return next((math.ceil(count * times) for times in np.geomspace(1.1, 100, 48) if reaches(times)), None)


def doubt(log_evidence: float) -> float:
    """Probability of such evidence, or more, at any time, if the opposite were the case (Ville's bound)."""
    return min(1.0, math.exp(-log_evidence)) if log_evidence > 0 else 1.0
