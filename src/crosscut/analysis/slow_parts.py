"""Hosts, routes and trunks that are slower than their like, each with its size and the probability of a false
alarm."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from crosscut import units
from crosscut.analysis.doubt import FALSE_ALARMS, SMALLEST_CLAIMED, holm, normal_tail, outliers_below
from crosscut.analysis.findings import Direction, Effect, Finding, Kind, Reach
from crosscut.analysis.intervals import Floats
from crosscut.analysis.limits import Capacity, families
from crosscut.analysis.observed import Observed, Route
from crosscut.analysis.structure import Inferred, group_name
from crosscut.analysis.unshared import FASTEST_LOOKED_AT, tops

Names = Callable[[int], str]
"""A rank's name for people."""

# A part that loses less is not worth an operator's walk.
SMALLEST_LOSS = 0.05
# More hosts than this share are no exception but another kind of network.
LARGEST_SHARE_OF_HOSTS = 0.125
# Alone, with a sound partner: more than noise, and more than a few messages of others cost.
SOUND_ALONE = 0.1
_ROUTES_NAMED = 16
# Of what its like carry: a trunk that lost less may be of another kind.
LARGEST_SHARE_OF_TRUNK = 0.85
_FEWEST_ALIKE = 3
_LINKS = (Reach.LEAVING, Reach.ENTERING)
# Of a trunk whose capacity is not known: totals of so many phases, for one alone may be lucky.
_LARGEST_TOTALS = 2
_LIKE_SIZES = 1.5
# Messages more than this share slow: routes are then slow by the company they were in.
_QUIET = 0.05


@dataclass(frozen=True)
class _End:
    """One direction of all hosts' links."""

    direction: Direction
    effect: Floats
    """[rank] log"""
    doubt: Floats
    """[rank] adjusted probability of a false alarm"""


def hosts(observed: Observed, inferred: Inferred, name: Names) -> list[Finding]:
    """Hosts of which no message ever reaches what the others' do."""
    found = tops(observed)
    # Of the mean of a host's three fastest; measured on normal noise it is below half that of one message.
    noise = inferred.alone.noise / math.sqrt(FASTEST_LOOKED_AT)
    ends = [
        _End(Direction.OUT, found.out_effect, _doubt(found.out_effect, found.out_count > 0, noise)),
        _End(Direction.IN, found.in_effect, _doubt(found.in_effect, found.in_count > 0, noise)),
    ]
    slow = [_below(end, SMALLEST_LOSS) for end in ends]
    there = slow[0] | slow[1]
    if len(there) > max(1, LARGEST_SHARE_OF_HOSTS * observed.ranks):
        return [_crowded(sorted(there), name)]
    return [_host(observed, rank, ends, [rank in s for s in slow], noise, name) for rank in sorted(there)]


def _below(end: _End, loss: float) -> set[int]:
    """Ranks that are slower by more than `loss`, and not by chance."""
    slow = (end.doubt < FALSE_ALARMS) & (end.effect < math.log(1 - loss))
    return set(np.nonzero(slow)[0].tolist())


def _doubt(effect: Floats, looked_at: np.ndarray[tuple[int], np.dtype[np.bool_]], noise: float) -> Floats:
    doubt = outliers_below(np.where(looked_at, effect, np.nan), noise)
    return np.where(np.isfinite(doubt), doubt, 1.0)


