"""Long ("tidy") tables of a run: a row a sample or a phase, units in the names of the columns.

Repetitions and phases count from 1, ranks and slots from 0. Times are seconds, rates bytes per second and
direction. Only what was measured has a row in `messages`; `ranks` also has what failed or was skipped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Literal

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from crosscut.base.errors import UsageError
from crosscut.run.format import MEASURED, STATISTICS, UNMEASURED
from crosscut.run.fsck import STATUS_NAMES
from crosscut.run.run import Run

Column = NDArray[np.generic]
Table = Mapping[str, Column]
TableName = Literal["messages", "ranks", "phases"]

# Cells of an array looked at together: bounds the memory that an export takes.
CELLS_AT_ONCE = 1 << 20


def tables(run: Run, name: TableName) -> Iterator[Table]:
    """The table in pieces, all with the same columns; there is at least one, maybe without rows."""
    if run.phase_summarised != (name == "phases"):
        raise UsageError(
            f"{run.path} holds summaries of phases, nothing of single {name}: export --table phases"
            if run.phase_summarised
            else f"{run.path} holds every sample, no summaries of phases: export --table ranks"
        )
    if name == "phases":
        yield from (_phases(run, size_index) for size_index in range(run.dataset.sizes["size"]))
        return
    make: Callable[[Run, xr.Dataset, int, int], Table] = _messages if name == "messages" else _ranks
    whole = run.dataset
    dimensions = ("rank", "slot") if name == "messages" else ("rank",)
    cells = int(np.prod([whole.sizes[dimension] for dimension in dimensions]))
    phases = max(1, min(whole.sizes["phase"], CELLS_AT_ONCE // cells))
    repetitions = 1 if run.summarised else max(1, CELLS_AT_ONCE // cells // phases)
    for size_index in range(whole.sizes["size"]):
        for repetition in range(0, 1 if run.summarised else run.repetitions, repetitions):
            for phase in range(0, whole.sizes["phase"], phases):
                part = whole.isel(
                    size=size_index,
                    phase=slice(phase, phase + phases),
                    repetition=slice(None) if run.summarised else slice(repetition, repetition + repetitions),
                )
                yield make(run, part, size_index, repetition)


def _messages(run: Run, part: xr.Dataset, size_index: int, first_repetition: int) -> Table:
    peer = part["peer"].values
    status = part["status"].values == MEASURED
    if run.summarised:
        there = status.any(axis=0)[..., None] & (peer >= 0)
        phase, rank, slot = np.nonzero(there)
        columns: dict[str, Column] = {}
        values = part["message_summary"].values[phase, rank, slot]
    else:
        there = status[..., None] & (peer >= 0)
        repetition, phase, rank, slot = np.nonzero(there)
        columns = {"repetition": repetition + first_repetition + 1}
        values = part["message_seconds"].values[repetition, phase, rank, slot]
    columns = {
        "size_bytes": np.full(len(rank), run.sizes_bytes[size_index]),
        **columns,
        **_place(run, part, phase, rank),
        "slot": slot,
        **_other(run, peer[phase, rank, slot], rank),
    }
    sent = np.full(len(rank), run.sizes_bytes[size_index])
    if "bytes" in part:
        given = part["bytes"].values[phase, rank, slot]
        sent = np.where(given >= 0, given, sent)
    columns["bytes"] = sent
    columns |= _times(values, sent.astype(np.float64))
    if "message_lost_bytes" in part and not run.summarised:
        columns["lost_bytes"] = part["message_lost_bytes"].values[repetition, phase, rank, slot]
    return columns


def _ranks(run: Run, part: xr.Dataset, size_index: int, first_repetition: int) -> Table:
    status = part["status"].values
    timed = run.message_bytes(size_index).sel(phase=part["phase"]).where(part["peer"] >= 0, 0)
    sent_all = timed.sum("slot").values.astype(np.float64)
    if run.summarised:
        phase, rank = np.nonzero((status != UNMEASURED).any(axis=0))
        columns: dict[str, Column] = {}
        values = part["rank_summary"].values[phase, rank]
        named = status.max(axis=0)[phase, rank]
    else:
        repetition, phase, rank = np.nonzero(status != UNMEASURED)
        columns = {"repetition": repetition + first_repetition + 1}
        named = status[repetition, phase, rank]
        values = np.where(named == MEASURED, part["rank_seconds"].values[repetition, phase, rank], np.nan)
    columns = {
        "size_bytes": np.full(len(rank), run.sizes_bytes[size_index]),
        **columns,
        **_place(run, part, phase, rank),
        "status": np.array([STATUS_NAMES.get(code, "?") for code in range(256)])[named],
        "timed_bytes": sent_all[phase, rank].astype(np.int64),
    }
    columns |= _times(values, np.where(sent_all[phase, rank] > 0, sent_all[phase, rank], np.nan))
    if "compute_fraction" in part and not run.summarised:
        columns["compute_fraction"] = part["compute_fraction"].values[repetition, phase, rank]
    return columns


def _phases(run: Run, size_index: int) -> Table:
    """A row a phase and repetition of one size: statistics over its messages and over its ranks."""
    part = run.dataset.isel(size=size_index)
    status = part["phase_status"].values
    repetition, phase = np.nonzero(status != UNMEASURED)
    columns: dict[str, Column] = {
        "size_bytes": np.full(len(phase), run.sizes_bytes[size_index]),
        "repetition": repetition + 1,
        "phase": part["phase"].values[phase],
    }
    labels = run.attributes.get("phase_labels")
    if isinstance(labels, list) and len(labels) == run.dataset.sizes["phase"]:
        columns["phase_label"] = np.array([str(label) for label in labels])[phase]
    names = np.array([STATUS_NAMES.get(code, "?") for code in range(256)])
    columns["status"] = names[status[repetition, phase]]
    for kind in ("message", "rank"):
        values = part[f"phase_{kind}_summary"].values[repetition, phase]
        columns[f"{kind}s"] = np.nan_to_num(values[:, 0]).astype(np.int64)
        columns |= {f"{kind}_{name}_seconds": values[:, i] for i, name in enumerate(STATISTICS) if i}
    slowest = columns["rank_maximum_seconds"].astype(np.float64)
    columns["moved_bytes"] = part["phase_moved_bytes"].values[repetition, phase]
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = columns["moved_bytes"] / np.where(slowest > 0, slowest, np.nan)
    return columns | {"bytes_per_second": rate}


def _place(run: Run, part: xr.Dataset, phase: NDArray[np.intp], rank: NDArray[np.intp]) -> dict[str, Column]:
    columns: dict[str, Column] = {"phase": part["phase"].values[phase]}
    labels = run.attributes.get("phase_labels")
    if isinstance(labels, list) and len(labels) == run.dataset.sizes["phase"]:
        positions = np.searchsorted(run.dataset["phase"].values, part["phase"].values)
        columns["phase_label"] = np.array([str(labels[position]) for position in positions])[phase]
    columns["rank"] = rank
    columns["node"] = np.array(run.node_names)[rank]
    return columns


def _other(run: Run, peer: NDArray[np.int32], rank: NDArray[np.intp]) -> dict[str, Column]:
    """The other end; a peer that is no rank of the run is left without a node."""
    known = (peer >= 0) & (peer < run.ranks)
    safe = np.where(known, peer, 0)
    return {
        "peer": peer,
        "peer_node": np.where(known, np.array(run.node_names)[safe], ""),
        "same_node": known & (run.node_indices[safe] == run.node_indices[rank]),
    }


def _times(values: NDArray[np.float64], sent_bytes: NDArray[np.float64]) -> dict[str, Column]:
    """Raw: seconds and a rate; summarised: the statistics, and the rate at the median."""
    columns: dict[str, Column] = {}
    middle = values
    if values.ndim == 2:
        for index, name in enumerate(STATISTICS):
            of_count = name == "count"
            column = values[:, index]
            columns["samples" if of_count else f"{name}_seconds"] = (
                column.astype(np.int64) if of_count else column
            )
        middle = values[:, STATISTICS.index("median")]
    else:
        columns["seconds"] = values
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = np.where(middle > 0, sent_bytes / middle, np.nan)
    columns["bytes_per_second" if values.ndim == 1 else "median_bytes_per_second"] = rate
    return columns
