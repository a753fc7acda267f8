"""Hosts that are slower than their like, each with its size and the probability of a false alarm."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from crosscut.analysis.findings.kinds import FindingKind
from crosscut.analysis.findings.model import Direction, Effect, Finding
from crosscut.analysis.stats.doubt import FALSE_ALARMS, SMALLEST_CLAIMED, holm, normal_tail, outliers_below
from crosscut.analysis.stats.intervals import Floats
from crosscut.analysis.structure.infer import Inferred, group_name
from crosscut.analysis.structure.observed import Integers, Observed, Route
from crosscut.analysis.structure.unshared import FASTEST_LOOKED_AT, tops
from crosscut.base import units

Names = Callable[[int], str]
"""A rank's name for people."""

# A part that loses less is not worth an operator's walk.
SMALLEST_LOSS = 0.05
# More hosts than this share are no exception but another kind of network.
LARGEST_SHARE_OF_HOSTS = 0.125
# Alone, with a sound partner: more than noise, and more than a few messages of others cost.
SOUND_ALONE = 0.1
_NAMED = 6
# Logarithm: two directions that differ by less are told as one.
_AS_SLOW = 0.1
_VERBS = {Direction.OUT: "sends", Direction.IN: "receives"}
# Probability that a rank belongs to its group: below it the group is unsure.
_UNSURE = 0.95


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
    # Spread of the mean of a host's three fastest: on normal noise, below half that of one message.
    noise = inferred.alone.noise / math.sqrt(FASTEST_LOOKED_AT)
    ends = [
        _End(Direction.OUT, found.out_effect, _doubt(found.out_effect, found.out_count > 0, noise)),
        _End(Direction.IN, found.in_effect, _doubt(found.in_effect, found.in_count > 0, noise)),
    ]
    slow = [_below(end, SMALLEST_LOSS) for end in ends]
    there = slow[0] | slow[1]
    if len(there) > max(1, LARGEST_SHARE_OF_HOSTS * observed.ranks):
        return [_crowded(sorted(there), name)]
    beside = _Beside(inferred, there)
    return [
        _host(observed, rank, ends, [rank in s for s in slow], noise, name, beside) for rank in sorted(there)
    ]


def _below(end: _End, loss: float) -> set[int]:
    """Ranks that are slower by more than `loss`, and not by chance."""
    slow = (end.doubt < FALSE_ALARMS) & (end.effect < math.log(1 - loss))
    return set(np.nonzero(slow)[0].tolist())


def _doubt(effect: Floats, looked_at: np.ndarray[tuple[int], np.dtype[np.bool_]], noise: float) -> Floats:
    doubt = outliers_below(np.where(looked_at, effect, np.nan), noise)
    return np.where(np.isfinite(doubt), doubt, 1.0)


@dataclass(frozen=True)
class _Beside:
    """What is known of the other hosts of a slow host's group."""

    inferred: Inferred
    slow: set[int]

    def words(self, rank: int) -> str:
        """`; the other 31 hosts of group2 are sound`; nothing where it is not told of which group it is."""
        labels = self.inferred.grouping.labels
        if self.inferred.grouping.count < 2 or rank in self.inferred.unplaced:
            return ""
        others = set(np.nonzero(labels == labels[rank])[0].tolist()) - {rank}
        group, too = group_name(int(labels[rank])), len(others & self.slow)
        if not others:
            return ""
        if too:
            return f"; {too} of the other {units.count(len(others), 'host')} of {group} " + (
                "is slow as well" if too == 1 else "are slow as well"
            )
        sound = "is" if len(others) == 1 else "are"
        return f"; the other {units.count(len(others), 'host')} of {group} {sound} sound"


def _host(
    observed: Observed, rank: int, ends: Sequence[_End], slow: Sequence[bool], noise: float, name: Names,
    beside: _Beside,
) -> Finding:  # fmt: skip
    concerned = [end for end, is_slow in zip(ends, slow, strict=True) if is_slow]
    concerned.sort(key=lambda end: float(end.effect[rank]))
    worst, rest = concerned[0], concerned[1:]
    effect = _effect(worst, rank, noise)
    follows = bool(rest) and rest[0].effect[rank] - worst.effect[rank] > _AS_SLOW
    both = bool(rest) and not follows
    direction = Direction.BOTH if both else worst.direction
    verb = "sends and receives" if both else _VERBS[worst.direction]
    words = f"{verb} at {effect.text()} of the rate of the other hosts"
    if follows:
        words += _consequence(rest[0], rank)
    mine = np.zeros(len(observed), bool)
    for end in concerned if both else [worst]:
        mine |= (observed.source if end.direction is Direction.OUT else observed.destination) == rank
    advice = (
        "compare link speed, duplex and error counters of its adapter and switch port; then swap the cable"
        if both
        else "one direction alone: a cable or a port with errors, or a host too busy to "
        + ("send" if direction is Direction.OUT else "receive")
    )
    return Finding(
        kind=FindingKind.SLOW_HOST,
        what=f"{name(rank)} {words}{beside.words(rank)}",
        ranks=(rank,),
        hosts=(name(rank),),
        direction=direction,
        effect=effect,
        false_alarm=max(float(worst.doubt[rank]), SMALLEST_CLAIMED),
        phases=numbers(observed, mine),
        evidence_routes=some_routes(observed, mine),
        advice=advice,
    )