def _host(
    observed: Observed, rank: int, ends: Sequence[_End], slow: Sequence[bool], noise: float, name: Names
) -> Finding:
    both = all(slow)
    concerned = [end for end, is_slow in zip(ends, slow, strict=True) if is_slow]
    worst = min(concerned, key=lambda end: float(end.effect[rank]))
    middle = float(worst.effect[rank])
    effect = Effect(*(math.exp(middle + side * 1.96 * noise) for side in (0, -1, 1)))
    direction = Direction.BOTH if both else worst.direction
    words = {Direction.OUT: "sends", Direction.IN: "receives", Direction.BOTH: "sends and receives"}[
        direction
    ]
    mine = np.zeros(len(observed), bool)
    for end in concerned:
        mine |= (observed.source if end.direction is Direction.OUT else observed.destination) == rank
    advice = (
        "compare link speed, duplex and error counters of its adapter and switch port; then swap the cable"
        if both
        else "one direction alone: a cable or a port with errors, or a host too busy to "
        + ("send" if direction is Direction.OUT else "receive")
    )
    return Finding(
        kind=Kind.SLOW_HOST,
        what=f"{name(rank)} {words} at {effect.text()} of the rate of the other hosts",
        ranks=(rank,),
        hosts=(name(rank),),
        direction=direction,
        effect=effect,
        false_alarm=max(float(worst.doubt[rank]), SMALLEST_CLAIMED),
        phases=_numbers(observed, mine),
        evidence_routes=_some_routes(observed, mine),
        advice=advice,
    )


def _crowded(ranks: Sequence[int], name: Names) -> Finding:
    listed = ", ".join(name(rank) for rank in ranks[:6]) + (" …" if len(ranks) > 6 else "")
    return Finding(
        kind=Kind.SHARED_LIMIT,
        what=f"{len(ranks)} hosts never reach the rate of the others under this load ({listed}): their "
        f"links carry "
        "others' messages too, or they are of another kind",
        ranks=tuple(ranks),
        hosts=tuple(name(rank) for rank in ranks),
        advice="measure them alone: crosscut locate --on PLACE does",
    )


def hosts_alone(alone: Observed, inferred: Inferred, name: Names) -> list[Finding]:
    """Of hosts that were measured with a sound partner and few others about: those that are slow all the
    same."""
    nominal, noise = inferred.alone.nominal, inferred.alone.noise
    ends = []
    for direction, side in ((Direction.OUT, alone.source), (Direction.IN, alone.destination)):
        effect, doubt = np.zeros(alone.ranks), np.ones(alone.ranks)
        for rank in np.unique(side).tolist():
            logs = np.log(alone.rate[side == rank] / nominal)
            effect[rank] = float(np.median(logs))
            doubt[rank] = float(normal_tail(np.array([-effect[rank] * math.sqrt(len(logs)) / noise]))[0])
        ends.append(_End(direction, effect, holm(doubt)))
    # A message between two slow ends is as slow as the slower one: its partner here is sound, so each end
    # that is slow on one side only is so by itself; a partner shows on the other side of the same exchange.
    slow = [_below(end, SOUND_ALONE) for end in ends]
    tested = _first_of_exchanges(alone)
    there = sorted((slow[0] | slow[1]) & tested)
    if len(there) > max(3, LARGEST_SHARE_OF_HOSTS * alone.ranks):
        return [_crowded(there, name)]
    return [_host(alone, rank, ends, [rank in s for s in slow], noise / math.sqrt(2), name) for rank in there]


def _first_of_exchanges(alone: Observed) -> set[int]:
    """Suspects: the first of every two messages is theirs (search.py), the second their partner's answer."""
    return set(alone.source[::2].tolist())


def trunks(inferred: Inferred, observed: Observed) -> list[Finding]:
    """Shared capacities smaller than those of the same kind, or than what others were seen to carry."""
    found = []
    for reach in Reach:
        # Both directions of a trunk are alike as well.
        alike = _LINKS if reach in _LINKS else (reach,)
        values = {(c.reach, c.groups): c.bytes_per_second for c in inferred.capacities if c.reach in alike}
        if reach in _LINKS and any(kind is reach for kind, _ in values):
            values |= _carried(inferred, observed)
        if len(values) < _FEWEST_ALIKE:
            continue
        logs = np.log(np.array(list(values.values())))
        noise = inferred.alone.noise / 2  # of a total of several messages and phases: no more
        doubt = dict(zip(values, outliers_below(logs, noise), strict=True))
        for capacity in inferred.capacities:
            share = capacity.bytes_per_second / math.exp(float(np.median(logs)))
            p = float(doubt.get((capacity.reach, capacity.groups), 1.0))
            if capacity.reach is reach and p < FALSE_ALARMS and share < LARGEST_SHARE_OF_TRUNK:
                found.append(_trunk(capacity, share, p, inferred))
    return found


