"""Infers the structure of a network from messages that ran together, with no prior knowledge."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crosscut.analysis.stats.intervals import Floats
from crosscut.analysis.structure import grouping, hashed, limits, many_ranks, placing, totals
from crosscut.analysis.structure.grouping import SLOW_WITHIN_AT_MOST, Grouping
from crosscut.analysis.structure.hashed import Hashed
from crosscut.analysis.structure.host_rates import rates_alone
from crosscut.analysis.structure.limits import WELL_EXPLAINED, Explained
from crosscut.analysis.structure.model import LOCATE_ON, Group, Limit, Reach, Structure
from crosscut.analysis.structure.observed import Integers, Observed, some_phases
from crosscut.analysis.structure.placing import Placed
from crosscut.analysis.structure.tallies import RouteCounts
from crosscut.analysis.structure.totals import Capacity
from crosscut.analysis.structure.unshared import Unshared

# Further cuts between slow and fast (logarithms): the best one depends on the load.
_CUTS = (0.5, 0.9)
# So many routes, or this share of those measured, may be slow each time without sharing a limit.
_FEW_ROUTES, _FEW_ROUTES_SHARE = 2, 0.02
# Groupings whose shares of explained slow messages differ by less explain equally much.
_AS_WELL = 0.02
# A group is split if it has so many ranks, and slow messages within it; if that gains so much log likelihood;
# and if limits then explain no smaller share of the slow messages than before, less this.
_FEWEST_SPLIT, _SPLIT_GAIN, _LOST_BY_SPLIT = 6, 8.0, 0.05
# Groups whose limits explain a larger share are not split.
_NEARLY_ALL = 0.97
# If the groups of a larger share of ranks are uncertain, collisions between groups are not considered.
MOST_UNSURE = 0.1
# Most messages used to find capacities: a hundred phases of a thousand ranks are enough.
MOST_MESSAGES = 150_000
# Share of slow messages explained by limits of groups; probability that a rank belongs to its group.
EXPLAINS_HARDLY_ANY, SURE_OF_A_RANK = 0.3, 0.9
# The same for a rank behind a slow cable. The totals that place it overstate their certainty.
_SURE_OF_A_SLOW_RANK = 0.99
# Noise never slows a larger share of messages.
_MOST = 0.5


@dataclass(frozen=True)
class Inferred:
    """An inferred structure as arrays; `Structure` is its form for people and files."""

    alone: Unshared
    grouping: Grouping
    capacities: tuple[Capacity, ...]
    explained: float
    """Share of slow messages that the capacities explain."""
    slow_share: float
    """Share of messages that were slow, apart from those of a few routes that always were."""
    slow_inside: float
    """The same share of messages within groups; NaN if unknown."""
    out_suspects: Integers
    """Ranks that never send at the rate of the others."""
    in_suspects: Integers
    """Ranks that never receive at the rate of the others."""
    unplaced: Integers
    """Ranks behind a slow cable of their own, whose group is uncertain; they are in the likeliest one."""
    hashed: Hashed | None = None
    """The fitted cables between groups, if collisions of hashed paths may explain the rates."""
    names: tuple[str, ...] = ()
    """[group] name, for groups within others; empty: names by `group_name`."""

    @property
    def mostly_slow(self) -> bool:
        """True if most messages were slow, which no noise explains, and limits explain few of them."""
        return self.slow_share > _MOST and self.explained < EXPLAINS_HARDLY_ANY

    @property
    def sizes(self) -> Integers:
        """[group] number of its ranks, without those that are unplaced."""
        labels = self.grouping.labels
        return np.bincount(np.delete(labels, self.unplaced), minlength=self.grouping.count).astype(np.int64)

    def of_unplaced(
        self, source: NDArray[np.integer[Any]], destination: NDArray[np.integer[Any]]
    ) -> NDArray[np.bool_]:
        """[message] True if an end is unplaced, so that the message may pass any limit."""
        return np.isin(source, self.unplaced) | np.isin(destination, self.unplaced)

    def name(self, group: int) -> str:
        return self.names[group] if self.names else group_name(group)


def infer(
    observed: Observed,
    known_out: Floats | None = None,
    known_in: Floats | None = None,
    *,
    thorough: bool = True,
    divided: bool = True,
    near: Grouping | None = None,
    apart: Observed | None = None,
) -> Inferred:
    """Infers hosts' own rates, groups, and shared limits.

    `known_out`, `known_in`: [rank] bytes per second of hosts measured alone; NaN: not measured. Not
    `thorough`: tries a single cut between slow and fast, which is enough to decide whether to measure more.
    Not `divided`: assumes one group, because several would explain nothing. `near`: groups taken as given.
    `apart`: as for `rates_alone`.
    """
    observed, alone = rates_alone(observed, known_out, known_in, near=near, apart=apart)
    usual = alone.nominal * (1 if observed.of_kind is None else observed.of_kind)
    slow_out, slow_in = (np.nonzero(rates < 0.9 * usual)[0] for rates in (alone.out_rate, alone.in_rate))
    slowness = alone.slowness(observed)
    # A slow host hardly loads what it shares with others, so its messages say nothing about groups.
    telling = ~np.isin(observed.source, slow_out) & ~np.isin(observed.destination, slow_in)
    slow = slowness < alone.threshold
    lonely = _always_slow(observed, slow)
    telling &= _something_slow(observed, slow & ~lonely) & ~lonely
    if divided:
        explained, placed = _best(observed, alone, observed.where(telling), slowness[telling], thorough, near)
    if not divided or placed.grouping.count == observed.ranks:  # groups of one rank each say nothing
        placed = _unmoved(grouping.of_one(observed.ranks))
        explained = limits.explain(observed, alone, placed.grouping.labels)
    labels = placed.grouping.labels
    inside = labels[observed.source] == labels[observed.destination]
    found = Inferred(
        alone, placed.grouping, explained.capacities, explained.share, _share(slow & ~lonely),
        _share((slow & ~lonely)[inside], math.nan), slow_out.astype(np.int64), slow_in.astype(np.int64),
        placed.open_ranks,
    )  # fmt: skip
    return _with_collisions(found, observed)


def _share(true: NDArray[np.bool_], without: float = 0.0) -> float:
    return float(true.mean()) if len(true) else without


def _with_collisions(found: Inferred, observed: Observed) -> Inferred:
    """Replaces capacities by hashed paths if paths fit and capacities fail to explain the rates.

    Capacities fail if they leave slow messages unexplained, or if rates that one capacity would make equal
    differ by more than any sharing allows.
    """
    observed, alone, labels = hashed.of_ranks(observed, found.alone, found.grouping.labels)
    slow = alone.slowness(observed) < alone.threshold
    plain = found.explained > WELL_EXPLAINED
    unsure = float((found.grouping.confidence < SURE_OF_A_RANK).mean())
    if (
        found.grouping.count == 1
        or unsure > MOST_UNSURE
        or (plain and totals.unevenness(observed, labels, slow) < totals.MOST_UNEVEN)
    ):
        return found
    collisions = hashed.fit(observed, alone, labels)
    if collisions is None or not collisions.certain:
        return replace(found, hashed=collisions)
    return replace(found, capacities=(), explained=1.0, hashed=collisions)


def hashed_paths(found: Inferred) -> Hashed | None:
    """Returns the hashed paths; None if there are none or another kind of network is as likely."""
    return found.hashed if found.hashed is not None and found.hashed.certain else None


def _something_slow(observed: Observed, slow: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Returns [message] True if anything was slow in its phase, or if nothing ever was.

    If nothing was slow in a phase, no limit was full, and a fast route says nothing about groups.
    """
    if not slow.any():
        return np.ones(len(slow), bool)
    _, phase = np.unique(observed.phase, return_inverse=True)
    return np.asarray((np.bincount(phase, weights=slow) > 0)[phase])


