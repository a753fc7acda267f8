"""Finds change points and trends during a run: of all messages, of single hosts, of single routes.

A series has one number per repetition: how much faster or slower than usual messages were. The statistic is
the largest standardised difference of the means before and after a cut, over all cuts (the scan of D. M.
Hawkins, JASA 72, 1977). Its probability comes from permuting the repetitions of all series together, so it
holds for all of them at once, for any distribution of the noise (Westfall and Young: `permutation`). Series
that vary hardly more than the others are left out first: the variation does not depend on the order, so
leaving them out does not bias the test. A change is called a step or a trend, whichever fits better (least
absolute residuals).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crosscut.analysis.figures.samples import Samples
from crosscut.analysis.findings.kinds import FindingKind
from crosscut.analysis.findings.model import Direction, Effect, Finding
from crosscut.analysis.findings.slow_parts import VERBS, few_names
from crosscut.analysis.stats import permutation
from crosscut.analysis.stats.doubt import FALSE_ALARMS
from crosscut.analysis.stats.intervals import FEWEST_FOR_INTERVAL, Floats, medians
from crosscut.analysis.stats.rows import median as of_rows
from crosscut.analysis.structure.observed import Integers
from crosscut.base import units

# Repetitions on each side of a step; fewer are a dip or chance.
FEWEST_BESIDE = 3
# With this many, the clearest step is significant at 1 %: 2 of 10! / (5! 5!) divisions are as clear.
FEWEST_REPETITIONS = 10
SMALLEST_CHANGE = 0.05
# Only series that vary more than this multiple of the median one are tested.
LEAST_VARIED = 2.5
_WAYS = 999
# Bounds on the work, in multiplications: with many repetitions not every cut is tried, and of many series
# only those that vary most are.
_MOST_CUTS, _MOST_WORK, _FEWEST_SERIES = 32, 1 << 31, 16
_ROUTES_NAMED = 4


@dataclass(frozen=True)
class Deviations:
    """R repetitions of M messages, each measured in at least six repetitions."""

    logs: Floats
    """[R, M] logarithm of the rate over the message's own median; NaN where nothing was measured."""
    phase: Integers
    """[M] index of its phase, ascending."""
    source: Integers
    destination: Integers

    @property
    def repetitions(self) -> int:
        return len(self.logs)

    def common(self) -> Floats:
        """[R] median over all messages."""
        return of_rows(self.logs)

    def of_ends(self, ends: Integers, ranks: int, kept: NDArray[np.bool_] | None = None) -> Floats:
        """[R, rank] median over the messages with that end, only those `kept` ([M]); NaN: none."""
        found = np.full((len(self.logs), ranks), np.nan)
        chosen = np.arange(len(ends)) if kept is None else np.nonzero(kept)[0]
        order = chosen[np.argsort(ends[chosen], kind="stable")]
        there, start = np.unique(ends[order], return_index=True)
        for rank, mine in zip(there.tolist(), np.split(order, start[1:]), strict=True):
            found[:, rank] = of_rows(self.logs[:, mine])
        return found


def deviations(samples: Samples) -> Deviations | None:
    """Returns the deviations; None if only summaries are stored, or no message has enough repetitions."""
    if samples.of_phases or samples.summarised or len(samples.message_seconds) < FEWEST_FOR_INTERVAL:
        return None
    phase, rank, slot = np.nonzero(samples.peer >= 0)
    seconds = samples.message_seconds[:, phase, rank, slot]
    usable = np.isfinite(seconds) & (seconds > 0)
    enough = usable.sum(axis=0) >= FEWEST_FOR_INTERVAL
    if not enough.any():
        return None
    logs = -np.log(np.where(usable, seconds, np.nan)[:, enough])
    source = samples.peer[phase, rank, slot].astype(np.int64)
    return Deviations(logs - medians(logs).median, phase[enough], source[enough], rank[enough])


@dataclass(frozen=True)
class LevelChange:
    subject: int
    """Index of the series."""
    at: int
    """First repetition after the change."""
    change: float
    """Log of the rate after over the rate before; for a trend, of the last rate over the first."""
    doubt: float
    is_step: bool