def _effect(end: _End, rank: int, noise: float) -> Effect:
    return Effect(*(math.exp(float(end.effect[rank]) + side * 1.96 * noise) for side in (0, -1, 1)))


def _consequence(milder: _End, rank: int) -> str:
    """TCP on an emulated cluster: with reception at 40 % a host sends at 50 to 90 %, for acknowledgements
    of what it sends queue behind what it receives; the other way round alike. A fault of its own would look
    no different while both directions are busy."""
    share = f"{100 * math.exp(float(milder.effect[rank])):.0f} %"
    queue = "receives" if milder.direction is Direction.OUT else "sends"
    return (
        f"; that it {_VERBS[milder.direction]} at {share} meanwhile is likely a consequence: "
        f"acknowledgements wait behind what it {queue}"
    )


def _crowded(ranks: Sequence[int], name: Names) -> Finding:
    listed = ", ".join(name(rank) for rank in ranks[:6]) + (" …" if len(ranks) > 6 else "")
    return Finding(
        kind=FindingKind.SHARED_LIMIT,
        what=f"{len(ranks)} hosts never reach the rate of the others under this load ({listed}): their "
        f"links carry "
        "others' messages too, or they are of another kind",
        ranks=tuple(ranks),
        hosts=tuple(name(rank) for rank in ranks),
        advice="measure them alone: crosscut locate --on PLACE does",
    )


def hosts_alone(alone: Observed, inferred: Inferred, name: Names) -> list[Finding]:
    """Hosts that were measured with a sound partner and few others about, and are slow all the
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
    beside = _Beside(inferred, set(there))
    return [
        _host(alone, rank, ends, [rank in s for s in slow], noise / math.sqrt(2), name, beside)
        for rank in there
    ]


def _first_of_exchanges(alone: Observed) -> set[int]:
    """Suspects: the first of every two messages is theirs (search.py), the second their partner's answer."""
    return set(alone.source[::2].tolist())


def grouped(inferred: Inferred, name: Names) -> list[Finding]:
    """The groups themselves."""
    count = inferred.grouping.count
    if count < 2:
        return []
    gain = inferred.grouping.log_likelihood - inferred.grouping.log_likelihood_of_one_group
    sizes = np.bincount(inferred.grouping.labels)
    each = str(sizes[0]) if len(set(sizes.tolist())) == 1 else f"{sizes.min()} to {sizes.max()}"
    told = inferred.grouping.confidence >= _UNSURE
    told[inferred.unplaced] = True
    doubtful = _listed("unsure of", np.nonzero(~told)[0], name)
    doubtful += _listed("not told of which, each behind a slow cable of its own:", inferred.unplaced, name)
    return [
        Finding(
            kind=FindingKind.GROUPS,
            what=f"{count} groups of {each} hosts: within a group messages are fast, between groups they "
            f"share "
            f"limits{doubtful}",
            groups=tuple(group_name(number) for number in range(count)),
            false_alarm=max(math.exp(-min(max(gain, 0.0), 600.0)), SMALLEST_CLAIMED),
            advice="",
        )
    ]


def _listed(words: str, ranks: Integers, name: Names) -> str:
    more = " …" if len(ranks) > _NAMED else ""
    return f"; {words} {', '.join(name(int(rank)) for rank in ranks[:_NAMED])}{more}" if len(ranks) else ""


def numbers(observed: Observed, mine: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> tuple[int, ...]:
    """Some of the phases of these messages."""
    return tuple(np.unique(observed.phase[mine])[:64].tolist())


def some_routes(observed: Observed, mine: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> tuple[Route, ...]:
    at = np.nonzero(mine)[0][:64]
    return tuple(zip(observed.source[at].tolist(), observed.destination[at].tolist(), strict=True))
