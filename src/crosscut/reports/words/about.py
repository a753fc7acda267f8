"""Lines that state what was measured, where, when and how, and all cautions."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from crosscut.analysis.figures import cautions
from crosscut.analysis.figures.cautions import Caution, CautionKind
from crosscut.analysis.figures.lanes import lanes
from crosscut.analysis.figures.samples import Samples
from crosscut.analysis.figures.slowdown import early_ends
from crosscut.base import units
from crosscut.base.errors import CrosscutError
from crosscut.network import switch_words
from crosscut.reports.view import View, dig, items, number, text
from crosscut.reports.words import costs
from crosscut.reports.words.trust import emulations
from crosscut.run.format import SKEW
from crosscut.run.imported import MORE, Imported, imported
from crosscut.run.realm import has_virtual_clock, is_emulated, is_simulated
from crosscut.run.shape import Shape

_FILES_NAMED = 3
# By the words that runs record.
_CADENCES = {
    "phases behind a barrier": "barrier before each phase",
    "streaming": "streaming: no barrier between phases",
}
_CACHES = {
    "rotate": "buffers in turn from memory larger than the caches",
    "cold": "caches filled with other data before each phase",
}


def what(view: View) -> str:
    """`aapc over tcp: 8 ranks, 7 phases`"""
    backend = text(view.attributes, "backend", "name") or text(view.attributes, "job", "backend")
    over = f" over {backend or '?'}" if backend or not imported(view.attributes) else ""
    phases = int(view.dataset.sizes["phase"])
    return f"{view.pattern}{over}: {units.count(view.ranks, 'rank')}, {units.count(phases, 'phase')}"


def where(view: View) -> str:
    """`local: n001`; for a lab also how it differs from the default: `lab: 4 nodes (…), …, carried by …; in
    slow motion …`"""
    place = text(view.attributes, "place") or "?"
    if is_simulated(view.attributes):
        name = text(view.attributes, "network", "name") or "?"
        hosts = number(view.attributes, "network", "hosts")
        all_hosts = units.count(int(hosts), "host") if math.isfinite(hosts) else "? hosts"
        used = f"{len(view.nodes):,} of its " if hosts != len(view.nodes) else "all "
        return f"simulated network {name}: {used}{all_hosts}"
    if (other := imported(view.attributes)) is not None and not other.hosts_named:
        return f"{place}: {' and '.join(view.nodes[:2])}, on hosts that {other.program} does not name"
    counts = np.bincount(view.rank_nodes, minlength=len(view.nodes))
    if len(view.nodes) == 1:
        networkless = view.ranks > 1 and not (other or has_virtual_clock(view.attributes))
        alone = " alone, so no network was measured" if networkless else ""
        return f"{place}: {view.nodes[0]}{alone}{unlike_plain(view)}"
    least, most = int(counts.min()), int(counts.max())
    each = f"{units.count(least, 'rank')} on each" if least == most else f"{least} to {most} ranks on each"
    return (
        f"{place}: {len(view.nodes)} nodes ({view.nodes[0]} … {view.nodes[-1]}), {each}{unlike_plain(view)}"
    )


def unlike_plain(view: View) -> str:
    """Returns a lab's switch and slow-motion factor, if not the defaults: `, carried by crosscut-switch
    (forwarding=cut); in slow motion: multiply rates by 10 for the network's`."""
    lab = is_emulated(view.attributes)
    carried = switch_words.clause(text(view.attributes, "lab", "switch")) if lab else ""
    times = number(view.attributes, "lab", "dilation")
    motion = ""
    if math.isfinite(times) and times not in (0, 1):
        motion = f"; in slow motion: multiply rates by {times:g} for the network's"
    return (f", {carried}" if carried else "") + motion


def when(view: View) -> str:
    """`2025-01-31 14:25:01 UTC, took 7.9 s`"""
    start = text(view.attributes, "start").replace("T", " ").split(".")[0].removesuffix("Z")
    start = start.removesuffix("+00:00")
    elapsed = view.elapsed_seconds()
    # Both ends are recorded in whole seconds.
    took = f", took {units.duration(elapsed) if elapsed >= 1 else 'less than 1 s'}" if elapsed >= 0 else ""
    if not start and (other := imported(view.attributes)) is not None:
        return f"unknown: {other.program} does not say"
    return f"{start} UTC{took}" if start else "?"


def planted(view: View) -> list[str]:
    """Returns the faults planted in the lab during the run: `f1: nothing gets to n0003 or away from it`."""
    found = [(text(fault, "id"), text(fault, "says")) for fault in items(view.attributes, "faults")]
    return [f"{name}: {says}" if name else says for name, says in found if says]


def skew_seconds(view: View) -> tuple[float, float]:
    """Returns the median and the largest time between the first rank's start of a phase and the last one's;
    NaN if unknown."""
    if SKEW not in view.dataset:  # an older run: of trial barriers
        middle, most = (
            number(view.attributes, "sync", f"skew_{name}_seconds") for name in ("median", "largest")
        )
        return middle, most
    found = view.dataset[SKEW].values
    there = found[np.isfinite(found)]
    return (float(np.median(there)), float(there.max())) if len(there) else (math.nan, math.nan)