def _carried(inferred: Inferred, observed: Observed) -> dict[tuple[Reach, tuple[int, ...]], float]:
    """What trunks without a known capacity carry at least, bytes per second: the mean of their largest
    totals, where that is so far above the smallest known that theirs would not be called slow. Of groups of
    about as many hosts, for whoever parts a module in two would have either half's inner traffic here."""
    labels = inferred.grouping.labels
    size = np.bincount(labels)
    likened = [int(size[c.groups[0]]) for c in inferred.capacities if c.reach in _LINKS]
    source, destination = labels[observed.source], labels[observed.destination]
    across = source != destination
    known = {(c.reach, c.groups): c.bytes_per_second for c in inferred.capacities}
    least = min((c.bytes_per_second for c in inferred.capacities if c.reach in _LINKS), default=math.inf)
    numbers, phase = np.unique(observed.phase, return_inverse=True)
    found: dict[tuple[Reach, tuple[int, ...]], float] = {}
    for reach, ends in ((Reach.LEAVING, source), (Reach.ENTERING, destination)):
        totals = np.zeros((len(numbers), inferred.grouping.count))
        np.add.at(totals, (phase[across], ends[across]), observed.rate[across])
        largest = np.sort(totals, axis=0)[-_LARGEST_TOTALS:].mean(axis=0)
        for group, total in enumerate(largest.tolist()):
            if any(max(size[group], other) > _LIKE_SIZES * min(size[group], other) for other in likened):
                continue
            if (reach, (group,)) not in known and total * LARGEST_SHARE_OF_TRUNK > least:
                found[reach, (group,)] = total
    return found


def lone_trunks(inferred: Inferred) -> list[Finding]:
    """One group alone has a limit: the others, which have none below what they send, are its like."""
    across = [c for c in inferred.capacities if c.reach in (Reach.LEAVING, Reach.ENTERING)]
    groups = {c.groups[0] for c in across}
    if len(groups) != 1 or inferred.grouping.count != 2:
        return []
    gain = inferred.grouping.log_likelihood - inferred.grouping.log_likelihood_of_one_group
    return [_trunk(c, math.nan, math.exp(-min(gain, 600.0)), inferred) for c in across]


def _trunk(capacity: Capacity, share: float, doubt: float, inferred: Inferred) -> Finding:
    rate = units.rate(capacity.bytes_per_second)
    scale = 1 / capacity.bytes_per_second * share
    members = tuple(np.nonzero(inferred.grouping.labels == capacity.groups[0])[0].tolist())
    words = f"{where(capacity)} carries {rate} together"
    effect = None
    if math.isfinite(share):
        effect = Effect(share, capacity.low * scale, capacity.high * scale)
        words += f", {effect.text()} of others of its kind"
    else:
        words += ", where the others have no limit that shows"
    direction = {Reach.LEAVING: Direction.OUT, Reach.ENTERING: Direction.IN}.get(capacity.reach)
    return Finding(
        kind=Kind.SLOW_TRUNK, what=words, ranks=members,
        groups=tuple(group_name(number) for number in capacity.groups), direction=direction,
        effect=effect, false_alarm=max(doubt, SMALLEST_CLAIMED), phases=capacity.phases[:64],
        advice="look for a cable of the trunk that is down, or that came up at a lower speed",
    )  # fmt: skip


def where(capacity: Capacity) -> str:
    """In words: `what leaves group 2`."""
    words = {
        Reach.LEAVING: "what leaves {0}", Reach.ENTERING: "what enters {0}",
        Reach.SENT: "all that hosts of {0} send", Reach.RECEIVED: "all that hosts of {0} receive",
        Reach.BETWEEN: "from {0} to {1}", Reach.CROSSING: "all between groups",
    }[capacity.reach]  # fmt: skip
    return words.format(*(group_name(number) for number in capacity.groups))


