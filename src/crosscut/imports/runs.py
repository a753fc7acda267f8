"""Makes a run of what was measured: joins repeated measurements, adds what the run must say about itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import crosscut
from crosscut.base import units
from crosscut.base.errors import UsageError
from crosscut.imports.measured import Floats, Measured
from crosscut.imports.output import OutputFile
from crosscut.run import writing
from crosscut.run.format import MEASURED, UNMEASURED

_MOST_REPETITIONS = 1 << 20
_SIZES_NAMED = 4


def joined(parts: Sequence[tuple[OutputFile, Measured]]) -> Measured:
    """Returns one measurement with the repetitions of all. Raises UsageError if they measured different
    things."""
    (first_output, first), *others = parts
    seen: dict[str, OutputFile] = {}
    for output, _ in parts:
        if (same := seen.setdefault(output.sha256, output)) is not output:
            raise UsageError(
                f"{output.path} and {same.path} are the same, so they are not two measurements; name one"
            )
    for output, other in others:
        if difference := _difference(first, other):
            raise UsageError(
                f"{first_output.path} and {output.path} are not repetitions of one measurement: "
                f"{difference}; import them into runs of their own"
            )
    every = [measured for _, measured in parts]
    sizes = tuple(sorted({size for one in every for size in one.size_bytes}))
    repetitions = sum(one.message_seconds.shape[1] for one in every)
    if repetitions > _MOST_REPETITIONS:
        raise UsageError(
            f"{repetitions:,} repetitions; an imported run has at most "
            f"{_MOST_REPETITIONS:,}: import less of the output"
        )
    credited = np.full((len(sizes), *first.credited_bytes.shape[1:]), np.nan)
    for one in every:
        credited[np.searchsorted(sizes, one.size_bytes)] = one.credited_bytes
    starts = [one.start for one in every if one.start]
    return replace(
        first,
        size_bytes=sizes,
        message_seconds=_stacked([(one.size_bytes, one.message_seconds) for one in every], sizes),
        rank_seconds=_stacked([(one.size_bytes, one.rank_seconds) for one in every], sizes),
        credited_bytes=credited,
        lacks=tuple(dict.fromkeys(word for one in every for word in one.lacks)),
        left_out=(
            *dict.fromkeys(word for one in every for word in one.left_out),
            *(said for output, one in parts if (said := _missing(output, one.size_bytes, sizes))),
        ),
        start=min(starts, default=""),
        end=max((one.end for one in every), default="") if len(parts) == 1 else "",
    )


def _missing(output: OutputFile, mine: tuple[int, ...], sizes: tuple[int, ...]) -> str:
    """Says which of all sizes an output lacks; empty if none."""
    if not (missing := [size for size in sizes if size not in mine]):
        return ""
    named = ", ".join(map(units.size, missing[:_SIZES_NAMED])) + (", …" if missing[_SIZES_NAMED:] else "")
    return f"{output.path.name} lacks {len(missing)} of the {len(sizes)} sizes: {named}"


def _difference(first: Measured, other: Measured) -> str:
    pairs: tuple[tuple[str, object, object], ...] = (
        ("program", first.program, other.program),
        ("what is measured", first.method.summary, other.method.summary),
        ("hosts", ", ".join(first.hosts), ", ".join(other.hosts)),
        ("ranks", len(first.hosts), len(other.hosts)),
        ("carrier", first.carrier, other.carrier),
        ("iterations", first.iterations, other.iterations),
    )
    for what, one, another in pairs:
        if one != another:
            return f"{what}: {str(one)[:200]} and {str(another)[:200]}"
    if not np.array_equal(first.peer, other.peer):
        return "who sends to whom"
    if not set(first.size_bytes) & set(other.size_bytes):
        sizes = (units.size(min(one.size_bytes)) for one in (first, other))
        return f"message sizes: none in common (from {' and from '.join(sizes)} on)"
    return ""


def _stacked(parts: Sequence[tuple[tuple[int, ...], Floats]], sizes: tuple[int, ...]) -> Floats:
    """Joins [size, repetition, …] along the repetitions; NaN where a part lacks a size."""
    stacked = []
    for mine, values in parts:
        whole = np.full((len(sizes), *values.shape[1:]), np.nan)
        whole[np.searchsorted(sizes, mine)] = values
        stacked.append(whole)
    return np.concatenate(stacked, axis=1)


def named(measured: Measured, hosts: Sequence[str]) -> Measured:
    """Returns the measurement with the hosts' names as given. Raises UsageError."""
    if len(hosts) != len(measured.hosts):
        raise UsageError(
            f"--hosts names {units.count(len(hosts), 'host')}, but {measured.program} measured between "
            f"{units.count(len(measured.hosts), 'rank')}: name one for each rank"
        )
    return replace(measured, hosts=tuple(hosts), hosts_named=True)


def write(measured: Measured, sources: Sequence[OutputFile], path: Path, *, overwrite: bool) -> None:
    """Writes the run. Raises UsageError or CrosscutError; then nothing has changed."""
    writing.write(path, _attributes(measured, sources), _arrays(measured), overwrite=overwrite)


def lacks(measured: Measured) -> tuple[str, ...]:
    """Returns what the run lacks, a sentence each."""
    none = f"no repetitions, so no intervals: every figure is {measured.repetition}"
    single = measured.message_seconds.shape[1] == 1
    return (*measured.left_out, *((none,) if single else ()), *measured.lacks)


def _attributes(measured: Measured, sources: Sequence[OutputFile]) -> dict[str, object]:
    method, nodes = measured.method, tuple(dict.fromkeys(measured.hosts))
    return {
        "crosscut": crosscut.__version__,
        "state": "complete",
        **({"start": measured.start} if measured.start else {}),
        **({"end": measured.end} if measured.end else {}),
        "place": "elsewhere",
        "imported": {
            "program": measured.program,
            "files": [
                {"name": one.path.name, "bytes": one.size_bytes, "sha256": one.sha256} for one in sources
            ],
            "repetition": measured.repetition,
            "lacks": lacks(measured),
            "hosts_named": measured.hosts_named,
        },
        "pattern": {
            "name": method.name, "summary": method.summary, "formula": method.formula,
            "formula_per": method.formula_per, "source": method.source, "parameters": dict(method.parameters),
            "shape": method.shape.value, "findings": method.findings, "latency": method.latency,
            "halves": False,
        },
        **({"backend": {"name": measured.carrier}} if measured.carrier else {}),
        "nodes": [{"name": name} for name in nodes],
        **({"phase_labels": measured.phase_labels} if measured.phase_labels else {}),
        **measured.further,
    }  # fmt: skip


def _arrays(measured: Measured) -> Mapping[str, NDArray[Any]]:
    seconds, ranks = measured.message_seconds, measured.rank_seconds
    # [S, R, P]
    there = np.isfinite(ranks).any(axis=3)
    nodes = {name: at for at, name in enumerate(dict.fromkeys(measured.hosts))}
    status = np.where(there, MEASURED, UNMEASURED)[..., None]
    return {
        "size": np.array(measured.size_bytes),
        "phase": np.arange(1, seconds.shape[2] + 1),
        "peer": measured.peer,
        "node": np.array([nodes[name] for name in measured.hosts]),
        "credited_bytes": measured.credited_bytes,
        "iterations": np.full(len(measured.size_bytes), measured.iterations),
        "repetitions_done": there.sum(axis=1),
        "message_seconds": seconds,
        "rank_seconds": ranks,
        "status": np.broadcast_to(status, ranks.shape),
    }