def _always_slow(observed: Observed, slow: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """[message] True if it is of one of a few routes that were slow each time; all False if there are more.

    A bad cable of its own slows such a route, whatever others send: it says nothing about groups. Many routes
    that are always slow share a limit that is always full.
    """
    routes, at = np.unique(observed.source * observed.ranks + observed.destination, return_inverse=True)
    times, slow_times = np.bincount(at), np.bincount(at, weights=slow)
    always = (slow_times == times) & (times > 1)
    if always.sum() > max(_FEW_ROUTES, _FEW_ROUTES_SHARE * len(routes)):
        return np.zeros(len(observed), bool)
    return np.asarray(always[at])


def doubtful(inferred: Inferred) -> bool:
    """Returns True if the groups explain hardly any slow message, and hardly any is slow or some ranks may
    belong elsewhere.

    If each route was measured only once or twice, chance differences look like groups.
    """
    unsure = inferred.grouping.confidence < SURE_OF_A_RANK
    unsure[inferred.unplaced] = False
    few = inferred.slow_share <= SLOW_WITHIN_AT_MOST
    explains = inferred.grouping.count == 1 or inferred.explained >= EXPLAINS_HARDLY_ANY
    return not explains and (few or bool(unsure.any()))


def _best(
    observed: Observed, alone: Unshared, telling: Observed, slowness: Floats, thorough: bool,
    near: Grouping | None,
) -> tuple[Explained, Placed]:  # fmt: skip
    """Returns the grouping whose shared capacities explain most slow messages.

    Among equals it prefers the first candidate, unless a later one has fewer groups.
    """
    few = some_phases(observed, MOST_MESSAGES)
    if near is not None:
        return limits.explain(few, alone, near.labels), _unmoved(near)
    best: tuple[Explained, Placed] | None = None
    for found, routes in candidates(telling, slowness, alone.threshold, thorough):
        placed = placing.placed(found, routes, observed, alone, _SURE_OF_A_SLOW_RANK)
        explained = limits.explain(few, alone, placed.grouping.labels)
        if best is None or _better(explained, placed.grouping, *best):
            best = explained, placed
    assert best is not None
    explained, placed = best
    if thorough and EXPLAINS_HARDLY_ANY < explained.share < _NEARLY_ALL:
        routes = RouteCounts.of(telling, slowness < alone.threshold)
        split = _split(telling, slowness < alone.threshold, routes, placed.grouping)
        if split is not None:
            again = limits.explain(few, alone, split.labels)
            if again.share > explained.share - _LOST_BY_SPLIT:
                return again, replace(placed, grouping=split)
    return best


def _split(
    observed: Observed, slow: NDArray[np.bool_], routes: RouteCounts, found: Grouping
) -> Grouping | None:
    """Splits groups within which messages are slow in some phases; None if that reveals nothing.

    A trunk that few permutations fill hardly shows in all phases together. In those in which it is full, a
    route that is fast nevertheless says much about its ends.
    """
    labels, mine = found.labels, found.labels[observed.source]
    within = mine == labels[observed.destination]
    split = labels.copy()
    for number in range(found.count):
        members = np.nonzero(labels == number)[0]
        inside = within & (mine == number)
        inside &= np.isin(observed.phase, observed.phase[inside & slow])
        if len(members) < _FEWEST_SPLIT or (inside & slow).sum() < _FEWEST_SPLIT:
            continue
        its = RouteCounts.of(observed.where(inside), slow[inside]).among(members)
        parts = grouping.group(its)
        if parts.count > 1 and parts.gain > _SPLIT_GAIN:
            split[members] = np.where(parts.labels == 0, number, labels.max() + split.max() + parts.labels)
    if (split == labels).all():
        return None
    return grouping.given(routes, grouping.renumbered(split))


def _better(explained: Explained, found: Grouping, best: Explained, before: Placed) -> bool:
    """Returns True if `found` explains more, or has fewer groups and explains as much.

    The groups merged in `found` never slow each other: their routes are slow at different times, but share
    the same limits. Fewer groups are no argument if little is explained.
    """
    simpler = 1 < found.count < before.grouping.count and explained.share > WELL_EXPLAINED
    return explained.share > best.share + (-_AS_WELL if simpler else _AS_WELL)


def _unmoved(found: Grouping) -> Placed:
    return Placed(found, np.zeros(0, np.int64))


def candidates(
    observed: Observed, slowness: Floats, threshold: float, thorough: bool
) -> Iterator[tuple[Grouping, RouteCounts]]:
    """Yields groupings to try, each with the routes on which it is based.

    The first uses the cut between slow and fast that separates groups best (the largest gain of log
    likelihood over one group). The second merges those of its groups that never slow each other.
    """
    best_routes = RouteCounts.of(observed, slowness < threshold)
    best = many_ranks.grouped(best_routes)
    # If routes within groups are slow too, another cut may tell more.
    mixed = best.count == 1 or grouping.slow_within(best_routes, best.labels) > SLOW_WITHIN_AT_MOST
    if thorough and mixed:
        for cut in _CUTS:
            slow = slowness < min(threshold, -cut)
            if slow.mean() < 0.02:
                break
            routes = RouteCounts.of(observed, slow)
            found = many_ranks.grouped(routes)
            if found.gain > best.gain + 5:
                best, best_routes = found, routes
    yield best, best_routes
    if best.count > 2:
        merged = grouping.merged_where_fast(best_routes, best, SLOW_WITHIN_AT_MOST)
        if merged.count < best.count:
            yield merged, best_routes


def group_name(number: int) -> str:
    return f"group{number}"


def structure(inferred: Inferred, hosts: tuple[str, ...], phases: int) -> Structure:
    labels, confidence = inferred.grouping.labels, inferred.grouping.confidence
    groups = []
    # Limits name groups, so a single group is listed if all ranks share a limit.
    listed = inferred.grouping.count > 1 or any(one.groups for one in inferred.capacities)
    for number in range(inferred.grouping.count) if listed else ():
        ranks = np.nonzero(labels == number)[0]
        sure = float(np.prod(confidence[np.setdiff1d(ranks, inferred.unplaced)]))
        groups.append(Group(group_name(number), tuple(ranks.tolist()), (), sure))
    cables = () if (found := hashed_paths(inferred)) is None else tuple(
        Limit(reach, (group.name,), found.of_a_group, cables=found.cables)
        for group in groups for reach in (Reach.LEAVING, Reach.ENTERING)
    )  # fmt: skip
    return Structure(
        groups=tuple(groups),
        limits=(*(one.of(tuple(map(group_name, one.groups))) for one in inferred.capacities), *cables),
        host_out_bytes_per_second=tuple(inferred.alone.out_rate.tolist()),
        host_in_bytes_per_second=tuple(inferred.alone.in_rate.tolist()),
        hosts=hosts,
        phases_used=phases,
        notes=tuple(_notes(inferred, hosts)),
        unplaced=tuple(inferred.unplaced.tolist()) if len(groups) > 1 else (),
    )


def _notes(inferred: Inferred, hosts: tuple[str, ...]) -> list[str]:
    notes = []
    if len(inferred.unplaced) and inferred.grouping.count > 1:
        named = ", ".join(hosts[rank] for rank in inferred.unplaced.tolist())
        notes.append(
            f"group unknown: {named}. A slow cable hides which group a host belongs to, so limits of groups "
            "may not include its traffic"
        )
    if inferred.grouping.count == 1 and inferred.slow_share > SLOW_WITHIN_AT_MOST:
        notes.append(
            f"{100 * inferred.slow_share:.0f} % of messages are slow for reasons this run cannot identify; "
            f"{LOCATE_ON}"
        )
    elif inferred.grouping.count == 1:
        notes.append(
            "no groups found. Switches with full bisection between them look like "
            f"one switch; the idle network's latency may tell them apart; {LOCATE_ON}"
        )
    elif inferred.explained < 0.7:
        notes.append(
            f"limits shared by groups explain {100 * inferred.explained:.0f} % of the slow messages; the "
            "rest are slowed by limits within groups, by slow hosts, or by something that is not a constant "
            "capacity"
            if inferred.capacities
            else "no limit shared by groups explains the slow messages; perhaps each route keeps to one of "
            "several cables (ECMP, link aggregation): routes that share a cable are slow, and no total is "
            "constant"
        )
    if inferred.slow_share > 0.97:
        notes.append("nearly every message was slow; let fewer hosts send at the same time to learn more")
    return notes