def clock_step_seconds(view: View) -> float:
    """Returns the clock's resolution or cost of reading, whichever is larger; NaN if neither was recorded."""
    return max(_clock(view, "resolution_seconds", "resolution", "cost_seconds"), default=math.nan)


def _clock(view: View, *names: str) -> list[float]:
    """Returns the known values among the named members of the run's clock."""
    return [value for name in names if math.isfinite(value := number(view.attributes, "clock", name))]


def how(view: View) -> list[str]:
    """Returns one clause each for cadence, skew, repetitions, waits and clock, as far as known."""
    if is_simulated(view.attributes):
        return _how_simulated(view)
    if (other := imported(view.attributes)) is not None:
        return _how_imported(view, other)
    clauses = in_flight(view)
    cadence = text(view.attributes, "cadence")
    middle, largest = skew_seconds(view)
    if cadence:
        clauses.append(_CADENCES.get(cadence, cadence))
    if math.isfinite(middle):
        most = f", at most {units.seconds(largest, 2)}" if math.isfinite(largest) else ""
        clauses.append(f"start skew: median {units.seconds(middle, 2)}{most}")
    clauses.append(repetitions(view))
    if wait := text(view.attributes, "wait", "mode") or text(view.attributes, "wait"):
        clauses.append({"block": "blocking waits", "poll": "polling waits"}.get(wait, f"wait {wait}"))
    if clause := _CACHES.get(text(view.attributes, "cache")):
        clauses.append(clause)
    if noise := text(view.attributes, "noise"):
        clauses.append(f"noise: each rank away for {noise.replace('/', ' in every ')}")
    if isinstance(tuned := dig(view.attributes, "environment"), Mapping) and tuned:
        clauses.append(" ".join(f"{name}={value}" for name, value in tuned.items()))
    if control := text(view.attributes, "job", "metadata", "control_interface"):
        clauses.append(f"barriers over {control}")
    resolution = _clock(view, "resolution_seconds", "resolution")
    if resolution:
        clauses.append(f"clock resolution {units.seconds(resolution[0], 2)}")
    if dig(view.attributes, "job", "verify") is True:
        clauses.append("every byte verified")
    return clauses


def in_flight(view: View) -> list[str]:
    """`8 messages in flight per route`, `each message split over 2 rails`; nothing if neither."""
    window, rails = (number(view.attributes, name) for name in ("window", "rails"))
    return [
        *([f"{window:,.0f} messages in flight per route"] if window > 1 else []),
        *([f"each message split over {rails:.0f} rails"] if rails > 1 else []),
    ]


def _how_imported(view: View, other: Imported) -> list[str]:
    shown = ", ".join(other.files[:_FILES_NAMED]) + (" …" if len(other.files) > _FILES_NAMED else "")
    each = f", each {other.repetition}" if view.repetitions > 1 and other.repetition else ""
    return [
        f"measured by {other.program}, not by crosscut" + (f"; imported from {shown}" if shown else ""),
        repetitions(view) + each,
    ]


def _how_simulated(view: View) -> list[str]:
    given = partial(text, view.attributes, "backend", "parameters")
    if given("engine") == "smpi":
        told = ["MPI processes under SimGrid's SMPI, on the described network", "SimGrid's sharing"]
    else:
        knee, spread = given("knee") or "0", given("share-spread") or "0"
        told = ["max-min shares of the capacities in the network's file"]
        if knee != "0":
            told.append(f"contention: soft knee, p = {knee}, scale {given('knee-scale') or '1'}")
        if spread != "0":
            told.append(
                "messages that share a capacity get uneven shares of it (standard deviation "
                f"{_as_percent(spread)}), others are unaffected"
            )
        if len(told) == 1:
            told.append("no congestion beyond fair shares")
    return [
        f"computed, not measured: {told[0]}",
        *told[1:],
        *in_flight(view),
        "virtual clock",
        _CADENCES.get(cadence := text(view.attributes, "cadence"), cadence),
    ]


def _as_percent(share: str) -> str:
    """Formats a share that the run records as text. Text that is no number is quoted."""
    try:
        return f"{100 * float(share):.3g} %"
    except ValueError:
        return repr(share)


def repetitions(view: View) -> str:
    """`20 repetitions`, or the range over sizes and phases of an adaptive or unfinished run."""
    done = view.dataset["repetitions_done"].values if "repetitions_done" in view.dataset else None
    counts = view.measured_repetitions if done is None or not done.any() else done
    low, high = int(counts.min()), int(counts.max())
    text_ = units.count(high, "repetition") if low == high else f"{low} to {high} repetitions"
    interval = number(view.attributes, "job", "interval")
    if interval > 0 and not view.summarised:
        text_ += f", aiming at 95 % intervals of at most {units.percent(interval)}"
    return text_


