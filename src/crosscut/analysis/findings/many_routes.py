"""Finds slow routes in runs with more messages than can be examined together.

Hosts, groups and shared limits show in a random sample of phases: every phase of a dense pattern has messages
of all hosts. A slow route shows in only one phase, so all routes are tested, by their medians and adjusted
for their number. The phases are then read only for slow routes.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from crosscut.analysis.figures import samples as samples_module
from crosscut.analysis.figures.samples import Samples
from crosscut.analysis.figures.summary import Routes, parts
from crosscut.analysis.findings.evidence import Evidence
from crosscut.analysis.findings.model import Finding
from crosscut.analysis.findings.slow_parts import SMALLEST_LOSS
from crosscut.analysis.findings.slow_routes import as_slow_as, crowds, once, only_in_crowds
from crosscut.analysis.stats.doubt import FALSE_ALARMS, deviation_of, normal_tail, tail_factor
from crosscut.analysis.stats.intervals import Floats
from crosscut.analysis.structure.infer import Inferred
from crosscut.analysis.structure.observed import Integers, Observed

# Runs with more messages are sampled: 1,448 ranks send each other this many.
MOST_MESSAGES = 1 << 21
# Fewest phases sampled, and so fewest messages of each host in either direction.
FEWEST_PHASES = 64
# If a larger share of the routes is slow, concurrent messages slow them (as in slow_routes).
_QUIET = 0.05
# Fewest of the slowest routes that are judged.
_FEWEST_JUDGED = 4096


def too_many(dataset: xr.Dataset) -> bool:
    return bool(_a_phase(dataset) * int(dataset.sizes["phase"]) > MOST_MESSAGES)


def _a_phase(dataset: xr.Dataset) -> int:
    """Returns the largest number of messages in a phase."""
    return int(dataset.sizes.get("rank", 1)) * int(dataset.sizes.get("slot", 1))


def some_phases(dataset: xr.Dataset, index: int) -> Samples:
    """Loads a sample of phases with about MOST_MESSAGES / 2 messages, the same for every call."""
    there = int(dataset.sizes["phase"])
    count = min(there, max(FEWEST_PHASES, MOST_MESSAGES // 2 // _a_phase(dataset)))
    drawn = np.random.default_rng(there).choice(there, count, replace=False)
    return samples_module.load(dataset.isel(phase=np.sort(drawn)), index)


def of_run(evidence: Evidence) -> list[Finding]:
    """Returns routes between nodes that are slower than their ends, if hardly any others are.

    Routes that pass a shared limit, or are slow only at the same time, are slow because of a shared link.
    """
    routes, dataset, inferred = evidence.routes, evidence.dataset, evidence.inferred
    if routes is None or dataset is None or inferred.slow_share > _QUIET:
        return []
    some = (_slowness(routes, part, inferred) for part in parts(len(routes.source)))
    # Seven digits are more than any clock has, in half of the memory.
    slowness = np.concatenate([np.zeros(0, np.float32), *(one.astype(np.float32) for one in some)])
    most = int(_QUIET * np.isfinite(slowness).sum())
    slow, doubt = lowest(slowness, inferred.alone.noise, max(most + 1, _FEWEST_JUDGED))
    told = (doubt < FALSE_ALARMS) & (slowness[slow] < math.log(1 - SMALLEST_LOSS))
    if not 0 < told.sum() <= most:
        return []
    slow = slow[told]
    source, destination = (ends[slow].astype(np.int64) for ends in (routes.source, routes.destination))
    met, of_route = _messages(dataset, source, destination, routes.rates.median[slow])
    in_crowd = np.zeros(len(slow), bool)
    in_crowd[of_route] = only_in_crowds(met)
    in_crowd |= as_slow_as(slowness[slow], in_crowd, inferred)
    pairs = zip(source[~in_crowd].tolist(), destination[~in_crowd].tolist(), strict=True)
    found = once(dict(zip(pairs, slowness[slow[~in_crowd]].tolist(), strict=True)), evidence.name)
    if in_crowd.any():
        share = math.exp(float(np.median(slowness[slow[in_crowd]])))
        found.append(crowds(met.where(in_crowd[of_route]), share))
    return found


def _slowness(routes: Routes, part: slice, inferred: Inferred) -> Floats:
    """Returns [route] the logarithm of its rate over that of its slower end; NaN if it is not judged."""
    rates, source, destination = routes.rates.median[part], routes.source[part], routes.destination[part]
    kept = ~routes.same_node[part] & (rates > 0)
    if len(inferred.capacities):
        labels = inferred.grouping.labels
        kept &= (labels[source] == labels[destination]) & ~inferred.of_unplaced(source, destination)
    ends = np.minimum(inferred.alone.out_rate[source], inferred.alone.in_rate[destination])
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(kept, np.log(rates / ends), np.nan)


def _messages(
    dataset: xr.Dataset, source: Integers, destination: Integers, rates: Floats
) -> tuple[Observed, Integers]:
    """Returns (messages of these routes, [message] index of its route); reads phases in blocks."""
    ranks, phases = int(dataset.sizes["rank"]), int(dataset.sizes["phase"])
    place = np.full(ranks * ranks, -1, np.int32)
    place[source * ranks + destination] = np.arange(len(source), dtype=np.int32)
    parts: list[tuple[Integers, Integers]] = []
    step = max(1, MOST_MESSAGES // _a_phase(dataset))
    for first in range(0, phases, step):
        peer = np.asarray(dataset["peer"].isel(phase=slice(first, first + step)).values, np.int64)
        there = (peer >= 0) & (peer < ranks)
        key = np.where(there, peer, 0) * ranks + np.arange(ranks)[None, :, None]
        at = np.where(there, place[key], -1)
        number = np.asarray(dataset["phase"].values[first : first + step], np.int64)
        kept = np.nonzero(at >= 0)
        parts.append((number[kept[0]], at[kept].astype(np.int64)))
    none = np.zeros(0, np.int64)
    phase = np.concatenate([none, *(numbers for numbers, _ in parts)])
    route = np.concatenate([none, *(places for _, places in parts)])
    return Observed(ranks, phase, source[route], destination[route], rates[route]), route


def lowest(values: NDArray[np.floating[Any]], noise: float, most: int) -> tuple[Integers, Floats]:
    """Returns (indices of the lowest values, lowest first; adjusted probabilities that noise put them there).

    Probabilities are those of `doubt.outliers_below`. Holm's adjustment of a value depends only on those
    below it, so the rest of millions need none.
    """
    # Sorted, not partitioned: on the regular rates of a simulation, partitioning takes five times as long.
    found = np.sort(values[np.isfinite(values)])
    if len(found) < 3:
        return np.zeros(0, np.int64), np.zeros(0)
    middle, count = float(np.median(found)), min(most, len(found))
    bound = found[count - 1]
    found -= middle
    spread = max(noise, deviation_of(found))
    factor = tail_factor(found, spread)
    first = np.nonzero(values < bound)[0]
    first = np.concatenate([first, np.nonzero(values == bound)[0][: count - len(first)]])
    first = first[np.argsort(values[first], kind="stable")]
    p = normal_tail((middle - values[first].astype(np.float64)) / (spread * factor))
    stepped = np.maximum.accumulate((len(found) - np.arange(count)) * p)
    return first.astype(np.int64), np.minimum(stepped, 1.0)
