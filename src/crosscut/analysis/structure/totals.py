"""Tests whether a capacity that messages may share is a limit: whether its totals agree.

A full shared capacity carries the same total for any set of messages (the max-min allocation leaves no part
of a bottleneck unused: Bertsekas and Gallager, Data Networks, section 6.5.2). So the totals of each possible
limit are compared over phases in which the messages that it counts are slow. The totals of a true limit
agree; those of any other vary with the senders.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crosscut.analysis.stats.intervals import Floats, medians
from crosscut.analysis.structure.model import Limit, Reach
from crosscut.analysis.structure.observed import Integers, Observed
from crosscut.analysis.structure.unshared import Unshared

FEWEST_PHASES = 3
# So many limits of a kind, whose capacities are within ALIKE (a log ratio), speak for another one like them.
FEWEST_OF_KIND, ALIKE = 3, 0.05
# Least share of the seemingly full phases of a limit whose totals must agree.
SMALLEST_SHARE_ALIKE = 0.6
# A bottleneck needs two messages in at least one of its phases.
FEWEST_MESSAGES = 2
_WORK_STEPS = 5
# Messages do not share one capacity if those of a phase are slower by more than the first (the median of
# logarithms), yet more than the third, a share, are slower by less than the second.
_MUCH_SLOWER, _UNHINDERED, _MOST_UNHINDERED = 0.25, 0.1, 0.1
# Log rates of messages that share one capacity have a smaller standard deviation than this, even over TCP.
MOST_UNEVEN = 0.2
# Phases have equally many messages if the smallest number over the largest is at least this. Totals agree
# much better than those of independent messages below this share of their deviation.
_AS_MANY, _MUCH_LESS = 0.9, 0.5
# Totals of one limit never lie further apart than this (a logarithm), however uneven its shares are.
_MOST_APART = 0.12
# What carries more than a limit by this (a logarithm) in several phases has no such limit, over TCP, where
# totals agree by chance more easily: uneven shares and a host in the wrong group explain less.
_EXCEEDED, _SEVERAL = 0.25, 2
# One in so many of the phases in which a link is full has one of its largest totals.
_PHASES_A_LARGEST = 4
# Limits of all that a group sends or receives; limits of its links to others.
OWN = (Reach.SENT, Reach.RECEIVED)
LINKS = (Reach.LEAVING, Reach.ENTERING)


@dataclass(frozen=True)
class Slack:
    """Tolerance beyond noise (logarithms), and how totals are computed."""

    totals: float
    """How far apart totals of one limit may be."""
    top: float
    """How far below the fastest its other messages may be."""
    while_full: bool
    """True: totals count only bytes carried while the limit was full, not rates of whole messages."""
    largest: bool = False
    """True: the limit is full only in the phases with its largest totals, which agree."""
    deviation: float = 0.0
    """Standard deviation of log rates that fair sharing would make equal, outliers included."""


NONE = Slack(totals=0.002, top=0.0, while_full=False)
# TCP gives a message that meets two limits less than its share, and leaves a little of each unused. In the
# search for chips, numbers of senders differ so much that totals of wrong candidates disagree anyway.
OF_CHIPS = Slack(totals=0.02, top=0.1, while_full=True)
# For all limits, if fair totals explain little.
OVER_TCP = Slack(totals=0.02, top=0.3, while_full=True)


@dataclass(frozen=True)
class Capacity:
    reach: Reach
    groups: tuple[int, ...]
    bytes_per_second: float
    low: float
    high: float
    phases: tuple[int, ...]
    """Phases in which it was full."""

    def of(self, names: tuple[str, ...]) -> Limit:
        """Returns the limit for people and files, with these names of its groups."""
        return Limit(self.reach, names, self.bytes_per_second, self.low, self.high, phases=self.phases)


@dataclass(frozen=True)
class PossibleLimit:
    reach: Reach
    groups: tuple[int, ...]
    messages: Integers
    """Indices of the messages that it would count."""


def possible(reach: Reach, labels: Integers, observed: Observed) -> list[PossibleLimit]:
    """Returns possible limits with that reach on each group, or pair of groups, with enough messages."""
    source, destination = labels[observed.source], labels[observed.destination]
    groups = int(labels.max()) + 1
    at = np.arange(len(observed)) if reach in OWN else np.nonzero(source != destination)[0]
    keys = {
        Reach.LEAVING: source, Reach.SENT: source, Reach.ENTERING: destination, Reach.RECEIVED: destination,
        Reach.BETWEEN: source * groups + destination, Reach.CROSSING: np.zeros(len(observed), np.int64),
    }  # fmt: skip
    key = keys[reach][at]
    order = np.argsort(key, kind="stable")
    found, first = np.unique(key[order], return_index=True)
    # Without messages, the split has one empty part.
    parts = zip(found.tolist(), np.split(at[order], first[1:]), strict=False)
    return [
        PossibleLimit(reach, _groups(reach, key, groups), messages)
        for key, messages in parts
        if len(messages) >= FEWEST_PHASES
    ]


def _groups(reach: Reach, key: int, groups: int) -> tuple[int, ...]:
    if reach is Reach.CROSSING:
        return ()
    return divmod(key, groups) if reach is Reach.BETWEEN else (key,)


def counted(reach: Reach, groups: tuple[int, ...], labels: Integers, observed: Observed) -> NDArray[np.bool_]:
    """Returns [message] True if a limit with that reach on these groups counts it."""
    source, destination = labels[observed.source], labels[observed.destination]
    if reach is Reach.BETWEEN:
        return np.asarray((source == groups[0]) & (destination == groups[1]))
    if reach is Reach.SENT:
        return np.asarray(source == groups[0])
    if reach is Reach.RECEIVED:
        return np.asarray(destination == groups[0])
    across = source != destination
    if reach is Reach.CROSSING:
        return np.asarray(across)
    return np.asarray(across & ((source if reach is Reach.LEAVING else destination) == groups[0]))


def carried_by_groups(observed: Observed, labels: Integers) -> Iterator[tuple[Reach, Floats]]:
    """Yields [phase, group] the bytes per second that left each group, then those that entered it."""
    source, destination = labels[observed.source], labels[observed.destination]
    across = source != destination
    numbers, phase = np.unique(observed.phase, return_inverse=True)
    for reach, ends in ((Reach.LEAVING, source), (Reach.ENTERING, destination)):
        totals = np.zeros((len(numbers), int(labels.max()) + 1))
        np.add.at(totals, (phase[across], ends[across]), observed.rate[across])
        yield reach, totals


def unevenness(observed: Observed, labels: Integers, slow: NDArray[np.bool_]) -> float:
    """Returns the standard deviation of log rates that fair sharing would make equal, outliers left out.

    Compares slow messages from one group to another in one phase. TCP shares unevenly; a simulator does not.
    """
    excess = _excess(observed, labels, slow)
    return float(1.4826 * np.median(np.abs(excess))) if len(excess) else 0.0


def deviation(observed: Observed, labels: Integers, slow: NDArray[np.bool_]) -> float:
    """Returns the same standard deviation, outliers included, which add to the variance of totals."""
    excess = _excess(observed, labels, slow)
    return float(np.sqrt(np.mean(np.minimum(np.abs(excess), _MUCH_SLOWER) ** 2))) if len(excess) else 0.0


def _excess(observed: Observed, labels: Integers, slow: NDArray[np.bool_]) -> Floats:
    """Returns the distances of slow messages' log rates from the median of their phase and pair of groups."""
    groups = int(labels.max()) + 1
    at = np.nonzero(slow)[0]
    pair = labels[observed.source[at]] * groups + labels[observed.destination[at]]
    _, kind = np.unique(observed.phase[at] * groups * groups + pair, return_inverse=True)
    counts = np.bincount(kind)
    together = counts[kind] >= FEWEST_MESSAGES
    logs = np.log(observed.rate[at])
    middle = _medians_by(logs, kind, len(counts))
    # A median of few values lies nearer to them than the truth does: n values have n - 1 degrees of freedom.
    excess = (logs - middle[kind]) * np.sqrt(counts[kind] / np.maximum(counts[kind] - 1, 1))
    return np.asarray(excess[together])


