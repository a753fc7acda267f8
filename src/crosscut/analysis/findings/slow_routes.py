"""Finds single routes that are slower than their two ends allow.

A run measures each route in only one phase. Noise only slows, and makes some of thousands of routes slow, so
one run yields no more than suspicions. A search measures these again (search/retest.py), and other routes of
their ends: some routes of a host may always be slow while the others are sound. A hash that chooses among
cables, queues or lanes sends each route the same way each time: if the second bonded cable of a host is bad,
half of its routes are slow.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from crosscut.analysis.findings.evidence import Evidence
from crosscut.analysis.findings.kinds import FindingKind
from crosscut.analysis.findings.model import Direction, Effect, Finding, alone
from crosscut.analysis.findings.slow_parts import (
    REACHED,
    SMALLEST_LOSS,
    STEADILY,
    VERBS,
    Names,
    numbers,
    some_routes,
)  # fmt: skip
from crosscut.analysis.stats.doubt import FALSE_ALARMS, outliers_below
from crosscut.analysis.stats.intervals import Floats
from crosscut.analysis.structure.infer import Inferred
from crosscut.analysis.structure.model import LOCATE_ON
from crosscut.analysis.structure.observed import Integers, Observed, Route, joined
from crosscut.analysis.structure.totals import counted
from crosscut.base import units

_NAMED = 6
# If a larger share of the messages is slow, concurrent messages slow the routes.
_QUIET = 0.05
# If so many are slow at once, and only then, they share a slow link. Fewer may be separate bad cables.
_CROWD = 3
# A route that was measured again less often is not reported as slow.
FEWEST_AGAIN = 5
# If so many suspect routes, and this share of all of them, have an end in common, that host varies.
_OF_ONE_HOST, _SHARE_OF_ONE_HOST = 3, 0.5
# Fewest slow routes of one end, and times that they were measured again in total.
_FEWEST_ROUTES, _FEWEST_TIMES = 2, 5
# Measured messages on other routes of each end before a route is called slow by itself, unless the end has
# fewer: where a hash sends half of a host's routes over a bad cable, chance makes 7 others sound once in 128.
_OTHERS, _FEWEST_OTHERS = 7, 3


@dataclass(frozen=True)
class Suspected:
    slow: Mapping[Route, float]
    """By route: logarithm of its rate over the rate that both ends reach; the slowest first."""
    crowd: Finding | None = None
    """Routes that were slow only at the same time."""


def of_run(evidence: Evidence) -> list[Finding]:
    """Returns suspect routes, unless there are too many to examine together (many_routes.py)."""
    if evidence.routes is not None:
        return []
    seen = suspected(evidence.observed, evidence.inferred)
    found = [
        _unless_steady(one, evidence.observed, evidence.inferred, LOCATE_ON)
        for one in once(seen.slow, evidence.name)
    ]
    return [*found, *([seen.crowd] if seen.crowd else [])]


def suspected(observed: Observed, inferred: Inferred) -> Suspected:
    """Returns single routes slower than their two ends, if little else is slow.

    Routes that pass a known limit, or are slow only at the same time, are slow because of a shared link.
    """
    quiet = inferred.slow_share <= _QUIET
    observed = observed.where(~_limited(observed, inferred))
    if not len(observed) or not quiet:
        return Suspected({})
    keys, best = _best(observed, inferred)
    inverse = np.searchsorted(keys, observed.source * observed.ranks + observed.destination)
    doubts = outliers_below(best, inferred.alone.noise)
    is_slow = (doubts < FALSE_ALARMS) & (best < math.log(1 - SMALLEST_LOSS))
    met = is_slow[inverse]
    in_crowd = np.zeros(len(keys), bool)
    in_crowd[inverse[met]] = only_in_crowds(observed.where(met))
    in_crowd |= is_slow & as_slow_as(best, in_crowd, inferred)
    slow = np.nonzero(is_slow & ~in_crowd)[0]
    routes = {divmod(int(keys[at]), observed.ranks): float(best[at]) for at in slow[np.argsort(best[slow])]}
    if not in_crowd.any():
        return Suspected(routes)
    share = math.exp(float(np.median(best[in_crowd])))
    return Suspected(routes, crowds(observed.where(in_crowd[inverse]), share))


def _best(observed: Observed, inferred: Inferred) -> tuple[Integers, Floats]:
    """Returns [route] source times ranks plus destination, in order, and the slowness of its fastest message:
    a route that was fast once is not slow."""
    keys, inverse = np.unique(observed.source * observed.ranks + observed.destination, return_inverse=True)
    best = np.full(len(keys), -np.inf)
    np.maximum.at(best, inverse, inferred.alone.slowness(observed))
    return keys, best


def refuted(slow: Mapping[Route, float], again: Observed, inferred: Inferred) -> set[Route]:
    """Returns the routes that were not steadily slow when measured again, nearer to their first rate than to
    that of both ends, or that reached the latter once, or nearly."""
    seen: dict[Route, list[float]] = {}
    pairs = zip(again.source.tolist(), again.destination.tolist(), strict=True)
    for route, slowness in zip(pairs, inferred.alone.slowness(again).tolist(), strict=True):
        seen.setdefault(route, []).append(slowness / abs(slow.get(route, -math.inf)))
    return {
        route for route, shares in seen.items()
        if sum(share < -1 / 2 for share in shares) < STEADILY * len(shares) or max(shares) > -REACHED
    }  # fmt: skip


def times(again: Observed) -> Counter[Route]:
    """Returns how often each route was measured again."""
    return Counter(zip(again.source.tolist(), again.destination.tolist(), strict=True))


def held(slow: Mapping[Route, float], again: Observed, inferred: Inferred) -> dict[Route, int]:
    """Returns the routes that were steadily slow when measured again, and how often they were measured."""
    fast, count = refuted(slow, again, inferred), times(again)
    return {route: count[route] for route in slow if route not in fast and count[route]}


def after_search(
    observed: Observed, again: Observed, inferred: Inferred, name: Names, hosts: Collection[int]
) -> list[Finding]:
    """Returns routes that were steadily slow when measured again, and hosts with several slow routes.

    `hosts`: those that were slow alone at least once, which explains their routes.
    """
    seen, every = suspected(observed, inferred), joined(observed, again)
    routes = {route: slowness for route, slowness in seen.slow.items() if not set(route) & set(hosts)}
    stayed = held(routes, again, inferred)
    partly = _partly_slow(stayed, routes, every, inferred, name)
    explained = {route for route in routes for one in partly if one.ranks[0] in route}
    left = [route for route in routes if route not in explained and stayed.get(route, 0) >= FEWEST_AGAIN]
    told = [route for route in left if others_sound(route, routes[route], every, inferred)]
    found = [_route(route, again, observed, inferred, name) for route in told]
    varies = _of_one_host([route for route in routes if route not in (*told, *explained)], name)
    unsteady = [_unless_steady(varies, every, inferred, _EVERY_ROUTE)] if varies else []
    return [*partly, *found, *unsteady, *([seen.crowd] if seen.crowd else [])]


ONLY_ONCE = ("in the only phase that measured it", "each in the only phase that measured it")
EACH_TIME = ("each time it was measured", "each time they were measured")


def once(slow: Mapping[Route, float], name: Names, when: tuple[str, str] = ONLY_ONCE) -> list[Finding]:
    """Returns at most one finding: on routes that were slow whenever they were measured, as `when` says of
    one and of several.

    `slow`: as in `Suspected`.
    """
    if not slow:
        return []
    varies = _of_one_host(list(slow), name)
    if varies:
        return [varies]
    named = list(slow)[:_NAMED]
    shares = [
        f"{name(s)} to {name(d)} {'ran ' * (len(slow) == 1)}at {100 * math.exp(slow[s, d]):.0f} %"
        for s, d in named
    ]
    more = f" and {len(slow) - _NAMED} more" if len(slow) > _NAMED else ""
    again = ";".join(f"{source}-{destination}" for source, destination in named)
    what = f"{shares[0]} of what both ends reach, {when[0]}"
    if len(slow) > 1:
        what = f"{len(slow)} routes ran slower than both ends reach, {when[1]}"
        what += f": {', '.join(shares)}{more}"
    ranks = tuple(sorted({rank for route in slow for rank in route}))
    return [
        Finding(
            FindingKind.SUSPECT, what, ranks, tuple(map(name, ranks)), routes=tuple(slow),
            evidence_routes=tuple(slow), effect=Effect(math.exp(float(np.median(list(slow.values()))))),
            advice="noise can cause this, too; measure again: crosscut run routes --on PLACE --routes "
            f"'{again}'",
        )
    ]  # fmt: skip


def _of_one_host(slow: list[Route], name: Names) -> Finding | None:
    """Returns a finding if most suspect routes have one host in common."""
    ends = Counter(rank for route in slow for rank in route)
    rank, count = ends.most_common(1)[0] if ends else (0, 0)
    if count < max(_OF_ONE_HOST, _SHARE_OF_ONE_HOST * len(slow)):
        return None
    mine = tuple(route for route in slow if rank in route)
    return Finding(
        kind=FindingKind.UNSTABLE,
        what=f"{name(rank)} is unsteady: {'all' if count == len(slow) else f'{count} of'} {len(slow)} routes "
        "that were slow once begin or end there, and most of its routes are sound",
        ranks=(rank,), hosts=(name(rank),), routes=mine, evidence_routes=mine,
        advice="a host that loses messages or does other work at times, or a flapping link: check its log, "
        "the error counters of its adapter and port, and what runs there",
    )  # fmt: skip


_EVERY_ROUTE = (
    "too near to the others' rate to be called a fault by so few phases; measure every route: "
    "crosscut run aapc --on PLACE"
)


def _unless_steady(one: Finding, observed: Observed, inferred: Inferred, advice: str) -> Finding:
    """Returns a finding that an unsteady host may be slow if most of its routes are slow; else the same one.

    Its rate lies too near to that of sound hosts for it to be measured alone (host_rates.py).
    """
    if one.kind is not FindingKind.UNSTABLE:
        return one
    (rank,), (host,) = one.ranks, one.hosts
    mine = observed.where((observed.source == rank) | (observed.destination == rank))
    routes, best = _best(mine, inferred)
    slow = best < math.log(1 - SMALLEST_LOSS)
    if slow.mean() <= _SHARE_OF_ONE_HOST:
        return one
    share = math.exp(float(np.median(best[slow])))
    return replace(
        one, kind=FindingKind.SUSPECT, effect=Effect(share), advice=advice,
        what=f"{host} may be slow: {int(slow.sum())} of its {len(routes)} measured routes run at about "
             f"{100 * share:.0f} % of what both ends reach",
    )  # fmt: skip


def only_in_crowds(slow: Observed) -> NDArray[np.bool_]:
    """[message] True if its route met a crowd in each of its phases. `slow`: messages of slow routes only."""
    _, phase = np.unique(slow.phase, return_inverse=True)
    _, route = np.unique(slow.source * slow.ranks + slow.destination, return_inverse=True)
    fewest = np.full(len(slow), np.inf)
    np.minimum.at(fewest, route, np.bincount(phase)[phase])
    return np.asarray(fewest[route] >= _CROWD)


def as_slow_as(slowness: Floats, in_crowd: NDArray[np.bool_], inferred: Inferred) -> NDArray[np.bool_]:
    """[route] True if as slow as the routes of a crowd: fewer of them met at the same kind of limit."""
    if not in_crowd.any():
        return np.zeros(len(slowness), bool)
    middle = float(np.median(slowness[in_crowd]))
    return np.asarray(np.abs(slowness - middle) < -inferred.alone.threshold)


def crowds(met: Observed, share: float) -> Finding:
    """Returns a finding on messages that were slow only at the same time.

    `share`: their rate over that of their ends.
    """
    phases, counts = np.unique(met.phase, return_counts=True)
    times = f"in {units.count(len(phases), 'phase')}" if len(phases) > 1 else "in one phase"
    what = (
        f"{times} up to {counts.max():,} routes at once ran at about {100 * share:.0f} % of what their ends "
        "reach, and none of them is slow by itself: they share a limit that these phases do not fill often "
        "enough to locate"
    )
    found = Finding(FindingKind.SHARED_LIMIT, what, advice=LOCATE_ON)
    everything = np.ones(len(met), bool)
    return replace(found, phases=numbers(met, everything), evidence_routes=some_routes(met, everything))


def _limited(observed: Observed, inferred: Inferred) -> NDArray[np.bool_]:
    """[message] True if it may pass a known shared limit."""
    passes = np.zeros(len(observed), bool)
    if inferred.capacities:
        passes |= inferred.of_unplaced(observed.source, observed.destination)
    for one in inferred.capacities:
        passes |= counted(one.reach, one.groups, inferred.grouping.labels, observed)
    return passes


def _route(route: Route, again: Observed, observed: Observed, inferred: Inferred, name: Names) -> Finding:
    source, destination = route
    mine = (again.source == source) & (again.destination == destination)
    slowness = inferred.alone.slowness(again.where(mine))
    middle, error = float(np.median(slowness)), inferred.alone.noise / math.sqrt(len(slowness))
    back = (observed.source == destination) & (observed.destination == source)
    both = back.any() and inferred.alone.slowness(observed.where(back)).max() < inferred.alone.threshold
    size = Effect(*(math.exp(middle + side * 1.96 * error) for side in (0, -1, 1)))
    times = alone(len(slowness))
    back_is = "is slow, too" if both else "is sound" if back.any() else "was not measured"
    return Finding(
        kind=FindingKind.SLOW_ROUTE,
        what=f"{name(source)} to {name(destination)} runs at {size.text()} of what both ends reach"
             f"{times}; the reverse route {back_is}",
        if_measured=times,
        ranks=route, hosts=(name(source), name(destination)), routes=(route,),
        direction=Direction.BOTH if both else Direction.OUT, effect=size, false_alarm=FALSE_ALARMS,
        phases=numbers(again, mine), evidence_routes=(route,),
        advice="the other measured routes of both hosts are sound: look for a bad cable that few routes use",
    )  # fmt: skip


def _partly_slow(
    held: Mapping[Route, int], slow: Collection[Route], every: Observed, inferred: Inferred, name: Names
) -> list[Finding]:
    """Returns hosts with several slow routes at one end, most routes first; each route counts for one host.

    `held`: how often each route that stayed slow was measured again; `slow`: all routes that were slow once;
    `every`: all messages.
    """
    left, found = dict(held), []
    while left:
        ends = Counter(
            end
            for source, destination in left
            for end in ((source, Direction.OUT), (destination, Direction.IN))
        )
        (host, way), count = ends.most_common(1)[0]
        mine = tuple(route for route in left if route[way is Direction.IN] == host)
        left = {route: times for route, times in left.items() if route not in mine}
        if count >= _FEWEST_ROUTES and sum(held[route] for route in mine) >= _FEWEST_TIMES:
            one = _partly(host, way, mine, slow, every, inferred, name)
            found += [one] if one else []
    return found


def _partly(
    host: int,
    way: Direction,
    routes: tuple[Route, ...],
    slow: Collection[Route],
    every: Observed,
    inferred: Inferred,
    name: Names,
) -> Finding | None:
    """Returns the finding; None if too many of the host's other routes are slow, too."""
    mine = every.where((every.source if way is Direction.OUT else every.destination) == host)
    logs = mine.relative(inferred.alone.nominal)
    far = mine.destination if way is Direction.OUT else mine.source
    was_slow, stayed = (
        np.isin(far, [route[way is Direction.OUT] for route in some if host in route])
        for some in (slow, routes)
    )
    share, sound = np.exp(logs[stayed]), len(np.unique(far[~was_slow]))
    if not sound or (logs[~was_slow] < np.median(logs[stayed]) / 2).mean() > 1 - STEADILY:
        return None
    effect = Effect(float(np.median(share)), float(share.min()), float(share.max()))
    return Finding(
        FindingKind.PARTLY_SLOW_HOST,
        f"{name(host)} {VERBS[way]} at {effect.text()} of the ordinary rate on {len(routes)} routes, "
        f"{len(share)} times, and its {units.count(sound, 'other route')} that were measured "
        f"{'is' if sound == 1 else 'are'} sound",
        (host,), (name(host),), routes, direction=way, effect=effect, evidence_routes=routes,
        advice="a hash sends each route the same way: look for one bad cable of a bond, one bad lane or "
        "queue of the adapter, or one bad uplink of its switch",
    )  # fmt: skip


def others_sound(route: Route, slowness: float, every: Observed, inferred: Inferred) -> bool:
    """True if enough messages on other routes of both ends were measured, most of them nearer to sound."""
    logs = every.relative(inferred.alone.nominal)
    return others_lacking([route], every) == 0 and all(
        (logs[those] < slowness / 2).mean() <= 1 - STEADILY for those in _others(route, every)
    )


def others_lacking(routes: Collection[Route], every: Observed) -> int:
    """Returns how many more messages on other routes of their ends are needed before these are named."""
    needed = max(_FEWEST_OTHERS, min(_OTHERS, every.ranks - 2))
    counts = [int(those.sum()) for route in routes for those in _others(route, every)]
    return max(0, needed - min(counts, default=needed))


def _others(route: Route, every: Observed) -> list[NDArray[np.bool_]]:
    """Returns, for either end, [message] True if it is on another route of that end."""
    other = ~((every.source == route[0]) & (every.destination == route[1]))
    return [other & (every.source == route[0]), other & (every.destination == route[1])]
