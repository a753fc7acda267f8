"""Single routes that are slower than their two ends allow."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from crosscut.analysis.findings.kinds import FindingKind
from crosscut.analysis.findings.model import Direction, Effect, Finding
from crosscut.analysis.findings.slow_parts import SMALLEST_LOSS, Names, numbers, some_routes
from crosscut.analysis.stats.doubt import FALSE_ALARMS, outliers_below
from crosscut.analysis.structure.infer import Inferred
from crosscut.analysis.structure.limits import families
from crosscut.analysis.structure.model import LOCATE_ON
from crosscut.analysis.structure.observed import Observed, Route

_ROUTES_NAMED = 16
# Messages more than this share slow: routes are then slow by the company they were in.
_QUIET = 0.05
# So many slow at once, and never slow without: it is what they share. Fewer may be bad cables that met.
_CROWD = 3


def routes(observed: Observed, inferred: Inferred, name: Names) -> list[Finding]:
    """Single routes below what their two ends reach, where little else is slow. What passes a limit that is
    known is slow by that, and what is slow only beside others by what they share."""
    quiet = inferred.slow_share <= _QUIET
    observed = observed.where(~_limited(observed, inferred))
    if not len(observed) or not quiet:
        return []
    slowness = inferred.alone.slowness(observed)
    keys, inverse = np.unique(observed.source * observed.ranks + observed.destination, return_inverse=True)
    # The best of several times: a route that was fast once is not slow.
    best = np.full(len(keys), -np.inf)
    np.maximum.at(best, inverse, slowness)
    doubt = outliers_below(best, inferred.alone.noise)
    is_slow = (doubt < FALSE_ALARMS) & (best < math.log(1 - SMALLEST_LOSS))
    met = is_slow[inverse]
    in_crowd = np.zeros(len(keys), bool)
    in_crowd[inverse[met]] = only_in_crowds(observed.where(met))
    slow = np.nonzero(is_slow & ~in_crowd)[0]
    found = [
        _route(
            divmod(int(keys[at]), observed.ranks), float(best[at]), float(doubt[at]), observed, inferred, name
        )
        for at in slow[np.argsort(best[slow])][:_ROUTES_NAMED]
    ]
    if in_crowd.any():
        found.append(crowds(observed.where(in_crowd[inverse]), math.exp(float(np.median(best[in_crowd])))))
    return found


def only_in_crowds(slow: Observed) -> NDArray[np.bool_]:
    """[message, of slow routes alone] whether its route met so many of them in each of its phases."""
    _, phase = np.unique(slow.phase, return_inverse=True)
    _, route = np.unique(slow.source * slow.ranks + slow.destination, return_inverse=True)
    fewest = np.full(len(slow), np.inf)
    np.minimum.at(fewest, route, np.bincount(phase)[phase])
    return np.asarray(fewest[route] >= _CROWD)


def crowds(met: Observed, share: float) -> Finding:
    """A finding: messages were slow only beside each other, at this share of what their ends reach."""
    phases, counts = np.unique(met.phase, return_counts=True)
    times = f"in {len(phases)} phases" if len(phases) > 1 else "in one phase"
    everything = np.ones(len(met), bool)
    return Finding(
        kind=FindingKind.SHARED_LIMIT,
        what=f"{times} up to {counts.max()} routes at once ran at about {100 * share:.0f} % of what their "
        "ends reach, and none of them is slow by itself: they meet at a limit that was met too seldom to be "
        "placed",
        phases=numbers(met, everything),
        evidence_routes=some_routes(met, everything),
        advice=f"{LOCATE_ON} tell",
    )


def _limited(observed: Observed, inferred: Inferred) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """[message] whether it passes a shared limit that was found."""
    known = {(capacity.reach, capacity.groups) for capacity in inferred.capacities}
    passes = np.zeros(len(observed), bool)
    for family in families(inferred.grouping.labels, observed) if known else ():
        for candidate in family:
            if (candidate.reach, candidate.groups) in known:
                passes |= candidate.counted
    return passes


def _route(
    route: Route, effect: float, doubt: float, observed: Observed, inferred: Inferred, name: Names
) -> Finding:
    source, destination = route
    mine = (observed.source == source) & (observed.destination == destination)
    back = (observed.source == destination) & (observed.destination == source)
    both = back.any() and inferred.alone.slowness(observed.where(back)).max() < inferred.alone.threshold
    size = Effect(*(math.exp(effect + side * 1.96 * inferred.alone.noise) for side in (0, -1, 1)))
    back_words = (
        "as is the way back" if both else "the way back is sound" if back.any() else "way back not measured"
    )
    return Finding(
        kind=FindingKind.SLOW_ROUTE,
        what=f"{name(source)} to {name(destination)} runs at {size.text()} of what both ends reach; "
             f"{back_words}",
        ranks=route, hosts=(name(source), name(destination)), routes=(route,),
        direction=Direction.BOTH if both else Direction.OUT, effect=size, false_alarm=doubt,
        phases=numbers(observed, mine), evidence_routes=(route,),
        advice="all other routes of both hosts are sound: a cable that only this route takes",
    )  # fmt: skip
