"""The highest cluster of rates: those of messages that nothing slowed."""

from __future__ import annotations

import math

import numpy as np

from crosscut.analysis.stats.intervals import Floats

# Least noise assumed, because clocks round.
SMALLEST_NOISE = 0.004
# How far below the top (a logarithm) the highest cluster may reach.
_HEAP_REACH = 0.25
# At most this share of messages may be too fast for any link. They are if the cluster below them is this many
# times as large and has at least this share of all messages.
_MOST_TOO_FAST, _TIMES_TOO_FAST, _SMALLEST_HEAP = 0.02, 10, 0.2
# Most steps of a fit, and the change of its parameters that ends it; most values fitted.
_STEPS, _SETTLED = 40, 1e-9
_MOST_FITTED = 20_000
# Share of messages outside the cluster that may lie above it: so small that only strays are left there, never
# a cluster of their own. Largest share of all messages in the cluster.
_STRAY, _MOST_OF_HEAP = 1e-12, 0.999


def upper_mode(values: Floats) -> tuple[float, float]:
    """Returns centre and standard deviation of the highest cluster of logarithms, untouched by contention.

    Fits a normal distribution, plus a uniform one below its centre for messages that contention slowed, by
    expectation maximisation (Dempster, Laird and Rubin, J. Royal Statistical Society B 39, 1977). All values
    above the centre must belong to the cluster, so a larger one further down cannot replace it.
    """
    ordered = possible(np.sort(values))
    top = ordered[-_few(ordered) :].mean()
    # Sharing a link with an equal message halves the rate, so lower values are outside the highest cluster.
    heap = ordered[ordered > top - _HEAP_REACH]
    heap = heap[:: max(1, len(heap) // _MOST_FITTED)]  # thinned evenly, which keeps the shape
    starts = [(_half_sample_mode(heap), 0.02), (top, 0.01), (top - 0.02, 0.02), (top - 0.05, 0.04)]
    fitted = [_fitted(heap, float(top) - _HEAP_REACH, *start) for start in starts]
    _, centre, noise = max(fitted)
    return centre, noise


def possible(ordered: Floats) -> Floats:
    """Drops the few highest values, which no link explains.

    If the packet that releases a receiver from the barrier is lost and resent, it leaves late, finds its
    message waiting, and measures next to no time.
    """
    for left_out in range(int(_MOST_TOO_FAST * len(ordered)) + 1):
        rest = ordered[: len(ordered) - left_out]
        if rest[-1] - rest[-_few(rest)] > _HEAP_REACH:
            continue
        heap = int((rest > rest[-1] - _HEAP_REACH).sum())
        enough = max(_TIMES_TOO_FAST * left_out, _SMALLEST_HEAP * len(ordered))
        return rest if left_out == 0 or heap >= enough else ordered
    return ordered


def _few(values: Floats) -> int:
    return min(len(values), max(3, len(values) // 100))


def _fitted(heap: Floats, low: float, centre: float, noise: float) -> tuple[float, float, float]:
    """Returns log likelihood, centre and standard deviation of the normal part of the values above `low`."""
    high, share = float(heap[-1]) + SMALLEST_NOISE, 0.5
    for step in range(1, _STEPS + 1):
        before = centre, noise, share
        others = np.full(len(heap), (1 - share) * _STRAY / (high - low))
        others[: np.searchsorted(heap, centre)] += (
            (1 - share) * (1 - _STRAY) / max(centre - low, SMALLEST_NOISE)
        )
        apart = heap - centre
        bell = np.exp(apart * apart * (-0.5 / noise**2)) * (share / (noise * math.sqrt(2 * math.pi)))
        every = bell + others
        mine = bell / every
        count = float(mine.sum())
        if count < 1:
            return -math.inf, centre, noise
        centre = float(mine @ heap) / count
        apart = heap - centre
        noise = max(math.sqrt(float(mine @ (apart * apart)) / count), SMALLEST_NOISE)
        share = min(count / len(heap), _MOST_OF_HEAP)
        if step == _STEPS or max(map(abs, np.subtract((centre, noise, share), before))) < _SETTLED:
            break
    return float(np.log(every).sum()), centre, noise


def _half_sample_mode(ordered: Floats) -> float:
    while len(ordered) > 3:
        half = math.ceil(len(ordered) / 2)
        widths = ordered[half - 1 :] - ordered[: len(ordered) - half + 1]
        at = int(np.argmin(widths))
        ordered = ordered[at : at + half]
    return float(np.mean(ordered))
