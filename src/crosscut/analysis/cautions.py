"""What a reader of a run must know before believing its figures: each caution carries its advice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from crosscut import units
from crosscut.analysis.intervals import FEWEST_FOR_INTERVAL, medians
from crosscut.analysis.samples import Samples
from crosscut.analysis.slowdown import EarlyEnd
from crosscut.analysis.summary import phase_seconds

# Rates whose phase is so short that the skew of the barrier is more than this share are flagged.
LARGEST_SKEW_SHARE = 0.05
# Medians whose 95 % interval is wider than this share of them are flagged: two such figures that differ by
# a fifth may be the same.
LARGEST_INTERVAL_SHARE = 0.2
_SIZES_NAMED = 4


class Kind(Enum):
    UNFINISHED = "unfinished"
    FAILED_RANKS = "failed ranks"
    FEW_REPETITIONS = "few repetitions"
    SKEW = "skew"
    OVERSUBSCRIBED = "oversubscribed"
    WIDE_INTERVALS = "wide intervals"
    SUMMARISED = "summaries only"
    INTERVAL_IGNORED = "interval not applied"
    CONGESTION_ENDED = "congestion ended early"
    RESUMED_ELSEWHERE = "resumed on other nodes or settings"
    NOTHING_MOVED = "null backend"


@dataclass(frozen=True)
class Caution:
    kind: Kind
    text: str
    advice: str = ""


def skewed_phases(samples: Samples, skew_seconds: float) -> int:
    """How many phases are so short that the skew may distort their rate."""
    if not np.isfinite(skew_seconds):
        return 0
    # A sample is a mean over iterations that ran back to back: the skew enters once in all of them.
    times = medians(phase_seconds(samples)).median * max(samples.iterations, 1)
    return int((skew_seconds > LARGEST_SKEW_SHARE * times[np.isfinite(times)]).sum())


def of_samples(shown: Sequence[Samples], skew_seconds: float) -> list[Caution]:
    """Cautions about the figures of several sizes, one of a kind."""
    found = []
    if skewed := [samples for samples in shown if skewed_phases(samples, skew_seconds)]:
        phases = _counted(skewed, lambda samples: skewed_phases(samples, skew_seconds))
        found.append(
            Caution(
                Kind.SKEW,
                f"ranks leave the barrier {units.seconds(skew_seconds, 2)} apart (median): more than 5 % of "
                f"{phases} at {_sizes(skewed)}",
                "longer messages or more --iterations",
            )
        )
    if any(samples.summarised for samples in shown):
        found.append(
            Caution(Kind.SUMMARISED, "medians only, no intervals: raw samples exceeded --raw-budget")
        )
    if any(samples.of_phases for samples in shown):
        found.append(
            Caution(
                Kind.SUMMARISED,
                "phases only, no routes and no single ranks: their samples exceeded --raw-budget",
            )
        )
    if few := [samples for samples in shown if _too_few(samples)]:
        found.append(
            Caution(
                Kind.FEW_REPETITIONS,
                f"fewer than {FEWEST_FOR_INTERVAL} repetitions of some phases at {_sizes(few)}: "
                "no 95 % interval",
                f"--repetitions {FEWEST_FOR_INTERVAL} or more",
            )
        )
    return found


def of_intervals(shown: Sequence[Samples]) -> list[Caution]:
    """Phases whose rate is not known well enough to be compared with another."""
    wide = [samples for samples in shown if wide_phases(samples)]
    if not wide:
        return []
    return [
        Caution(
            Kind.WIDE_INTERVALS,
            f"the 95 % interval of {_counted(wide, wide_phases)} at {_sizes(wide)} is wider than "
            f"{units.percent(LARGEST_INTERVAL_SHARE)} of the median",
            "more --repetitions, or --interval 5%",
        )
    ]


def of_congestion(early: Sequence[EarlyEnd]) -> list[Caution]:
    """Part of what is called congested was measured on a network that was less loaded, or idle."""
    if not early:
        return []
    ends = ", ".join(f"{end.label} (after {units.percent(end.share)} of their time)" for end in early)
    return [
        Caution(
            Kind.CONGESTION_ENDED,
            f"congestors ended before the victims in {ends}: the slowdown is understated",
            "a larger --load, or fewer --pings and --messages",
        )
    ]


def of_summaries(summarised: bool, interval: float, repetitions: int) -> list[Caution]:
    """A run that holds summaries repeats every phase as often as is allowed: no interval can be looked at
    while it is measured (core/src/conduct/block_plan.cpp)."""
    if not summarised or not interval > 0:
        return []
    return [
        Caution(
            Kind.INTERVAL_IGNORED,
            f"--interval {100 * interval:g}% was not applied: with summaries in place of raw samples every "
            f"phase is repeated {repetitions} times, whatever its interval",
            "a larger --raw-budget",
        )
    ]


def wide_phases(samples: Samples) -> int:
    """How many phases have an interval too wide to tell one figure from another."""
    widths = medians(phase_seconds(samples)).relative_width()
    return int((widths[np.isfinite(widths)] > LARGEST_INTERVAL_SHARE).sum())


def _counted(shown: Sequence[Samples], flagged_in: Callable[[Samples], int]) -> str:
    """`3 of 7 phases` of one size; of several sizes just `phases`."""
    if len(shown) > 1:
        return "phases"
    there = int(shown[0].measured_phases().sum())
    flagged = flagged_in(shown[0])
    return "every phase" if flagged == there else f"{flagged} of {units.count(there, 'phase')}"


def _sizes(shown: Sequence[Samples]) -> str:
    """`1 KB, 3 KB, 10 KB`, or the range where there are many."""
    ordered = [units.size(size) for size in sorted(samples.size_bytes for samples in shown)]
    if len(ordered) <= _SIZES_NAMED:
        return ", ".join(ordered)
    return f"{len(ordered)} sizes from {ordered[0]} to {ordered[-1]}"


def _too_few(samples: Samples) -> bool:
    """Whether a phase that was measured has too few repetitions for an interval."""
    if samples.summarised:
        return False
    counts = np.isfinite(phase_seconds(samples)).sum(axis=0)
    return bool(((counts > 0) & (counts < FEWEST_FOR_INTERVAL)).any())


def of_nodes(
    ranks_per_node: Sequence[int], cores_per_node: Sequence[float], names: Sequence[str]
) -> list[Caution]:
    """A node with more ranks than cores measures its scheduler too."""
    crowded = [
        f"{name} ({ranks} ranks, {cores:.0f} cores)"
        for ranks, cores, name in zip(ranks_per_node, cores_per_node, names, strict=True)
        if np.isfinite(cores) and ranks > cores
    ]
    if not crowded:
        return []
    shown = ", ".join(crowded[:3]) + (f" and {len(crowded) - 3} more" if len(crowded) > 3 else "")
    return [
        Caution(
            Kind.OVERSUBSCRIBED,
            f"more ranks than cores on {shown}: times include waiting for a core",
            "fewer ranks a node for the network alone",
        )
    ]
