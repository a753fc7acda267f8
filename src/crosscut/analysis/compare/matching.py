"""Decides whether two runs may be compared, and matches their ranks by the identity of their nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from crosscut.analysis.figures.launches import of_launches
from crosscut.analysis.figures.limited import listed, member
from crosscut.base import units
from crosscut.base.errors import UsageError
from crosscut.run.run import Run

# Settings that must agree for runs to be comparable: attribute path, words for people.
_MUST_AGREE = (
    (("pattern", "parameters"), "parameters of the pattern"),
    (("window",), "messages in flight per route"),
    (("rails",), "rails"),
    (("cadence",), "order of phases"),
    (("sync", "policy"), "sync policy"),
    (("job", "compute"), "--compute"),
)
# Settings that may be the change under test: differences are noted with the result.
_TOLD = (
    (("backend", "name"), "backend"),
    (("backend", "parameters"), "parameters of the backend"),
    (("place",), "place"),
    (("cache",), "state of the caches"),
    (("noise",), "noise"),
    (("environment",), "variables of MPI, UCX and libfabric"),
    (("wait",), "wait"),
    (("tcp", "congestion_control"), "TCP congestion control"),
    (("network", "name"), "network"),
    (("crosscut",), "crosscut"),
)


@dataclass(frozen=True)
class Match:
    """How the second of two runs maps onto the first."""

    sizes_bytes: tuple[int, ...]
    ranks: NDArray[np.int64]
    """[rank of the second] rank of the first; -1: its node is not in the first."""
    phases: NDArray[np.int64]
    """Numbers of the common phases: routes of other phases would shift the median of a class."""
    notes: tuple[str, ...]


_ALONE = {"window": 1, "rails": 1, "cache": "warm", "noise": "", "environment": {}}
"""What runs do not record that were measured before there was a choice."""
_ALONE_OF_PATTERNS: Mapping[object, Mapping[str, str]] = {"collective": {"every": "1"}}
"""The same of parameters of patterns."""


def _whole(run: Run) -> Mapping[str, object]:
    whole = _ALONE | dict(run.attributes)
    pattern = whole.get("pattern")
    alone = _ALONE_OF_PATTERNS.get(_dig(run.attributes, ("pattern", "name")))
    if alone and isinstance(pattern, Mapping) and isinstance(given := pattern.get("parameters"), Mapping):
        whole["pattern"] = {**pattern, "parameters": {**alone, **given}}
    return whole


def match(first: Run, second: Run) -> Match:
    """Matches two runs; raises UsageError, with every reason, if they may not be compared."""
    one, other = (_dig(run.attributes, ("pattern", "name")) for run in (first, second))
    if one != other:
        raise UsageError(
            f"{first.path} and {second.path} cannot be compared: the first measured {_shown(one)}, the "
            f"second {_shown(other)}; crosscut report shows both on one page"
        )
    reasons = [
        f"{words}: {_shown(one)} and {_shown(other)}"
        for path, words in _MUST_AGREE
        if (one := _dig(_whole(first), path)) != (other := _dig(_whole(second), path))
    ]
    if first.ranks != second.ranks:
        reasons.append(f"ranks: {first.ranks} and {second.ranks}")
    sizes = tuple(size for size in first.sizes_bytes if size in second.sizes_bytes)
    if not sizes:
        reasons.append(f"message sizes: {_sizes(first)} and {_sizes(second)}, none in common")
    phases = np.intersect1d(_phases(first), _phases(second))
    if not len(phases):
        reasons.append(f"phases: {_span(_phases(first))} and {_span(_phases(second))}, none in common")
    reasons += [
        f"{run.path} holds summaries instead of repetitions, so change cannot be told from noise (measure "
        "again with a larger --raw-budget)"
        for run in (first, second)
        if run.summarised
    ]
    if bool(of_launches(first)) != bool(of_launches(second)):
        reasons.append(
            "what was repeated: launches in one, repetitions of a single launch in the other (name a run "
            "inside the folder of launches)"
        )
    if first.phase_summarised != second.phase_summarised:
        reasons.append("what is stored: samples of ranks in one, summaries of phases in the other")
    if reasons:
        raise UsageError(f"{first.path} and {second.path} cannot be compared:\n  " + "\n  ".join(reasons))
    ranks = _ranks(first, second)
    if (ranks < 0).all():
        raise UsageError(
            f"{first.path} and {second.path} have no node in common (nodes are known by their id)"
        )
    return Match(sizes, ranks, phases, tuple(_notes(first, second, sizes, phases, ranks)))


def on_phases(run: Run, phases: NDArray[np.int64]) -> xr.Dataset:
    """Returns the run's arrays with only these phases."""
    kept = np.isin(_phases(run), phases)
    return run.dataset if kept.all() else run.dataset.isel(phase=np.nonzero(kept)[0])


