"""One message size of a run, as arrays ready to compute with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from crosscut.analysis.stats.intervals import Floats
from crosscut.run.arrays import in_parts
from crosscut.run.format import MEASURED, SKEW
from crosscut.run.realm import is_exact

MOST_CLASSES = 12


@dataclass(frozen=True)
class Samples:
    """One size: R repetitions, P phases, N ranks, K slots; NaN in every cell that was not measured."""

    size_bytes: int
    phase: NDArray[np.int64]  # [P] numbers by the pattern
    peer: NDArray[np.int32]  # [P, N, K], -1: no sample
    bytes: Floats  # [P, N, K]
    message_seconds: Floats  # [R, P, N, K]
    rank_seconds: Floats  # [R, P, N]
    credited_bytes: Floats  # [P]
    node: NDArray[np.int32]  # [N]
    iterations: int
    """Messages that each time is the mean of: runs of a phase times messages in flight on a route."""
    summarised: bool
    """True: medians take the place of raw samples (R is 1), so there are no intervals."""
    of_phases: bool = False
    """True: the run stores phases, not ranks. N and K are 1, and each phase has one entry: the time of its
    slowest rank, the median time of its messages, and the bytes that its busiest rank moves."""
    exact: bool = False
    """True: computed without noise, so there are no intervals."""
    skew_seconds: Floats = field(default_factory=lambda: np.full((1, 1), np.nan))
    """[R, P] or [1, 1]: from the first rank's start of a phase to the last one's; NaN: unknown."""

    @property
    def ranks(self) -> int:
        return int(self.rank_seconds.shape[2])

    def measured_phases(self) -> NDArray[np.bool_]:
        """[P] True if at least one repetition of the phase was measured."""
        return np.asarray(np.isfinite(self.rank_seconds).any(axis=(0, 2)))


def without(samples: Samples, phases: frozenset[int]) -> Samples:
    """Returns the samples without the phases of these numbers."""
    kept = ~np.isin(samples.phase, sorted(phases))
    if kept.all():
        return samples
    return replace(
        samples, phase=samples.phase[kept], peer=samples.peer[kept], bytes=samples.bytes[kept],
        message_seconds=samples.message_seconds[:, kept], rank_seconds=samples.rank_seconds[:, kept],
        credited_bytes=samples.credited_bytes[kept],
        skew_seconds=samples.skew_seconds[:, kept] if samples.skew_seconds.size > 1 else samples.skew_seconds,
    )  # fmt: skip


def voided(samples: Samples, phases: frozenset[int]) -> Samples:
    """Returns the samples as if these phases were not measured; unlike `without`, shapes do not change."""
    void = np.isin(samples.phase, sorted(phases))
    if not void.any():
        return samples
    return replace(
        samples, message_seconds=np.where(void[:, None, None], np.nan, samples.message_seconds),
        rank_seconds=np.where(void[:, None], np.nan, samples.rank_seconds),
    )  # fmt: skip


def _array(dataset: xr.Dataset, name: str, index: int) -> Floats:
    """Returns the array `name` of one size."""
    return np.asarray(dataset[name].isel(size=index).values, dtype=np.float64)


def load(dataset: xr.Dataset, index: int) -> Samples:
    """Loads the samples of the size at `index`, and reads no other size's arrays."""
    if "phase_status" in dataset:
        return _of_phases(dataset, index)
    summarised = "message_seconds" not in dataset
    if summarised:
        messages, ranks = (_summary(dataset, f"{of}_summary", index) for of in ("message", "rank"))
        measured = _ever_measured(dataset["status"].isel(size=index))
    else:
        measured = np.asarray(dataset["status"].isel(size=index).values) == MEASURED
        messages, ranks = (_array(dataset, f"{of}_seconds", index) for of in ("message", "rank"))
    size = int(dataset["size"].values[index])
    peer = np.asarray(dataset["peer"].values, dtype=np.int32)
    peer = np.where(peer < ranks.shape[2], peer, np.int32(-1))  # a damaged file may name any rank
    # Negative: the sample is of `size`; other samples of the pattern have sizes of their own.
    stored = dataset["bytes"].values if "bytes" in dataset else np.full(peer.shape, -1)
    sample_bytes = np.where(stored < 0, size, stored)
    return Samples(
        size_bytes=size,
        phase=np.asarray(dataset["phase"].values, dtype=np.int64),
        peer=peer,
        bytes=np.asarray(sample_bytes, dtype=np.float64),
        message_seconds=np.where(measured[..., None] & (peer >= 0) & _possible(messages), messages, np.nan),
        rank_seconds=np.where(measured & _possible(ranks), ranks, np.nan),
        credited_bytes=_credited(dataset, index),
        node=dataset["node"].values.astype(np.int32)
        if "node" in dataset
        else np.zeros(ranks.shape[2], np.int32),
        skew_seconds=_skew(dataset, index),
        iterations=_iterations(dataset, index),
        summarised=summarised,
        exact=is_exact(dataset.attrs),
    )


