"""What a reader of a run must know before believing its figures: each caution carries its advice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from crosscut import units
from crosscut.analysis.intervals import FEWEST_FOR_INTERVAL, medians
from crosscut.analysis.samples import Samples
from crosscut.analysis.summary import phase_seconds

# Rates whose phase is so short that the skew of the barrier is more than this share are flagged.
LARGEST_SKEW_SHARE = 0.05
_SIZES_NAMED = 4


class Kind(Enum):
    UNFINISHED = "unfinished"
    FAILED_RANKS = "failed ranks"
    FEW_REPETITIONS = "few repetitions"
    SKEW = "skew"
    OVERSUBSCRIBED = "oversubscribed"
    SUMMARISED = "summaries only"
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
        found.append(
            Caution(
                Kind.SKEW,
                f"ranks leave the barrier {units.seconds(skew_seconds, 2)} apart (median): more than 5 % of "
                f"{_phases(skewed, skew_seconds)} at {_sizes(skewed)}",
                "longer messages or more --iterations",
            )
        )
    if any(samples.summarised for samples in shown):
        found.append(
            Caution(Kind.SUMMARISED, "medians only, no intervals: raw samples exceeded --raw-budget")
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


def _phases(skewed: Sequence[Samples], skew_seconds: float) -> str:
    """`3 of 7 phases` of one size; of several sizes just `phases`."""
    if len(skewed) > 1:
        return "phases"
    there = int(skewed[0].measured_phases().sum())
    flagged = skewed_phases(skewed[0], skew_seconds)
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
