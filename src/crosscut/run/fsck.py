"""Checks whether a run on disk is complete; if not, says what is lost, and how to measure it again."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

from crosscut.base import units
from crosscut.run import lock
from crosscut.run.agreement import open_size, read_repetitions_done
from crosscut.run.files import Problem, file_problems
from crosscut.run.folder import strangers, unfinished
from crosscut.run.format import (
    ARRAYS,
    CHECKSUM,
    FAILED,
    MEASURED,
    SCHEMA_NAME,
    SKIPPED,
    UNMEASURED,
    DamagedRun,
    RunGroup,
    chunk_path,
    load_json,
    read_group,
)
from crosscut.run.imported import imported

STATUS_NAMES = {UNMEASURED: "unmeasured", MEASURED: "measured", FAILED: "failed", SKIPPED: "skipped"}
_MOST_PROBLEMS = 10_000
NOTHING_LOST = "nothing is lost"
ROOT_LOST = "pattern, job and hosts are lost"
AGAIN = "they can be measured again"


@dataclass(frozen=True)
class Report:
    path: Path
    state: str
    problems: tuple[Problem, ...]
    notes: tuple[str, ...]
    cells: dict[str, int]
    """How many cells (size, repetition, phase, rank) have each status; with phase summaries, without rank."""

    @property
    def ok(self) -> bool:
        return not self.problems

    @property
    def damage(self) -> tuple[Problem, ...]:
        """All problems except the files of a killed writer."""
        return tuple(problem for problem in self.problems if problem.lost != NOTHING_LOST)


def check(path: Path) -> Report:
    """Reads all of a run. Raises UsageError if there is none; all other problems are in the report."""
    if has_lost_root(path):
        return Report(path, "unknown", (_lost_root(path),), (), {})
    try:
        group = read_group(path)
    except DamagedRun as error:
        problem = Problem(
            path / "zarr.json", _what(error, path / "zarr.json"),
            "the run cannot be read; copy zarr.json from a backup",
        )  # fmt: skip
        return Report(path, "unknown", (problem,), (), {})
    cells = dict.fromkeys(STATUS_NAMES.values(), 0)
    status = group.status
    found = chain(
        strangers(group),
        metadata_problems(group),
        file_problems(group),
        *(_size_problems(group, size_index, cells) for size_index in range(status.extent("size"))),
        _count_problems(group),
    )
    problems = list(islice(found, _MOST_PROBLEMS))
    more = sum(1 for _ in found)  # also counts the rest of the cells
    # Includes chunks that were never written, but not the padding of those that were.
    recorded = sum(cells[STATUS_NAMES[code]] for code in (MEASURED, FAILED, SKIPPED))
    cells["unmeasured"] = math.prod(status.shape) - recorded
    if not lock.is_held(path):
        left_behind = unfinished(path)
        problems += [
            Problem(left, "was left by a writer that was killed", NOTHING_LOST) for left in left_behind
        ]
    notes = [*_notes(group), *([f"{more} more problems are not listed"] if more else [])]
    if problems and (other := imported(group.attributes)) is not None:
        notes.append(
            f"the run cannot be measured again: import it from {', '.join(other.files)}, with --force"
        )
    return Report(path, group.state, _each_once(problems), tuple(notes), cells)


def has_lost_root(path: Path) -> bool:
    """True for a folder that has arrays of a run but no zarr.json of the run, or one that is not JSON."""
    lost = not (path / "zarr.json").exists() or bool(_not_json(path))
    return lost and any((path / name / "zarr.json").is_file() for name in ARRAYS)


def _not_json(path: Path) -> str:
    """Returns why the run's zarr.json is not JSON; empty if it is, or cannot be read at all."""
    try:
        load_json(path / "zarr.json")
    except DamagedRun as error:
        return _what(error, path / "zarr.json") if isinstance(error.__cause__, ValueError) else ""
    return ""