def _ever_measured(status: xr.DataArray) -> NDArray[np.bool_]:
    """[1, P, N] True for cells with a measured repetition."""
    found = [(marks == MEASURED).any(axis=0, keepdims=True) for _, marks in in_parts(status)]
    return np.concatenate([np.zeros((1, 0, status.sizes["rank"]), np.bool_), *found], axis=1)


def _iterations(dataset: xr.Dataset, index: int) -> int:
    window = dataset.attrs.get("window")  # older runs have none: one message in flight
    iterations = int(dataset["iterations"].values[index]) if "iterations" in dataset else 1
    return iterations * (window if type(window) is int and window > 0 else 1)


def _skew(dataset: xr.Dataset, index: int) -> Floats:
    """Returns the skew of each repetition and phase; of older runs, the median of trial barriers."""
    if SKEW in dataset:
        found = _array(dataset, SKEW, index)
        return np.where(_possible(found), found, np.nan)
    sync = dataset.attrs.get("sync")
    once = sync.get("skew_median_seconds") if isinstance(sync, dict) else None
    return np.full((1, 1), once if isinstance(once, float) else np.nan)


def _credited(dataset: xr.Dataset, index: int) -> Floats:
    there = "credited_bytes" in dataset
    return _array(dataset, "credited_bytes", index) if there else np.full(dataset.sizes["phase"], np.nan)


def _possible(seconds: Floats) -> NDArray[np.bool_]:
    """False for times found only in damaged files: negative or infinite. 0: the clock saw no time pass."""
    return np.asarray((seconds >= 0) & (seconds < np.inf))


def _of_phases(dataset: xr.Dataset, index: int) -> Samples:
    measured = np.asarray(dataset["phase_status"].isel(size=index).values) == MEASURED
    slowest = _array(dataset, "phase_rank_summary", index)[..., _STATISTICS.index("maximum")]
    message = _array(dataset, "phase_message_summary", index)[..., _STATISTICS.index("median")]
    # Equal in all repetitions that were measured.
    moved = np.where(measured, _array(dataset, "phase_moved_bytes", index), 0).max(axis=0)
    return Samples(
        size_bytes=int(dataset["size"].values[index]),
        phase=np.asarray(dataset["phase"].values, dtype=np.int64),
        peer=np.zeros((len(moved), 1, 1), np.int32),
        bytes=moved[:, None, None],
        message_seconds=np.where(measured & _possible(message), message, np.nan)[..., None, None],
        rank_seconds=np.where(measured & _possible(slowest), slowest, np.nan)[..., None],
        credited_bytes=_credited(dataset, index),
        node=np.zeros(1, np.int32),
        skew_seconds=_skew(dataset, index),
        iterations=_iterations(dataset, index),
        summarised=False,
        of_phases=True,
        exact=is_exact(dataset.attrs),
    )


# Order of the coordinate `statistic` (docs/reference/run-format.md).
_STATISTICS = ("count", "minimum", "median", "p99", "maximum")


def _summary(dataset: xr.Dataset, name: str, index: int) -> Floats:
    """Returns the medians, shaped as one repetition."""
    return _array(dataset, name, index)[..., _STATISTICS.index("median")][None]


def messages(measured: Sequence[Samples]) -> tuple[Floats, Floats]:
    """Returns (bytes, seconds) of all messages."""
    sizes, seconds = [], []
    for samples in measured:
        there = np.isfinite(samples.message_seconds)
        sizes.append(np.broadcast_to(samples.bytes, there.shape)[there])
        seconds.append(samples.message_seconds[there])
    return np.concatenate(sizes), np.concatenate(seconds)


def by_class(sizes: Floats, seconds: Floats) -> Iterator[tuple[float, float, Floats]]:
    """Yields (smallest size, largest size, seconds) of each class of sizes that is not empty."""
    for low, high in classes(sizes):
        chosen = seconds[(sizes >= low) & (sizes <= high)]
        if len(chosen):
            yield low, high, chosen


def classes(sizes: Floats) -> list[tuple[float, float]]:
    """Returns spans of sizes to tabulate: each size alone; if there are many, powers of two (or four, …)."""
    distinct = np.unique(sizes)
    if len(distinct) <= MOST_CLASSES:
        return [(float(size), float(size)) for size in distinct]
    powers = np.floor(np.log2(np.maximum(distinct, 1)))
    step = int(np.ceil((powers[-1] - powers[0] + 1) / MOST_CLASSES))
    edges = np.arange(powers[0], powers[-1] + step, step)
    return [(float(2**edge), float(2 ** (edge + step) - 1)) for edge in edges]
