"""Finds capacities that routes share, given the groups: the kind of limit that explains slow messages.

A full shared capacity carries the same total for any set of messages (the max-min allocation leaves no part
of a bottleneck unused: Bertsekas and Gallager, Data Networks, section 6.5.2). So the totals of each possible
limit are compared over phases in which the messages that it counts are slow. The totals of a true limit
agree; those of any other vary with the senders.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crosscut.analysis.stats.intervals import Floats, medians
from crosscut.analysis.structure.model import Limit, Reach
from crosscut.analysis.structure.observed import Integers, Observed
from crosscut.analysis.structure.unshared import Unshared

# Share of the slow messages, not explained so far, that a family of limits must explain.
SMALLEST_SHARE_EXPLAINED = 0.3
FEWEST_PHASES = 3
# Least share of the seemingly full phases of a limit whose totals must agree.
SMALLEST_SHARE_ALIKE = 0.6
# The same share if FEWEST_OF_KIND limits of the kind are known: another limit often leaves one unfilled. Its
# capacity must then be within ALIKE (a log ratio) of theirs.
SMALLEST_SHARE_OF_KIND = 0.2
ALIKE = 0.05
FEWEST_OF_KIND = 3
# A bottleneck needs two messages in at least one of its phases.
_FEWEST_MESSAGES = 2
# Families that explain this share of what the best one explains are as good: the difference is noise.
_AS_MUCH = 0.95
# Sharing is uneven, as with TCP, if rates that fair sharing would make equal differ by more than this
# multiple of noise and by more than this standard deviation of logarithms.
_TIMES_NOISE, _SMALLEST_UNEVENNESS = 3, 0.05
_WORK_STEPS = 5
_ROUNDS = 2
# Messages do not share one capacity if the median one is slower by more than the first (a logarithm), yet
# more than the third, a share, are slower by less than the second.
_MUCH_SLOWER, _UNHINDERED, _MOST_UNHINDERED = 0.25, 0.1, 0.1
# Totals of one limit never lie further apart than this (a logarithm), however uneven its shares are.
_MOST_APART = 0.12
# For these, the best of many guessed divisions in parts is taken, so tests must be strict.
_OWN = (Reach.SENT, Reach.RECEIVED)


@dataclass(frozen=True)
class _Slack:
    """Tolerance beyond noise (logarithms), and how totals are computed."""

    totals: float
    """How far apart totals of one limit may be."""
    top: float
    """How far below the fastest its other messages may be."""
    while_full: bool
    """True: totals count only bytes carried while the limit was full, not rates of whole messages."""


_NONE = _Slack(totals=0.002, top=0.0, while_full=False)
# TCP gives a message that meets two limits less than its share, and leaves a little of each unused. In the
# search for chips, numbers of senders differ so much that totals of wrong candidates disagree anyway.
_OF_CHIPS = _Slack(totals=0.02, top=0.1, while_full=True)


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
class _Candidate:
    """One possible limit: the messages that it would count."""

    reach: Reach
    groups: tuple[int, ...]
    counted: NDArray[np.bool_]


def families(labels: Integers, observed: Observed) -> list[list[_Candidate]]:
    """Returns candidates by kind, in order of preference: of two that explain as much, the first is taken."""
    groups = range(int(labels.max()) + 1)
    own = _own(labels, observed)
    if len(groups) == 1:
        return [own]
    between = [(Reach.BETWEEN, (a, b)) for a in groups for b in groups if a != b]
    links = [(reach, (a,)) for reach in (Reach.LEAVING, Reach.ENTERING) for a in groups]
    across = [_candidates(kinds, labels, observed) for kinds in (links, between, [(Reach.CROSSING, ())])]
    return [*across, own]


def _own(labels: Integers, observed: Observed) -> list[_Candidate]:
    """Returns candidates for limits on the traffic that all hosts of a group send, or receive."""
    groups = range(int(labels.max()) + 1)
    return _candidates([(reach, (group,)) for reach in _OWN for group in groups], labels, observed)


def _candidates(
    kinds: Sequence[tuple[Reach, tuple[int, ...]]], labels: Integers, observed: Observed
) -> list[_Candidate]:
    return [_Candidate(reach, groups, counted(reach, groups, labels, observed)) for reach, groups in kinds]


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


@dataclass(frozen=True)
class Explained:
    capacities: tuple[Capacity, ...]
    share: float
    """Share of the slow messages that the capacities explain."""


def explain(
    observed: Observed, alone: Unshared, labels: Integers, reaches: Collection[Reach] = tuple(Reach)
) -> Explained:
    """Explains slow messages by one family of limits, then the rest by another. `reaches`: only these."""
    slow = alone.slowness(observed) < alone.threshold
    alone, by_work = _uneven(observed, alone, labels, slow)
    open_ = slow.copy()
    found: list[Capacity] = []
    for _ in range(_ROUNDS):
        if open_.sum() < max(_FEWEST_MESSAGES, 0.02 * len(observed)):
            break
        tried = [
            _family(observed, alone, candidates, open_, by_work=by_work)
            for candidates in families(labels, observed)
            if candidates[0].reach in reaches
        ]
        most = max(int((explained & open_).sum()) for _, explained in tried)
        best = next(pair for pair in tried if (pair[1] & open_).sum() >= _AS_MUCH * most)
        if (best[1] & open_).sum() < SMALLEST_SHARE_EXPLAINED * open_.sum():
            break
        known = {(capacity.reach, capacity.groups) for capacity in found}
        found += [capacity for capacity in best[0] if (capacity.reach, capacity.groups) not in known]
        open_ &= ~best[1]
    share = 1 - float(open_.sum() / slow.sum()) if slow.any() else 1.0
    return Explained(tuple(found), share)


def _uneven(
    observed: Observed, alone: Unshared, labels: Integers, slow: NDArray[np.bool_]
) -> tuple[Unshared, bool]:
    """Raises the noise to the unevenness of sharing; also returns whether it clearly exceeds the noise."""
    uneven = unevenness(observed, labels, slow)
    by_work = uneven > max(_TIMES_NOISE * alone.noise, _SMALLEST_UNEVENNESS)
    return replace(alone, noise=max(alone.noise, uneven)), by_work


def unevenness(observed: Observed, labels: Integers, slow: NDArray[np.bool_]) -> float:
    """Returns the standard deviation of log rates that fair sharing would make equal.

    Compares slow messages from one group to another in one phase. TCP shares unevenly; a simulator does not.
    """
    groups = int(labels.max()) + 1
    at = np.nonzero(slow)[0]
    pair = labels[observed.source[at]] * groups + labels[observed.destination[at]]
    _, kind = np.unique(observed.phase[at] * groups * groups + pair, return_inverse=True)
    counts = np.bincount(kind)
    together = counts[kind] >= _FEWEST_MESSAGES
    if not together.any():
        return 0.0
    logs = np.log(observed.rate[at])
    middle = _medians_by(logs, kind, len(counts))
    # A median of few values lies nearer to them than the truth does: n values have n - 1 degrees of freedom.
    excess = np.abs(logs - middle[kind]) * np.sqrt(counts[kind] / np.maximum(counts[kind] - 1, 1))
    return float(1.4826 * np.median(excess[together]))


def _medians_by(values: Floats, kind: Integers, kinds: int) -> Floats:
    """Returns [kind] the median of its values. `kind`: [value], from 0."""
    order = np.lexsort((values, kind))
    first = np.searchsorted(kind[order], np.arange(kinds))
    count = np.bincount(kind, minlength=kinds)
    low, high = first + (count - 1) // 2, first + count // 2
    return np.asarray((values[order[low]] + values[order[high]]) / 2)


def explain_own(observed: Observed, alone: Unshared, labels: Integers) -> Explained:
    """Explains slow messages by limits on all that a group sends, or receives, such as a switching chip's."""
    slow = alone.slowness(observed) < alone.threshold
    alone, by_work = _uneven(observed, alone, labels, slow)
    capacities, explained = _family(
        observed, alone, _own(labels, observed), slow, by_work=by_work, slack=_OF_CHIPS
    )
    share = float(explained.sum() / slow.sum()) if slow.any() else 0.0
    return Explained(tuple(capacities), share)


