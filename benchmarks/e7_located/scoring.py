"""Scores what was found against the truth."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np

from benchmarks.e7_located.clusters import HOST_BITS_PER_SECOND, PAIR_BITS_PER_SECOND, Integers, Truth
from benchmarks.truth.score import adjusted_rand
from crosscut.analysis.structure.model import Limit, Reach, Structure

# Flows, in multiples of those that a limit carries: this many surely fill it; fewer than 1 do not.
SURELY_FULL = 1.1
_OWN = {Reach.SENT: "sent", Reach.RECEIVED: "received"}
_CORE = "core"
"""The switch in a network file of groups on one switch (crosscut/analysis/structure/network_file.py)."""


@dataclass(frozen=True)
class Score:
    rand: float
    """Adjusted Rand index of the modules."""
    misplaced: int
    """Ranks in a group whose majority is of another module."""
    asics_rand: float
    """NaN if hosts cannot fill any ASIC's limit."""
    limits: int
    errors: tuple[float, ...]
    """Relative errors of the limits that were found."""


def score(structure: Structure, truth: Truth, payload_share: float) -> Score:
    """`payload_share`: payload bits over a link's bits."""
    labels = np.maximum(structure.labels(), 0)  # no groups count as one
    expected = truth.limits()
    has_asics = any(kind != "pair" for kind, _, _ in expected)
    named = _truth_of_groups(structure, truth)
    errors: dict[tuple[str, int, int], float] = {}
    for limit in structure.limits:
        key = _key(limit, named, int(truth.modules.max()) + 1)
        if key in expected:
            error = limit.bytes_per_second * 8 / (expected[key] * payload_share) - 1
            errors[key] = max(error, errors.get(key, 0.0), key=abs)
    return Score(
        rand=adjusted_rand(truth.modules, labels),
        misplaced=int(sum((labels == group).sum() - _most(truth.modules[labels == group])
                          for group in np.unique(labels))),
        asics_rand=adjusted_rand(truth.asics, np.maximum(structure.labels(1), 0)) if has_asics else math.nan,
        limits=len(expected), errors=tuple(errors.values()),
    )  # fmt: skip


def _most(labels: Integers) -> int:
    return int(np.bincount(labels).max())


def _truth_of_groups(structure: Structure, truth: Truth) -> dict[str, tuple[int, int]]:
    """Returns the module and ASIC of most ranks of each group, by the group's name."""
    found = {}
    for top in structure.groups:
        for group in top.walk():
            ranks = list(group.ranks)
            module, asic = (int(np.bincount(of[ranks]).argmax()) for of in (truth.modules, truth.asics))
            found[group.name] = (module, asic)
    return found


def _key(limit: Limit, named: Mapping[str, tuple[int, int]], modules: int) -> tuple[str, int, int]:
    """Returns the limit's key in `Truth.limits`. Traffic that leaves one of two modules goes to the other."""
    if any(group not in named for group in limit.groups):
        return ("", -1, -1)  # the group of all ranks has no name
    if limit.reach in _OWN:
        return (_OWN[limit.reach], named[limit.groups[0]][1], -1)
    ends = [named[group][0] for group in limit.groups]
    if limit.reach is Reach.BETWEEN:
        return ("pair", ends[0], ends[1])
    if limit.reach is Reach.CROSSING or modules != 2:
        return ("", -1, -1)
    other = 1 - ends[0]
    return ("pair", ends[0], other) if limit.reach is Reach.LEAVING else ("pair", other, ends[0])


@dataclass(frozen=True)
class Explained:
    """Limits of pairs of modules, by phase."""

    full: int
    named: int
    """Full limits that were named."""
    wrong: int
    """Limits named in phases with too few messages to fill them."""


def explained(
    bottlenecks: Sequence[Mapping[str, Any]], structure: Structure, truth: Truth, phases: Integers,
    sources: Integers,
) -> Explained:  # fmt: skip
    """`bottlenecks`: from `crosscut explain --json`. `sources`: [phase, rank] the rank that sends to it."""
    modules = {name: module for name, (module, _) in _truth_of_groups(structure, truth).items()}
    told = {
        (pair, phase)
        for one in bottlenecks
        if (pair := _pair(one["what"], modules)) is not None
        for phase in one["phases"]
    }
    fills = PAIR_BITS_PER_SECOND / HOST_BITS_PER_SECOND
    full = named = wrong = 0
    for phase, senders in zip(phases.tolist(), sources, strict=True):
        to = np.nonzero(senders >= 0)[0]
        a, b = truth.modules[senders[to]], truth.modules[to]
        for pair in permutations(range(int(truth.modules.max()) + 1), 2):
            flows = int(((a == pair[0]) & (b == pair[1])).sum())
            is_told = (pair, phase) in told
            full += flows >= SURELY_FULL * fills
            named += flows >= SURELY_FULL * fills and is_told
            wrong += flows < fills and is_told
    return Explained(full, named, wrong)


def _pair(what: str, modules: Mapping[str, int]) -> tuple[int, int] | None:
    """Parses `from group0 to group1`; of two groups also `from group0 to core` and `from core to group1`."""
    match what.split():
        case ["from", a, "to", b] if a in modules and b in modules and modules[a] != modules[b]:
            return modules[a], modules[b]
        case ["from", a, "to", b] if b == _CORE and a in modules:
            return modules[a], 1 - modules[a]
        case ["from", a, "to", b] if a == _CORE and b in modules:
            return 1 - modules[b], modules[b]
    return None
