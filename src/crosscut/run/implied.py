"""Coordinates too large to store: the pattern implies them, and the core computes the requested part.

`crosscut-core coordinates --ranks N --first P --last Q` reads the run's job from standard input and writes
one line per phase: `{"phase": 12, "peer": [...], "bytes": [...]}`, each list [rank, slot] in C order.
"""

from __future__ import annotations

import json
import math
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from xarray.backends import BackendArray
from xarray.core import indexing

from crosscut.base import memory
from crosscut.base.errors import CrosscutError, plainly

TIMEOUT_SECONDS = 600
_CELL_BYTES = 32
"""Approximate bytes of memory per sample: `peer`, `bytes`, and the core's answer as text."""


@dataclass(frozen=True)
class Coordinates:
    peer: NDArray[np.int32]
    bytes: NDArray[np.int64]


# Maps the first and last number of a range of phases, both included, to their coordinates.
Compute = Callable[[int, int], Coordinates]


def from_core(job: Mapping[str, object], ranks: int, slots: int) -> Compute:
    """Returns a function that asks the core, since only the core knows the patterns."""

    def compute(first: int, last: int) -> Coordinates:
        from crosscut.base import core

        executable = core.load().executable
        asked = f"coordinates --ranks {ranks} --first {first} --last {last}".split()
        request = json.dumps(dict(job)).encode()
        try:
            answer = subprocess.run(
                [executable, *asked], input=request, capture_output=True, timeout=TIMEOUT_SECONDS, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise CrosscutError(f"{executable} coordinates: {plainly(error)}") from error
        if answer.returncode != 0:
            said = answer.stderr.decode("utf-8", "replace").strip()
            raise CrosscutError(
                f"{executable} coordinates failed with status {answer.returncode}: {said[-400:]}"
            )
        return parse_answer(answer.stdout, range(first, last + 1), ranks, slots)

    return compute


def parse_answer(answer: bytes, phases: range, ranks: int, slots: int) -> Coordinates:
    """Parses the core's answer for these phases. Raises CrosscutError if it does not fit the run."""
    shape = (len(phases), ranks, slots)
    peer, sample_bytes = np.empty(shape, np.int32), np.empty(shape, np.int64)
    try:
        for index, (phase, line) in enumerate(zip(phases, answer.splitlines(), strict=True)):
            entry = json.loads(line)
            if entry["phase"] != phase:
                raise ValueError(f"phase {entry['phase']} in place of {phase}")
            peer[index] = np.array(entry["peer"], np.int32).reshape(ranks, slots)
            sample_bytes[index] = np.array(entry["bytes"], np.int64).reshape(ranks, slots)
    except (ValueError, TypeError, KeyError, OverflowError) as error:
        raise CrosscutError(
            "the answer of crosscut-core coordinates does not fit the run, which another version may have "
            f"made: {plainly(error)}"
        ) from error
    return Coordinates(peer, sample_bytes)


@dataclass(eq=False)
class ImpliedArray(BackendArray):
    """An array that xarray indexes as if it were stored; computes only the phases asked for."""

    compute: Compute
    member: str
    phases: NDArray[np.int64]
    shape: tuple[int, int, int]
    dtype: np.dtype[np.generic]

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.BASIC, self._get)

    def _get(self, key: tuple[int | slice, ...]) -> NDArray[np.generic]:
        numbers = np.atleast_1d(self.phases[key[0]])
        if numbers.size == 0:
            return np.empty(self.shape, self.dtype)[key]
        first = int(numbers.min())
        cells = (int(numbers.max()) - first + 1) * math.prod(self.shape[1:])
        memory.hold(cells * _CELL_BYTES, f"the array '{self.member}', which the pattern implies,")
        values: NDArray[np.generic] = getattr(self.compute(first, int(numbers.max())), self.member)
        chosen = values[numbers - first][(slice(None), *key[1:])]
        return np.asarray(chosen if isinstance(key[0], slice) else chosen[0], self.dtype)


def add_implied(dataset: xr.Dataset, compute: Compute, slots: int) -> xr.Dataset:
    """Adds `peer` and `bytes` to a dataset, computed when read."""
    shape = (int(dataset.sizes["phase"]), int(dataset.sizes["rank"]), slots)
    phases = np.asarray(dataset["phase"].values, dtype=np.int64)
    for name, dtype in (("peer", "int32"), ("bytes", "int64")):
        if name not in dataset:
            lazy = indexing.LazilyIndexedArray(ImpliedArray(compute, name, phases, shape, np.dtype(dtype)))
            dataset = dataset.assign_coords({name: xr.Variable(("phase", "rank", "slot"), lazy)})
    return dataset