def _family(
    observed: Observed, alone: Unshared, candidates: Sequence[_Candidate], slow: NDArray[np.bool_],
    *, by_work: bool = False, slack: _Slack = _NONE,
) -> tuple[list[Capacity], NDArray[np.bool_]]:  # fmt: skip
    fitted = [_fit(observed, alone, candidate, slow, slack) for candidate in candidates]
    sure = [math.log(fit[0].bytes_per_second) for fit in fitted if fit is not None]
    explained = np.zeros(len(observed), bool)
    found = []
    for candidate, strict in zip(candidates, fitted, strict=True):
        fit = strict
        if fit is None and len(sure) >= FEWEST_OF_KIND and candidate.reach not in _OWN:
            fit = _fit(observed, alone, candidate, slow, slack, SMALLEST_SHARE_OF_KIND)
            if fit is not None and abs(math.log(fit[0].bytes_per_second) - np.median(sure)) > ALIKE:
                fit = None
        if fit is not None:
            found.append(_by_work(fit[0], observed, alone, candidate) if by_work else fit[0])
            explained |= fit[1]
    return found, explained & slow


def _fit(
    observed: Observed,
    alone: Unshared,
    candidate: _Candidate,
    slow: NDArray[np.bool_],
    slack: _Slack,
    share_alike: float = SMALLEST_SHARE_ALIKE,
) -> tuple[Capacity, NDArray[np.bool_]] | None:
    """Returns the candidate's capacity and [message] True if it explains the message; None: no limit.

    Explained messages are slow, in a phase in which the limit is full, and about as fast as its fastest
    message there, because no other message at a bottleneck is faster.
    """
    at = np.nonzero(candidate.counted)[0]
    if len(at) == 0:
        return None
    numbers, phase = np.unique(observed.phase[at], return_inverse=True)
    rates = observed.rate[at]
    totals: Floats = np.bincount(phase, weights=rates).astype(np.float64)
    if slack.while_full:
        nominal = float(np.median(alone.of(observed)[at]))
        totals = while_full(rates, phase, nominal)
    counts = np.bincount(phase)
    fastest = np.zeros(len(numbers))
    np.maximum.at(fastest, phase, rates)
    # Messages whose rate equals the phase's fastest, except for noise.
    at_top = rates > fastest[phase] * np.exp(-5 * alone.noise - slack.top)
    slow_at_top = np.bincount(phase, weights=at_top & slow[at])
    full = slow_at_top / np.maximum(np.bincount(phase, weights=at_top), 1) > 0.5
    if candidate.reach in _OWN:
        full &= counts >= _FEWEST_MESSAGES
    if (full & (counts >= _FEWEST_MESSAGES)).sum() < 1 or full.sum() < FEWEST_PHASES:
        return None
    # Noise of a total of k about equal rates. k varies by phase, but its median suffices.
    spread = alone.noise / np.sqrt(np.median(counts[full]))
    middle = _plateau(np.log(totals[full]), min(4 * spread + slack.totals, _MOST_APART))
    # A limit known from several messages explains a single one as well.
    apart = np.minimum(3.5 * alone.noise / np.sqrt(counts) + slack.totals, _MOST_APART)
    at_limit = np.abs(np.log(totals) - middle) < apart
    near = full & at_limit
    if near.sum() < max(FEWEST_PHASES, share_alike * full.sum()):
        return None
    # A single message may be slow for any reason, but one at the total of several shares their limit.
    if (counts[near] < _FEWEST_MESSAGES).all() or _varies_less_than_load(len(totals), counts, near):
        return None
    if not slack.while_full and _some_unhindered(np.log(rates / alone.of(observed)[at])[near[phase]]):
        return None
    figure = medians(totals[near][:, None], in_time_order=False)
    estimate = Capacity(
        candidate.reach, candidate.groups, float(totals[near].mean()),
        float(figure.low[0]), float(figure.high[0]), tuple(int(number) for number in numbers[near]),
    )  # fmt: skip
    explained = np.zeros(len(observed), bool)
    explained[at] = at_limit[phase] & at_top & slow[at]
    return estimate, explained


