"""Read access to a run for reports: attributes that may be missing, rank names, one size at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import numpy as np

from crosscut.analysis.figures import samples
from crosscut.analysis.figures.digest import Digest, digest
from crosscut.analysis.figures.samples import Samples
from crosscut.base import units
from crosscut.base.errors import UsageError
from crosscut.base.node_names import node_names
from crosscut.run.run import Run
from crosscut.run.shape import Reading, Shape, reading


def dig(value: object, *keys: str) -> object:
    """Returns a member of nested objects, or None if any step is missing."""
    for key in keys:
        if not isinstance(value, Mapping):
            return None
        value = value.get(key)
    return value


def text(value: object, *keys: str) -> str:
    """Returns a member as text, or an empty string if it is missing or not text."""
    found = dig(value, *keys)
    return found if isinstance(found, str) else ""


def number(value: object, *keys: str) -> float:
    """Returns a member as a number, or NaN if it is missing or not a number."""
    found = dig(value, *keys)
    return float(found) if isinstance(found, int | float) and not isinstance(found, bool) else float("nan")


def items(value: object, *keys: str) -> list[object]:
    """Returns a member as a list, or an empty list if it is missing or not a list."""
    found = dig(value, *keys)
    return list(found) if isinstance(found, list | tuple) else []


OfSize = TypeVar("OfSize", Samples, Digest)


def chosen(path: Path, there: Sequence[OfSize], size_bytes: int | None) -> OfSize | None:
    """Returns the entry of the requested size (default: the largest), or None if `there` is empty. Raises
    UsageError if a requested size is missing."""
    if size_bytes is None:
        return max(there, key=lambda one: one.size_bytes, default=None)
    for one in there:
        if one.size_bytes == size_bytes:
            return one
    named = ", ".join(units.size(one.size_bytes) for one in there)
    raise UsageError(f"{path} has no size {units.size(size_bytes)}; it has {named or 'nothing measured'}")


@dataclass(frozen=True)
class View(Run):
    """A run with the attributes and names that reports need besides its arrays."""

    @classmethod
    def of(cls, run: Run) -> View:
        return cls(run.path, run.dataset)

    @property
    def pattern(self) -> str:
        return text(self.attributes, "pattern", "name") or text(self.attributes, "job", "pattern") or "?"

    @cached_property
    def reading(self) -> Reading:
        """How the results of the run's pattern are to be read."""
        return reading(self.attributes)

    @property
    def shape(self) -> Shape:
        return self.reading.shape

    @property
    def by_formula(self) -> bool:
        """True if a phase's rate follows the pattern's formula. A rank's own rate is meaningless where ranks
        take turns, and does not answer the question where they share a trunk."""
        return text(self.attributes, "pattern", "formula_per") == "phase"

    @property
    def rate_counts(self) -> str:
        """What the rate of a phase counts: `per rank and direction`, or for example `across the cut, both
        directions together, random halves`."""
        if not self.by_formula:
            return "per rank and direction"
        if self.shape is Shape.STREAMS:
            return "all streams together"
        if not self.reading.halves:
            return "by the pattern's formula"
        half = dig(self.attributes, "pattern", "parameters", "half")
        cut = ", random halves" if half == "" else ", the given half" if half else ""
        return f"across the cut, both directions together{cut}"

    @property
    def state(self) -> str:
        return text(self.attributes, "state") or "unknown"

    @cached_property
    def nodes(self) -> list[str]:
        """Name of each node."""
        named = node_names(dig(self.attributes, "nodes"))
        return [name or f"node {index}" for index, name in enumerate(named)] or ["?"]

    @cached_property
    def rank_nodes(self) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """Node index of each rank."""
        return np.clip(self.node_indices, 0, len(self.nodes) - 1)

    @cached_property
    def one_each(self) -> bool:
        """True if every node has one rank."""
        return len(np.unique(self.rank_nodes)) == self.ranks > 1

    def rank_name(self, rank: int) -> str:
        """`n003:5`: node and rank; `n003` if every node has one rank."""
        return self.rank_key(rank).rpartition(":")[0] if self.one_each else self.rank_key(rank)

    def rank_key(self, rank: int) -> str:
        """`n003:5`: node and rank, for JSON."""
        return f"{self.nodes[int(self.rank_nodes[rank])]}:{rank}"

    @property
    def rank_words(self) -> str:
        """What `rank_name` shows."""
        return "node" if self.one_each else "node:rank"

    @cached_property
    def phase_labels(self) -> dict[int, str]:
        """The pattern's own label of each phase, by the phase's number."""
        labels = (str(label) for label in items(self.attributes, "phase_labels"))
        return dict(zip(self.dataset["phase"].values.tolist(), labels, strict=False))

    def labels(self, samples: Samples) -> list[str]:
        """Returns a label for every phase."""
        return [self.label(phase) for phase in samples.phase.tolist()]

    def label(self, phase: int) -> str:
        """Returns the pattern's own label of the phase with this number, or else the number."""
        return self.phase_labels.get(phase, f"phase {phase}")

    def phase_name(self, samples: Samples, index: int) -> str:
        """`phase 12 (stride 3)`"""
        label = self.phase_labels.get(int(samples.phase[index]))
        return f"phase {samples.phase[index]}" + (f" ({label})" if label else "")

    def samples(self, index: int) -> Samples:
        """Returns the samples of one size, of the phases in which it was measured."""
        return samples.load(self.measured_part(index), index)

    def measured(self) -> list[Samples]:
        """Returns the samples of every measured size. All are in memory at once."""
        return [self.samples(index) for index in self.measured_sizes()]

    def digests(self) -> list[Digest]:
        """Returns digests of every measured size, loading one size at a time."""
        return [digest(self.measured_part(index), index) for index in self.measured_sizes()]

    def measured_sizes(self) -> list[int]:
        """Returns the indices of sizes with at least one measured cell."""
        return [int(index) for index in np.nonzero(self.measured_repetitions.any(axis=1))[0]]

    def elapsed_seconds(self) -> float:
        """Returns the time from start to end without the pauses before resumes, or NaN if any is unknown."""
        spans = [(text(self.attributes, "start"), text(self.attributes, "end"))]
        spans += [(text(each, "stopped"), text(each, "start")) for each in items(self.attributes, "resumed")]
        try:
            whole, *pauses = (
                (datetime.fromisoformat(last) - datetime.fromisoformat(first)).total_seconds()
                for first, last in spans
            )
            return whole - sum(pauses)
        except (TypeError, ValueError):  # one is missing, or only one has a time zone
            return float("nan")
