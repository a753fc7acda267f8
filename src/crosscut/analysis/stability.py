"""What changes while it is measured: hosts whose links flap, and drift of everything."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from crosscut import units
from crosscut.analysis.doubt import FALSE_ALARMS, SMALLEST_CLAIMED, holm, normal_tail
from crosscut.analysis.findings import Direction, Effect, Finding, Kind
from crosscut.analysis.intervals import FEWEST_FOR_INTERVAL, Floats
from crosscut.analysis.samples import Samples

# Of the middle host's spread; less is a difference of degree.
SMALLEST_RATIO = 2.0
SMALLEST_DRIFT = 0.03
# A repetition in which a host's messages are this much slower than in the others is a dip.
DEEP = math.log(0.75)


def unstable(samples: Samples, name: Callable[[int], str]) -> list[Finding]:
    """Hosts of which the same messages take now this, now that time, while those of others do not."""
    if samples.of_phases or samples.summarised or samples.message_seconds.shape[0] < FEWEST_FOR_INTERVAL:
        return []
    deviations, source, destination = _deviations(samples)
    found = []
    spreads = {
        Direction.OUT: _spread(deviations, source, samples.ranks),
        Direction.IN: _spread(deviations, destination, samples.ranks),
    }
    doubts = {direction: _doubts(spread) for direction, spread in spreads.items()}
    for rank in range(samples.ranks):
        wild = [d for d in spreads if doubts[d][rank] < FALSE_ALARMS]
        if not wild:
            continue
        worst = max(wild, key=lambda d: float(spreads[d][rank]))
        mine = (source if worst is Direction.OUT else destination) == rank
        ratio = float(spreads[worst][rank] / np.nanmedian(spreads[worst]))
        dips = np.nonzero(np.nanmedian(deviations[:, mine], axis=1) < DEEP)[0]
        of_them = f"; slow in {len(dips)} of {len(deviations)} repetitions" if len(dips) else ""
        found.append(
            Finding(
                kind=Kind.UNSTABLE,
                what=f"{name(rank)} is unstable: the same messages vary {ratio:.1f} times as much as "
                f"others'{of_them}",
                ranks=(rank,),
                hosts=(name(rank),),
                direction=Direction.BOTH if len(wild) == 2 else worst,
                effect=Effect(ratio),
                false_alarm=max(float(doubts[worst][rank]), SMALLEST_CLAIMED),
                phases=tuple(int(phase) for phase in samples.phase[:64]),
                advice="a link that comes and goes, or a host that does something else at times: look at "
                "its log, the "
                "port's error and link-down counters, and what runs there",
            )
        )
    # More than a few are the place's noise, not a host's.
    return found if len(found) <= max(1, samples.ranks // 8) else []


def _deviations(samples: Samples) -> tuple[Floats, Floats, Floats]:
    """[repetition, message] log of how much faster than the message's own middle; its source and
    destination."""
    phase, rank, slot = np.nonzero(samples.peer >= 0)
    seconds = samples.message_seconds[:, phase, rank, slot]
    enough = np.isfinite(seconds).sum(axis=0) >= FEWEST_FOR_INTERVAL
    logs = -np.log(np.where(seconds[:, enough] > 0, seconds[:, enough], np.nan))
    middle = np.nanmedian(logs, axis=0) if enough.any() else np.zeros(0)
    return logs - middle, samples.peer[phase, rank, slot][enough].astype(float), rank[enough].astype(float)


def _spread(deviations: Floats, ends: Floats, ranks: int) -> Floats:
    """[rank] root mean square; the outermost hundredth of all is cut off, so that no single stall decides."""
    if deviations.size == 0:
        return np.full(ranks, np.nan)
    low, high = np.nanquantile(deviations, [0.005, 0.995])
    squares = np.clip(deviations, 4 * low, 4 * high) ** 2
    found = np.full(ranks, np.nan)
    for rank in range(ranks):
        mine = squares[:, ends == rank]
        if np.isfinite(mine).sum() >= 2 * FEWEST_FOR_INTERVAL:
            found[rank] = math.sqrt(float(np.nanmean(mine)))
    return found


def _doubts(spread: Floats) -> Floats:
    """[rank] adjusted, by how spreads of all hosts differ (their logarithms, about normal)."""
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


def drift(samples: Samples) -> list[Finding]:
    """Everything becoming faster or slower from repetition to repetition (Mann, Econometrica 13, 1945;
    Kendall)."""
    if samples.of_phases or samples.summarised or samples.message_seconds.shape[0] < FEWEST_FOR_INTERVAL:
        return []
    deviations, _, _ = _deviations(samples)
    kept = np.isfinite(deviations).any(axis=1) if deviations.size else np.zeros(0, bool)
    if kept.sum() < FEWEST_FOR_INTERVAL:
        return []
    middle = np.nanmedian(deviations[kept], axis=1)
    count = len(middle)
    signs = np.sign(middle[None, :] - middle[:, None])[np.triu_indices(count, 1)].sum()
    variance = count * (count - 1) * (2 * count + 5) / 18
    p = 2 * float(normal_tail(np.array([(abs(signs) - 1) / math.sqrt(variance)]))[0])
    third = max(1, count // 3)
    change = float(np.median(middle[-third:]) - np.median(middle[:third]))
    if p >= FALSE_ALARMS or abs(change) < SMALLEST_DRIFT:
        return []
    word = "faster" if change > 0 else "slower"
    return [
        Finding(
            kind=Kind.DRIFT,
            what=f"all messages become {word} while they are measured: the last third of "
            f"{units.count(count, 'repetition')} "
            f"runs at {100 * math.exp(change):.0f} % of the first",
            effect=Effect(math.exp(change)),
            false_alarm=max(p, SMALLEST_CLAIMED),
            advice="other traffic, heat, or buffers still growing: measure again later, or with more "
            "--warm-up",
        )
    ]
