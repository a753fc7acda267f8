"""Parameters of LogGP from a ping-pong sweep, and how well a straight line describes it.

A message of m bytes takes L + 2 o + (m - 1) G (Alexandrov, Ionescu, Schauser and Scheiman, SPAA 1995,
section 3): L in transit, o at either end, G for each further byte. Half round trips give the sum L + 2 o,
and G. A stream of n messages and its acknowledgement takes n - 1 times g more than a round trip (Hoefler,
Lichei and Rehm, PMEO at IPDPS 2007: PRTT(n, 0, s)), or n - 1 times o if that is longer. Those authors obtain
o from messages sent with pauses between them, which no pattern here does. Here o is what LogP defines: the
time that a processor works on a message, as the system accounts it. Polling ranks work all the time, so then
neither o nor L is known by itself. t = alpha + m / beta is the line of Hockney (Parallel Computing 20,
1994); Salmon, Stein and Sterling (SC98) find it inadequate under load, hence the misfit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crosscut.analysis.stats.intervals import Floats

FEWEST_SIZES = 4
# Times outside these bounds are invalid: no clock resolves less, and nobody waits longer.
SHORTEST_SECONDS, LONGEST_SECONDS = 1e-12, 1e9
# A line that is off by more at any size does not describe the sweep: the protocol changes with the size.
ADEQUATE = 0.1


@dataclass(frozen=True)
class LinearFit:
    """t = alpha + m / beta, over all sizes."""

    alpha_seconds: float
    seconds_per_byte: float
    """1 / beta; not positive if time does not grow with the size."""
    misfit_median: float
    """Median of |measured / line - 1|."""
    misfit_largest: float
    misfit_bytes: int
    """Size at which the misfit is largest."""

    @property
    def adequate(self) -> bool:
        return self.misfit_largest <= ADEQUATE


@dataclass(frozen=True)
class LogGP:
    short_seconds: float
    """L + 2 o from half round trips; g from a stream."""
    seconds_per_byte: float
    """G, over the two largest octaves."""
    line: LinearFit


def loggp(size_bytes: list[int], seconds: Floats) -> LogGP | None:
    """Fits `seconds`, the time of one message of each size; None if sizes are too few or too small for G."""
    sizes, times = np.asarray(size_bytes, np.float64), np.asarray(seconds, np.float64)
    there = (times > SHORTEST_SECONDS) & (times < LONGEST_SECONDS) & (sizes > 0)
    sizes, times = sizes[there], times[there]
    if len(np.unique(sizes)) < FEWEST_SIZES:
        return None
    per_byte = _slope_of_largest(sizes, times)
    smallest = sizes == sizes.min()
    # G counts from the second byte on: L + 2 o + (m - 1) G.
    short = float(np.median(times[smallest])) - (sizes.min() - 1) * per_byte
    if per_byte <= 0 or short <= 0:
        return None
    return LogGP(short, per_byte, _line(sizes, times))


def _slope_of_largest(sizes: Floats, times: Floats) -> float:
    """Returns seconds per byte by least squares of relative errors, over sizes of at least a quarter of the
    largest, or over the two largest."""
    large = sizes >= sizes.max() / 4
    if len(np.unique(sizes[large])) < 2:
        large = sizes >= np.unique(sizes)[-2]
    return _fitted(sizes[large], times[large])[1]


def _fitted(sizes: Floats, times: Floats) -> tuple[float, float]:
    """Returns (alpha, seconds per byte) with the smallest sum of squared relative errors."""
    table = np.stack([1 / times, sizes / times], axis=1)
    # Without scaled columns the solution loses digits, because byte counts are large and seconds small.
    scale = np.sqrt((table**2).sum(axis=0))
    found = np.linalg.lstsq(table / scale, np.ones(len(times)), rcond=None)[0] / scale
    return float(found[0]), float(found[1])


def line(size_bytes: Floats, seconds: Floats) -> LinearFit | None:
    """Fits single messages of any sizes, such as those under load; None if distinct sizes are too few."""
    there = (seconds > SHORTEST_SECONDS) & (seconds < LONGEST_SECONDS) & (size_bytes >= 0)
    sizes, times = size_bytes[there], seconds[there]
    if len(np.unique(sizes)) < FEWEST_SIZES:
        return None
    return _line(sizes, times)


def _line(sizes: Floats, times: Floats) -> LinearFit:
    alpha, per_byte = _fitted(sizes, times)
    misfit = np.abs(times / np.maximum(alpha + per_byte * sizes, 1e-12) - 1)
    worst = int(np.argmax(misfit))
    return LinearFit(alpha, per_byte, float(np.median(misfit)), float(misfit[worst]), int(sizes[worst]))


@dataclass(frozen=True)
class Parts:
    """LogGP parameters from a ping-pong sweep, a stream and processor times; NaN: unknown."""

    latency_seconds: float
    """L"""
    send_seconds: float
    """o of the sender."""
    receive_seconds: float
    """o of the receiver."""
    gap_seconds: float
    """g: from one short message to the next."""

    @property
    def gap_is_overhead(self) -> bool:
        """True if a processor is the limit, so the true g may be smaller."""
        longest = max(self.send_seconds, self.receive_seconds)
        return bool(longest >= PROCESSOR_BOUND * self.gap_seconds)


# A processor is the limit if it works for at least this share of the gap.
PROCESSOR_BOUND = 0.9


def gap(stream_seconds: float, messages: int, half_round_trip_seconds: float) -> float:
    """Returns g of short messages; NaN if unknown.

    `stream_seconds`: time of the whole stream and an empty acknowledgement, over the number of messages.
    """
    if messages < 2:
        return float("nan")
    found = (messages * stream_seconds - 2 * half_round_trip_seconds) / (messages - 1)
    return found if found > 0 else float("nan")


def parts(short_seconds: float, gap_seconds: float, send_seconds: float, receive_seconds: float) -> Parts:
    """Splits `short_seconds`, which is L plus o of the sender plus o of the receiver."""
    latency = short_seconds - send_seconds - receive_seconds
    return Parts(latency if latency > 0 else float("nan"), send_seconds, receive_seconds, gap_seconds)