def beware(view: View, shown: list[Samples]) -> list[Caution]:
    """Returns all cautions about a run, worst first."""
    found = _state(view) + cautions.of_emulations(shown, emulations(view))
    cores = [number(node, "cores") for node in items(view.attributes, "nodes")]
    cores += [math.nan] * (len(view.nodes) - len(cores))
    counts = np.bincount(view.rank_nodes, minlength=len(view.nodes)).tolist()
    if not has_virtual_clock(view.attributes):
        found += cautions.of_nodes(counts, cores, view.nodes)
        found += cautions.of_far_ranks(_far_ranks(view))
    options = dig(view.attributes, "backend", "parameters")
    found += cautions.of_lanes(
        lanes(view.attributes, view.ranks), view.rank_name, options if isinstance(options, Mapping) else {}
    )
    found += cautions.of_uneven_ranks(counts, view.nodes)
    found += [
        caution
        for caution in cautions.of_samples(shown)
        # All repetitions of a simulation are equal.
        if not (is_simulated(view.attributes) and caution.kind in cautions.OF_REPETITIONS)
    ]
    if not has_virtual_clock(view.attributes):
        found += cautions.of_clock(shown, clock_step_seconds(view))
    found += cautions.of_noise(shown, _noise_period_seconds(view))
    repeated = int(view.dataset["repetitions_done"].max()) if "repetitions_done" in view.dataset else 0
    found += cautions.of_summaries(view.summarised, number(view.attributes, "job", "interval"), repeated)
    if view.shape is Shape.VICTIMS:
        largest = max(shown, key=lambda samples: samples.size_bytes, default=None)
        found += cautions.of_congestion(early_ends(largest, view.labels(largest)) if largest else [])
    elif view.shape is not Shape.LOADED:  # its figures are those of single messages, not of phases
        found += cautions.of_intervals(shown)
    if view.shape is Shape.SWEEP and is_simulated(view.attributes):
        found += cautions.of_latency(shown)
    if (other := imported(view.attributes)) is not None:
        found = [*_lacks(other), *_importable(found, repeated)]
    if costly := costs.far_off(view, costs.effort_of(view)):
        found.append(Caution(CautionKind.PROCESSOR_TIME, costly, costs.ADVICE))
    if text(view.attributes, "backend", "name") == "null":
        own = "the backend null moves nothing: these are crosscut's own costs"
        found.append(Caution(CautionKind.NOTHING_MOVED, own))
    return found


def _noise_period_seconds(view: View) -> float:
    """Returns NaN without noise."""
    with contextlib.suppress(CrosscutError):
        return units.parse_seconds(text(view.attributes, "noise").partition("/")[2])
    return math.nan


def _lacks(other: Imported) -> Iterator[Caution]:
    yield from (Caution(CautionKind.IMPORTED, lack) for lack in other.lacks)


def _far_ranks(view: View) -> dict[str, tuple[int, int, str]]:
    """Returns, by node, how many ranks may run far from its adapters, of how many, and the near cores."""
    far = {}
    counts = np.bincount(view.rank_nodes, minlength=len(view.nodes)).tolist()
    for name, there, node in zip(view.nodes, counts, items(view.attributes, "nodes"), strict=False):
        near = [text(adapter, "near_cores") for adapter in items(node, "adapters")]
        if (ranks := number(node, "far_ranks")) > 0:
            far[name] = (int(min(ranks, there)), there, " and ".join(filter(None, near)))
    return far


def _importable(found: list[Caution], repeated: int) -> Iterator[Caution]:
    """Yields the cautions that say anything of an imported run, with advice that can be followed."""
    for caution in found:
        if caution.kind is CautionKind.COARSE_CLOCK or (
            repeated == 1 and caution.kind is CautionKind.FEW_REPETITIONS
        ):
            continue  # unknown; and said by what the run lacks
        of_repetitions = caution.kind in (*cautions.OF_REPETITIONS, CautionKind.WIDE_INTERVALS)
        yield replace(caution, advice=MORE) if of_repetitions else caution


def _state(view: View) -> list[Caution]:
    found = []
    if view.state != "complete":
        reason = {
            "running": "the run is not complete: it is still being measured, or it was killed",
            "stopped": "the run is incomplete: it was stopped, or repaired",
            "failed": "the run failed before its end",
            "recovered": "the run's zarr.json was lost: its pattern, job and hosts are unknown",
        }.get(view.state, f"the run's state is '{view.state}'")
        share = view.measured_share
        told = f"{reason}; {units.percent(share)} of its cells are measured"
        advice = "" if view.state == "recovered" else f"crosscut run --resume {view.path}"
        found.append(Caution(CautionKind.UNFINISHED, told, advice))
    for entry in items(view.attributes, "failed_ranks"):
        rank, node, why = (dig(entry, name) for name in ("rank", "node", "reason"))
        found.append(Caution(CautionKind.FAILED_RANKS, f"rank {rank} on {node} was lost: {why}"))
    for entry in items(view.attributes, "resumed"):
        if dig(entry, "forced") is True:
            told = f"resumed by force: {dig(entry, 'differences')}"
            found.append(Caution(CautionKind.RESUMED_ELSEWHERE, told))
    return found
