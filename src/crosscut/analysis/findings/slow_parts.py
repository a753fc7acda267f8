"""Finds slow hosts, kinds of hosts and groups, with effects and probabilities of false alarms."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from crosscut.analysis.findings.evidence import Evidence
from crosscut.analysis.findings.kinds import FindingKind
from crosscut.analysis.findings.model import Direction, Effect, Finding
from crosscut.analysis.findings.model import alone as measured_alone
from crosscut.analysis.stats.doubt import FALSE_ALARMS, holm, normal_tail, outliers_below
from crosscut.analysis.stats.intervals import Floats
from crosscut.analysis.structure.grouping import SLOW_WITHIN_AT_MOST
from crosscut.analysis.structure.infer import Inferred, group_name, hashed_paths
from crosscut.analysis.structure.observed import Integers, Observed, Route
from crosscut.analysis.structure.unshared import FASTEST_LOOKED_AT, tops
from crosscut.base import units
from crosscut.base.node_sets import LIST_WIDTH, folded

Names = Callable[[int], str]
"""Returns a rank's name for people."""

# A smaller loss is not worth an operator's time.
SMALLEST_LOSS = 0.05
# If a larger share of the hosts is slow, they are not exceptions: the network is of another kind.
LARGEST_SHARE_OF_HOSTS = 0.125
# Loss of a slow host that is measured alone: more than noise or a few other messages cost.
SOUND_ALONE = 0.1
# A host that was measured alone less often is not reported as slow.
FEWEST_ALONE = 5
# Share of the measurements alone in which a slow host must be nearer to slow than to sound.
STEADILY = 0.8
# A message reached the ordinary rate if at most this share of the loss is left (logarithms). No noise speeds
# a slow link up, but a neighbour or a daemon comes and goes.
REACHED = 0.25
# How often a slow host must reach its own best, relative to how often all messages are that fast.
_AS_OFTEN = 0.65
# If a larger share of all messages is slow, hardly any message shows the rate of its hosts' links.
_MOST_SLOW = 0.9
_SELDOM = "not measured alone often enough to be sure"
_REACHED = "it reached the ordinary rate meanwhile, so its link is not slow all the time"
_JOB = " or another job"
_VARIES = f"a shared link{_JOB} may be the cause"
_ALONE = "measure it alone with crosscut locate --on PLACE"
# Logarithm: two directions that differ by less are reported as one.
_AS_SLOW = 0.1
VERBS = {Direction.OUT: "sends", Direction.IN: "receives", Direction.BOTH: "sends and receives"}
# A rank's group is uncertain below this probability.
_UNSURE = 0.95


@dataclass(frozen=True)
class _End:
    """One direction of all hosts' links."""

    direction: Direction
    of: Integers
    """[message] the rank at this end."""
    effect: Floats
    """[rank] log of the rate over the ordinary rate."""
    doubt: Floats
    """[rank] adjusted probability of a false alarm."""


def of_run(evidence: Evidence) -> list[Finding]:
    """Returns findings on slow hosts and on groups."""
    observed, inferred = evidence.observed, evidence.inferred
    return [*hosts(observed, inferred, evidence.name), *grouped(inferred, evidence.name)]


def hosts(observed: Observed, inferred: Inferred, name: Names) -> list[Finding]:
    """Returns the hosts whose messages never reach the rate of others."""
    # An upper bound: the mean of a host's fastest few messages varies less than that of random ones.
    noise = inferred.alone.noise / math.sqrt(FASTEST_LOOKED_AT)
    sides = ((Direction.OUT, observed.source), (Direction.IN, observed.destination))
    ends = [
        _End(way, side, effect, _doubt(effect, side, noise))
        for (way, side), effect in zip(sides, tops(observed), strict=True)
    ]
    slow = [_below(end, SMALLEST_LOSS) for end in ends]
    there = slow[0] | slow[1]
    if len(there) > max(1, LARGEST_SHARE_OF_HOSTS * observed.ranks):
        return [_crowded(sorted(there), name)]
    beside, steady = _Beside(inferred, there), _steady(observed, ends, slow, inferred)
    told = {
        rank: _host(observed, rank, ends, [rank in s for s in slow], noise, name, beside)
        for rank in sorted(there)
    }
    suspects = [rank for rank in told if rank not in steady]
    if len(suspects) > 1:
        unsure = [replace(_crowded(suspects, name), kind=FindingKind.SUSPECT)]
    else:
        unsure = [replace(_suspect(told[rank], _VARIES, _ALONE), if_measured=_JOB) for rank in suspects]
    return [*(told[rank] for rank in told if rank in steady), *unsure]


