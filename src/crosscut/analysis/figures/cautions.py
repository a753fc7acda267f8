"""Cautions: what readers must know before they trust the figures of a run, each with advice."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial

import numpy as np
from numpy.typing import NDArray

from crosscut.analysis.figures import limited as machine
from crosscut.analysis.figures.lanes import Lane
from crosscut.analysis.figures.pingpong import sweep
from crosscut.analysis.figures.samples import Samples
from crosscut.analysis.figures.slowdown import EarlyEnd
from crosscut.analysis.figures.summary import phase_seconds, phase_skew
from crosscut.analysis.stats.intervals import FEWEST_FOR_CORRELATION, FEWEST_FOR_INTERVAL, Floats, medians
from crosscut.base import units
from crosscut.base.node_sets import LIST_WIDTH, folded

# A phase is flagged if the skew of the barrier is more than this share of its time.
LARGEST_SKEW_SHARE = 0.05
# The same limit for the clock's step, or the time to read it, as a share of a sample's time.
LARGEST_CLOCK_SHARE = 0.05
# A median is flagged if its 95 % interval is wider than this share of it: two such figures that differ by a
# fifth may be equal.
LARGEST_INTERVAL_SHARE = 0.2
# TCP waited for buffers if it did so for this share of the time in which it had data to send.
LARGEST_BUFFER_SHARE = 0.2
_SIZES_NAMED = 4
FEWEST_NOISE_PERIODS = 3


class CautionKind(Enum):
    UNFINISHED = "unfinished"
    FAILED_RANKS = "failed ranks"
    FEW_REPETITIONS = "few repetitions"
    INDEPENDENCE_ASSUMED = "too few repetitions to estimate their correlation"
    SKEW = "skew"
    COARSE_CLOCK = "clock too coarse"
    OVERSUBSCRIBED = "oversubscribed"
    FAR_RANKS = "ranks on cores far from their adapter"
    BUFFER_LIMITED = "limited by TCP's buffers"
    UNEVEN_RANKS = "unequal numbers of ranks per node"
    WIDE_INTERVALS = "wide intervals"
    SUMMARISED = "summaries only"
    INTERVAL_IGNORED = "interval not applied"
    CONGESTION_ENDED = "congestion ended early"
    LITTLE_NOISE = "samples shorter than the noise's period"
    RESUMED_ELSEWHERE = "resumed on other nodes or settings"
    NOTHING_MOVED = "null backend"
    MACHINE_LIMITED = "limited by the emulating machine"
    MACHINE_LATE = "emulating machine late"
    MACHINE_CHANGED = "emulating machine changed"
    NOT_WATCHED = "emulating machine not watched"
    PROCESSOR_TIME = "processor time far off"
    IMPORTED = "measured by another program"
    NO_LATENCY = "the network's file gives no latency"


OF_REPETITIONS = (CautionKind.FEW_REPETITIONS, CautionKind.INDEPENDENCE_ASSUMED)


@dataclass(frozen=True)
class Caution:
    kind: CautionKind
    text: str
    advice: str = ""

    def __str__(self) -> str:
        return f"{self.text} ({self.advice})" if self.advice else self.text


def skewed(samples: Samples) -> Floats:
    """Returns the skew, in seconds, of each phase so short that it may distort the phase's rate."""
    skew = phase_skew(samples)
    return np.asarray(skew[_is_short(samples, skew)])


def _is_short(samples: Samples, seconds: Floats | float) -> NDArray[np.bool_]:
    """[phase] True if a phase is so short that a delay of so many seconds may distort its rate."""
    # A sample is the mean of iterations run back to back, so the delay enters once for all of them.
    return np.asarray(np.greater(seconds, LARGEST_SKEW_SHARE * _seconds_of_samples(samples)))


def _seconds_of_samples(samples: Samples) -> Floats:
    """Returns the median time from the start of a sample to its end, [phase]."""
    return np.asarray(medians(phase_seconds(samples)).median * max(samples.iterations, 1))


def of_samples(shown: Sequence[Samples]) -> list[Caution]:
    """Returns cautions about the figures of several sizes; each names all sizes to which it applies."""
    most = max((float(skew.max()) for samples in shown if len(skew := skewed(samples))), default=0.0)
    found = _of_phases(
        CautionKind.SKEW, shown, lambda samples: len(skewed(samples)),
        f"ranks start up to {units.seconds(most, 2)} apart (median of repetitions), more than 5 % of the "
        "duration of {phases} at {sizes}", "longer messages or more --iterations",
    )  # fmt: skip
    kept = {
        "medians only, no intervals: raw samples": any(samples.summarised for samples in shown),
        "phases only, no routes and no single ranks: their samples": any(one.of_phases for one in shown),
    }
    found += [
        Caution(CautionKind.SUMMARISED, f"{what} exceeded --raw-budget")
        for what, is_so in kept.items()
        if is_so
    ]
    few = "fewer than {least} repetitions of some phases at {{sizes}}: {so}"
    for kind, from_, least, so in (
        (CautionKind.FEW_REPETITIONS, 1, FEWEST_FOR_INTERVAL, "no 95 % interval"),
        (
            CautionKind.INDEPENDENCE_ASSUMED, FEWEST_FOR_INTERVAL, FEWEST_FOR_CORRELATION,
            "if they are correlated, which so few cannot show, the 95 % interval is too narrow",
        ),
    ):  # fmt: skip
        found += _of_phases(
            kind, shown, partial(_repeated, from_, least), few.format(least=least, so=so),
            f"--repetitions {least} or more",
        )  # fmt: skip
    return found