def _by_work(capacity: Capacity, observed: Observed, alone: Unshared, candidate: _Candidate) -> Capacity:
    """Corrects the capacity for uneven shares: counts only bytes carried while enough messages ran.

    Messages that end early leave more to the others, so the sum of rates over whole messages exceeds any rate
    carried at once.
    """
    mine = candidate.counted & np.isin(observed.phase, capacity.phases)
    nominal = float(np.median(alone.of(observed)[mine]))
    phase = np.unique(observed.phase[mine], return_inverse=True)[1]
    work = while_full(observed.rate[mine], phase, nominal)
    figure = medians(work[:, None], in_time_order=False)
    return replace(
        capacity, bytes_per_second=float(work.mean()), low=float(figure.low[0]), high=float(figure.high[0])
    )


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


def _some_unhindered(slowness: Floats) -> bool:
    """Returns True if some messages reach their ends' full rate while most are much slower.

    One full capacity would hold all of them back; several cables, of which each message takes one, would not.
    """
    much = float(np.median(slowness)) < -_MUCH_SLOWER
    return much and float((slowness > -_UNHINDERED).mean()) > _MOST_UNHINDERED


def _varies_less_than_load(phases: int, counts: NDArray[Any], near: NDArray[np.bool_]) -> bool:
    """Returns True if totals may agree only because all phases have equally many messages."""
    return len(np.unique(counts[near])) == 1 and bool(near.all()) and phases < 2 * FEWEST_PHASES


def _plateau(values: Floats, width: float) -> float:
    """Returns the median of the largest set of values that lie within `width`."""
    ordered = np.sort(values)
    ends = np.searchsorted(ordered, ordered + width, side="right")
    at = int(np.argmax(ends - np.arange(len(ordered))))
    return float(np.median(ordered[at : ends[at]]))
