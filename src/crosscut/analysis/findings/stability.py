"""Finds changes during a measurement: flapping links, drift, steps and periodic dips."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection

import numpy as np

from crosscut.analysis.figures.samples import Samples
from crosscut.analysis.findings import changes, dips
from crosscut.analysis.findings.changes import Deviations, deviations
from crosscut.analysis.findings.evidence import Evidence
from crosscut.analysis.findings.kinds import FindingKind
from crosscut.analysis.findings.model import Direction, Effect, Finding
from crosscut.analysis.stats.doubt import FALSE_ALARMS, holm, normal_tail
from crosscut.analysis.stats.intervals import FEWEST_FOR_INTERVAL, Floats
from crosscut.analysis.structure.observed import Integers
from crosscut.base import units

# Least spread of an unstable host, as a multiple of the median host's.
SMALLEST_RATIO = 2.0
SMALLEST_DRIFT = 0.03
# Logarithm: a host is slow in a repetition in which its messages are this far below their own median.
DEEP = math.log(0.75)


def of_run(evidence: Evidence) -> list[Finding]:
    if evidence.samples is None:
        return []
    inferred = evidence.inferred
    slow = {*inferred.out_suspects.tolist(), *inferred.in_suspects.tolist()}
    return findings(evidence.samples, evidence.name, timed=evidence.whole, slow_hosts=slow)


def findings(
    samples: Samples, name: Callable[[int], str], *, timed: bool = True, slow_hosts: Collection[int] = ()
) -> list[Finding]:
    """Returns all findings: an unstable host only if no other names it, drift only without a step of all.

    `slow_hosts`: ranks that are slow in all repetitions. Not `timed`: phases are missing, so it is unknown
    when the others ran, and periodic dips are not sought.
    """
    found = deviations(samples)
    if found is None:
        return []
    changed = changes.findings(found, samples.ranks, name)
    regular = dips.findings(samples, found, name) if timed else []
    told = {rank for one in (*changed, *regular) for rank in one.ranks}
    stepped = any(one.kind is FindingKind.STEP and not one.ranks for one in changed)
    return [
        *(one for one in unstable(samples, found, name, slow_hosts) if not told & set(one.ranks)),
        *changed,
        *regular,
        *([] if stepped else drift(found)),
    ]


def unstable(
    samples: Samples, found: Deviations, name: Callable[[int], str], slow_hosts: Collection[int] = ()
) -> list[Finding]:
    """Returns hosts whose messages vary between repetitions far more than those of others.

    Messages of a slow host wait in queues of its link, which others' do not, so that they vary more. Such a
    host is unstable only if it is much slower at times.
    """
    ends = {Direction.OUT: found.source, Direction.IN: found.destination}
    squares = _squares(found.logs)
    spreads = {way: _spread(squares, those, samples.ranks) for way, those in ends.items()}
    doubts = {way: _doubts(spread) for way, spread in spreads.items()}
    told = []
    for rank in range(samples.ranks):
        wild = [way for way in spreads if doubts[way][rank] < FALSE_ALARMS]
        if not wild:
            continue
        worst = max(wild, key=lambda way: float(spreads[way][rank]))
        ratio = float(spreads[worst][rank] / np.nanmedian(spreads[worst]))
        middle = found.of_ends(ends[worst], samples.ranks, ends[worst] == rank)[:, rank]
        slow = int((middle < DEEP).sum())
        if rank in slow_hosts and not slow:
            continue
        of_them = f"; slow in {slow} of {found.repetitions} repetitions" if slow else ""
        what = f"{name(rank)} is unstable: its messages vary {ratio:.1f} times as much as others'{of_them}"
        told.append(Finding(
            FindingKind.UNSTABLE, what, ranks=(rank,), hosts=(name(rank),),
            direction=Direction.BOTH if len(wild) == 2 else worst, effect=Effect(ratio),
            false_alarm=float(doubts[worst][rank]), phases=tuple(int(phase) for phase in samples.phase[:64]),
            advice="a flapping link, or other work on the host at times: check its log, the port's error and "
            "link-down counters, and what runs there",
        ))  # fmt: skip
    # If more than a few are unstable, the noise is not that of single hosts.
    return told if len(told) <= max(1, samples.ranks // 8) else []


def _squares(deviations: Floats) -> Floats:
    """[repetition, message] squares, clipped at 4 times the outer 0.5 % quantiles: no stall decides."""
    low, high = np.nanquantile(deviations, [0.005, 0.995])
    return np.asarray(np.clip(deviations, 4 * low, 4 * high) ** 2)


def _spread(squares: Floats, ends: Integers, ranks: int) -> Floats:
    """[rank] root of their mean over the messages with that end; NaN: too few."""
    there = np.isfinite(squares)
    counts = np.bincount(ends, weights=there.sum(axis=0), minlength=ranks)
    sums = np.bincount(ends, weights=np.where(there, squares, 0.0).sum(axis=0), minlength=ranks)
    enough = counts >= 2 * FEWEST_FOR_INTERVAL
    return np.where(enough, np.sqrt(sums / np.maximum(counts, 1)), np.nan)


def _doubts(spread: Floats) -> Floats:
    """[rank] adjusted probability that chance makes a spread this large, with normal log spreads of hosts."""
    doubts = np.ones(len(spread))
    there = np.isfinite(spread) & (spread > 0)
    if there.sum() < 4:
        return doubts
    logs = np.log(spread[there])
    middle = float(np.median(logs))
    scale = max(1.4826 * float(np.median(np.abs(logs - middle))), 0.1)
    adjusted = holm(normal_tail((logs - middle) / scale))
    doubts[there] = np.where(logs - middle > math.log(SMALLEST_RATIO), adjusted, 1.0)
    return doubts


def drift(found: Deviations) -> list[Finding]:
    """Returns a finding if all messages become faster or slower over the repetitions.

    The test is Kendall's tau (Mann, Econometrica 13, 1945).
    """
    middle = found.common()
    middle = middle[np.isfinite(middle)]
    count = len(middle)
    if count < FEWEST_FOR_INTERVAL:
        return []
    third = count // 3
    change = float(np.median(middle[-third:]) - np.median(middle[:third]))
    if abs(change) < SMALLEST_DRIFT:
        return []
    from scipy.stats import kendalltau  # the import takes half a second, which a steady run saves

    p = float(kendalltau(np.arange(count), middle).pvalue)
    if not p < FALSE_ALARMS:
        return []
    what = (
        f"all messages become {'faster' if change > 0 else 'slower'} during the measurement: the last third "
        f"of {units.count(count, 'repetition')} runs at {100 * math.exp(change):.0f} % of the first"
    )
    advice = "other traffic, heat, or buffers still growing: measure again later, or with more --warm-up"
    return [Finding(FindingKind.DRIFT, what, effect=Effect(math.exp(change)), false_alarm=p, advice=advice)]
