"""A run as reports look at it: attributes that may be missing, names of ranks, one size at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import numpy as np
import xarray as xr

from crosscut.analysis.figures import samples
from crosscut.analysis.figures.digest import Digest
from crosscut.analysis.figures.samples import Samples
from crosscut.base import units
from crosscut.base.errors import UsageError
from crosscut.base.node_names import node_names
from crosscut.run.run import Run
from crosscut.run.shape import Reading, Shape, reading


def dig(value: object, *keys: str) -> object:
    """A member of nested objects, or None where any step is missing."""
    for key in keys:
        if not isinstance(value, Mapping):
            return None
        value = value.get(key)
    return value


def text(value: object, *keys: str) -> str:
    """A member as text; empty where it is missing or no text."""
    found = dig(value, *keys)
    return found if isinstance(found, str) else ""


def number(value: object, *keys: str) -> float:
    """A member as a number; NaN where it is missing or none."""
    found = dig(value, *keys)
    return float(found) if isinstance(found, int | float) and not isinstance(found, bool) else float("nan")


def items(value: object, *keys: str) -> list[object]:
    """A member as a list; empty where it is missing or none."""
    found = dig(value, *keys)
    return list(found) if isinstance(found, list | tuple) else []


OfSize = TypeVar("OfSize", Samples, Digest)


def chosen(path: Path, there: Sequence[OfSize], size_bytes: int | None) -> OfSize | None:
    """The size asked for, else the largest, if any; UsageError where the size asked for is not there."""
    if size_bytes is None:
        return max(there, key=lambda one: one.size_bytes, default=None)
    for one in there:
        if one.size_bytes == size_bytes:
            return one
    named = ", ".join(units.size(one.size_bytes) for one in there)
    raise UsageError(f"{path} has no size {units.size(size_bytes)}; it has {named or 'nothing measured'}")


@dataclass(frozen=True)
class View(Run):
    """A run with what reports need of it beside its arrays."""

    @classmethod
    def of(cls, run: Run) -> View:
        return cls(run.path, run.dataset)

    @property
    def pattern(self) -> str:
        return text(self.attributes, "pattern", "name") or text(self.attributes, "job", "pattern") or "?"

    @cached_property
    def reading(self) -> Reading:
        """How its pattern's results are read."""
        return reading(self.attributes)

    @property
    def shape(self) -> Shape:
        return self.reading.shape

    @property
    def by_formula(self) -> bool:
        """True where a phase's rate is by the pattern's formula: a rank's own says nothing where ranks take
        turns, and not what was asked where they share a trunk."""
        return text(self.attributes, "pattern", "formula_per") == "phase"

    @property
    def state(self) -> str:
        return text(self.attributes, "state") or "unknown"

    @property
    def status(self) -> xr.DataArray:
        """[size, repetition, phase, rank]; of a run that knows phases alone, as if each had one rank."""
        if self.phase_summarised:
            return self.dataset["phase_status"].expand_dims("rank", -1)
        return self.dataset["status"]

    @cached_property
    def nodes(self) -> list[str]:
        """Name of each node."""
        named = node_names(dig(self.attributes, "nodes"))
        return [name or f"node {index}" for index, name in enumerate(named)] or ["?"]

    @cached_property
    def rank_nodes(self) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """Node index of each rank."""
        return np.clip(self.node_indices, 0, len(self.nodes) - 1)

    def rank_name(self, rank: int) -> str:
        """`n003:5`: node and rank."""
        return f"{self.nodes[int(self.rank_nodes[rank])]}:{rank}"

    @cached_property
    def phase_labels(self) -> list[str]:
        return [str(label) for label in items(self.attributes, "phase_labels")]

    def labels(self, samples: Samples) -> list[str]:
        """A label for every phase: the pattern's own, else its number."""
        own = self.phase_labels[: len(samples.phase)]
        return own + [f"phase {phase}" for phase in samples.phase[len(own) :]]

    def phase_name(self, samples: Samples, index: int) -> str:
        """`phase 12 (stride 3)`"""
        label = self.phase_labels[index] if index < len(self.phase_labels) else ""
        return f"phase {samples.phase[index]}" + (f" ({label})" if label else "")

    def samples(self, index: int) -> Samples:
        return samples.load(self.dataset, index)

    def measured(self) -> list[Samples]:
        """Samples of every size of which anything was measured; all are in memory at once."""
        return [self.samples(index) for index in self.measured_sizes()]

    def measured_sizes(self) -> list[int]:
        """Indices of sizes of which anything was measured."""
        done = (self.status == samples.MEASURED).any(dim=("repetition", "phase", "rank")).values
        return [int(index) for index in np.nonzero(done)[0]]

    def elapsed_seconds(self) -> float:
        """From start to end by the recorded clock; NaN while either is missing."""
        try:
            start, end = (datetime.fromisoformat(text(self.attributes, name)) for name in ("start", "end"))
            return (end - start).total_seconds()
        except (TypeError, ValueError):  # one is missing, or one alone has a time zone
            return float("nan")