def _steady(
    observed: Observed, ends: Sequence[_End], slow: Sequence[set[int]], inferred: Inferred
) -> set[int]:
    """Returns the slow ranks that reach their own best about as often as others reach that rate.

    A rank limited by a cable falls below its best only when others are as slow. A rank that others' messages
    or another job slow reaches its best only now and then.
    """
    steady: set[int] = set()
    if inferred.slow_share > _MOST_SLOW:
        return steady
    logs, width = observed.relative(inferred.alone.nominal), -inferred.alone.threshold
    for end, beyond, those in zip(ends, ends[::-1], slow, strict=True):
        cleared = logs - beyond.effect[beyond.of]
        for rank in those:
            as_fast = cleared > end.effect[rank] - width
            if as_fast[end.of == rank].mean() >= _AS_OFTEN * as_fast.mean():
                steady.add(rank)
    return steady


def _below(end: _End, loss: float) -> set[int]:
    """Returns the ranks that are slower by more than `loss`, and not by chance."""
    slow = (end.doubt < FALSE_ALARMS) & (end.effect < math.log(1 - loss))
    return set(np.nonzero(slow)[0].tolist())


def _doubt(effect: Floats, ends: Integers, noise: float) -> Floats:
    doubt = outliers_below(np.where(np.isin(np.arange(len(effect)), ends), effect, np.nan), noise)
    return np.where(np.isfinite(doubt), doubt, 1.0)


@dataclass(frozen=True)
class _Beside:
    """Words about the other hosts of a slow host's group."""

    inferred: Inferred
    slow: set[int]

    def words(self, rank: int) -> str:
        """Returns `; the other 31 hosts of group2 are sound`, or nothing if the rank's group is unknown."""
        labels, sure = self.inferred.grouping.labels, self.inferred.grouping.confidence
        if self.inferred.grouping.count < 2 or rank in self.inferred.unplaced or sure[rank] < _UNSURE:
            return ""
        others = set(np.nonzero(labels == labels[rank])[0].tolist()) - {rank}
        if not others:
            return ""
        too, number = len(others & self.slow), "" if len(others) == 1 else f"{len(others):,} "
        these = f"the other {number}host{'s' if number else ''} of"
        are = "is" if (too or len(others)) == 1 else "are"
        part = f"{too:,} of " if 0 < too < len(others) else ""
        those, how = f"{part}{these}", "slow as well" if too else "sound"
        return f"; {those} {group_name(int(labels[rank]))} {are} {how}"


def _host(
    observed: Observed, rank: int, ends: Sequence[_End], slow: Sequence[bool], noise: float, name: Names,
    beside: _Beside, times: str = "",
) -> Finding:  # fmt: skip
    concerned = [end for end, is_slow in zip(ends, slow, strict=True) if is_slow]
    concerned.sort(key=lambda end: float(end.effect[rank]))
    worst, rest = concerned[0], concerned[1:]
    effect = _effect(worst, rank, noise)
    follows = bool(rest) and rest[0].effect[rank] - worst.effect[rank] > _AS_SLOW
    both = bool(rest) and not follows
    direction = Direction.BOTH if both else worst.direction
    like = "the other hosts" if observed.of_kind is None else "others of its kind"
    words = f"{VERBS[direction]} at {effect.text()} of the rate of {like}{times}"
    if follows:
        words += _consequence(rest[0], rank)
    mine = np.zeros(len(observed), bool)
    for end in concerned if both else [worst]:
        mine |= end.of == rank
    advice = (
        "compare link speed, duplex and error counters of its adapter and switch port; then swap the cable"
        if both
        else "only one direction is slow: look for a cable or port with errors, or a host too busy to "
        + ("send" if direction is Direction.OUT else "receive")
    )
    return Finding(
        kind=FindingKind.SLOW_HOST,
        what=f"{name(rank)} {words}{beside.words(rank)}",
        if_measured=times,
        ranks=(rank,),
        hosts=(name(rank),),
        direction=direction,
        effect=effect,
        false_alarm=float(worst.doubt[rank]),
        phases=numbers(observed, mine),
        evidence_routes=some_routes(observed, mine),
        advice=advice,
    )