def rebuilt(path: Path) -> Mapping[str, object]:
    """Returns the root's document, rebuilt from the arrays. Raises DamagedRun if an array cannot be read."""
    arrays = {
        name: load_json(path / name / "zarr.json") for name in ARRAYS if (path / name / "zarr.json").is_file()
    }
    version = 3 if CHECKSUM in arrays else 2 if "phase_status" in arrays else 1
    attributes = {
        "schema": {"name": SCHEMA_NAME, "version": version},
        "state": "recovered",
        "peers": "stored" if "peer" in arrays else "implied",
        "recovered": f"zarr.json was lost and is rebuilt from the arrays; {ROOT_LOST}",
    }
    named = " ".join(name for name in ("peer", "bytes", "node") if name in arrays)
    return {
        "zarr_format": 3,
        "node_type": "group",
        "attributes": attributes | ({"coordinates": named} if named else {}),
        "consolidated_metadata": {"kind": "inline", "must_understand": False, "metadata": arrays},
    }


def _lost_root(path: Path) -> Problem:
    lost = f"{ROOT_LOST}; 'crosscut fsck --repair {path}' writes a new one, with which samples can be read"
    try:
        rebuilt(path)
    except DamagedRun as error:
        lost = f"the run cannot be read: {error}; copy that file from a backup"
    return Problem(path / "zarr.json", _not_json(path) or "is lost", lost)


def _notes(group: RunGroup) -> Iterator[str]:
    path = group.path
    if lock.is_held(path):
        yield "the run is being written now"
    elif group.state == "running":
        yield (
            f"the run was killed: its state is 'running', but no process on this machine is writing it; "
            f"continue with 'crosscut run --resume {path}'"
        )
    elif group.state in ("stopped", "failed"):
        yield f"the run is {group.state}; continue with 'crosscut run --resume {path}'"
    if group.summaries:
        yield "the run holds summaries in place of raw samples"
    if group.phase_summaries:
        yield "the run holds summaries of phases in place of samples of ranks; cells are phases"


def metadata_problems(group: RunGroup) -> Iterator[Problem]:
    """Yields arrays whose metadata differs from the group's copy of it."""
    for name in group.arrays:
        file = group.path / name / "zarr.json"
        lost = "nothing is lost: zarr.json of the run has a copy"
        try:
            if load_json(file) != group.inline[name]:
                yield Problem(file, "differs from the copy in the run's zarr.json", lost)
        except DamagedRun as error:
            yield Problem(file, _what(error, file), lost)


def _what(error: DamagedRun, file: Path) -> str:
    return str(error).removeprefix(f"{file}: ")


def _size_problems(group: RunGroup, size_index: int, cells: dict[str, int]) -> Iterator[Problem]:
    """Checks that no cell marked as measured is missing; counts the cells of each status."""
    size = open_size(group, size_index)
    for chunk, status in size.status_chunks():
        if (status > SKIPPED).any():
            yield Problem(size.status.path, f"chunk {chunk} has an unknown status code", AGAIN, chunk)
        for code, name in STATUS_NAMES.items():
            cells[name] += int((status == code).sum())
        for bad in size.bad(chunk, status):
            yield Problem(bad.shard.path, bad.what, AGAIN, chunk)


def _count_problems(group: RunGroup) -> Iterator[Problem]:
    """Compares status with the counts of repetitions: lost status was counted, unwritten status was not."""
    counts = read_repetitions_done(group)
    if counts is None:
        return
    for size_index, counted in enumerate(counts):
        recorded = open_size(group, size_index).recorded_repetitions(len(counted))
        phases = int((counted > recorded).sum())
        if phases:
            path = chunk_path(group.path, group.status, size_index)
            where = units.count(phases, "phase")
            yield Problem(path, f"shows fewer repetitions than were counted, in {where}", AGAIN)


def _each_once(problems: list[Problem]) -> tuple[Problem, ...]:
    """Keeps one problem per chunk: a chunk whose index or length shows it to be lost also lacks samples."""
    known: dict[tuple[Path, int | None], Problem] = {}
    for problem in problems:
        if (problem.file, None) not in known:
            known.setdefault((problem.file, problem.chunk), problem)
    return tuple(known.values())


def as_json(report: Report) -> str:
    return json.dumps(
        {
            "path": str(report.path),
            "ok": report.ok,
            "state": report.state,
            "cells": report.cells,
            "problems": [{"file": str(p.file), "what": p.what, "lost": p.lost} for p in report.problems],
            "notes": list(report.notes),
        }
    )
