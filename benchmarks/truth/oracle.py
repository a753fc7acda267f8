"""Max-min fair rates of simultaneous messages, fast enough for thousands of generated networks.

Progressive filling (Bertsekas and Gallager, Data Networks, section 6.5.2), many bottlenecks at a time: a
capacity is a bottleneck if every message that passes it finds no smaller share on its route.
tests/integration/test_locate.py compares it with the core's simulator.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.truth.noise import Floats, Integers, Noise


def fair_rates(ways: Integers, capacities: Floats) -> Floats:
    """Returns rates in the unit of `capacities`. `ways`: [message, step] indices of capacities; -1: none."""
    none = len(capacities)
    left = np.append(capacities, np.inf)
    uses = np.where(ways < 0, none, ways)
    rates = np.zeros(len(uses))
    open_ = np.arange(len(uses))
    while len(open_):
        rows = uses[open_]
        counts = np.bincount(rows.ravel(), minlength=none + 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(counts > 0, left / counts, np.inf)
        share[none] = np.inf
        smallest = share[rows].min(axis=1)
        worst = np.full(none + 1, np.inf)
        np.minimum.at(worst, rows.ravel(), np.repeat(smallest, rows.shape[1]))
        bottleneck = share <= worst * (1 + 1e-12)
        fixed = bottleneck[rows] & (share[rows] <= smallest[:, None] * (1 + 1e-12))
        done = fixed.any(axis=1)
        rates[open_[done]] = smallest[done]
        np.subtract.at(left, rows[done].ravel(), np.repeat(smallest[done], rows.shape[1]))
        left = np.maximum(left, 0)
        left[none] = np.inf
        open_ = open_[~done]
    return rates


def measure(
    ways: Integers, capacities: Floats, phases: Sequence[Sequence[tuple[int, int]]],
    noise: float | Noise, random: np.random.Generator,
) -> Floats:  # fmt: skip
    """Returns the rates of all phases' routes, concatenated, each times an error: log-normal with standard
    deviation `noise`, or from its model. `ways`: [source, destination, step]."""
    found = []
    for routes in phases:
        ends = np.array(routes, np.int64).reshape(-1, 2)
        rates = fair_rates(ways[ends[:, 0], ends[:, 1]], capacities)
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