def _effect(end: _End, rank: int, noise: float) -> Effect:
    return Effect(*(math.exp(float(end.effect[rank]) + side * 1.96 * noise) for side in (0, -1, 1)))


def _consequence(milder: _End, rank: int) -> str:
    """Returns words that explain the milder direction by the worse one.

    With reception at 40 %, a host on an emulated cluster sends over TCP at 50 to 90 %, because the
    acknowledgements of its data queue behind the data that it receives; and the other way round. A separate
    fault would look the same while both directions are busy.
    """
    share = f"{100 * math.exp(float(milder.effect[rank])):.0f} %"
    queue = "receives" if milder.direction is Direction.OUT else "sends"
    return (
        f"; it {VERBS[milder.direction]} at {share} meanwhile, probably as a consequence: "
        f"acknowledgements wait behind what it {queue}"
    )


def few_names(ranks: Sequence[int], name: Names) -> str:
    return folded(list(map(name, ranks)), LIST_WIDTH)


def _crowded(ranks: Sequence[int], name: Names) -> Finding:
    what = (
        f"{len(ranks)} hosts never reach the rate of the others under this load ({few_names(ranks, name)}): "
        "their links carry others' messages too, or they are of another kind"
    )
    advice = _ALONE.replace("it", "them", 1)
    return Finding(FindingKind.SHARED_LIMIT, what, tuple(ranks), tuple(map(name, ranks)), advice=advice)


def hosts_alone(alone: Observed, inferred: Inferred, name: Names) -> list[Finding]:
    """Returns the hosts that are slow even with a sound partner and few other messages.

    The `unconfirmed` ones are suspects.
    """
    ends = _ends_alone(alone, inferred)
    there = _slow_alone(alone, ends)
    if len(there) > max(3, LARGEST_SHARE_OF_HOSTS * alone.ranks):
        return [_crowded(there, name)]
    beside, times, unsure = _Beside(inferred, set(there)), _times(alone), unconfirmed(alone, inferred)
    if inferred.mostly_slow:  # even a few messages meet on cables, so once or twice proves nothing
        there = [rank for rank in there if rank not in unsure]
    reached = _reached(alone, inferred, _worse(ends))
    found = []
    for rank in there:
        noise = inferred.alone.noise / math.sqrt(max(1, times[rank]))
        slow = [rank in _below(end, SOUND_ALONE) for end in ends]
        one = _host(alone, rank, ends, slow, noise, name, beside, measured_alone(int(times[rank])))
        why = _SELDOM if rank in unsure else _REACHED if rank in reached else ""
        found.append(_suspect(one, why, "run crosscut locate again") if why else one)
    return found


def _reached(alone: Observed, inferred: Inferred, effect: Floats) -> set[int]:
    """Returns the suspects that reached the ordinary rate at least once. `effect`: [rank] log of their rates
    over it."""
    suspects, slower = _exchanges(alone, inferred)
    return set(suspects[slower > effect[suspects] * REACHED].tolist())


def _exchanges(alone: Observed, inferred: Inferred) -> tuple[Integers, Floats]:
    """Returns the suspect of each exchange, and the log of the slower message's rate over the ordinary."""
    suspects = alone.source[:-1:2]
    relative = alone.relative(inferred.alone.nominal)[: 2 * len(suspects)]
    return suspects, np.asarray(relative.reshape(-1, 2).min(axis=1))


