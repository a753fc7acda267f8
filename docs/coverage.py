"""How often the 95 % interval holds the median when repetition stops as soon as it is narrow.

Run as `python docs/coverage.py`. Simulates `--interval` (core/src/conduct/block_plan.cpp: looks after the
first 6 repetitions, then after each quarter more) on independent samples. docs/how-it-measures.md states the
outcome.
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from crosscut.analysis.stats.intervals import interval_ranks

TRIALS = 4000
FEWEST = 6
Draw = Callable[[np.random.Generator, int], NDArray[np.float64]]

# Name, samples, their true median.
DISTRIBUTIONS: tuple[tuple[str, Draw, float], ...] = (
    ("normal, 5 % wide", lambda random, n: 1 + 0.05 * random.standard_normal(n), 1.0),
    ("log-normal, 10 % wide", lambda random, n: np.exp(0.1 * random.standard_normal(n)), 1.0),
    ("exponential tail", lambda random, n: 1 + 0.05 * random.exponential(size=n), 1 + 0.05 * math.log(2)),
)


def stopped(samples: NDArray[np.float64], width: float) -> tuple[float, float, int]:
    """(low, high, repetitions) where the interval is first as narrow as asked, or the samples end."""
    count = FEWEST
    while True:
        ordered = np.sort(samples[:count])
        ranks = interval_ranks(count)
        assert ranks is not None
        low, high = ordered[ranks[0]], ordered[ranks[1]]
        if high - low <= width * np.median(ordered) or count == len(samples):
            return float(low), float(high), count
        count = min(len(samples), count + max(1, count // 4))


def main() -> None:
    random = np.random.default_rng(1)
    for name, draw, median in DISTRIBUTIONS:
        for width in (0.02, 0.05, 0.1):
            for cap in (20, 200):
                ends = [stopped(draw(random, cap), width) for _ in range(TRIALS)]
                held = np.mean([low <= median <= high for low, high, _ in ends])
                mean = np.mean([count for _, _, count in ends])
                asked = f"--interval {width:.0%} --repetitions {cap}"
                print(f"{name}: {asked}: held {held:.1%}, stopped after {mean:.0f}")


if __name__ == "__main__":
    main()
