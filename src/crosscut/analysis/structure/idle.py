"""Finds which ranks are near each other, from latencies of a practically idle network.

Short messages hardly load the network, so all ranks may send one at once, and the time of a message depends
on its path: each switch adds its latency, and a host that forwards adds more (Salmon, Stein and Sterling,
SC98, section 3: 19 to 30 us for a switch, about 75 us for a host). Ranks on one switch are nearest. The model
that finds groups is the same as for rates, with `far` in place of `slow`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from crosscut.analysis.stats.intervals import Floats
from crosscut.analysis.structure import grouping
from crosscut.analysis.structure.grouping import Grouping
from crosscut.analysis.structure.observed import Integers, Observed, Route
from crosscut.analysis.structure.tallies import ALL, SLOW, RouteCounts
from crosscut.analysis.structure.unshared import unshared
from crosscut.analysis.structure.upper_mode import SMALLEST_NOISE

# Share of routes within a group that late messages, not switches, may make far.
_FAR_WITHIN_AT_MOST = 0.1
# Probability that chance alone makes so many routes within any group far.
_BY_CHANCE = 1e-4
# Least probability of each rank's group.
SURE = 0.99
# With a smaller share of far routes, there is nothing to divide.
_HARDLY_ANY_FAR = 0.1
# Two clusters replace one if that gains this much log likelihood and this many standard deviations part them.
_GAIN, _APART = 10.0, 2.5
# With fewer standard deviations between clusters, so many routes are misclassified that placing a rank needs
# many times more of them.
_CLEARLY_APART = 4.0
# With more standard deviations between clusters, noise makes no far route look near: fewer than one message
# in a million deviates by half of this.
_SURELY_APART = 10.0
# First guesses at the two clusters, as quantiles: with a hundred switches, one route in a hundred is near.
_STARTS = ((0.4, 0.95), (0.4, 0.99), (0.4, 0.999))
_STARTS_OF_MANY = (*_STARTS, (0.05, 0.95))
# Share of short messages that a busy processor may delay by far more than any switch does.
_STRAYS = 0.02
_STEPS, _LEAST_GAIN = 60, 1e-3  # steps at most; a smaller gain of log likelihood ends them
# Messages of each rank with random partners, before anything is known.
_AT_RANDOM = 4
_MOST_CUTS, _FEWEST_TO_CUT = 3, 20
_FEWEST_FOR_GAP = 6  # pairs of groups: one near pair among three groups is no level
# Values of which clusters surely apart are found; how often each cluster is divided.
_MOST_VALUES, _MOST_DIVISIONS = 20_000, 4
# With more ranks, groups come from clusters that are surely apart, if there are any; with more than the
# second number, only from these: others take cubic time.
_FEW_RANKS, _MOST_RANKS = 256, 1024
_SMALLEST = 1e-300
# Larger than any number of tests.
_LAST = 1e9


@dataclass(frozen=True)
class Nearness:
    grouping: Grouping
    sure: bool
    """True if ranks of a group are near, all others far, and the group of each rank is certain."""
    hopeless: bool
    """True if hardly any route is far: more routes would reveal nothing."""
    fragments: Integers
    """[rank] its fragment: a part of a group that is known to belong together."""
    blurred: bool
    """True if noise blurs the latencies: no two clusters are clearly apart."""
    near_share: float
    """Share of near messages among the first, which have random partners: about 1 / number of groups."""
    inwards: bool = False
    """True if groups within these may become sure; `fragments` and `near_share` are theirs."""


def nearness(idle: Observed) -> Nearness:
    """Evaluates short messages (`rate`: 1 / seconds of each).

    Latencies may have several levels; uses the cut that separates groups best.
    """
    logs = np.log(idle.rate)
    clear = _clear_cuts(logs) if idle.ranks > _FEW_RANKS else []
    if clear or idle.ranks > _MOST_RANKS:
        return _nearness_of_many(idle, logs, clear)
    alone = unshared(idle)
    heaps = _cuts(logs)
    cuts = [(float(np.log(alone.nominal)) + alone.threshold, 0.0), *heaps]
    # Cuts that divide the messages in the same way are tried only once.
    by_far = {int((logs < cut).sum()): (cut, apart) for cut, apart in cuts}
    told = [
        _told(idle, logs < cut, clear=apart > _SURELY_APART) for far, (cut, apart) in by_far.items() if far
    ]
    best = _best(told or [_told(idle, logs < -np.inf, clear=False)])
    return replace(best, blurred=max((apart for _, apart in heaps), default=0.0) < _CLEARLY_APART)


def _best(told: list[tuple[float, Nearness]]) -> Nearness:
    return max(told, key=lambda pair: (pair[1].sure, not pair[1].hopeless, pair[0]))[1]


def _nearness_of_many(idle: Observed, logs: Floats, cuts: Sequence[float]) -> Nearness:
    """Evaluates only levels that are surely apart: other groupings take time cubic in the ranks.

    `cuts`: between neighbouring levels, from the widest groups inwards.
    """
    told: list[tuple[float, Nearness]] = []
    for cut in cuts:
        within = next((one.grouping.labels for _, one in reversed(told) if one.sure), None)
        told.append(_told(idle, logs < cut, clear=True, within=within))
    if not told:
        alone = np.arange(idle.ranks)
        return Nearness(grouping.of_one(idle.ranks), False, False, alone, blurred=True, near_share=0.0)
    return _innermost([one for _, one in told]) if any(one.sure for _, one in told) else _best(told)


def _innermost(levels: list[Nearness]) -> Nearness:
    """Returns the innermost sure level; `inwards` if a level within it may become sure.

    Ranks joined in pairs, by direct wires, are no level. `levels`: the widest first.
    """
    sure = [at for at, one in enumerate(levels) if one.sure and not _in_pairs(one.grouping)]
    at = sure[-1] if sure else next(at for at, one in enumerate(levels) if one.sure)
    found, rest = levels[at], [one for one in levels[at + 1 :] if not (one.sure or one.hopeless)]
    if not rest:
        return found
    inner = rest[0]
    return replace(found, inwards=True, fragments=inner.fragments, near_share=inner.near_share)


def _in_pairs(found: Grouping) -> bool:
    return int(np.bincount(found.labels).max()) <= 2


def wider(idle: Observed, labels: Integers) -> Grouping | None:
    """Joins groups into wider ones by the next level of latency, such as racks into rows.

    Returns None if latency does not reveal wider groups. `labels`: [rank] its group.
    """
    ends = labels[idle.source], labels[idle.destination]
    across, logs = ends[0] != ends[1], np.log(idle.rate)
    count = int(labels.max()) + 1
    if not across.any():
        return None
    # Each message alone, or, if noise blurs these, the mean of those between two groups.
    pair = np.minimum(*ends) * count + np.maximum(*ends)
    asked_of_pair = np.bincount(pair)
    mean = np.bincount(pair, weights=logs) / np.maximum(asked_of_pair, 1)
    for values, tested in ((logs, across), (mean, np.isin(np.arange(len(mean)), pair[across]))):
        if tested.sum() >= _FEWEST_TO_CUT:
            cut, _ = _cut(values[tested])
        elif values is mean:
            error = float((logs - mean[pair])[across].std()) / np.sqrt(asked_of_pair[tested].min())
            cut = _wide_gap(values[tested], max(error, SMALLEST_NOISE))
        else:
            cut = -np.inf
        near = across & ((values if values is logs else mean[pair]) > cut)
        asked, close = (np.zeros((count, count), np.int64) for _ in range(2))
        np.add.at(asked, ends, across)
        np.add.at(close, ends, near)
        together = np.stack(np.nonzero(2 * (close + close.T) > asked + asked.T))
        of_group = _components(count, together[0], together[1])
        joined = of_group[labels]
        within = across & (joined[idle.source] == joined[idle.destination])
        if len(np.unique(of_group)) in (1, count) or not within.any():
            continue
        wrong = float((~near[within]).mean()), float(near[across & ~within].mean())
        if max(wrong) < _FAR_WITHIN_AT_MOST:
            return grouping.given(RouteCounts.of(idle, logs < cut), joined)
    return None


def _wide_gap(values: Floats, error: float) -> float:
    """Returns the middle of the widest gap between a few values, if it is surely wider than their errors, and
    than the spread on either side of it; otherwise -inf. `error`: standard error of one value."""
    ordered = np.sort(values)
    if len(ordered) < _FEWEST_FOR_GAP:
        return -np.inf
    at = int(np.argmax(np.diff(ordered)))
    below, above = ordered[: at + 1], ordered[at + 1 :]
    gap = float(above[0] - below[-1])
    surely = gap > max(_SURELY_APART * error, float(np.ptp(below)), float(np.ptp(above)))
    return float(below[-1]) + gap / 2 if surely else -np.inf


def _told(
    idle: Observed, far: NDArray[np.bool_], *, clear: bool, within: Integers | None = None
) -> tuple[float, Nearness]:
    """Returns the preference for a cut, and its groups. `clear`: noise makes no far route look near.

    `within`: [rank] its sure group of a wider level; ranks of different ones are not near. Of sure groups the
    fewest are preferred (hosts joined by a direct wire are even nearer than those of a switch); otherwise the
    likeliest.
    """
    routes = RouteCounts.of(idle, far)
    found = _parted(routes, grouping.given(routes, _connected(routes)) if clear else grouping.group(routes))
    far_within = grouping.slow_within(routes, found.labels)
    smallest = int(np.bincount(found.labels).min())
    sure = found.count > 1 and smallest > 1 and far_within <= _FAR_WITHIN_AT_MOST
    if found.count <= grouping.MOST_GROUPS or not clear:
        sure = bool(sure and found.confidence.min() > SURE)
    sure = sure and (not clear or _all_pairs_asked(routes, found, within)) and not len(_mixed(routes, found))
    fragments = found.labels if found.count > 1 else _connected(routes)
    hopeless = bool(far.mean() < _HARDLY_ANY_FAR)
    first = np.arange(len(far)) < _AT_RANDOM * idle.ranks
    if within is not None:
        first &= within[idle.source] == within[idle.destination]
    near_share = 1 - float(far[first].mean()) if first.any() else 0.0
    of_cut = Nearness(found, sure, hopeless, fragments, blurred=False, near_share=near_share)
    return -found.count if sure else found.gain, of_cut


def _parted(routes: RouteCounts, found: Grouping) -> Grouping:
    """Returns `found` with each mixed group of at most _MOST_RANKS divided by its own routes.

    A single message that seems near joins two groups, and among many ranks the overall likelihood may merge
    two small groups.
    """
    labels = found.labels.copy()
    for group in _mixed(routes, found).tolist():
        members = np.nonzero(found.labels == group)[0]
        if len(members) > _MOST_RANKS:
            continue
        parts = grouping.group(routes.among(members)).labels
        labels[members[parts > 0]] = labels.max() + parts[parts > 0]
    if (labels == found.labels).all():
        return found
    return grouping.given(routes, grouping.renumbered(labels))


def _mixed(routes: RouteCounts, found: Grouping) -> Integers:
    """Returns the groups within which more routes are far than chance explains.

    Chance is the share within the other groups; Chernoff's bound limits the binomial tail.
    """
    far, asked = routes.within(found.labels, found.count).astype(np.float64)
    elsewhere = (far.sum() - far + 1) / (asked.sum() - asked + 2)
    share = np.clip(far / np.maximum(asked, 1), 1e-9, 1 - 1e-9)
    divergence = share * np.log(share / elsewhere) + (1 - share) * np.log((1 - share) / (1 - elsewhere))
    by_chance = np.exp(-asked * divergence) * found.count
    return np.nonzero((share > elsewhere) & (by_chance < _BY_CHANCE))[0].astype(np.int64)


def _clear_cuts(logs: Floats) -> list[float]:
    """Returns the cuts between neighbouring clusters that are surely apart, for any number of clusters."""
    some = np.sort(logs)[:: max(1, len(logs) // _MOST_VALUES)]
    found, parts = [], _clusters(some, _MOST_DIVISIONS)
    for far, near in pairwise(parts):
        noise = max(float(far.std()), float(near.std()), SMALLEST_NOISE)
        if near.mean() - far.mean() > _SURELY_APART * noise:
            found.append(float(far[-1] + near[0]) / 2)
    return found


def _clusters(logs: Floats, most: int) -> list[Floats]:
    """Returns sorted values divided into clusters, each divided at most `most` times."""
    cut = _cut(logs, _STARTS_OF_MANY)[0] if most and len(logs) >= _FEWEST_TO_CUT else -np.inf
    if not logs[0] <= cut < logs[-1]:
        return [logs]
    return [*_clusters(logs[logs <= cut], most - 1), *_clusters(logs[logs > cut], most - 1)]


def _cuts(logs: Floats) -> list[tuple[float, float]]:
    """Returns cuts, each with the standard deviations between its clusters.

    The first divides all values in two clusters, the next divides the values above it, and so on.
    """
    found: list[tuple[float, float]] = []
    while len(found) < _MOST_CUTS and len(logs) >= _FEWEST_TO_CUT:
        cut, apart = _cut(logs)
        if not np.isfinite(cut):
            break
        found.append((cut, apart))
        logs = logs[logs > cut]
    return found


def _cut(logs: Floats, starts: Sequence[tuple[float, float]] = _STARTS) -> tuple[float, float]:
    """Returns the cut between two clusters of logarithms, and the standard deviations between them.

    Fits two normal distributions of equal width by expectation maximisation. Returns (-inf, 0) if a single
    one describes the logarithms as well. Leaves out a few of the slowest, which may be strays.
    """
    logs = np.sort(logs)[int(_STRAYS * len(logs)) :]
    tried = (_two_heaps(logs, *np.quantile(logs, at).tolist()) for at in starts)
    likelihood, share, near, far, noise = max(tried)
    whole = max(float(logs.std()), SMALLEST_NOISE)
    one = float((-0.5 * ((logs - logs.mean()) / whole) ** 2 - np.log(whole)).sum())
    if likelihood - one < _GAIN or near - far < _APART * noise:
        return -np.inf, 0.0
    cut = (near + far) / 2 + noise**2 * float(np.log((1 - share) / share)) / (near - far)
    return cut, (near - far) / noise


def _two_heaps(logs: Floats, far: float, near: float) -> tuple[float, float, float, float, float]:
    """Returns log likelihood, share of the nearer cluster, both centres, and their standard deviation.

    `far`, `near`: first guesses at the centres.
    """
    noise, share = max(float(logs.std()) / 2, SMALLEST_NOISE), 0.2
    likelihood = -np.inf
    for _ in range(_STEPS):
        bells = [
            weight * np.exp(-0.5 * ((logs - centre) / noise) ** 2)
            for weight, centre in ((share, near), (1 - share, far))
        ]
        both = bells[0] + bells[1] + _SMALLEST
        before, likelihood = likelihood, float(np.log(both / noise).sum())
        if likelihood - before < _LEAST_GAIN:
            break
        mine = bells[0] / both
        share = min(max(float(mine.mean()), 0.001), 0.99)
        near = float((mine * logs).sum() / (mine.sum() + _SMALLEST))
        far = float(((1 - mine) * logs).sum() / ((1 - mine).sum() + _SMALLEST))
        spread = mine * (logs - near) ** 2 + (1 - mine) * (logs - far) ** 2
        noise = max(float(np.sqrt(spread.mean())), SMALLEST_NOISE)
    return likelihood, share, near, far, noise


def phases(
    idle: Observed, fragments: Integers, count: int, random: np.random.Generator, *, within: bool = True,
    inwards: Integers | None = None,
) -> list[list[Route]]:  # fmt: skip
    """Returns `count` phases that first test ranks that may still belong together.

    Each rank sends to the fragment that its own was tested against least. Repeated tests of two fragments add
    nothing to the first, so classes show after hardly more rounds than there are classes (parallel sorting
    into equivalence classes: Devanny, Goodrich and Jetviroj, SPAA 2016). Not `within`: no rank sends to its
    own fragment unless no other is left. `inwards`: [rank] a group that it leaves only if no rank of it is
    left.
    """
    groups = int(fragments.max()) + 1
    tests = np.zeros((groups, groups), np.float32)  # half the memory of counts, and as exact
    ends = fragments[idle.source], fragments[idle.destination]
    np.add.at(tests, ends, 1)
    np.add.at(tests, ends[::-1], 1)
    if inwards is not None:
        tests[_apart(fragments, inwards)] = _LAST
    size = np.bincount(fragments)
    # Routes within a fragment of several ranks confirm the place of each rank.
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


def _all_pairs_asked(routes: RouteCounts, found: Grouping, within: Integers | None) -> bool:
    """Returns True if every two groups were tested against each other: untested ones may be one group.

    Groups in different wider ones (`within`) need no test. If groups are so many that their ranks have no
    confidence, one test might have been late.
    """
    asked, least = (
        routes.between(found.labels, found.count)[ALL],
        1 if found.count <= grouping.MOST_GROUPS else 2,
    )
    known = np.eye(found.count, dtype=bool) | (asked + asked.T >= least)
    return bool((known if within is None else known | _apart(found.labels, within)).all())


def _apart(labels: Integers, within: Integers) -> NDArray[np.bool_]:
    """Returns [group, group] True if two groups are in different wider ones. `labels`, `within`: of ranks."""
    _, first = np.unique(labels, return_index=True)
    return np.asarray(within[first][:, None] != within[first])


def _connected(routes: RouteCounts) -> Integers:
    """Returns [rank] labels of components joined by routes that were near at least once."""
    near = routes.counts[ALL] > routes.counts[SLOW]
    return _components(routes.ranks, routes.source[near], routes.destination[near])


def _components(count: int, source: Integers, destination: Integers) -> Integers:
    """Returns [vertex] the label of its component, for `count` vertices joined by these pairs."""
    labels = np.arange(count)
    while True:
        least = labels.copy()
        np.minimum.at(least, source, labels[destination])
        np.minimum.at(least, destination, labels[source])
        if (least == labels).all():
            return grouping.renumbered(labels)
        labels = least
