"""Runs hpcc on a place, in a temporary folder."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from crosscut.base import process_group
from crosscut.base.errors import CrosscutError, PlaceError, UsageError, plainly
from crosscut.base.whole_file import need_folder
from crosscut.places import all_places, ready_place, typed_as
from crosscut.places.base import STDERR_LINES_KEPT, MpiCommand, MpiLaunch, Place
from crosscut.workloads.applications import WorkloadError
from crosscut.workloads.hpl import output, program
from crosscut.workloads.hpl.input import INPUT, OUTPUT, HplInput, input_file
from crosscut.workloads.hpl.output import Output
from crosscut.workloads.launch import MpiWhere

_TOO_FEW = "Need at least"
"""HPL's message (HPL_pdinfo) if it runs on fewer processes than its input asks for."""
_ALONE = (
    "If hpcc is linked with another MPI than the launcher's, each rank ran alone: leave --launcher out, or "
    "name the launcher of hpcc's MPI"
)


@dataclass(frozen=True)
class HplWhere(MpiWhere):
    keep: Path | None = None
    """File for a copy of hpcc's output; None: no copy."""


@dataclass(frozen=True)
class HplRun:
    on: str
    hosts: int
    """Number of hosts used; 0 if unknown."""
    output: Output


def starts_mpi(place: Place) -> bool:
    return place.starts_mpi


def places() -> list[str]:
    """Places that can run hpcc, as typed after `--on`."""
    return [typed_as(place) for place in all_places() if place.starts_mpi]


def run(asked: HplInput, where: HplWhere) -> HplRun:
    """Runs hpcc. Raises WorkloadError if it fails; the caller checks the residuals."""
    place, argument = ready_place(where.on, starts_mpi, "HPL runs")
    if where.keep is not None:
        need_folder("--keep", where.keep)
        if where.keep.exists():
            raise UsageError(f"--keep {where.keep}: it exists; name another file")
    hpcc = program.find()
    launcher = program.launcher_for(hpcc, where.launcher)
    with (
        place.mpi_site(MpiLaunch(argument, where.launcher_arguments, where.ranks_per_host)) as site,
        _folder(site.folder) as folder,
    ):
        command = site.command(launcher, asked.ranks, [str(hpcc.path)], folder)
        (folder / INPUT).write_text(input_file(asked), encoding="ascii")
        complained = _run(command, where, folder)
        return HplRun(where.on, command.hosts, _result(asked, where, folder / OUTPUT, complained))


@contextmanager
def _folder(above: Path) -> Iterator[Path]:
    try:
        made = tempfile.TemporaryDirectory(prefix="crosscut-hpl-", dir=above)
    except OSError as error:
        raise PlaceError(f"cannot make a folder in {above}: {plainly(error)}") from error
    with made as name:
        yield Path(name)


def _run(command: MpiCommand, where: HplWhere, folder: Path) -> str:
    """Runs hpcc; returns what it and its launcher printed. The result is in a file."""
    try:
        done = process_group.run(command.words, command.environment, where.time_limit_seconds, folder)
    except process_group.Overran as error:
        raise WorkloadError(
            f"hpcc was ended after {where.time_limit_seconds:g} s; raise --time-limit, or give a smaller -N. "
            "hpcc's RandomAccess, which comes first, takes at most two minutes; all else grows with -N"
        ) from error
    text = f"{done.printed}\n{done.complained}".strip()
    if done.status != 0:
        tail = "\n".join(text.splitlines()[-STDERR_LINES_KEPT:])
        alone = f"\n{_ALONE}" if _TOO_FEW in text else ""
        raise WorkloadError(f"hpcc ended with status {done.status}" + (f":\n{tail}" if tail else "") + alone)
    return text


def _result(asked: HplInput, where: HplWhere, file: Path, complained: str) -> Output:
    if where.keep is not None and file.is_file():
        try:
            shutil.copyfile(file, where.keep)
        except OSError as error:
            raise CrosscutError(f"--keep {where.keep}: {plainly(error)}") from error
    try:
        found = output.load(file)
    except UsageError as error:
        tail = "\n".join(complained.splitlines()[-STDERR_LINES_KEPT:])
        raise WorkloadError(
            f"hpcc wrote no result: {error}. {_ALONE}" + (f"\n{tail}" if tail else "")
        ) from error
    if found.ranks != asked.ranks:
        raise WorkloadError(f"hpcc ran with {found.ranks} ranks, not {asked.ranks}. {_ALONE}")
    if len(found.solutions) != asked.solves:
        raise WorkloadError(f"hpcc solved {len(found.solutions)} systems, not {asked.solves}")
    return found
