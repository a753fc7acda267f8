"""Long ("tidy") tables of a run: one row per sample or phase, with units in the names of columns.

Repetitions and phases count from 1, ranks and slots from 0. Times are seconds, rates bytes per second and
direction. `messages` has rows only for what was measured; `ranks` also has what failed or was skipped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Literal

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from crosscut.base.errors import UsageError
from crosscut.run.format import MEASURED, SKEW, STATISTICS, UNMEASURED
from crosscut.run.fsck import STATUS_NAMES
from crosscut.run.run import Run

Column = NDArray[np.generic]
Table = Mapping[str, Column]
TableName = Literal["messages", "ranks", "phases"]

# Cells of an array in one piece: bounds the memory that an export takes.
CELLS_AT_ONCE = 1 << 20

_STATUS = np.array([STATUS_NAMES.get(code, "?") for code in range(256)])


def tables(run: Run, name: TableName) -> Iterator[Table]:
    """Yields the table in pieces with the same columns: at least one piece, which may have no rows."""
    if run.phase_summarised != (name == "phases"):
        raise UsageError(
            f"{run.path} holds only summaries of phases, no single {name}; use --table phases"
            if run.phase_summarised
            else f"{run.path} holds no summaries of phases; use --table ranks or --table messages"
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
    peer, status = part["peer"].values, part["status"].values == MEASURED
    there = status.any(axis=0) if run.summarised else status
    where = np.nonzero(there[..., None] & (peer >= 0))
    phase, rank, slot = where[-3:]
    sent = np.full(len(rank), run.sizes_bytes[size_index])
    if "bytes" in part:
        given = part["bytes"].values[phase, rank, slot]
        sent = np.where(given >= 0, given, sent)
    columns = {
        **_cell(run, part, size_index, first_repetition, where[:-1]),
        "slot": slot,
        **_other(run, peer[phase, rank, slot], rank),
        "bytes": sent,
    }
    values = part["message_summary" if run.summarised else "message_seconds"].values[where]
    columns |= _times(values, sent.astype(np.float64))
    if "message_lost_bytes" in part and not run.summarised:
        columns["lost_bytes"] = part["message_lost_bytes"].values[where]
    return columns


def _ranks(run: Run, part: xr.Dataset, size_index: int, first_repetition: int) -> Table:
    status = part["status"].values.max(axis=0) if run.summarised else part["status"].values
    where = np.nonzero(status != UNMEASURED)
    phase, rank = where[-2:]
    timed = run.message_bytes(size_index).sel(phase=part["phase"]).where(part["peer"] >= 0, 0)
    sent = timed.sum("slot").values.astype(np.float64)[phase, rank]
    if run.summarised:
        values = part["rank_summary"].values[where]
    else:
        values = np.where(status[where] == MEASURED, part["rank_seconds"].values[where], np.nan)
    columns = {
        **_cell(run, part, size_index, first_repetition, where),
        "status": _STATUS[status[where]],
        "timed_bytes": sent.astype(np.int64),
    }
    columns |= _times(values, np.where(sent > 0, sent, np.nan))
    if "compute_fraction" in part and not run.summarised:
        columns["compute_fraction"] = part["compute_fraction"].values[where]
    if SKEW in part and not run.summarised:
        columns[SKEW] = part[SKEW].values[where[:2]]
    return columns


def _phases(run: Run, size_index: int) -> Table:
    """Makes a row per phase and repetition of one size: statistics over its messages and over its ranks."""
    part = run.dataset.isel(size=size_index)
    status = part["phase_status"].values
    where = np.nonzero(status != UNMEASURED)
    columns = {
        "size_bytes": np.full(len(where[0]), run.sizes_bytes[size_index]),
        "repetition": where[0] + 1,
        **_phase(run, part, where[1]),
        "status": _STATUS[status[where]],
    }
    for kind in ("message", "rank"):
        values = part[f"phase_{kind}_summary"].values[where]
        columns[f"{kind}s"] = np.nan_to_num(values[:, 0]).astype(np.int64)
        columns |= {f"{kind}_{name}_seconds": values[:, i] for i, name in enumerate(STATISTICS) if i}
    slowest = columns["rank_maximum_seconds"].astype(np.float64)
    columns["moved_bytes"] = part["phase_moved_bytes"].values[where]
    if SKEW in part:
        columns[SKEW] = part[SKEW].values[where]
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = columns["moved_bytes"] / np.where(slowest > 0, slowest, np.nan)
    return columns | {"bytes_per_second": rate}


def _cell(
    run: Run, part: xr.Dataset, size_index: int, first_repetition: int, where: tuple[NDArray[np.intp], ...]
) -> dict[str, Column]:
    """Makes the columns that identify each row's cell. `where` has indices of repetition (not in a summarised
    run), phase and rank in `part`."""
    *repetition, phase, rank = where
    columns: dict[str, Column] = {"size_bytes": np.full(len(rank), run.sizes_bytes[size_index])}
    if repetition:
        columns["repetition"] = repetition[0] + first_repetition + 1
    return columns | _phase(run, part, phase) | {"rank": rank, "node": np.array(run.node_names)[rank]}


def _phase(run: Run, part: xr.Dataset, phase: NDArray[np.intp]) -> dict[str, Column]:
    columns: dict[str, Column] = {"phase": part["phase"].values[phase]}
    labels = run.attributes.get("phase_labels")
    if isinstance(labels, list) and len(labels) == run.dataset.sizes["phase"]:
        positions = np.searchsorted(run.dataset["phase"].values, part["phase"].values)
        columns["phase_label"] = np.array([str(labels[position]) for position in positions])[phase]
    return columns


def _other(run: Run, peer: NDArray[np.int32], rank: NDArray[np.intp]) -> dict[str, Column]:
    """Makes the columns about the peer. A peer that is not a rank of the run gets no node."""
    known = (peer >= 0) & (peer < run.ranks)
    safe = np.where(known, peer, 0)
    return {
        "peer": peer,
        "peer_node": np.where(known, np.array(run.node_names)[safe], ""),
        "same_node": known & (run.node_indices[safe] == run.node_indices[rank]),
    }


def _times(values: NDArray[np.float64], sent_bytes: NDArray[np.float64]) -> dict[str, Column]:
    """Makes columns of times and rates. Raw: seconds and a rate. Summarised: the statistics, and the rate at
    the median of the times."""
    if values.ndim == 1:
        columns: dict[str, Column] = {"seconds": values}
        middle, rate_name = values, "bytes_per_second"
    else:
        columns = {"samples": values[:, 0].astype(np.int64)}
        columns |= {f"{name}_seconds": values[:, i] for i, name in enumerate(STATISTICS) if i}
        middle, rate_name = values[:, STATISTICS.index("median")], "median_bytes_per_second"
    with np.errstate(divide="ignore", invalid="ignore"):
        columns[rate_name] = np.where(middle > 0, sent_bytes / middle, np.nan)
    return columns
