"""Which ranks are near each other, from the latency of a network that is as good as idle.

Short messages hardly load anything, so all ranks may send one at once, and what a message takes is its way:
each switch adds its latency, and a host that forwards adds more (Salmon, Stein and Sterling, SC98, section 3:
19 to 30 us for a switch, about 75 us for a host). Ranks of one switch are the nearest; the model that tells
groups is the same as for rates, with `far` in place of `slow`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from crosscut.analysis.stats.intervals import Floats
from crosscut.analysis.structure import grouping
from crosscut.analysis.structure.grouping import Grouping
from crosscut.analysis.structure.observed import Integers, Observed, Route
from crosscut.analysis.structure.tallies import ALL, SLOW, RouteCounts
from crosscut.analysis.structure.unshared import SMALLEST_NOISE, unshared

# Share of routes within a group that may be far: a late message, not another switch.
_FAR_WITHIN_AT_MOST = 0.1
# Probability that chance alone makes so many routes within any group far.
_BY_CHANCE = 1e-4
# Every rank surely in its group.
SURE = 0.99
# Share of routes that are far: with less there is nothing to part.
_HARDLY_ANY_FAR = 0.1
# Two heaps for one: log likelihood gained, and standard deviations between them.
_GAIN, _APART = 10.0, 2.5
# Standard deviations between heaps below which so many routes are taken for the other kind that a rank's
# place takes many times as many of them.
_CLEARLY_APART = 4.0
# Standard deviations between heaps above which noise makes no far route look near: half of them is beyond
# what one message of a million reaches.
_SURELY_APART = 10.0
# Where the nearer heap may begin, as quantiles: among a hundred switches one route in a hundred is near.
_STARTS = (0.95, 0.99, 0.999)
_STEPS = 60
# Messages of each rank that are asked before anything is known.
_AT_RANDOM = 4
_MOST_CUTS, _FEWEST_TO_CUT = 3, 20
_SMALLEST = 1e-300
# More than any number of tests.
_LAST = 1e9


@dataclass(frozen=True)
class Nearness:
    grouping: Grouping
    sure: bool
    """Ranks of a group are near, all others far, and no rank might as well be elsewhere."""
    hopeless: bool
    """Hardly any route is far: more of them would tell nothing."""
    fragments: Integers
    """[rank] as much as is known to be together; more may be."""
    blurred: bool
    """No two heaps of latencies are so far apart that the noise leaves them two."""
    near_share: float
    """Share of the first messages, whose partners are random: about one over the number of groups."""


def nearness(idle: Observed) -> Nearness:
    """`idle`: short messages, their `rate` one over the seconds that each took. Latencies may have several
    levels; of the cuts between them the one is taken that tells groups best."""
    logs = np.log(idle.rate)
    alone = unshared(idle)
    heaps = _cuts(logs)
    cuts = [(float(np.log(alone.nominal)) + alone.threshold, 0.0), *heaps]
    # Which part messages alike are one.
    by_far = {int((logs < cut).sum()): (cut, apart) for cut, apart in cuts}
    told = [_told(idle, logs < cut, apart) for far, (cut, apart) in by_far.items() if far]
    best = max(told, key=lambda pair: pair[0])[1] if told else _told(idle, logs < -np.inf, 0.0)[1]
    return replace(best, blurred=max((apart for _, apart in heaps), default=0.0) < _CLEARLY_APART)


def wider(idle: Observed, labels: Integers) -> Grouping | None:
    """Groups of these groups, by the next level of latency, as rows of racks; None where none is told.
    `labels`: [rank] its group."""
    ends = labels[idle.source], labels[idle.destination]
    across, logs = ends[0] != ends[1], np.log(idle.rate)
    cut, _ = _cut(logs[across]) if across.sum() >= _FEWEST_TO_CUT else (-np.inf, 0.0)
    near, count = across & (logs > cut), int(labels.max()) + 1
    asked, close = (np.zeros((count, count), np.int64) for _ in range(2))
    np.add.at(asked, ends, across)
    np.add.at(close, ends, near)
    together = np.stack(np.nonzero(2 * (close + close.T) > asked + asked.T))
    of_group = _components(count, together[0], together[1])
    joined = of_group[labels]
    within = across & (joined[idle.source] == joined[idle.destination])
    if len(np.unique(of_group)) in (1, count) or not within.any():
        return None
    wrong = float((~near[within]).mean()), float(near[across & ~within].mean())
    if max(wrong) >= _FAR_WITHIN_AT_MOST:
        return None
    return grouping.given(RouteCounts.of(idle, logs < cut), joined)


def _told(idle: Observed, far: NDArray[np.bool_], apart: float) -> tuple[tuple[bool, float], Nearness]:
    """How much to be preferred, and what was told: groups that are sure, of those the fewest (hosts with a
    wire of their own are nearer still than those of a switch); else the likeliest. `apart`: standard
    deviations between near and far."""
    routes = RouteCounts.of(idle, far)
    clear = apart > _SURELY_APART
    found = _parted(routes, grouping.given(routes, _connected(routes)) if clear else grouping.group(routes))
    within = grouping.slow_within(routes, found.labels)
    smallest = int(np.bincount(found.labels).min())
    sure = found.count > 1 and smallest > 1 and within <= _FAR_WITHIN_AT_MOST
    sure = bool(sure and found.confidence.min() > SURE and (not clear or _all_pairs_asked(routes, found)))
    sure = sure and not len(_mixed(routes, found))
    fragments = found.labels if found.count > 1 else _connected(routes)
    hopeless = bool(far.mean() < _HARDLY_ANY_FAR)
    near_share = 1 - float(far[: _AT_RANDOM * idle.ranks].mean())
    of_cut = Nearness(found, sure, hopeless, fragments, blurred=False, near_share=near_share)
    return (sure, -found.count if sure else found.gain), of_cut


def _parted(routes: RouteCounts, found: Grouping) -> Grouping:
    """With each mixed group parted by itself: one message that seems near joins two groups, and among many
    ranks the likelihood of all of them may make one group of two small ones."""
    labels = found.labels.copy()
    for group in _mixed(routes, found).tolist():
        members = np.nonzero(found.labels == group)[0]
        parts = grouping.group(routes.among(members)).labels
        labels[members[parts > 0]] = labels.max() + parts[parts > 0]
    if (labels == found.labels).all():
        return found
    return grouping.given(routes, grouping.renumbered(labels))


def _mixed(routes: RouteCounts, found: Grouping) -> Integers:
    """Groups within which more routes are far than chance allows, by the share within the others (Chernoff's
    bound of the binomial tail)."""
    far, asked = (np.diag(counts).astype(np.float64) for counts in routes.between(found.labels, found.count))
    elsewhere = (far.sum() - far + 1) / (asked.sum() - asked + 2)
    share = np.clip(far / np.maximum(asked, 1), 1e-9, 1 - 1e-9)
    divergence = share * np.log(share / elsewhere) + (1 - share) * np.log((1 - share) / (1 - elsewhere))
    by_chance = np.exp(-asked * divergence) * found.count
    return np.nonzero((share > elsewhere) & (by_chance < _BY_CHANCE))[0].astype(np.int64)


def _cuts(logs: Floats) -> list[tuple[float, float]]:
    """Between the two heaps of all, then of what is above that, and so on; each with how many standard
    deviations are between them."""
    found: list[tuple[float, float]] = []
    while len(found) < _MOST_CUTS and len(logs) >= _FEWEST_TO_CUT:
        cut, apart = _cut(logs)
        if not np.isfinite(cut):
            break
        found.append((cut, apart))
        logs = logs[logs > cut]
    return found


def _cut(logs: Floats) -> tuple[float, float]:
    """Between the two heaps that logarithms make, by two normal distributions of one width
    (expectation maximisation); below everything where one describes the logarithms as well. And how many
    standard deviations are between them."""
    tried = (_two_heaps(logs, float(np.quantile(logs, at))) for at in _STARTS)
    likelihood, share, near, far, noise = max(tried)
    whole = max(float(logs.std()), SMALLEST_NOISE)
    one = float((-0.5 * ((logs - logs.mean()) / whole) ** 2 - np.log(whole)).sum())
    if likelihood - one < _GAIN or near - far < _APART * noise:
        return -np.inf, 0.0
    cut = (near + far) / 2 + noise**2 * float(np.log((1 - share) / share)) / (near - far)
    return cut, (near - far) / noise


def _two_heaps(logs: Floats, near: float) -> tuple[float, float, float, float, float]:
    """Log likelihood, share of the nearer heap, both centres, and their standard deviation."""
    far = float(np.quantile(logs, 0.4))
    noise, share = max(float(logs.std()) / 2, SMALLEST_NOISE), 0.2
    likelihood = -np.inf
    for _ in range(_STEPS):
        bells = [
            weight * np.exp(-0.5 * ((logs - centre) / noise) ** 2)
            for weight, centre in ((share, near), (1 - share, far))
        ]
        both = bells[0] + bells[1] + _SMALLEST
        likelihood = float(np.log(both / noise).sum())
        mine = bells[0] / both
        share = min(max(float(mine.mean()), 0.001), 0.99)
        near = float((mine * logs).sum() / (mine.sum() + _SMALLEST))
        far = float(((1 - mine) * logs).sum() / ((1 - mine).sum() + _SMALLEST))
        spread = mine * (logs - near) ** 2 + (1 - mine) * (logs - far) ** 2
        noise = max(float(np.sqrt(spread.mean())), SMALLEST_NOISE)
    return likelihood, share, near, far, noise


def phases(
    idle: Observed, fragments: Integers, count: int, random: np.random.Generator, *, within: bool = True
) -> list[list[Route]]:
    """Where ranks that may yet be together are asked first: each sends to a fragment that its own was least
    held against. Tests that all find two apart are worth one, so classes show after hardly more rounds than
    there are (parallel sorting into equivalence classes: Devanny, Goodrich and Jetviroj, SPAA 2016). Not
    `within`: none asks its own fragment, unless nobody else is left."""
    groups = int(fragments.max()) + 1
    tests = RouteCounts.of(idle, np.zeros(len(idle), bool)).between(fragments, groups)[ALL]
    tests = (tests + tests.T).astype(np.float64)
    size = np.bincount(fragments)
    # Single ranks have nothing within; within groups each rank's place is seen.
    inner = tests[np.diag_indices(groups)] + size if within else np.full(groups, _LAST)
    found = []
    for number in range(count):
        tests[np.diag_indices(groups)] = -1 if within and number % 2 and groups < idle.ranks else inner
        routes, free = [], np.ones(idle.ranks, bool)
        for source in random.permutation(idle.ranks).tolist():
            asked = tests[fragments[source]][fragments] + 0.5 * random.random(idle.ranks)
            asked[~free] = np.inf
            asked[source] = np.inf
            destination = int(np.argmin(asked))
            if not np.isfinite(asked[destination]):
                continue
            free[destination] = False
            routes.append((source, destination))
            if fragments[source] != fragments[destination]:
                tests[fragments[source], fragments[destination]] += 1
                tests[fragments[destination], fragments[source]] += 1
        found.append(routes)
    return found


def _all_pairs_asked(routes: RouteCounts, found: Grouping) -> bool:
    """Two groups that were never asked about each other may be one."""
    asked = routes.between(found.labels, found.count)[ALL]
    return bool((asked + asked.T + np.eye(found.count, dtype=np.int64) > 0).all())


def _connected(routes: RouteCounts) -> Integers:
    """Labels of what is joined by routes that were near at least once."""
    near = routes.counts[ALL] > routes.counts[SLOW]
    return _components(routes.ranks, routes.source[near], routes.destination[near])


def _components(count: int, source: Integers, destination: Integers) -> Integers:
    """[of `count`] label of all that these pairs join."""
    labels = np.arange(count)
    while True:
        least = labels.copy()
        np.minimum.at(least, source, labels[destination])
        np.minimum.at(least, destination, labels[source])
        if (least == labels).all():
            return grouping.renumbered(labels)
        labels = least