def unconfirmed(alone: Observed, inferred: Inferred) -> dict[int, bool]:
    """Returns the hosts that are slow alone but were measured too seldom to be reported, or were never as
    slow without another slow host: two that share a cable slow each other.

    The value is True for a host that lacks only the latter.
    """
    times = _times(alone)
    (suspects, slower), phases = _exchanges(alone, inferred), alone.phase[:-1:2]
    ends = _ends_alone(alone, inferred)
    was_slow = slower < math.log(1 - SOUND_ALONE)
    as_slow = slower < _worse(ends)[suspects] / 2
    _, phase, company = np.unique(phases[was_slow], return_inverse=True, return_counts=True)
    by_itself = set(suspects[was_slow][(company[phase] == 1) & as_slow[was_slow]].tolist())
    slow = _slow_alone(alone, ends)
    enough = {rank: times[rank] >= FEWEST_ALONE - (rank not in by_itself) for rank in slow}
    return {rank: bool(enough[rank]) for rank in slow if rank not in by_itself or not enough[rank]}


def steadily_slow(alone: Observed, inferred: Inferred) -> list[int]:
    """Returns the hosts that are slow alone and never reached the ordinary rate."""
    ends = _ends_alone(alone, inferred)
    reached = _reached(alone, inferred, _worse(ends))
    return [rank for rank in _slow_alone(alone, ends) if rank not in reached]


def slow_once(alone: Observed, inferred: Inferred) -> set[int]:
    """Returns the suspects that were slow alone at least once: steadily, or now and then."""
    slow = alone.where(alone.relative(inferred.alone.nominal) < math.log(1 - SOUND_ALONE))
    return {*slow.source.tolist(), *slow.destination.tolist()} & _first_of_exchanges(alone)


def _ends_alone(alone: Observed, inferred: Inferred) -> list[_End]:
    nominal, noise = inferred.alone.nominal, inferred.alone.noise
    ends = []
    for direction, side in ((Direction.OUT, alone.source), (Direction.IN, alone.destination)):
        effect, doubt = np.zeros(alone.ranks), np.ones(alone.ranks)
        for rank in np.unique(side).tolist():
            logs = alone.relative(nominal)[side == rank]
            # One of few measurements may have been a stall; hardly any noise makes a message faster.
            effect[rank] = float(np.median(logs) if len(logs) >= FEWEST_ALONE else logs.max())
            if (logs < effect[rank] / 2).mean() >= STEADILY:
                doubt[rank] = float(normal_tail(np.array([-effect[rank] * math.sqrt(len(logs)) / noise]))[0])
        ends.append(_End(direction, side, effect, holm(doubt)))
    return ends


def _worse(ends: Sequence[_End]) -> Floats:
    """[rank] the effect of its slower direction."""
    return np.minimum(ends[0].effect, ends[1].effect)


def _slow_alone(alone: Observed, ends: Sequence[_End]) -> list[int]:
    """Returns the suspects that are slow alone in either direction.

    A message is as slow as the slower of its ends. The partner is sound, so the suspect is slow by itself.
    Partners, which seem slow in the other direction of the same exchange, are left out.
    """
    return sorted((_below(ends[0], SOUND_ALONE) | _below(ends[1], SOUND_ALONE)) & _first_of_exchanges(alone))


def _times(alone: Observed) -> Integers:
    """[rank] number of exchanges."""
    return np.bincount(np.concatenate([alone.source, alone.destination]), minlength=alone.ranks) // 2


def _suspect(one: Finding, why: str, advice: str) -> Finding:
    return replace(one.adding(why, advice), kind=FindingKind.SUSPECT, false_alarm=math.nan)


def _first_of_exchanges(alone: Observed) -> set[int]:
    """Returns the suspects: they send the first of every two messages, their partners the second
    (Suspects.exchanges)."""
    return set(alone.source[::2].tolist())


