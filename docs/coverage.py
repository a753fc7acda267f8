"""Estimates how often the 95 % interval of a median covers it for correlated samples.

Run as `python docs/coverage.py`. Samples follow a first-order autoregressive Gaussian process with
correlation rho, either unchanged or transformed to an exponential distribution. The number of repetitions is
fixed, or measuring stops as soon as the interval is narrow (`--interval`; core/src/conduct/block_plan.cpp
checks after 20 repetitions, then each time their number has grown by a quarter). docs/how-it-measures.md
states the outcome.
"""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter
from scipy.special import ndtr

from crosscut.analysis.stats.intervals import FEWEST_FOR_CORRELATION, medians

Floats = NDArray[np.float64]
TRIALS = 4000
CORRELATIONS = (0.0, 0.3, 0.5)
COUNTS = (20, 30, 50, 100, 200)
WIDTHS = (0.02, 0.05, 0.1)
CAPS = (60, 200, 400)


def process(random: np.random.Generator, count: int, rho: float) -> Floats:
    """Returns [sample, trial] with mean 0 and variance 1."""
    noise = random.standard_normal((count, TRIALS))
    noise[1:] *= math.sqrt(1 - rho**2)
    return np.asarray(lfilter([1], [1, -rho], noise, axis=0))


def tailed(gaussian: Floats) -> Floats:
    return -np.log(ndtr(-gaussian))


def times(gaussian: Floats, tail: bool) -> tuple[Floats, float]:
    """Returns times with mean near 1 and standard deviation 0.05, and their true median."""
    if tail:
        return 1 + 0.05 * tailed(gaussian), 1 + 0.05 * math.log(2)
    return 1 + 0.05 * gaussian, 1.0


def held_fixed(samples: Floats, median: float) -> float:
    """Returns the share of intervals that cover the median."""
    found = medians(samples)
    return float(((found.low <= median) & (median <= found.high)).mean())


def held_stopped(samples: Floats, median: float, width: float) -> tuple[float, float]:
    """Returns (share that cover the median, mean number of repetitions) under `--interval`."""
    cap, trials = samples.shape
    held, ended = np.zeros(trials, bool), np.full(trials, cap)
    going, count = np.ones(trials, bool), FEWEST_FOR_CORRELATION
    while going.any():
        found = medians(samples[:count, going])
        stops = (found.relative_width() <= width) | (count == cap)
        at = np.flatnonzero(going)[stops]
        held[at] = ((found.low <= median) & (median <= found.high))[stops]
        ended[at] = count
        going[at] = False
        count = min(cap, count + max(1, count // 4))
    return float(held.mean()), float(ended.mean())


def main() -> None:
    for tail in (False, True):
        print("exponential tail" if tail else "Gaussian")
        for rho in CORRELATIONS:
            random = np.random.default_rng(1)
            for count in COUNTS:
                held = held_fixed(*times(process(random, count, rho), tail))
                print(f"  rho {rho}, {count} repetitions: held {held:.1%}")
            for width in WIDTHS:
                for cap in CAPS:
                    samples, median = times(process(random, cap, rho), tail)
                    held, mean = held_stopped(samples, median, width)
                    asked = f"--interval {width:.0%} at most {cap} times"
                    print(f"  rho {rho}, {asked}: held {held:.1%}, mean {mean:.0f}")


if __name__ == "__main__":
    main()