def _medians_by(values: Floats, kind: Integers, kinds: int) -> Floats:
    """Returns [kind] the median of its values. `kind`: [value], from 0."""
    order = np.lexsort((values, kind))
    first = np.searchsorted(kind[order], np.arange(kinds))
    count = np.bincount(kind, minlength=kinds)
    low, high = first + (count - 1) // 2, first + count // 2
    return np.asarray((values[order[low]] + values[order[high]]) / 2)


@dataclass(frozen=True)
class Fit:
    """A limit."""

    capacity: Capacity
    explained: Integers
    """Indices of the messages that it explains."""


def fit(
    observed: Observed, alone: Unshared, possible: PossibleLimit, slow: NDArray[np.bool_], slack: Slack,
    share_alike: float = SMALLEST_SHARE_ALIKE,
) -> Fit | None:  # fmt: skip
    """Returns the capacity and the messages that it explains; None: it is no limit.

    Explained messages are slow, in a phase in which the limit is full, and about as fast as its fastest
    message there, because no other message at a bottleneck is faster.
    """
    at = possible.messages
    numbers, phase = np.unique(observed.phase[at], return_inverse=True)
    rates, counts = observed.rate[at], np.bincount(phase)
    totals: Floats = np.bincount(phase, weights=rates).astype(np.float64)
    if slack.while_full:
        nominal = float(np.median(alone.of(observed)[at]))
        totals = while_full(rates, phase, nominal)
    at_top = _at_top(rates, phase, len(numbers), alone.noise, slack.top)
    full = _mostly(slow[at], at_top, phase, len(numbers))
    if possible.reach in OWN:
        full &= counts >= FEWEST_MESSAGES
    if (full & (counts >= FEWEST_MESSAGES)).sum() < 1 or full.sum() < FEWEST_PHASES:
        return None
    at_limit = _at_limit(np.log(totals), counts, full, max(alone.noise, slack.deviation), slack)
    near = full & at_limit
    if near.sum() < max(FEWEST_PHASES, 0 if slack.largest else share_alike * full.sum()):
        return None
    # A single message may be slow for any reason, but one at the total of several shares their limit.
    single = (counts[near] < FEWEST_MESSAGES).all()
    if (
        exceeded(totals, float(totals[near].mean()))
        or single
        or _varies_less_than_load(len(totals), counts, near)
    ):
        return None
    if len(at) == len(observed) and _by_large_numbers(np.log(rates), phase, np.log(totals), near):
        return None
    mine = near[phase]
    if not slack.while_full and _some_unhindered(
        np.log(rates[mine]), np.log(alone.of(observed)[at[mine]]), phase[mine]
    ):
        return None
    figure = medians(totals[near][:, None], in_time_order=False)
    estimate = Capacity(
        possible.reach, possible.groups, float(totals[near].mean()),
        float(figure.low[0]), float(figure.high[0]), tuple(int(number) for number in numbers[near]),
    )  # fmt: skip
    return Fit(estimate, at[at_limit[phase] & at_top & slow[at]])


