"""Costs besides rates, in words: the latency that each switch adds, and the processor time per byte."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from crosscut.analysis.figures import hops, path_lengths, summary
from crosscut.analysis.figures.effort import Effort, efforts
from crosscut.analysis.figures.hops import ByHops, HopLatency
from crosscut.base import records, units
from crosscut.reports.view import View, text
from crosscut.run.shape import Shape

HOSTS_NAMED = 4
SMALLEST_SHARE = 1e-6  # of the time of both ends; less is a simulation's rounding error
EFFORT_HEAD = ("s/GB, both ends", "s/GB, each end", "per message and end", "CPU share")
ADVICE = "check these hosts for other work, a slower processor, disabled offloads, or a different driver"


def latency_by_hops(view: View) -> ByHops | None:
    """Returns latency by hops at the smallest size; None if it is large or paths are unknown or all alike."""
    mode = text(view.attributes, "pattern", "parameters", "mode")
    if not view.reading.latency or mode not in ("", "pingpong"):
        return None
    small = [index for index in view.measured_sizes() if view.sizes_bytes[index] <= hops.LARGEST_BYTES]
    if not small or "phase_status" in view.dataset:
        return None
    lengths = path_lengths.of_run(view.attributes, tuple(view.nodes))
    if lengths is None:
        return None
    samples = view.samples(min(small, key=lambda index: view.sizes_bytes[index]))
    routes = summary.routes(samples, timed=True)
    return hops.by_hops(routes, view.rank_nodes, lengths, samples.size_bytes)


def timed(view: View) -> str:
    return "half a round trip" if view.shape is Shape.SWEEP else "a message, all sending at once"


def hops_sentence(found: ByHops) -> str:
    """`each switch adds 10.0 us [9.8 – 10.3], each forwarding host adds 75.1 us; both ends take …`"""
    named = (("switch", found.a_switch), ("forwarding host", found.a_host))
    parts = [
        f"each {noun} adds {figure(one)}" if _shows(one, found) else f"no measurable latency per {noun}"
        for noun, one in named
        if one is not None
    ]
    return f"{', '.join(parts)}; both ends take {figure(found.ends)} ({units.size(found.size_bytes)})"


def _shows(one: HopLatency, found: ByHops) -> bool:
    """True if the lower bound, or the estimate without an interval, exceeds a simulation's rounding error."""
    least = one.low if math.isfinite(one.low) else one.seconds
    return least > SMALLEST_SHARE * abs(found.ends.seconds)


def figure(one: HopLatency) -> str:
    shown = units.seconds(one.seconds)
    if not math.isfinite(one.low):
        return shown
    unit = units.time_unit(one.seconds)
    return f"{shown} [{units.number(one.low, unit)} – {units.number(one.high, unit)}]"


def way(switches: int, hosts: int) -> str:
    words = units.count(switches, "switch", "switches")
    return words + (f", {units.count(hosts, 'forwarding host')}" if hosts else "")


def hops_json(found: ByHops | None) -> dict[str, object] | None:
    if found is None:
        return None
    return {
        "size_bytes": found.size_bytes,
        "ends_seconds": _figure_json(found.ends),
        "switch_seconds": _figure_json(found.a_switch),
        "forwarding_host_seconds": _figure_json(found.a_host),
        "classes": [
            {
                "switches": one.switches,
                "forwarding_hosts": one.hosts,
                "routes": one.routes,
                "median_seconds": one.median_seconds,
            }
            for one in found.classes
        ],
    }


def _figure_json(one: HopLatency | None) -> dict[str, float | None] | None:
    if one is None:
        return None
    return {
        "median": one.seconds,
        "low": records.finite(one.low),
        "high": records.finite(one.high),
    }


def effort_of(view: View) -> list[Effort]:
    return efforts(view.attributes, view.ranks)


def polls(view: View) -> bool:
    """True if ranks wait by polling: processor time is then elapsed time, not the cost of moving bytes."""
    return (text(view.attributes, "wait", "mode") or text(view.attributes, "wait")) == "poll"


def effort_row(one: Effort) -> tuple[str, ...]:
    """Returns the size and the cells under `EFFORT_HEAD`; s/GB of an end is a range over the ranks."""
    ranks, messages = one.per_gigabyte(), one.per_message()
    there = np.isfinite(ranks)
    least, most = (float(ranks[there].min()), float(ranks[there].max())) if there.any() else (math.nan,) * 2
    middle = float(np.median(messages[there])) if there.any() else math.nan
    return (
        units.size(one.size_bytes),
        _short(one.total_per_gigabyte()),
        f"{_short(least)} – {_short(most)}" if there.any() else "–",
        units.seconds(middle),
        units.percent(one.busy()) if math.isfinite(one.busy()) else "–",
    )


def _short(value: float) -> str:
    return units.number(value, (1.0, "s"))


def some(found: Sequence[Effort], most: int) -> list[Effort]:
    """Returns at most `most` entries, evenly spaced, with the first and the last."""
    places = np.unique(np.linspace(0, len(found) - 1, min(most, len(found))).round().astype(int))
    return [found[at] for at in places]


def far_off(view: View, found: list[Effort]) -> str:
    """Returns a caution if bytes of the largest size cost some ranks far more than others, else empty."""
    if not found or polls(view):
        return ""
    there = found[-1].far_off()
    if not there:
        return ""
    named = ", ".join(f"{view.rank_name(rank)} {ratio:.1f} times" for rank, ratio in there[:HOSTS_NAMED])
    more = f" and {len(there) - HOSTS_NAMED:,} more" if len(there) > HOSTS_NAMED else ""
    return f"bytes cost some ranks far more processor time than the middle rank: {named}{more}"


def effort_json(view: View) -> list[dict[str, object]]:
    return [
        {
            "size_bytes": one.size_bytes,
            "processor_seconds_per_gigabyte": records.finite(one.total_per_gigabyte()),
            "busy_share": records.finite(one.busy()),
            "ranks": [
                {"rank": rank, "processor_seconds_per_gigabyte": records.finite(float(value))}
                for rank, value in enumerate(one.per_gigabyte())
            ],
        }
        for one in effort_of(view)
    ]
