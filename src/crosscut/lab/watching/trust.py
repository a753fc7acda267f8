"""Judges from observations how far a lab could be trusted during a run. Pure functions.

If the processor was too slow, the figures do not show the network. Periods in which the cores were busy are
therefore matched with the phases measured in them, to the resolution of the session's progress events (at
most ten a second).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from crosscut.base.records import finite
from crosscut.lab.plan.shaping import BURST_SECONDS
from crosscut.lab.watching.watch import Window

# Share of all cores' time beyond which a rank or the emulator mostly waits for a core. Nice processes should
# make room; they count only if wake-ups are so late that a bucket idles.
LIMITING_SHARE = 0.9
# Share of one core's time spent on frames. Beyond it frames wait even if other cores are idle: the kernel
# moves no queue from one core to another.
FULL_CORE_SHARE = 0.95
# A phase is limited if the machine limited more than this share of the time in which it was measured.
LIMITED_SHARE_OF_PHASE = 0.5
_QUANTILES = {"median": 0.5, "p90": 0.9, "p99": 0.99, "max": 1.0}


@dataclass(frozen=True)
class Seen:
    """Observations of the watching process."""

    cores: int
    windows: tuple[Window, ...]
    late_microseconds: Mapping[int, int]
    """Number of wake-ups by lateness."""


@dataclass(frozen=True)
class ProgressMark:
    """A progress event: the session has measured up to here."""

    at: float
    """Monotonic clock, seconds."""
    size: int
    phase: int
    """In the pattern's numbering."""
    repetition: int


def parse(document: Mapping[str, Any]) -> Seen:
    """Parses what the watching process printed."""
    late = {int(key): int(count) for key, count in document["late_microseconds"].items()}
    return Seen(int(document["cores"] or 1), tuple(document["windows"]), late)


def quantile(late_microseconds: Mapping[int, int], share: float) -> float:
    """Quantile of the lateness in seconds; NaN if no wake-up was seen."""
    wanted = share * sum(late_microseconds.values())
    seen = 0
    for value in sorted(late_microseconds):
        seen += late_microseconds[value]
        if seen >= wanted:
            return value / 1e6
    return math.nan


def busy(windows: Sequence[Window], begin: float, end: float) -> float:
    """Busy share of all cores' time between two instants; NaN if no window overlaps."""
    seconds = total = 0.0
    for until, length, share, *_ in windows:
        overlap = min(end, until) - max(begin, until - length)
        if overlap > 0:
            seconds += overlap
            total += overlap * share
    return total / seconds if seconds else math.nan


def _is_limiting(window: Window) -> bool:
    _, _, ours, _, filled, latest, frames = window
    late = filled >= LIMITING_SHARE and latest > BURST_SECONDS
    return ours >= LIMITING_SHARE or late or frames >= FULL_CORE_SHARE


def limited_share(windows: Sequence[Window], begin: float, end: float) -> float:
    """Share of the watched time between two instants that the machine limited; NaN if none was watched."""
    marked = [
        [until, length, float(_is_limiting([until, length, *rest]))] for until, length, *rest in windows
    ]
    return busy(marked, begin, end)


def passed(before: ProgressMark | None, after: ProgressMark, first: int, last: int) -> set[int]:
    """Phases measured between two marks; all phases if the marks leave that open."""
    if before is None or before.size != after.size:
        # The previous size may have gone on after its last mark; how far is unknown.
        return set(range(first, after.phase + 1)) if after.repetition <= 1 else set(range(first, last + 1))
    if after.repetition == before.repetition and after.phase > before.phase:
        return set(range(before.phase + 1, after.phase + 1))
    if after.repetition == before.repetition + 1 and after.phase <= before.phase:
        return {*range(before.phase + 1, last + 1), *range(first, after.phase + 1)}
    if after.repetition < before.repetition:  # all repetitions of one phase, then of the next
        return set(range(before.phase, after.phase + 1))
    return set(range(first, last + 1))


def limited_phases(
    seen: Seen, begin: float, marks: Sequence[ProgressMark], first: int, last: int
) -> dict[int, set[int]]:
    """For each size, the phases that this machine limited."""
    # Time spent on each phase over all repetitions, and how much of it was limited.
    taken: dict[tuple[int, int], float] = defaultdict(float)
    limited: dict[tuple[int, int], float] = defaultdict(float)
    before, since = None, begin
    for mark in marks:
        share = limited_share(seen.windows, since, mark.at)
        phases = passed(before, mark, first, last)
        for phase in phases:
            taken[mark.size, phase] += (mark.at - since) / len(phases)
            limited[mark.size, phase] += (mark.at - since) / len(phases) * (share if share > 0 else 0)
        before, since = mark, mark.at
    found: dict[int, set[int]] = defaultdict(set)
    for (size, phase), seconds in taken.items():
        if limited[size, phase] > LIMITED_SHARE_OF_PHASE * seconds:
            found[size].add(phase)
    return dict(found)


def figures(seen: Seen, begin: float, end: float) -> dict[str, Any]:
    """Figures of an entry in a run's `trust` (docs/reference/run-format.md)."""
    inside = [window for window in seen.windows if begin < window[0] and window[0] - window[1] < end]
    seconds = sum(window[1] for window in inside) or math.nan

    def mean(which: int) -> float | None:
        return finite(sum(window[1] * window[which] for window in inside) / seconds)

    busiest = max((window[2] for window in inside), default=math.nan)
    return {
        "seconds": end - begin,
        "cores": seen.cores,
        "cpu_busy_share": finite(min(busy(seen.windows, begin, end), busiest)),  # a mean may round up
        "cpu_busy_share_max": finite(busiest),
        "cpu_stolen_share": mean(3),
        "cpu_filled_share": mean(4),
        "fullest_core_share": mean(6),
        "timer_lateness_seconds": {
            name: finite(quantile(seen.late_microseconds, share)) for name, share in _QUANTILES.items()
        },
    }


def of_switch(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """Returns crosscut-switch's lateness, CPU share and lost frames between two of its statistics."""
    seconds = after["seconds"] - before["seconds"]
    cpu = after["cpu_share"] * after["seconds"] - before["cpu_share"] * before["seconds"]
    frames = {
        key: after["frames"][key] - before["frames"][key] for key in ("delivered", "dropped", "lost_in_hosts")
    }
    late = after["lateness_lately_seconds"]
    dropped_before = {each["name"]: each["dropped_frames"] for each in before["stations"]}
    dropped = {
        each["name"]: each["dropped_frames"] - dropped_before.get(each["name"], 0)
        for each in after["stations"]
    }
    return {
        "seconds": seconds,
        "cpu_share": cpu / seconds if seconds > 0 else None,
        "lateness_seconds": {which: late[which] for which in ("median", "p99", "max")},
        "frames": frames,
        "dropped_at": {name: count for name, count in dropped.items() if count > 0},
    }
