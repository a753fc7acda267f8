"""LogGP in words: parameters from one sweep or from a ping-pong and a stream, and those left unknown."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict

import numpy as np

from crosscut.analysis.figures import loggp
from crosscut.analysis.figures.effort import Effort
from crosscut.analysis.figures.loggp import LogGP, Parts
from crosscut.analysis.figures.pingpong import Sweep, sweep
from crosscut.base import records, units
from crosscut.reports.view import View, text
from crosscut.reports.words import costs
from crosscut.run.imported import imported
from crosscut.run.shape import Shape


def mode(view: View) -> str:
    return text(view.attributes, "pattern", "parameters", "mode") or "pingpong"


def of_sweep(found: Sweep, how: str) -> LogGP | None:
    """Fits a ping-pong or a stream. Returns None without a latency, and for bidirectional traffic, which
    LogGP does not describe."""
    if how == "bidirectional" or found.timeless():
        return None
    if how != "stream":
        return loggp.loggp(found.size_bytes, found.seconds.median)
    with np.errstate(divide="ignore", invalid="ignore"):
        seconds = np.asarray(found.size_bytes) / found.rates.median  # from one message to the next
    return loggp.loggp(found.size_bytes, seconds)


def as_json(view: View, found: Sweep) -> dict[str, object] | None:
    """Returns the parameters of one run in seconds. `short_seconds` is L + 2 o, or max(g, o) for a stream."""
    model = of_sweep(found, mode(view)) if view.shape is Shape.SWEEP else None
    if model is None:
        return None
    send, receive = overhead(view)
    return {
        "mode": mode(view),
        "short_seconds": model.short_seconds,
        "gap_per_byte_seconds": model.seconds_per_byte,
        "send_overhead_seconds": records.finite(send),
        "receive_overhead_seconds": records.finite(receive),
        "line": {**asdict(model.line), "adequate": model.line.adequate},
    }


def overhead(view: View) -> tuple[float, float]:
    """Returns (o of sending, o of receiving) for the smallest messages in seconds of processor time; NaN if
    ranks poll or nothing was counted. Both ends of a ping-pong send and receive, which yields only a mean."""
    found = [one for one in costs.effort_of(view) if one.size_bytes > 0]
    if not found or costs.polls(view) or view.shape is not Shape.SWEEP:
        return math.nan, math.nan
    smallest = found[0]
    if mode(view) == "stream":
        return _of_end(smallest, smallest.sent_bytes), _of_end(smallest, smallest.received_bytes)
    both = _of_end(smallest, smallest.sent_bytes + smallest.received_bytes)
    return both, both


def _of_end(one: Effort, moved: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
    """Returns processor seconds per message over the ranks with `moved` > 0 bytes, or NaN without any."""
    there = moved > 0
    if not there.any():
        return math.nan
    return float(one.processor_seconds[there].sum() * one.size_bytes / moved[there].sum())


def together(views: Sequence[View]) -> Parts | None:
    """Combines the first ping-pong and the first stream. None if one is missing or their nodes differ.
    Imported runs have neither the number of messages in a stream nor, often, names of hosts."""
    swept = [view for view in views if view.shape is Shape.SWEEP and imported(view.attributes) is None]
    first_of = {mode(view): view for view in reversed(swept)}
    bouncing, streaming = first_of.get("pingpong"), first_of.get("stream")
    if bouncing is None or streaming is None or bouncing.nodes != streaming.nodes:
        return None
    round_trip, stream = (sweep(view.measured()) for view in (bouncing, streaming))
    model = loggp.loggp(round_trip.size_bytes, round_trip.seconds.median)
    smallest = stream.latency_index()
    size = stream.size_bytes[smallest]
    if size not in round_trip.size_bytes:
        return None
    half = float(round_trip.seconds.median[round_trip.size_bytes.index(size)])
    count = text(streaming.attributes, "pattern", "parameters", "count")
    per_message = float(stream.seconds.median[smallest])
    gap = loggp.gap(per_message, int(count) if count.isdigit() else 0, half)
    # Each end of a stream either sends or receives.
    send, receive = overhead(streaming)
    return loggp.parts(model.short_seconds if model else half, gap, send, receive)


def sentence(found: Parts) -> str:
    """`L 12.1 us; o 3.4 us to send and 4.0 us to receive …; g 2.1 us`, and why any parameter is unknown."""
    told = []
    if math.isfinite(found.latency_seconds):
        told.append(f"L {units.seconds(found.latency_seconds)}")
    if math.isfinite(found.send_seconds + found.receive_seconds):
        told.append(
            f"o {units.seconds(found.send_seconds)} to send and {units.seconds(found.receive_seconds)} to "
            "receive (processor time)"
        )
    if math.isfinite(found.gap_seconds):
        name = "g at most" if found.gap_is_overhead else "g"
        why = ": a processor works all that time" if found.gap_is_overhead else ""
        told.append(f"{name} {units.seconds(found.gap_seconds)}{why}")
    if not math.isfinite(found.send_seconds):
        told.append(
            "o and L cannot be separated: that takes the processor time of ranks that block (--wait block)"
        )
    if not math.isfinite(found.gap_seconds):
        told.append("g is unknown: the stream is too short (--count)")
    return "; ".join(told)
