"""Max-min fair rates of simultaneous messages, fast enough for thousands of generated networks.

Progressive filling (Bertsekas and Gallager, Data Networks, section 6.5.2), many bottlenecks at a time: a
capacity is a bottleneck if every message that passes it finds no smaller share on its route.
tests/integration/test_locate.py compares it with the core's simulator.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.truth.noise import REPETITIONS, Floats, Integers, Noise

# Share of a message that rounding may leave.
_ROUNDING = 1e-9


def fair_rates(ways: Integers, capacities: Floats, weights: Floats | None = None) -> Floats:
    """Returns rates in the unit of `capacities`. `ways`: [message, step] indices of capacities; -1: none;
    `weights`: [message] messages at one bottleneck get rates in these proportions; None: equal ones."""
    none = len(capacities)
    left = np.append(capacities, np.inf)
    uses = np.where(ways < 0, none, ways)
    weights = np.ones(len(uses)) if weights is None else weights
    rates = np.zeros(len(uses))
    open_ = np.arange(len(uses))
    while len(open_):
        rows = uses[open_]
        counts = np.bincount(rows.ravel(), np.repeat(weights[open_], rows.shape[1]), minlength=none + 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(counts > 0, left / counts, np.inf)
        share[none] = np.inf
        smallest = share[rows].min(axis=1)
        worst = np.full(none + 1, np.inf)
        np.minimum.at(worst, rows.ravel(), np.repeat(smallest, rows.shape[1]))
        bottleneck = share <= worst * (1 + 1e-12)
        fixed = bottleneck[rows] & (share[rows] <= smallest[:, None] * (1 + 1e-12))
        done = fixed.any(axis=1)
        rates[open_[done]] = fixed_rates = smallest[done] * weights[open_[done]]
        np.subtract.at(left, rows[done].ravel(), np.repeat(fixed_rates, rows.shape[1]))
        left = np.maximum(left, 0)
        left[none] = np.inf
        open_ = open_[~done]
    return rates


def uneven_rates(
    ways: Integers, capacities: Floats, unevenness: float, random: np.random.Generator
) -> Floats:
    """Returns the rates of messages that share links unevenly, as over TCP: medians over REPETITIONS.

    In each repetition, weights are log-normal with standard deviation `unevenness`. Arguments as of
    `fair_rates`.
    """
    weights = np.exp(unevenness * random.standard_normal((REPETITIONS, len(ways))))
    return np.asarray(np.median([mean_rates(ways, capacities, some) for some in weights], axis=0))


def mean_rates(ways: Integers, capacities: Floats, weights: Floats) -> Floats:
    """Returns the mean rates of messages of one size; one that ends leaves its share to the others.

    Arguments as of `fair_rates`.
    """
    left, seconds, open_, now = np.ones(len(ways)), np.zeros(len(ways)), np.arange(len(ways)), 0.0
    while len(open_):
        rates = fair_rates(ways[open_], capacities, weights[open_])
        step = float((left[open_] / rates).min())
        now += step
        left[open_] -= step * rates
        ended = left[open_] < _ROUNDING
        seconds[open_[ended]] = now
        open_ = open_[~ended]
    return np.asarray(1 / seconds)


def measure(
    ways: Integers, capacities: Floats, phases: Sequence[Sequence[tuple[int, int]]],
    noise: float | Noise, random: np.random.Generator, unevenness: float = 0.0,
) -> Floats:  # fmt: skip
    """Returns the rates of all phases' routes, concatenated, each times an error: log-normal with standard
    deviation `noise`, or from its model. `ways`: [source, destination, step]. `unevenness`: see
    `uneven_rates`; 0: messages share links equally."""
    found = []
    for routes in phases:
        ends = np.array(routes, np.int64).reshape(-1, 2)
        own = ways[ends[:, 0], ends[:, 1]]
        rates = (
            uneven_rates(own, capacities, unevenness, random) if unevenness else fair_rates(own, capacities)
        )
        found.append(_with_error(rates, ends, noise, random))
    return np.concatenate(found) if found else np.zeros(0)


def latencies(
    idle_seconds: Floats, phases: Sequence[Sequence[tuple[int, int]]], noise: float | Noise,
    random: np.random.Generator,
) -> Floats:  # fmt: skip
    """Returns times of short messages, with errors as in `measure`. `idle_seconds`: [source, destination]."""
    found = []
    for routes in phases:
        ends = np.array(routes, np.int64).reshape(-1, 2)
        found.append(1 / _with_error(1 / idle_seconds[ends[:, 0], ends[:, 1]], ends, noise, random))
    return np.concatenate(found) if found else np.zeros(0)


def _with_error(rates: Floats, ends: Integers, noise: float | Noise, random: np.random.Generator) -> Floats:
    if isinstance(noise, Noise):
        return noise.seen(rates, ends)
    return np.asarray(rates * np.exp(noise * random.standard_normal(len(rates))))