def seems_full(
    rates: Floats, phase: Integers, phases: int, slow: NDArray[np.bool_], noise: float
) -> NDArray[np.bool_]:
    """Returns [phase] True if most of the fastest messages are slow: a limit that counts them may be full."""
    return _mostly(slow, _at_top(rates, phase, phases, noise), phase, phases)


def _at_top(rates: Floats, phase: Integers, phases: int, noise: float, slack: float = 0) -> NDArray[np.bool_]:
    """Returns [message] True if its rate equals that of its phase's fastest, except for noise."""
    fastest = np.zeros(phases)
    np.maximum.at(fastest, phase, rates)
    return np.asarray(rates > fastest[phase] * np.exp(-5 * noise - slack))


def _mostly(
    slow: NDArray[np.bool_], among: NDArray[np.bool_], phase: Integers, phases: int
) -> NDArray[np.bool_]:
    count = np.bincount(phase, weights=among, minlength=phases)
    return np.asarray(np.bincount(phase, weights=among & slow, minlength=phases) / np.maximum(count, 1) > 0.5)


def exceeded(totals: Floats, capacity: float) -> bool:
    """Returns True if the largest totals ([phase] bytes per second) are too large for this capacity."""
    return bool(np.sort(totals)[-_SEVERAL:].mean() > capacity * math.exp(_EXCEEDED))


def _at_limit(
    totals: Floats, counts: Integers, full: NDArray[np.bool_], noise: float, slack: Slack
) -> NDArray[np.bool_]:
    """Returns [phase] True if the total agrees with those of most full phases, or with the largest.

    Returns no phase if the largest totals do not stand apart from the next. `totals`: logarithms; `counts`:
    messages; `noise`: deviation of a message.
    """
    # Noise of a total of k about equal rates. k varies by phase, but its median suffices.
    width = min(4 * noise / float(np.sqrt(np.median(counts[full]))) + slack.totals, _MOST_APART)
    middle = _largest(totals[full], width) if slack.largest else _plateau(totals[full], width)
    # A limit known from several messages explains a single one as well.
    apart = np.minimum(3.5 * noise / np.sqrt(counts) + slack.totals, _MOST_APART)
    if slack.largest and not _stand_apart(totals[full] - middle, apart[full]):
        return np.zeros(len(totals), bool)
    return np.asarray(np.abs(totals - middle) < apart)


