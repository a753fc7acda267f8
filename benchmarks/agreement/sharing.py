"""Finds the routes of a phase that get the same rate under every fair way to share their links.

Max-min sharing, which the simulator computes, is one of a family of notions of fairness (Mo and Walrand
2000: alpha-fair, from proportional at 1 to max-min at infinity). TCP is nearer to 1 or 2 (Kelly, Maulloo, Tan
1998; Massoulié and Roberts 2002), and gives less to routes that pass several full links. An allocation x is
alpha-fair if every full capacity has a price p >= 0 such that the prices along route i add up to x_i^-alpha.
If all routes that full capacities tie together have the same rate, the condition is the same for every
alpha: there are prices with the same sum along each of these routes. Only then need a fluid model not know
how TCP shares.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

SAME = 1e-6
STEPS = 2000
NEAR = 0.01
"""Tolerance of a price sum; without prices errors are larger, as routes differ by whole capacities."""

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Tied:
    """Routes of one phase that full capacities tie together."""

    routes: NDArray[np.int64]
    """Indices among the phase's routes."""
    bytes_per_second: float
    """The rate of each."""


def max_min(passes: Flags, capacity: Floats) -> tuple[Floats, Flags]:
    """Returns the rates [route], and which capacities are full, by progressive filling (Bertsekas and
    Gallager 1992, section 6.5.2). `passes` [route, capacity]; every route must pass a finite one."""
    rates = np.zeros(len(passes))
    growing = np.ones(len(passes), bool)
    full = np.zeros(len(capacity), bool)
    while growing.any():
        flows = passes[growing].sum(axis=0)
        left = capacity - rates @ passes
        step = np.min(np.where(flows > 0, left / np.maximum(flows, 1), np.inf))
        rates[growing] += step
        full |= (flows > 0) & (capacity - rates @ passes <= SAME * capacity)
        growing &= ~(passes & full).any(axis=1)
    return rates, full


def fairly_shared(passes: Flags, capacity: Floats) -> list[Tied]:
    """Returns the ties of one phase whose routes have the same rate under every notion of fairness."""
    rates, full = max_min(passes, capacity)
    through = passes[:, full]
    found = []
    for routes in _ties(through):
        first = rates[routes[0]]
        if np.ptp(rates[routes]) <= SAME * first and _has_prices(through[routes]):
            found.append(Tied(routes, float(first)))
    return found


def carried(rates: Floats, alone: float) -> float:
    """Returns the bytes per second that a full capacity carries, from the rates [route] of the messages that
    pass it, all of one size and started at once. `alone`: the rate of a route that shares nothing.

    However unevenly it is shared, the capacity stays full until too few routes are left to fill it: with k
    left it carries the minimum of its capacity C and k times `alone`. As routes end at 1 / rate, that is one
    equation for C.
    """
    ends = np.sort(1 / rates)
    lasted = np.diff(ends, prepend=0)
    most = alone * np.arange(len(ends), 0, -1)
    if np.sum(most * lasted) <= len(ends):
        return float(most[0])
    # The bytes carried grow with C, linearly between the values of `most`.
    corners = np.concatenate([[0], most[::-1]])
    bytes_by = np.minimum(corners[:, np.newaxis], most) @ lasted
    return float(np.interp(len(ends), bytes_by, corners))


def full_alone(passes: Flags, capacity: Floats, tie: Tied) -> list[NDArray[np.int64]]:
    """Returns the routes of each capacity that the tie's routes fill by themselves."""
    found = []
    for column, limit in zip(passes.T, capacity.tolist(), strict=True):
        routes = np.nonzero(column)[0]
        fill = len(routes) * tie.bytes_per_second >= (1 - SAME) * limit
        if fill and np.isin(routes, tie.routes).all():
            found.append(routes)
    return found


def _ties(through: Flags) -> list[NDArray[np.int64]]:
    """Returns the connected components of routes that share capacities."""
    label = np.arange(len(through))
    for column in through.T:
        label[np.isin(label, label[column])] = label[column].min(initial=len(label))
    return [np.nonzero(label == one)[0] for one in np.unique(label)]


def _has_prices(through: Flags) -> bool:
    """True if prices exist whose sum is 1 along each route; `through` [route, full capacity].

    Non-negative least squares by multiplicative updates (Lee and Seung 2000, theorem 1).
    """
    weights = through.astype(float)
    prices = np.ones(through.shape[1])
    for _ in range(STEPS):
        prices *= weights.sum(axis=0) / np.maximum(weights.T @ (weights @ prices), np.finfo(float).tiny)
        if np.max(np.abs(weights @ prices - 1)) < NEAR:
            return True
    return False


def passed(routes: Sequence[Sequence[tuple[str, float]]]) -> tuple[Flags, Floats]:
    """Returns which route passes which capacity, [route, capacity], and the capacities; leaves out infinite
    ones. `routes`: name and rate of the capacities along each."""
    names = sorted({entry for route in routes for entry in route if np.isfinite(entry[1])})
    number = {entry: place for place, entry in enumerate(names)}
    passes = np.zeros((len(routes), len(names)), bool)
    for place, route in enumerate(routes):
        passes[place, [number[entry] for entry in route if entry in number]] = True
    return passes, np.array([rate for _, rate in names])