def kinds(observed: Observed, name: Names) -> list[Finding]:
    """Returns a finding on hosts of a slower kind, if a search found one."""
    if observed.of_kind is None:
        return []
    slower = np.nonzero(observed.of_kind < 1)[0].tolist()
    share = float(observed.of_kind.min())
    others = units.count(observed.ranks - len(slower), "other host")
    what = (
        f"2 kinds of hosts: {units.count(len(slower), 'host')} ({few_names(slower, name)}) reach "
        f"{100 * share:.0f} % of the rate of the {others}, even when only half of these {len(slower)} send, "
        "so each is limited by itself"
    )
    named, advice = (
        tuple(map(name, slower)),
        "compare adapters and processors; if all hosts should be alike, these are slow",
    )
    return [Finding(FindingKind.HOST_KINDS, what, tuple(slower), named, effect=Effect(share), advice=advice)]


def grouped(inferred: Inferred, name: Names) -> list[Finding]:
    """Returns a finding on the groups, if there are several."""
    count = inferred.grouping.count
    if count < 2:
        return []
    told = inferred.grouping.confidence >= _UNSURE
    told[inferred.unplaced] = True
    noun = "rank" if ":" in name(0) else "host"
    what = f"{_groups(inferred, 'groups', noun)}: {_inside(inferred)}{_across(inferred)}"
    what += _listed("group uncertain:", np.nonzero(~told)[0], name)
    what += _listed("group unknown, behind a slow cable:", inferred.unplaced, name)
    groups = tuple(group_name(number) for number in range(count))
    return [Finding(FindingKind.GROUPS, what, groups=groups, false_alarm=inferred.grouping.doubt)]


def parts(inner: Inferred) -> list[Finding]:
    """Returns a finding on groups within groups, if they share limits."""
    if not inner.capacities:
        return []
    what = f"{_groups(inner, 'parts of groups')}: {_inside(inner)}{_across(inner)}"
    names = tuple(inner.name(number) for number in range(inner.grouping.count))
    return [Finding(FindingKind.GROUPS, what, groups=names, false_alarm=inner.grouping.doubt)]


def _inside(inferred: Inferred) -> str:
    """Returns words about messages within groups; none if no such messages were measured."""
    if math.isnan(inferred.slow_inside):
        return ""
    if inferred.slow_inside > SLOW_WITHIN_AT_MOST:
        return f"within a group {100 * inferred.slow_inside:.0f} % of messages are slow, "
    return "within a group messages are fast, "


def _across(inferred: Inferred) -> str:
    """Returns words about messages between groups."""
    if inferred.capacities:
        return "between groups they share limits"
    if hashed_paths(inferred) is not None:
        return "between groups some messages share a cable"
    if inferred.slow_share > SLOW_WITHIN_AT_MOST:
        return "between groups some are slow, but no shared limit explains them"
    return "between groups no limit was met"


def _groups(inferred: Inferred, called: str, noun: str = "host") -> str:
    """Returns words such as `5 groups of 8 to 12 hosts`, without those of unknown group."""
    sizes = inferred.sizes
    sizes = sizes[sizes > 0]
    between = "and" if len(sizes) == 2 else "to"
    few, many = f"{sizes.min():,}", f"{sizes.max():,}"
    each = few if few == many else f"{few} {between} {many}"
    return f"{len(sizes)} {called} of {each} {noun}{'s' if each != '1' else ''}"


def _listed(words: str, ranks: Integers, name: Names) -> str:
    return f"; {words} {few_names(ranks.tolist(), name)}" if len(ranks) else ""


def numbers(observed: Observed, mine: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> tuple[int, ...]:
    """Returns up to 64 of the phases of these messages."""
    return tuple(np.unique(observed.phase[mine])[:64].tolist())


def some_routes(observed: Observed, mine: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> tuple[Route, ...]:
    at = np.nonzero(mine)[0][:64]
    return tuple(zip(observed.source[at].tolist(), observed.destination[at].tolist(), strict=True))