def changes(values: Floats) -> list[LevelChange]:
    """Returns the changes of series [repetition, series], with probabilities adjusted for all of them. Skips
    series with gaps."""
    if len(values) < FEWEST_REPETITIONS or not values.size:
        return []
    whole = np.nonzero(np.isfinite(values).all(axis=0))[0]
    spread = values[:, whole].std(axis=0)
    scale = float(np.median(spread)) if len(whole) else 0.0
    varied = spread > (LEAST_VARIED * scale if len(whole) > 2 else 0.0)
    most = max(_FEWEST_SERIES, _MOST_WORK // (_WAYS * len(values) * len(_cuts(len(values)))))
    kept = whole[varied][np.argsort(-spread[varied], kind="stable")][:most]
    if not len(kept):
        return []
    table = values[:, kept]
    ways = np.argsort(np.random.default_rng(1).random((_WAYS, len(values))), axis=1)
    observed = _highest(table, np.arange(len(values))[None, :])[0]
    doubts = permutation.step_down(observed, _highest(table, ways), drawn=True)
    clear = np.nonzero(doubts < FALSE_ALARMS)[0]
    found = [_change(int(kept[at]), table[:, at], float(doubts[at])) for at in clear]
    return [one for one in found if abs(math.expm1(one.change)) >= SMALLEST_CHANGE]


def _cuts(count: int) -> list[int]:
    last = count - FEWEST_BESIDE
    tried = np.linspace(FEWEST_BESIDE, last, min(_MOST_CUTS, last - FEWEST_BESIDE + 1))
    return sorted({int(cut) for cut in tried})


def _across(values: Floats, ways: Integers, cut: int) -> Floats:
    """[way, series] difference of the means after and before the cut, standardised for repetitions with
    variance 1. `ways`: [way, repetition] position of the repetition."""
    count = len(values)
    after = (ways >= cut).astype(np.float64) @ values
    difference = after / (count - cut) - (values.sum(axis=0) - after) / cut
    return np.asarray(np.abs(difference) * math.sqrt(cut * (count - cut) / count))


def _highest(values: Floats, ways: Integers) -> Floats:
    """[way, series] largest difference over all cuts."""
    found = np.zeros((len(ways), values.shape[1]))
    for cut in _cuts(len(values)):
        np.maximum(found, _across(values, ways, cut), out=found)
    return found


def _change(subject: int, series: Floats, doubt: float) -> LevelChange:
    count = len(series)
    as_it_was = np.arange(count)[None, :]
    cut = max(_cuts(count), key=lambda at: float(_across(series[:, None], as_it_was, at)[0, 0]))
    before, after = float(np.median(series[:cut])), float(np.median(series[cut:]))
    slope, start = _line(series)
    level = np.where(np.arange(count) >= cut, after, before)
    off_step = np.abs(series - level).sum()
    off_line = np.abs(series - (start + slope * np.arange(count))).sum()
    is_step = bool(off_step <= off_line)
    return LevelChange(subject, cut, after - before if is_step else slope * (count - 1), doubt, is_step)


def _line(series: Floats) -> tuple[float, float]:
    """Returns Theil and Sen's slope, and the value at its start (P. K. Sen, JASA 63, 1968)."""
    one, other = np.triu_indices(len(series), 1)
    slope = float(np.median((series[other] - series[one]) / (other - one)))
    return slope, float(np.median(series - slope * np.arange(len(series))))


def findings(found: Deviations, ranks: int, name: Callable[[int], str]) -> list[Finding]:
    """Returns changes of all messages, of hosts relative to them, and of routes of unchanged hosts."""
    if found.repetitions < FEWEST_REPETITIONS:
        return []
    common = found.common()
    together = [one for one in changes(common[:, None]) if one.is_step]
    rest = Deviations(found.logs - common[:, None], found.phase, found.source, found.destination)
    told = [_of_all(one, found.repetitions) for one in together]
    ends = [(Direction.OUT, rest.source), (Direction.IN, rest.destination)]
    by_end = np.concatenate([rest.of_ends(end, ranks) for _, end in ends], axis=1)
    by_rank: dict[int, list[tuple[Direction, LevelChange]]] = {}
    for one in changes(by_end):
        by_rank.setdefault(one.subject % ranks, []).append((ends[one.subject // ranks][0], one))
    if len(by_rank) > max(2, ranks // 8):
        return [*told, _many_hosts(by_rank, name)]
    told += [_of_host(rank, by_rank[rank], found.repetitions, name) for rank in sorted(by_rank)]
    own = ~np.isin(rest.source, list(by_rank)) & ~np.isin(rest.destination, list(by_rank))
    places = np.nonzero(own)[0]
    of_routes = changes(rest.logs[:, own])
    if len(of_routes) > max(_ROUTES_NAMED, len(places) // 20):
        return [*told, _many_routes(of_routes, len(places))]
    return told + [
        _of_route(one, int(rest.source[at]), int(rest.destination[at]), found.repetitions, name)
        for one in of_routes[:_ROUTES_NAMED]
        for at in places[one.subject : one.subject + 1]
    ]


def _when(one: LevelChange, repetitions: int) -> str:
    """Returns words such as `at 61 % of the earlier rate from repetition 9 of 20 on`."""
    share = 100 * math.exp(one.change)
    if one.is_step:
        return f"at {share:.0f} % of the earlier rate from repetition {one.at + 1} of {repetitions} on"
    return f"at a rate that drifts to {share:.0f} % of the initial one over {repetitions} repetitions"


def _of_all(one: LevelChange, repetitions: int) -> Finding:
    return Finding(
        FindingKind.STEP, f"all messages change at once: {_when(one, repetitions)}",
        effect=Effect(math.exp(one.change)), false_alarm=one.doubt,
        advice="something began or ended there: other traffic, a power limit, a route that moved; measure "
        "again, and compare: crosscut compare",
    )  # fmt: skip


def _of_host(
    rank: int, seen: Sequence[tuple[Direction, LevelChange]], repetitions: int, name: Callable[[int], str]
) -> Finding:
    worst_direction, worst = max(seen, key=lambda entry: abs(entry[1].change))
    direction = Direction.BOTH if len(seen) > 1 else worst_direction
    return Finding(
        FindingKind.STEP if worst.is_step else FindingKind.DRIFT,
        f"{name(rank)} changes during the measurement while others do not: "
        f"it {VERBS[direction]} {_when(worst, repetitions)}",
        ranks=(rank,), hosts=(name(rank),), direction=direction, effect=Effect(math.exp(worst.change)),
        false_alarm=max(one.doubt for _, one in seen),
        advice="a link that retrained at another speed, a throttled processor, or work that began there: "
        "look at its log around that time",
    )  # fmt: skip


def _of_route(
    one: LevelChange, source: int, destination: int, repetitions: int, name: Callable[[int], str]
) -> Finding:
    return Finding(
        FindingKind.STEP if one.is_step else FindingKind.DRIFT,
        f"{name(source)} to {name(destination)} changes during the measurement while its hosts do not: it "
        f"runs {_when(one, repetitions)}",
        ranks=(source, destination), hosts=(name(source), name(destination)),
        routes=((source, destination),), direction=Direction.OUT, effect=Effect(math.exp(one.change)),
        false_alarm=one.doubt, evidence_routes=((source, destination),),
        advice="the path moved to another cable, or other traffic began to use it: measure again, and "
        "compare: crosscut compare",
    )  # fmt: skip


def _many_hosts(
    by_rank: dict[int, list[tuple[Direction, LevelChange]]], name: Callable[[int], str]
) -> Finding:
    ranks = tuple(sorted(by_rank))
    what = f"{units.count(len(ranks), 'host')} change during the measurement, each at its own time"
    return Finding(
        FindingKind.STEP, f"{what}: {few_names(ranks, name)}",
        ranks=ranks, hosts=tuple(name(rank) for rank in ranks),
        false_alarm=max(one.doubt for seen in by_rank.values() for _, one in seen),
        advice="other traffic comes and goes: measure when nothing else runs",
    )  # fmt: skip


def _many_routes(found: Sequence[LevelChange], of: int) -> Finding:
    return Finding(
        FindingKind.STEP,
        f"{len(found):,} of {units.count(of, 'message')} change during the measurement, and no single host "
        "does",
        false_alarm=max(one.doubt for one in found),
        advice="other traffic comes and goes, or paths move: measure when nothing else runs",
    )  # fmt: skip