def _phases(run: Run) -> NDArray[np.int64]:
    return np.asarray(run.dataset["phase"].values, np.int64)


def _ranks(first: Run, second: Run) -> NDArray[np.int64]:
    places = {place: rank for rank, place in enumerate(_places(first))}
    return np.array([places.get(place, -1) for place in _places(second)], np.int64)


def _places(run: Run) -> list[tuple[str, int]]:
    """[rank] identity of its node, and its number among the ranks of that node."""
    names = run.node_names
    entries = list(listed(run.attributes.get("nodes")))
    seen = Counter[str]()
    found = []
    for rank, index in enumerate(run.node_indices.tolist()):
        identity = member(entries[index], "id") if 0 <= index < len(entries) else None
        key = identity if isinstance(identity, str) and identity else names[rank]
        found.append((key, seen[key]))
        seen[key] += 1
    return found


def _notes(
    first: Run, second: Run, sizes: Sequence[int], phases: NDArray[np.int64], ranks: NDArray[np.int64]
) -> list[str]:
    notes = [
        f"{words}: {_shown(one)}, then {_shown(other)}"
        for path, words in _TOLD
        if (one := _dig(_whole(first), path)) != (other := _dig(_whole(second), path))
    ]
    if apart := _iterations_apart(first, second, sizes):
        notes.append(apart)
    left_out = sorted({*first.sizes_bytes, *second.sizes_bytes} - set(sizes))
    if left_out:
        notes.append(f"only in one of the runs, so left out: {', '.join(map(units.size, left_out[:8]))}")
    if lacking := max(len(_phases(first)), len(_phases(second))) - len(phases):
        notes.append(
            f"only the {units.count(len(phases), 'phase')} that both runs have are compared "
            f"({_span(phases)}); {lacking:,} more are in one run only"
        )
    if missing := int((ranks < 0).sum()):
        notes.append(
            f"the first run lacks the nodes of {units.count(missing, 'rank')} of the second; phases are not "
            "compared"
        )
    elif not (ranks == np.arange(len(ranks))).all():
        notes.append("ranks lie on other nodes: routes are matched by node, phases are not compared")
    return notes + [
        f"{run.path} is not complete ({state}): what it lacks is not compared"
        for run in (first, second)
        if (state := run.attributes.get("state")) != "complete"
    ]


def _dig(value: object, path: Sequence[str]) -> object:
    return reduce(member, path, value)


_MOST_APART = 3


def _iterations_apart(first: Run, second: Run, sizes: Sequence[int]) -> str:
    """Returns what to say if samples of a size are means of very different numbers of iterations, which
    overlap."""
    counts = [dict(zip(run.sizes_bytes, _iterations(run), strict=False)) for run in (first, second)]
    for size in sizes:
        one, other = (each.get(size, 1) for each in counts)
        if max(one, other) > _MOST_APART * min(one, other):
            return (
                f"iterations at {units.size(size)}: {one:,}, then {other:,}; iterations overlap, which may "
                "make a difference by itself: measure both with the same --iterations"
            )
    return ""


def _iterations(run: Run) -> list[int]:
    if "iterations" not in run.dataset:
        return []
    return [max(int(count), 1) for count in run.dataset["iterations"].values.tolist()]


def _shown(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {member}" for key, member in value.items()) or "none"
    return "none" if value in (None, "") else str(value)


def _span(phases: NDArray[np.int64]) -> str:
    return f"{phases.min()} to {phases.max()}" if len(phases) else "none"


def _sizes(run: Run) -> str:
    named = [units.size(size) for size in run.sizes_bytes]
    return ", ".join(named[:6]) + (" …" if len(named) > 6 else "")
