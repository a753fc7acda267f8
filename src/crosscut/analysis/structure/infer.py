"""From messages that ran together to the structure of the network, with no prior knowledge."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from crosscut.analysis.stats.intervals import Floats
from crosscut.analysis.structure import grouping, hashed, limits, placing
from crosscut.analysis.structure.grouping import Grouping
from crosscut.analysis.structure.hashed import Hashed
from crosscut.analysis.structure.limits import Capacity, Explained
from crosscut.analysis.structure.model import LOCATE_ON, Group, Limit, Reach, Structure
from crosscut.analysis.structure.observed import Integers, Observed, some_phases
from crosscut.analysis.structure.placing import Placed
from crosscut.analysis.structure.tallies import RouteCounts
from crosscut.analysis.structure.unshared import Unshared, tops, unshared

# Largest loss of a sound host, as a share of its rate; a host that loses more is of another kind.
LARGEST_SOUND_EFFECT = 0.15
# Logarithm, above what an ordinary host's link carries.
_TOO_FAST = 0.3
# More hosts than these that never seem fast are no exceptions.
FEWEST_FOR_A_KIND, SHARE_FOR_A_KIND = 3, 0.125
# Slower than its link allows by these factors: what tells groups apart depends on how crowded the network is.
_CUTS = (0.5, 0.9)
# Share of routes within a group that may be slow, by noise or a slow host that was not noticed.
SLOW_WITHIN_AT_MOST = 0.05
# Share of slow messages explained by shared capacities from which no other grouping is looked for.
WELL_EXPLAINED = 0.9
# Share of slow messages: two groupings that differ by less explain as much.
_AS_WELL = 0.02
# Logarithm: rates of messages that share one capacity differ by less (standard deviation), also over TCP.
MOST_UNEVEN = 0.2
# Share of ranks of unknown group from which collisions between groups are not asked for.
MOST_UNSURE = 0.1
# For capacities: a hundred phases of a thousand ranks leave no doubt.
MOST_MESSAGES = 150_000
# Share of slow messages explained by limits of groups; probability that a rank belongs to its group.
EXPLAINS_HARDLY_ANY, SURE_OF_A_RANK = 0.3, 0.9
# The search is cubic; more ranks are told where they belong.
MOST_RANKS_GROUPED = 256


@dataclass(frozen=True)
class Inferred:
    """A structure as arrays; `Structure` is the same for people and files."""

    alone: Unshared
    grouping: Grouping
    capacities: tuple[Capacity, ...]
    explained: float
    """Share of slow messages that the capacities explain."""
    slow_share: float
    out_suspects: Integers
    """Ranks that never reach the rate of the others."""
    in_suspects: Integers
    unplaced: Integers
    """Ranks behind a slow cable of their own, of which no message tells their group: they are with the
    likeliest."""
    hashed: Hashed | None = None
    """What messages between groups meet, if collisions of hashed paths may explain their rates."""
    names: tuple[str, ...] = ()
    """[group], where they are groups within others; empty: as `group_name` says."""

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
) -> Inferred:
    """`known_out`, `known_in`: [rank] rates of single hosts measured alone, bytes per second; NaN: not
    measured. Not `thorough`: one cut between slow and fast is tried, which is enough to see whether more must
    be measured. Not `divided`: one group, for there is nothing that several would explain."""
    first = unshared(observed)
    # Faster than any link is no measurement (unshared.possible).
    observed = observed.where(observed.relative(first.nominal) < max(_TOO_FAST, 6 * first.noise))
    out_effect, in_effect = tops(observed)
    limit = max(LARGEST_SOUND_EFFECT, 4 * first.noise)
    fast = observed.relative(first.nominal) > -limit
    sound = _sound_groups(near, out_effect < -limit, in_effect < -limit)
    out_fast, in_fast = (
        np.concatenate([ends[fast & observed.tells_of(ends)], sound])
        for ends in (observed.source, observed.destination)
    )
    out_rate = _ends(first.out_rate, out_effect, limit, out_fast, known_out)
    in_rate = _ends(first.in_rate, in_effect, limit, in_fast, known_in)
    alone = unshared(observed, out_rate, in_rate)
    slow_out = np.nonzero(out_rate < first.out_rate * 0.9)[0]
    slow_in = np.nonzero(in_rate < first.in_rate * 0.9)[0]
    slowness = alone.slowness(observed)
    # A slow host hardly loads what it shares with others: of its messages only those say something that are
    # slower than it is.
    telling = ~np.isin(observed.source, slow_out) & ~np.isin(observed.destination, slow_in)
    telling &= _something_slow(observed, slowness < alone.threshold)
    if divided:
        explained, placed = _best(observed, alone, observed.where(telling), slowness[telling], thorough, near)
    else:
        placed = _unmoved(grouping.of_one(observed.ranks))
        explained = limits.explain(observed, alone, placed.grouping.labels)
    share = float((slowness < alone.threshold).mean()) if len(observed) else 0.0
    found = Inferred(
        alone, placed.grouping, explained.capacities, explained.share, share,
        slow_out.astype(np.int64), slow_in.astype(np.int64), placed.open_ranks,
    )  # fmt: skip
    return _with_collisions(found, observed)


def _with_collisions(found: Inferred, observed: Observed) -> Inferred:
    """Capacities give way to hashed paths where they explain less, or where rates that one capacity makes
    equal differ by more than any sharing does."""
    labels = found.grouping.labels
    slow = found.alone.slowness(observed) < found.alone.threshold
    plain = found.explained > WELL_EXPLAINED
    unsure = float((found.grouping.confidence < SURE_OF_A_RANK).mean())
    if (
        found.grouping.count == 1
        or unsure > MOST_UNSURE
        or (plain and limits.unevenness(observed, labels, slow) < MOST_UNEVEN)
    ):
        return found
    collisions = hashed.fit(observed, found.alone, labels)
    if collisions is None or not collisions.certain:
        return replace(found, hashed=collisions)
    return replace(found, capacities=(), explained=1.0, hashed=collisions)


def hashed_paths(found: Inferred) -> Hashed | None:
    """None where another kind of network is as likely."""
    return found.hashed if found.hashed is not None and found.hashed.certain else None


def _something_slow(observed: Observed, slow: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """[message] whether anything was slow in its phase: where nothing was, no limit was full, and that a
    route was fast then says nothing about groups."""
    if not slow.any():
        return np.ones(len(slow), bool)
    _, phase = np.unique(observed.phase, return_inverse=True)
    return np.asarray((np.bincount(phase, weights=slow) > 0)[phase])


def doubtful(inferred: Inferred) -> bool:
    """Groups that explain hardly any slow message, and to which some ranks do not surely belong: where each
    route was seen once or twice, those that differ by chance look like groups."""
    unsure = inferred.grouping.confidence < SURE_OF_A_RANK
    unsure[inferred.unplaced] = False
    return inferred.grouping.count > 1 and inferred.explained < EXPLAINS_HARDLY_ANY and bool(unsure.any())


def _best(
    observed: Observed, alone: Unshared, telling: Observed, slowness: Floats, thorough: bool,
    near: Grouping | None,
) -> tuple[Explained, Placed]:  # fmt: skip
    """The grouping whose shared capacities explain most of what is slow; of equals the likeliest, unless one
    with fewer groups explains as much."""
    few = some_phases(observed, MOST_MESSAGES)
    if near is not None:
        return limits.explain(few, alone, near.labels), _unmoved(near)
    best: tuple[Explained, Placed] | None = None
    for found, routes in candidates(telling, slowness, alone.threshold, thorough):
        placed = placing.placed(found, routes, observed, alone, SURE_OF_A_RANK)
        explained = limits.explain(few, alone, placed.grouping.labels)
        if best is None or _better(explained, placed.grouping, *best):
            best = explained, placed
    assert best is not None
    return best


def _better(explained: Explained, found: Grouping, best: Explained, before: Placed) -> bool:
    """Groups that never slow each other are one, where their limits explain as much: what differs among their
    routes is when they are slow, not who shares what. Where little is explained that says nothing."""
    simpler = 1 < found.count < before.grouping.count and explained.share > WELL_EXPLAINED
    return explained.share > best.share + (-_AS_WELL if simpler else _AS_WELL)


def _unmoved(found: Grouping) -> Placed:
    return Placed(found, np.zeros(0, np.int64))


def _sound_groups(near: Grouping | None, *slow: NDArray[np.bool_]) -> Integers:
    """Ranks of groups of which all are slow, where groups are known: it is what they share."""
    if near is None:
        return np.zeros(0, np.int64)
    whole = np.zeros(near.count, bool)
    for ends in slow:
        whole |= np.bincount(near.labels, weights=~ends, minlength=near.count) == 0
    return np.nonzero(whole[near.labels])[0].astype(np.int64)


def _ends(
    ordinary: Floats, effect: Floats, limit: float, seen_fast: Integers, known: Floats | None
) -> Floats:
    """`ordinary`: [rank] what its kind reaches. `seen_fast`: ranks of which at least one message came near
    that. It takes no more: hosts of a small group are seldom seen to be fast, for their partners are slow
    towards all others."""
    slow = effect < -limit
    slow[seen_fast] = False
    if slow.sum() > max(FEWEST_FOR_A_KIND, SHARE_FOR_A_KIND * len(effect)):
        slow[:] = False  # so many have no slow link: what they share keeps them from being seen fast
    rates = np.where(slow, ordinary * np.exp(effect), np.nan)
    return rates if known is None else np.where(np.isfinite(known), known, rates)


def candidates(
    observed: Observed, slowness: Floats, threshold: float, thorough: bool
) -> Iterator[tuple[Grouping, RouteCounts]]:
    """Groupings to try, the likeliest first, each with the routes that it is of: by the cut between slow and
    fast that says most about groups (most log likelihood gained over one group), then with those groups made
    one that never slow each other."""
    best_routes = RouteCounts.of(observed, slowness < threshold)
    best = _grouped(best_routes)
    # Where routes within groups are slow too, another cut may tell more.
    mixed = best.count == 1 or grouping.slow_within(best_routes, best.labels) > SLOW_WITHIN_AT_MOST
    if thorough and mixed:
        for cut in _CUTS:
            slow = slowness < min(threshold, -cut)
            if slow.mean() < 0.02:
                break
            routes = RouteCounts.of(observed, slow)
            found = _grouped(routes)
            if found.gain > best.gain + 5:
                best, best_routes = found, routes
    yield best, best_routes
    if best.count > 2:
        merged = grouping.merged_where_fast(best_routes, best, SLOW_WITHIN_AT_MOST)
        if merged.count < best.count:
            yield merged, best_routes


def _grouped(routes: RouteCounts) -> Grouping:
    """Groups. Among very many ranks, some are grouped first and the others are placed in these groups."""
    ranks = routes.ranks
    if ranks <= MOST_RANKS_GROUPED:
        return grouping.group(routes)
    members = np.sort(np.random.default_rng(ranks).choice(ranks, MOST_RANKS_GROUPED, replace=False))
    return grouping.extended(routes, members, grouping.group(routes.among(members)))


def group_name(number: int) -> str:
    return f"group{number}"


def structure(inferred: Inferred, hosts: tuple[str, ...], phases: int) -> Structure:
    labels, confidence = inferred.grouping.labels, inferred.grouping.confidence
    groups = []
    for number in range(inferred.grouping.count) if inferred.grouping.count > 1 else ():
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
    )


def _notes(inferred: Inferred, hosts: tuple[str, ...]) -> list[str]:
    notes = []
    if len(inferred.unplaced) and inferred.grouping.count > 1:
        named = ", ".join(hosts[rank] for rank in inferred.unplaced.tolist())
        notes.append(
            f"group unknown: {named}. A slow cable of its own hides what it shares with others, so the "
            "likeliest group has it here. Repair the cable and measure again"
        )
    if inferred.grouping.count == 1 and inferred.slow_share > SLOW_WITHIN_AT_MOST:
        notes.append(
            f"{100 * inferred.slow_share:.0f} % of messages are slow for reasons this run cannot identify; "
            f"{LOCATE_ON}"
        )
    elif inferred.grouping.count == 1:
        notes.append(
            "no groups found: no shared bottleneck. Switches with full bisection between them look like one; "
            "the idle network's latency may tell them apart"
        )
    elif inferred.explained < 0.7:
        why = "limits within groups, hosts, or something that is no constant capacity slow the rest"
        if not inferred.capacities:
            why = (
                "where each route keeps to one of several cables, routes that meet by chance are slow, and "
                "no total is constant"
            )
        explained = f"{100 * inferred.explained:.0f} % of the slow messages"
        notes.append(f"capacities that groups share explain {explained}; {why}")
    if inferred.slow_share > 0.97:
        notes.append("nearly every message was slow; measure fewer at once to learn more")
    return notes