def of_intervals(shown: Sequence[Samples]) -> list[Caution]:
    """Cautions about phases whose rates are too uncertain to compare."""
    return _of_phases(
        CautionKind.WIDE_INTERVALS, shown, wide_phases,
        "the 95 % interval of {phases} at {sizes} is wider than "
        f"{units.percent(LARGEST_INTERVAL_SHARE)} of the median", "more --repetitions, or --interval 5%",
    )  # fmt: skip


def of_latency(shown: Sequence[Samples]) -> list[Caution]:
    """Returns a caution if the shortest messages of a simulated sweep take only the time of their bytes."""
    found = sweep([samples for samples in shown if samples.size_bytes > 0])
    if not found.size_bytes or not found.timeless():
        return []
    text = "the network's file gives no latency: times of short messages are those of their bytes alone"
    return [Caution(CautionKind.NO_LATENCY, text)]


def of_congestion(early: Sequence[EarlyEnd]) -> list[Caution]:
    """Cautions that conditions called congested were partly measured under less load, or none."""
    if not early:
        return []
    ends = ", ".join(f"{end.label} (after {units.percent(end.share)} of their time)" for end in early)
    text = f"congestors ended before the victims in {ends}: the slowdown is understated"
    return [Caution(CautionKind.CONGESTION_ENDED, text, "a larger --load, or fewer --pings and --messages")]


def of_noise(shown: Sequence[Samples], period_seconds: float) -> list[Caution]:
    """Cautions about samples too short to contain the injected noise. `period_seconds`: NaN without noise."""
    if not period_seconds > 0:
        return []
    return _of_phases(
        CautionKind.LITTLE_NOISE, shown,
        lambda samples: int(np.sum(_seconds_of_samples(samples) < FEWEST_NOISE_PERIODS * period_seconds)),
        f"samples of {{phases}} at {{sizes}} last less than {FEWEST_NOISE_PERIODS} periods of the noise: "
        "their medians may not contain it", "more --iterations, or a shorter period",
    )  # fmt: skip


def of_clock(shown: Sequence[Samples], step_seconds: float) -> list[Caution]:
    """Cautions about samples too short for the clock. `step_seconds`: its resolution or the time to read it,
    whichever is larger; NaN: unknown."""
    share = max((coarsely_timed(samples, step_seconds) for samples in shown), default=0.0)
    known = f"a clock step is {units.seconds(step_seconds, 2)}, " if step_seconds > 0 else ""
    most = "more than 5 % of the time of" if known else "the clock did not advance during"
    return _of_phases(
        CautionKind.COARSE_CLOCK, shown, lambda samples: coarsely_timed(samples, step_seconds),
        f"{known}{most} {units.percent(share)} of the messages at {{sizes}}",
        "more --iterations, so that one sample times many messages, or longer messages",
    )  # fmt: skip


def coarsely_timed(samples: Samples, step_seconds: float) -> float:
    """Returns the share of samples that the clock measures too coarsely or not at all; 0 if below 1 %."""
    taken = samples.message_seconds[np.isfinite(samples.message_seconds)] * max(samples.iterations, 1)
    if not len(taken):
        return 0.0
    step = step_seconds if step_seconds > 0 else 0.0
    share = float(((taken <= 0) | (taken * LARGEST_CLOCK_SHARE < step)).mean())
    return share if share >= 0.01 else 0.0


def of_summaries(summarised: bool, interval: float, repetitions: int) -> list[Caution]:
    """Cautions that a summarised run ignored --interval.

    It repeats every phase as often as allowed, because intervals cannot be computed while it is measured
    (core/src/conduct/block_plan.cpp).
    """
    if not summarised or not interval > 0:
        return []
    text = (
        f"--interval {100 * interval:g}% was not applied: with summaries in place of raw samples every "
        f"phase is repeated {repetitions} times, however wide its interval"
    )
    return [Caution(CautionKind.INTERVAL_IGNORED, text, "a larger --raw-budget")]


