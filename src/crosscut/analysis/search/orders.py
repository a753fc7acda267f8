"""The orders in which everybody sends: permutations at random, or by the ranks' numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.random import Generator

from crosscut.analysis.search import thresholds
from crosscut.analysis.search.rare_limits import Slow, completed, pairs_of
from crosscut.analysis.search.state import Phase, State
from crosscut.analysis.structure import idle
from crosscut.analysis.structure.observed import Integers, Route


def permutations(
    state: State, count: int, random: Generator, groups: Integers | None = None
) -> tuple[list[Phase], State]:
    """The next `count` permutations. `groups`: [rank] as far as known; then in every second permutation ranks
    send where it is open if they are together: groups taken for one would never be asked within."""
    distances, phases = list(state.distances), []
    for number in range(count):
        if number % 2 and groups is not None:
            phases += idle.phases(state.full, groups, 1, random, within=False)[:1]
        elif state.by_number:
            phases.append(nearly_in_order(state.ranks, distances.pop(), random))
        else:
            receivers = np.roll(state.order, -distances.pop())
            phases.append(list(zip(state.order.tolist(), receivers.tolist(), strict=True)))
    return phases, replace(state, distances=tuple(distances))


def in_order(ranks: int, count: int) -> list[Phase]:
    """Each rank sends to the one half of all ranks further, a quarter, and so on: mostly hosts are numbered
    as they hang on the network, and then whole groups send to one other."""
    distances = [distance for power in range(1, count + 1) if (distance := ranks >> power) > 0]
    return [[(rank, (rank + distance) % ranks) for rank in range(ranks)] for distance in distances]


def nearly_in_order(ranks: int, distance: int, random: Generator) -> list[Route]:
    """At that distance, but shuffled within an eighth of the ranks: whole groups still send to one other. In
    strict order the ends of groups look like groups of their own."""
    width = max(1, ranks // thresholds.WINDOWS)
    receivers = (np.arange(ranks) + distance) % ranks
    order = [random.permutation(receivers[at : at + width]) for at in range(0, ranks, width)]
    return completed(pairs_of(np.arange(ranks), np.concatenate(order)), ranks, random)


def numbered_so(slow: Slow, ordered: Slow) -> bool:
    """True if messages in the order of the ranks' numbers (`ordered`) are slow far more often than others."""
    if not ordered.any() or ordered.all():
        return False
    return bool(
        slow[ordered].mean() > thresholds.MORE_IN_ORDER + thresholds.TIMES_IN_ORDER * slow[~ordered].mean()
    )
