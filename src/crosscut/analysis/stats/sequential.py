"""Sequential test of a median, which may be evaluated after every repetition and stopped at any time.

Each repetition is a coin toss: it meets the bound or misses it. If the median misses the bound, `met` has
probability at most 1/2, regardless of earlier tosses. Then the stake of a gambler who bets on `met`, spread
over several probabilities above 1/2, is a supermartingale that starts at 1. The probability that it ever
reaches 1/α is at most α (J. Ville, Étude critique de la notion de collectif, 1939; for confidence sequences
of quantiles S. R. Howard and A. Ramdas, Bernoulli 28, 2022). So a verdict reached at any time is wrong with
probability at most α, however often the test was evaluated. Nothing is assumed about the distribution of the
times or the dependence between routes.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from crosscut.analysis.stats.intervals import Floats

_BETS = 16


def evidence(met: NDArray[np.int64], missed: NDArray[np.int64], share: float = 0.5) -> Floats:
    """Returns [quantity] the log stake: evidence that more than `share` of the repetitions meet the bound.

    `met` and `missed` are [quantity] counts. If no more than `share` meet the bound, the stake ever reaches
    1/α with probability at most α.
    """
    bets = share + (1 - share) * np.arange(1, _BETS + 1) / _BETS
    up = np.log(bets / share)
    down = np.log1p(-bets[:-1]) - math.log1p(-share)
    stakes: Floats = np.asarray(met[:, None] * up, np.float64)
    stakes[:, :-1] = stakes[:, :-1] + missed[:, None] * down
    stakes[missed > 0, -1] = -np.inf  # the bet that all meet the bound is lost at the first miss
    highest = stakes.max(axis=1, keepdims=True)
    return np.asarray(highest[:, 0] + np.log(np.exp(stakes - highest).mean(axis=1)), np.float64)


def all_of(logs: Floats) -> float:
    """Returns the evidence that every quantity meets its bound: the weakest among them.

    An intersection-union test needs no correction for several quantities (R. L. Berger, Technometrics 24,
    1982).
    """
    return float(logs.min()) if len(logs) else 0.0


def any_of(logs: Floats) -> float:
    """Returns the evidence that some quantity misses its bound: the log of the mean stake.

    The mean is itself a fair stake under any dependence (V. Vovk and R. Wang, Annals of Statistics 49, 2021).
    """
    if not len(logs):
        return 0.0
    highest = float(logs.max())
    return highest + math.log(float(np.exp(logs - highest).mean()))


def repetitions_needed(count: int, reaches: Callable[[float], bool]) -> int | None:
    """Returns how many repetitions would decide, if the trend of the `count` measured continues.

    `reaches(times)` tells whether `times` the counts so far are enough evidence. Returns None if 100 times as
    many are not.
    """
    return next((math.ceil(count * times) for times in np.geomspace(1.1, 100, 48) if reaches(times)), None)


def doubt(log_evidence: float) -> float:
    """Bounds the probability of ever seeing this much evidence if the opposite were true (Ville)."""
    return min(1.0, math.exp(-log_evidence)) if log_evidence > 0 else 1.0