def wide_phases(samples: Samples) -> int:
    """Counts phases with intervals so wide that figures cannot be told apart."""
    widths = medians(phase_seconds(samples)).relative_width()
    return int((widths[np.isfinite(widths)] > LARGEST_INTERVAL_SHARE).sum())


def _of_phases(
    kind: CautionKind,
    shown: Sequence[Samples],
    flagged_in: Callable[[Samples], float],
    text: str,
    advice: str,
) -> list[Caution]:
    """Returns a caution if any size has flagged phases.

    `text` may contain {sizes} and {phases}: such as `3 of 7 phases` if only one size has flagged phases, else
    `phases`.
    """
    bad = [samples for samples in shown if flagged_in(samples)]
    if not bad:
        return []
    phases = "phases"
    if len(bad) == 1:
        phases = share_of_phases(flagged_in(bad[0]), int(bad[0].measured_phases().sum()))
    return [Caution(kind, text.format(phases=phases, sizes=_sizes(bad)), advice)]


def share_of_phases(count: float, there: int) -> str:
    return "every phase" if count == there else f"{count} of {units.count(there, 'phase')}"


def _sizes(shown: Sequence[Samples]) -> str:
    """Returns words such as `1 KB, 3 KB and 10 KB`, or the range if there are many."""
    ordered = [units.size(size) for size in sorted(samples.size_bytes for samples in shown)]
    if len(ordered) <= _SIZES_NAMED:
        return " and ".join(filter(None, (", ".join(ordered[:-1]), ordered[-1])))
    return f"{len(ordered)} sizes from {ordered[0]} to {ordered[-1]}"


def _repeated(least: int, below: int, samples: Samples) -> bool:
    """True if some phase has at least `least` repetitions and fewer than `below`."""
    if samples.summarised:
        return False
    counts = np.isfinite(phase_seconds(samples)).sum(axis=0)
    return bool(((counts >= least) & (counts < below)).any())


def of_nodes(
    ranks_per_node: Sequence[int], cores_per_node: Sequence[float], names: Sequence[str]
) -> list[Caution]:
    """Cautions about nodes with more ranks than cores, whose times include scheduling."""
    crowded = [
        f"{name} ({ranks} ranks, {cores:.0f} cores)"
        for ranks, cores, name in zip(ranks_per_node, cores_per_node, names, strict=True)
        if np.isfinite(cores) and ranks > cores
    ]
    if not crowded:
        return []
    shown = ", ".join(crowded[:3]) + (f" and {len(crowded) - 3} more" if len(crowded) > 3 else "")
    text = f"more ranks than cores on {shown}: times include waiting for a core"
    return [Caution(CautionKind.OVERSUBSCRIBED, text, "to measure the network alone, fewer ranks per node")]


def of_far_ranks(far: Mapping[str, tuple[int, int, str]]) -> list[Caution]:
    """Cautions about ranks that may run on cores not near their adapters.

    `far`: by node, how many of its ranks, of how many, and the near cores in words.
    """
    if not far:
        return []
    name, (ranks, there, near) = max(far.items(), key=lambda item: item[1][0])
    others = f", and ranks on {units.count(len(far) - 1, 'other node')}" if len(far) > 1 else ""
    near = f" (near ones: {near})" if near else ""
    text = (
        f"{ranks} of {units.count(there, 'rank')} on {name} may run on cores that are not near its "
        f"adapter{near}{others}: between sockets, latencies are longer and rates can be lower"
    )
    advice = "bind the ranks to near cores (taskset, or the launcher's options), or fewer ranks per node"
    return [Caution(CautionKind.FAR_RANKS, text, advice)]


def of_lanes(
    lanes: Sequence[Lane], name: Callable[[int], str], options: Mapping[str, object]
) -> list[Caution]:
    """Cautions that TCP waited for buffers, so that these lanes do not show what the network carries.

    `lanes`: those that the run told of; `name`: of a rank; `options`: parameters of the backend.
    """
    waited = [one for one in lanes if one.waiting_share >= LARGEST_BUFFER_SHARE]
    if not waited:
        return []
    worst = max(waited, key=lambda one: one.waiting_share)
    of_receiver = worst.receiver_share >= worst.buffer_share
    what, end, setting = (
        ("its receiver's window", "receive", "tcp_rmem")
        if of_receiver
        else ("the send buffer", "send", "tcp_wmem")
    )
    is_set = str(options.get(f"{end}-buffer", "0")) not in ("0", "")
    advice = f"a larger --tcp-{end}-buffer, or none" if is_set else f"larger buffers: net.ipv4.{setting}"
    if of_receiver:
        advice += "; if that does not help, the receiving process is slow"
    text = (
        f"from {name(worst.source)} to {name(worst.destination)} TCP waited for {what}, not for the network, "
        f"for {units.percent(worst.waiting_share)} of the time, and for "
        f"{units.percent(LARGEST_BUFFER_SHARE)} or more on {len(waited):,} of "
        f"{units.count(len(lanes), 'route')} looked at"
    )
    return [Caution(CautionKind.BUFFER_LIMITED, text, advice)]