def routes(observed: Observed, inferred: Inferred, name: Names) -> list[Finding]:
    """Single routes below what their two ends reach, where little else is slow. What passes a limit that is
    known is slow by that."""
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
    slow = np.nonzero((doubt < FALSE_ALARMS) & (best < math.log(1 - SMALLEST_LOSS)))[0]
    return [
        _route(
            divmod(int(keys[at]), observed.ranks), float(best[at]), float(doubt[at]), observed, inferred, name
        )
        for at in slow[np.argsort(best[slow])][:_ROUTES_NAMED]
    ]


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
        kind=Kind.SLOW_ROUTE,
        what=f"{name(source)} to {name(destination)} runs at {size.text()} of what both ends reach; "
             f"{back_words}",
        ranks=route, hosts=(name(source), name(destination)), routes=(route,),
        direction=Direction.BOTH if both else Direction.OUT, effect=size, false_alarm=doubt,
        phases=_numbers(observed, mine), evidence_routes=(route,),
        advice="all other routes of both hosts are sound: a cable that only this route takes",
    )  # fmt: skip


def shared(inferred: Inferred) -> list[Finding]:
    """Limits that all groups have alike: the network as it was built, not a fault."""
    found = []
    gain = inferred.grouping.log_likelihood - inferred.grouping.log_likelihood_of_one_group
    doubt = max(math.exp(-min(max(gain, 0.0), 600.0)), SMALLEST_CLAIMED)
    for reach in Reach:
        alike = [capacity for capacity in inferred.capacities if capacity.reach is reach]
        if not alike:
            continue
        middle = float(np.median([capacity.bytes_per_second for capacity in alike]))
        low, high = (f([c.bytes_per_second for c in alike]) for f in (min, max))
        spread = f" ({units.rate(low)} to {units.rate(high)})" if high > low * 1.02 else ""
        what = where(alike[0]) if len(alike) == 1 else f"{_each(reach)}, {len(alike)} times"
        found.append(
            Finding(
                kind=Kind.SHARED_LIMIT,
                what=f"shared limit: {what}: {units.rate(middle)}{spread}",
                groups=tuple(sorted({group_name(n) for capacity in alike for n in capacity.groups})),
                false_alarm=doubt,
                phases=tuple(sorted({phase for capacity in alike for phase in capacity.phases}))[:256],
                advice="the network is built so, or all trunks alike lost capacity: compare with what "
                "was ordered",
            )
        )
    return found


def _each(reach: Reach) -> str:
    return {
        Reach.LEAVING: "what leaves a group", Reach.ENTERING: "what enters a group",
        Reach.SENT: "all that hosts of a group send", Reach.RECEIVED: "all that hosts of a group receive",
        Reach.BETWEEN: "from one group to another", Reach.CROSSING: "all between groups",
    }[reach]  # fmt: skip


def grouped(inferred: Inferred, name: Names) -> list[Finding]:
    """The groups themselves."""
    count = inferred.grouping.count
    if count < 2:
        return []
    gain = inferred.grouping.log_likelihood - inferred.grouping.log_likelihood_of_one_group
    sizes = np.bincount(inferred.grouping.labels)
    each = str(sizes[0]) if len(set(sizes.tolist())) == 1 else f"{sizes.min()} to {sizes.max()}"
    unsure = [name(int(rank)) for rank in np.nonzero(inferred.grouping.confidence < 0.95)[0]]
    doubtful = f"; unsure of {', '.join(unsure[:6])}{' …' if len(unsure) > 6 else ''}" if unsure else ""
    return [
        Finding(
            kind=Kind.GROUPS,
            what=f"{count} groups of {each} hosts: within a group messages are fast, between groups they "
            f"share "
            f"limits{doubtful}",
            groups=tuple(group_name(number) for number in range(count)),
            false_alarm=max(math.exp(-min(max(gain, 0.0), 600.0)), SMALLEST_CLAIMED),
            advice="",
        )
    ]


def _numbers(observed: Observed, mine: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> tuple[int, ...]:
    return tuple(np.unique(observed.phase[mine])[:64].tolist())


def _some_routes(observed: Observed, mine: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> tuple[Route, ...]:
    at = np.nonzero(mine)[0][:64]
    return tuple(zip(observed.source[at].tolist(), observed.destination[at].tolist(), strict=True))