def by_work(capacity: Capacity, observed: Observed, alone: Unshared, labels: Integers) -> Capacity:
    """Corrects the capacity for uneven shares: counts only bytes carried while enough messages ran.

    Messages that end early leave more to the others, so the sum of rates over whole messages exceeds any rate
    carried at once. TCP may leave a link partly unused, but cannot exceed it, so the largest totals count, of
    all phases in which it was full.
    """
    mine = observed.where(counted(capacity.reach, capacity.groups, labels, observed))
    nominal = float(np.median(alone.of(mine)))
    numbers, phase = np.unique(mine.phase, return_inverse=True)
    full = _full(mine, phase, alone) | np.isin(numbers, capacity.phases)
    work = np.sort(while_full(mine.rate, phase, nominal)[full])
    largest = work[-max(_SEVERAL, len(work) // _PHASES_A_LARGEST) :]
    figure = medians(largest[:, None], in_time_order=False)
    return replace(
        capacity, bytes_per_second=float(np.median(largest)), low=float(figure.low[0]),
        high=float(figure.high[0]),
    )  # fmt: skip


def _full(mine: Observed, phase: Integers, alone: Unshared) -> NDArray[np.bool_]:
    """Returns [phase] True if several messages shared the link and even the fastest of them were slow."""
    slow = alone.slowness(mine) < alone.threshold
    fastest = np.zeros(int(phase.max()) + 1)
    np.maximum.at(fastest, phase, mine.rate)
    at_top = mine.rate > fastest[phase] * np.exp(-OVER_TCP.top)
    share = np.bincount(phase, at_top & slow) / np.bincount(phase, at_top)
    return np.asarray((share > 0.5) & (np.bincount(phase) >= FEWEST_MESSAGES))


def while_full(rates: Floats, phase: Integers, nominal: float) -> Floats:
    """Returns [phase] the total bytes per second of messages of one size while they filled a shared link.

    They fill it until so few are left that their hosts' own links (`nominal`, bytes per second) carry less.
    Bytes that these few send afterwards, at that rate, are not counted. `phase`: [message] from 0; none is
    empty.
    """
    order = np.lexsort((1 / rates, phase))
    seconds, phase = 1 / rates[order], phase[order]  # seconds per byte
    count = np.bincount(phase)
    end = np.cumsum(count)
    total = np.bincount(phase, weights=rates[order])
    of_messages, full = total, np.ones(len(count), bool)
    for _ in range(_WORK_STEPS):
        fewest = np.ceil(total / nominal - 1e-9)
        full &= (fewest > 0) & (fewest <= count)
        until = seconds[end - np.clip(fewest, 1, count).astype(np.int64)]
        later = np.clip((seconds - until[phase]) * nominal, 0.0, 1.0)
        total = np.where(full, (count - np.bincount(phase, weights=later)) / until, of_messages)
    return np.asarray(total, np.float64)


def _some_unhindered(rates: Floats, ends: Floats, phase: Integers) -> bool:
    """Returns True if some messages reach their ends' full rate while most of their phase are much slower.

    One full capacity would hold all of them back; several cables, of which each message takes one, would not.
    Messages of a slow host that are no faster than the others take less than their share. `rates`, `ends`:
    logarithms of messages' rates and of those that their ends reach.
    """
    numbers, of = np.unique(phase, return_inverse=True)
    slowness = rates - ends
    much_slower = _medians_by(slowness, of, len(numbers))[of] < -_MUCH_SLOWER
    unhindered = (slowness > -_UNHINDERED) & (rates > _medians_by(rates, of, len(numbers))[of] + _UNHINDERED)
    return bool(much_slower.any()) and float(unhindered[much_slower].mean()) > _MOST_UNHINDERED


def _by_large_numbers(rates: Floats, phase: Integers, totals: Floats, near: NDArray[np.bool_]) -> bool:
    """Returns True if totals agree no better than those of so many independent messages would.

    Rates that one capacity shares unevenly make up for each other, so their totals vary much less. `rates`,
    `totals`: logarithms.
    """
    counts = np.bincount(phase)[near]
    if counts.min() < _AS_MANY * counts.max():
        return False  # a total that stays the same for any number of messages is a limit
    middle = _medians_by(rates, phase, len(near))
    uneven = float(np.std((rates - middle[phase])[near[phase]]))
    independent = uneven / float(np.sqrt(np.median(counts)))
    return uneven > MOST_UNEVEN and float(totals[near].std()) > _MUCH_LESS * independent


def _varies_less_than_load(phases: int, counts: NDArray[Any], near: NDArray[np.bool_]) -> bool:
    """Returns True if totals may agree only because all phases have equally many messages."""
    return len(np.unique(counts[near])) == 1 and bool(near.all()) and phases < 2 * FEWEST_PHASES


def _largest(values: Floats, width: float) -> float:
    """Returns the median of the values that lie within `width` of the largest."""
    return float(np.median(values[values > values.max() - width]))


def _stand_apart(values: Floats, width: Floats) -> bool:
    """Returns True if more values are within `width` of 0 than within the same range below it.

    The largest of totals that merely vary are no closer to each other than to the next.
    """
    near, below = np.abs(values) < width, (values <= -width) & (values > -3 * width)
    return bool(near.sum() > below.sum())


def _plateau(values: Floats, width: float) -> float:
    """Returns the median of the largest set of values that lie within `width`."""
    ordered = np.sort(values)
    ends = np.searchsorted(ordered, ordered + width, side="right")
    at = int(np.argmax(ends - np.arange(len(ordered))))
    return float(np.median(ordered[at : ends[at]]))
