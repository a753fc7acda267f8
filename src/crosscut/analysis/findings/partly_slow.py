"""Hosts some of whose routes are slow, the same ones whenever they are measured, and the others sound.

What chooses among cables, queues or lanes by a hash sends each route the same way each time: half of the
routes of a host are slow whose second bonded cable is bad.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping

import numpy as np

from crosscut.analysis.findings.kinds import FindingKind
from crosscut.analysis.findings.model import Direction, Effect, Finding
from crosscut.analysis.findings.slow_parts import STEADILY, VERBS, Names
from crosscut.analysis.structure.infer import Inferred
from crosscut.analysis.structure.observed import Observed, Route
from crosscut.base import units

# Slow routes of one end, and times that they were measured again in all.
_FEWEST_ROUTES, _FEWEST_TIMES = 2, 5
# Other routes of an end that must have been measured before one of them is called slow by itself.
FEWEST_OTHERS = 3


def find(
    held: Mapping[Route, int], slow: Collection[Route], every: Observed, inferred: Inferred, name: Names
) -> list[Finding]:
    """Ends of several slow routes, those of most first; a route is told of one end. `held`: how often each
    route that stayed slow was measured again; `slow`: all that were slow once; `every`: all messages."""
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
            one = _finding(host, way, mine, slow, every, inferred, name)
            found += [one] if one else []
    return found


def _finding(
    host: int,
    way: Direction,
    routes: tuple[Route, ...],
    slow: Collection[Route],
    every: Observed,
    inferred: Inferred,
    name: Names,
) -> Finding | None:
    """None where its other routes are not sound: then all of the host is slow, or more than the host is."""
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
    """Other routes of both its ends were measured, enough of them, and mostly were nearer to sound."""
    other = ~((every.source == route[0]) & (every.destination == route[1]))
    logs = every.relative(inferred.alone.nominal)
    for ends, rank in ((every.source, route[0]), (every.destination, route[1])):
        those = logs[other & (ends == rank)]
        if len(those) < FEWEST_OTHERS or (those < slowness / 2).mean() > 1 - STEADILY:
            return False
    return True