def of_uneven_ranks(ranks_per_node: Sequence[int], names: Sequence[str]) -> list[Caution]:
    """Cautions that nodes carry different numbers of ranks, so a rank's rate depends on its node's."""
    counts = [ranks for ranks in ranks_per_node if ranks]
    least, most = min(counts, default=0), max(counts, default=0)
    if least == most:
        return []
    full = [name for ranks, name in zip(ranks_per_node, names, strict=True) if ranks == most]
    text = (
        f"nodes carry {least} to {most} ranks ({most}: {folded(full, LIST_WIDTH)}): ranks of one node share "
        "its link, so ranks of different nodes cannot be compared"
    )
    return [Caution(CautionKind.UNEVEN_RANKS, text, "as many ranks on each: -n, or --ranks-per-host")]


@dataclass(frozen=True)
class Emulation:
    """How far an emulated cluster could be trusted while it was measured (attribute `trust` of a run)."""

    limited: Mapping[int, frozenset[int]]
    """By message size: numbers of the phases during which the machine's cores were busy."""
    lateness_seconds: float
    """90th percentile of the lateness of its timers; NaN: unknown."""
    switch_cpu_share: float
    """Load of the core on which crosscut-switch forwards; NaN: the kernel forwards."""
    switch_lateness_seconds: float
    """99th percentile of the lateness of deliveries."""
    reference: tuple[float, float]
    """Bytes per second of an unloaded pair of nodes, before and after."""
    seen: bool
    """The machine was watched at all."""


# Above this load of its one core, frames queue in crosscut-switch itself.
LARGEST_SWITCH_SHARE = 0.9
# On a quiet machine, the unloaded pair repeats to within 1 %.
LARGEST_REFERENCE_CHANGE = 0.1


def of_emulations(shown: Sequence[Samples], sessions: Sequence[Emulation]) -> list[Caution]:
    """Cautions about measurements that the emulating machine, not the network, limited.

    Sessions of one run, which was resumed, are reported together.
    """
    seen = [one for one in sessions if one.seen]
    unknown = "it is unknown whether this machine limited the emulated network"
    found = [Caution(CautionKind.NOT_WATCHED, unknown)] if len(seen) < len(sessions) else []
    found += _of_cores(shown, seen)
    found += dict.fromkeys(each for one in seen for each in _of_reference(one))
    return found


def _of_cores(shown: Sequence[Samples], sessions: Sequence[Emulation]) -> list[Caution]:
    found = _of_phases(
        CautionKind.MACHINE_LIMITED, shown, lambda samples: _limited_phases(samples, sessions),
        "cores of this machine were busy during {phases} at {sizes}: these times are the machine's, not the "
        "network's", machine.ADVICE,
    )  # fmt: skip
    switch = _most(one.switch_cpu_share for one in sessions)
    if switch > LARGEST_SWITCH_SHARE:
        text = (
            f"crosscut-switch used {units.percent(switch)} of its core: this machine, not the network, "
            "limited its traffic"
        )
        advice = "fewer nodes, or crosscut lab up --dilate"
        found.append(Caution(CautionKind.MACHINE_LIMITED, text, advice))
    late = _most(x for one in sessions for x in (one.lateness_seconds, one.switch_lateness_seconds))
    return found + _of_phases(
        CautionKind.MACHINE_LATE, shown, lambda samples: int(_is_short(samples, late).sum()),
        f"this machine's timers were late by {units.seconds(late, 2)}, more than 5 % of the duration of "
        "{phases} at {sizes}", "longer messages, fewer nodes, or a quieter machine",
    )  # fmt: skip


def _most(values: Iterable[float]) -> float:
    """Returns the largest known value; 0 if none is known."""
    return max((value for value in values if np.isfinite(value)), default=0.0)


def _of_reference(about: Emulation) -> list[Caution]:
    before, after = about.reference
    if not (before > 0 and after > 0) or abs(after / before - 1) <= LARGEST_REFERENCE_CHANGE:
        return []
    rates = f"{units.rate(before)} before the run, {units.rate(after)} after"
    text = f"an unloaded pair of nodes reached {rates}"
    return [Caution(CautionKind.MACHINE_CHANGED, text, "the machine changed meanwhile: measure again")]


def _limited_phases(samples: Samples, sessions: Sequence[Emulation]) -> int:
    numbers = {number for one in sessions for number in one.limited.get(samples.size_bytes, ())}
    return sum(
        int(number) in numbers and bool(there)
        for number, there in zip(samples.phase, samples.measured_phases(), strict=True)
    )
