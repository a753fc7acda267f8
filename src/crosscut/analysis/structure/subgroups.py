"""Finds limits within groups that all hosts of a part share, such as a switching chip's.

If all hosts are slow, the parts show only if different hosts of a group send in different phases. The rates
of hosts on one chip then vary together. Random senders load all chips about equally, so differences are
small. Once there is a guess, all hosts of one chip send, and so few of the others that they are fast: a host
in the wrong part then stands out.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from crosscut.analysis.stats.intervals import Floats
from crosscut.analysis.structure import limits
from crosscut.analysis.structure.model import Group, Limit
from crosscut.analysis.structure.observed import Integers, Observed, Route
from crosscut.analysis.structure.totals import ALIKE, Capacity, while_full
from crosscut.analysis.structure.unshared import Unshared

MOST_PARTS = 6
_RESTARTS = 8
_SWEEPS = 20
# Share of slow messages that limits of parts must explain.
SMALLEST_SHARE = 0.5
# Additional share of slow messages that another part must explain.
WORTH_A_PART = 0.05
# Share of phases in which a limit of all hosts must have been full.
_NEARLY_ALL = 0.8
# Hosts surely fill a limit if they can send this many times its capacity.
_ENOUGH = 1.1
# Shares of hosts that send, in turns: of a group; of the others while a whole part sends.
_SHARES, _SHARES_OF_OTHERS = (0.5, 0.6, 0.7, 0.8), (0.4, 0.6, 0.5)


def some(groups: Sequence[Sequence[int]], turn: int, random: np.random.Generator) -> list[Route]:
    """Returns a phase in which random hosts of each group send; used without a guess."""
    return permutation(groups, _SHARES[turn % len(_SHARES)], random)


@dataclass(frozen=True)
class Within:
    """Parts of groups, and the limits they share."""

    groups: tuple[Group, ...]
    limits: tuple[Limit, ...]


def permutation(groups: Sequence[Sequence[int]], share: float, random: np.random.Generator) -> list[Route]:
    """Returns a phase in which a random `share` of each group sends, each host to another of them."""
    routes: list[Route] = []
    for group in groups:
        count = max(2, round(share * len(group)))
        active = random.permutation(np.array(group))[:count].tolist()
        routes += [(active[i], active[(i + 1) % count]) for i in range(count)]
    return routes


def leaning(
    groups: Sequence[Sequence[int]], guess: Integers, turn: int, random: np.random.Generator
) -> list[Route]:
    """Returns a phase in which one whole guessed part of each group sends, with some of the other hosts.

    They send to each other. `guess`: [rank] part within its group; -1: none. Groups with fewer than two
    guessed parts send at random.
    """
    routes: list[Route] = []
    for group in groups:
        members = np.array(group)
        of = guess[members]
        count = int(of.max()) + 1
        if count < 2:
            routes += some([group], turn, random)
            continue
        whole = members[of == turn % count]
        others = random.permutation(members[of != turn % count])
        share = _SHARES_OF_OTHERS[turn // count % len(_SHARES_OF_OTHERS)]
        active = random.permutation(np.concatenate([whole, others[: round(share * len(others))]])).tolist()
        if len(active) > 1:
            routes += [(active[i], active[(i + 1) % len(active)]) for i in range(len(active))]
    return routes


def guessed(within: Observed, alone: Unshared, labels: Integers) -> Integers:
    """Returns [rank] its part within its group, by the division that explains most so far.

    If none explains anything, divides in two by similarity alone: phases in which one of these parts sends
    show whether all share one limit. -1: its group was not examined.
    """
    guess = np.full(within.ranks, -1)
    for _, members, mine in _looked_into(within, labels):
        found = _divided(mine, alone, members)
        guess[members] = (
            _refined(mine, members, _clusters(_spectrum(mine, members), 2)) if found is None else found[0]
        )
    return guess


def parts(within: Observed, alone: Unshared, labels: Integers) -> Within:
    """Returns the parts, and their limits, of every group that was examined."""
    groups: list[Group] = []
    shared: list[Limit] = []
    for number, members, mine in _looked_into(within, labels):
        found = _parts_of(mine, alone, members)
        if found is None:
            continue
        part_labels, explained = found
        count = int(part_labels.max()) + 1
        names = [f"group{number}.{part}" for part in range(count)] if count > 1 else [f"group{number}"]
        groups += [
            Group(name, tuple(members[part_labels == part].tolist())) for part, name in enumerate(names)
        ]
        shared += [c.of(tuple(names[g] for g in c.groups)) for c in explained.capacities]
    return Within(tuple(groups), tuple(shared))


def _looked_into(within: Observed, labels: Integers) -> Iterator[tuple[int, Integers, Observed]]:
    """Yields number, ranks and messages of each group that was examined."""
    for number in np.unique(labels[within.source]).tolist():
        members = np.nonzero(labels == number)[0]
        yield number, members, within.where(np.isin(within.source, members))


def of_everybody(seen: Observed, alone: Unshared) -> Within | None:
    """Returns the limit that all share, if there is one.

    All traffic must then have the same total in nearly every phase, however unevenly it is shared. `alone`:
    rates of hosts that share nothing.
    """
    found = limits.explain_own(seen, alone, np.zeros(seen.ranks, np.int64))
    full = [one for one in found.capacities if len(one.phases) >= _NEARLY_ALL * seen.phases]
    return as_whole(seen.ranks, full) if full else None


def is_full_of_parts_too(everybody: Within, seen: Observed, nominal: float) -> bool:
    """Returns True if the total stays the same when only some hosts send.

    Considers phases whose hosts could fill the limit at `nominal` bytes per second each. With several
    separate limits, some would be idle, and the total would be smaller.
    """
    capacity = everybody.limits[0].bytes_per_second
    phase = np.unique(seen.phase, return_inverse=True)[1]
    able = np.nonzero(np.bincount(phase) * nominal > _ENOUGH * capacity)[0]
    carried = while_full(seen.rate, phase, nominal)[able]
    near = np.abs(np.log(carried / capacity)) < ALIKE
    return len(able) > 0 and float(near.mean()) >= _NEARLY_ALL


def as_whole(ranks: int, capacities: Sequence[Capacity]) -> Within:
    """Returns the capacities as limits of one group of all ranks."""
    whole = Group("group0", tuple(range(ranks)))
    return Within((whole,), tuple(capacity.of((whole.name,)) for capacity in capacities))


def _parts_of(mine: Observed, alone: Unshared, members: Integers) -> tuple[Integers, limits.Explained] | None:
    """Returns [member] labels of the division whose limits explain most; None if they explain little.

    There is one part if a limit that all share explains as much.
    """
    whole = np.zeros(len(members), np.int64)
    of_all = limits.explain_own(mine, alone, np.zeros(mine.ranks, np.int64))
    found = _divided(mine, alone, members)
    least = max(SMALLEST_SHARE, of_all.share + WORTH_A_PART)
    if found is not None and found[1].share > least:
        return found
    return (whole, of_all) if of_all.share > SMALLEST_SHARE else None


def _divided(mine: Observed, alone: Unshared, members: Integers) -> tuple[Integers, limits.Explained] | None:
    """Divides members in two or more parts; None if limits of parts explain nothing in any division."""
    spectrum = _spectrum(mine, members)
    best: tuple[Integers, limits.Explained] | None = None
    everybody = np.zeros(mine.ranks, np.int64)

    def explained_by(labels: Integers) -> limits.Explained:
        everybody[members] = labels
        return limits.explain_own(mine, alone, everybody)

    for count in range(2, min(MOST_PARTS, len(members) // 3) + 1):
        labels = _refined(mine, members, _clusters(spectrum, count))
        explained = explained_by(labels)
        enough = 0.0 if best is None else best[1].share + WORTH_A_PART
        if explained.share > enough:
            best = _fewest(labels, explained, explained_by)
    return best


def _refined(mine: Observed, members: Integers, labels: Integers) -> Integers:
    """Moves each member to the part where its rates fit best, until none moves.

    A message is as fast as the slower of two rates in its phase: that of the senders in its source's part,
    and that of the receivers in its destination's. Unlike similarity, which compares pairs of hosts, this
    uses every message. With even one host in the wrong part, no total is constant.
    """
    index = np.full(mine.ranks, -1)
    index[members] = np.arange(len(members))
    source, destination = index[mine.source], index[mine.destination]
    phase, logs = np.unique(mine.phase, return_inverse=True)[1], np.log(mine.rate)
    count = int(labels.max()) + 1
    for _ in range(_SWEEPS):
        sent, received = _tops_of_parts(phase, labels[source], labels[destination], logs, count)
        cost = np.zeros((len(members), count))
        as_sender = np.minimum(sent[phase], received[phase, labels[destination]][:, None])
        as_receiver = np.minimum(received[phase], sent[phase, labels[source]][:, None])
        np.add.at(cost, source, (logs[:, None] - as_sender) ** 2)
        np.add.at(cost, destination, (logs[:, None] - as_receiver) ** 2)
        moved = cost.argmin(axis=1)
        if (moved == labels).all() or len(np.unique(moved)) < count:
            break
        labels = moved
    return _renumbered(labels)


def _tops_of_parts(
    phase: Integers, sender: Integers, receiver: Integers, logs: Floats, count: int
) -> tuple[Floats, Floats]:
    """Returns [phase, part] the log rates that the senders, and the receivers, of a part reach.

    This is the largest mean towards, or from, any part; inf (no limit) without messages.
    """
    cells = (int(phase.max()) + 1, count, count)
    at = np.ravel_multi_index((phase, sender, receiver), cells)
    size = int(np.prod(cells))
    number = np.bincount(at, minlength=size)
    total = np.bincount(at, weights=logs, minlength=size)
    mean = np.where(number > 0, total / np.maximum(number, 1), -np.inf).reshape(cells)
    sent, received = mean.max(axis=2), mean.max(axis=1)
    return np.where(np.isfinite(sent), sent, np.inf), np.where(np.isfinite(received), received, np.inf)


def _fewest(
    labels: Integers, explained: limits.Explained, explained_by: Callable[[Integers], limits.Explained]
) -> tuple[Integers, limits.Explained]:
    """Joins parts while they explain about as much: clustering may have cut a chip in two."""
    while (count := int(labels.max()) + 1) > 2:
        joined = [
            _renumbered(np.where(labels == other, one, labels))
            for one, other in itertools.combinations(range(count), 2)
        ]
        least = max(((explained_by(each), each) for each in joined), key=lambda pair: pair[0].share)
        if least[0].share < explained.share - WORTH_A_PART:
            break
        explained, labels = least
    return labels, explained


def _spectrum(mine: Observed, members: Integers) -> tuple[Floats, Floats]:
    """Returns ascending eigenvalues, and eigenvectors, of the members' similarity [member, member].

    Similarity is the covariance of the log rates at which two members sent, or received, in phases in which
    both did.
    """
    index = np.full(mine.ranks, -1)
    index[members] = np.arange(len(members))
    numbers, phase = np.unique(mine.phase, return_inverse=True)
    total, count = np.zeros((len(members),) * 2), np.zeros((len(members),) * 2)
    for ends in (mine.source, mine.destination):
        rates = np.full((len(numbers), len(members)), np.nan)
        rates[phase, index[ends]] = np.log(mine.rate)
        with np.errstate(invalid="ignore"):
            rates -= np.nanmean(rates, axis=1, keepdims=True)
        there = np.isfinite(rates).astype(float)
        rates = np.nan_to_num(rates)
        total += rates.T @ rates
        count += there.T @ there
    likeness = np.where(count > 0, total / np.maximum(count, 1), 0.0)
    # A host's similarity to itself says nothing, and would outweigh the others.
    np.fill_diagonal(likeness, 0.0)
    values, vectors = np.linalg.eigh(likeness)
    return values, vectors


def _clusters(spectrum: tuple[Floats, Floats], count: int) -> Integers:
    """Returns [member] labels of `count` clusters by spectral clustering.

    Applies k-means to the leading eigenvectors, from several starts (Lloyd, IEEE Trans. Information Theory
    28, 1982; k-means++ of Arthur and Vassilvitskii, SODA 2007).
    """
    values, vectors = spectrum
    points = vectors[:, -(count - 1) :] * np.sqrt(np.maximum(values[-(count - 1) :], 1e-12))
    random = np.random.default_rng(count)
    best, best_cost = np.zeros(len(points), np.int64), np.inf
    for _ in range(_RESTARTS):
        centres = points[[int(random.integers(len(points)))]]
        while len(centres) < count:
            distance = ((points[:, None] - centres[None]) ** 2).sum(2).min(1)
            weights = distance / distance.sum() if distance.sum() > 0 else None
            centres = np.vstack([centres, points[random.choice(len(points), p=weights)]])
        labels = np.full(len(points), -1)
        for _ in range(_SWEEPS):
            before, labels = labels, ((points[:, None] - centres[None]) ** 2).sum(2).argmin(1)
            if (labels == before).all():
                break
            centres = np.array([
                points[labels == k].mean(0) if (labels == k).any() else centres[k] for k in range(count)
            ])  # fmt: skip
        cost = float(((points - centres[labels]) ** 2).sum())
        if cost < best_cost:
            best, best_cost = labels.astype(np.int64), cost
    return _renumbered(best)


def _renumbered(labels: Integers) -> Integers:
    return np.asarray(np.unique(labels, return_inverse=True)[1], np.int64)
