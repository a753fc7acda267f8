"""Starting hpcc: here, or on the nodes of a lab, in a folder of its own that is removed at the end."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from crosscut.base import process_group
from crosscut.base.errors import CrosscutError, PlaceError, UsageError, plainly
from crosscut.base.host_list import Host, read_host_file, share_out
from crosscut.places import lab, lab_mpi
from crosscut.places.base import STDERR_LINES_KEPT
from crosscut.places.local import cores
from crosscut.places.mpi import Launcher, environment_for, stays_here
from crosscut.workloads.applications import WorkloadError
from crosscut.workloads.hpl import output, program
from crosscut.workloads.hpl.input import INPUT, OUTPUT, Asked, input_file
from crosscut.workloads.hpl.output import Output

PLACES = ("local", "hosts:FILE", "lab:NETWORK")
_TOO_FEW = "Need at least"
"""Of HPL (HPL_pdinfo) where it runs on fewer processes than its input asks for."""
_ALONE = (
    "If its MPI is another than the launcher's, each rank ran alone: leave --launcher out, or name that MPI's"
)


@dataclass(frozen=True)
class Where:
    on: str = "local"
    launcher: str = ""
    launcher_arguments: tuple[str, ...] = ()
    ranks_per_host: int = 0
    time_limit_seconds: float = 3600
    keep: Path | None = None
    """A copy of hpcc's output."""


@dataclass(frozen=True)
class Ran:
    on: str
    hosts: int
    """On which ranks were; 0: nobody says."""
    output: Output


_Started = tuple[list[str], Mapping[str, str], int]
"""Command, environment, hosts."""
_Start = Callable[[Path], _Started]


def run(asked: Asked, where: Where) -> Ran:
    """Raises WorkloadError where hpcc fails; a residual above the threshold is for the caller to refuse."""
    if where.on != "local" and not where.on.startswith(("hosts:", "lab:")):
        raise UsageError(f"--on {where.on}: HPL runs on {', '.join(PLACES)}")
    if where.keep is not None and where.keep.exists():
        raise UsageError(f"--keep {where.keep}: it exists; name another file")
    hpcc = program.find()
    launcher = program.launcher_for(hpcc, where.launcher)
    with _folder(where) as folder, _place(asked, where, hpcc.path, launcher) as start:
        command, environment, hosts = start(folder)
        (folder / INPUT).write_text(input_file(asked), encoding="ascii")
        complained = _run(command, environment, where, folder)
        return Ran(where.on, hosts, _result(asked, where, folder / OUTPUT, complained))


@contextmanager
def _folder(where: Where) -> Iterator[Path]:
    """Ranks on other hosts begin in it: then it is where one is, which they mostly share."""
    above = Path.cwd() if where.on.startswith("hosts:") else Path(tempfile.gettempdir())
    try:
        made = tempfile.TemporaryDirectory(prefix="crosscut-hpl-", dir=above)
    except OSError as error:
        raise PlaceError(f"no folder can be made in {above}: {plainly(error)}") from error
    with made as name:
        yield Path(name)


@contextmanager
def _place(asked: Asked, where: Where, hpcc: Path, launcher: Launcher) -> Iterator[_Start]:
    if where.on == "local":
        yield lambda folder: _local(asked, where, hpcc, launcher, folder)
        return
    if where.on.startswith("hosts:"):
        found = read_host_file(Path(where.on.partition(":")[2]))
        yield lambda folder: _on_hosts(asked, where, hpcc, launcher, found, folder)
        return
    from crosscut.lab import lifecycle

    if (reason := lifecycle.unavailable()) is not None:
        raise PlaceError(f"--on {where.on}: {reason}")
    site = lab.open_site(where.on.partition(":")[2])
    try:
        yield lambda folder: _on_lab(asked, where, hpcc, launcher, site, folder)
    finally:
        site.release()


def _local(asked: Asked, where: Where, hpcc: Path, launcher: Launcher, folder: Path) -> _Started:
    words = [launcher.program, "-n", str(asked.ranks), *where.launcher_arguments, str(hpcc)]
    here = stays_here(launcher, where.launcher_arguments)
    environment = environment_for(here and asked.ranks > cores(), os.environ)
    return words, {**lab_mpi.open_mpi_settings(folder), **environment}, 1 if here else 0


def _on_hosts(
    asked: Asked, where: Where, hpcc: Path, launcher: Launcher, hosts: Sequence[Host], folder: Path
) -> _Started:
    shares = share_out(asked.ranks, hosts)
    words = [launcher.program, "-n", str(asked.ranks), *launcher.on_hosts(shares), *where.launcher_arguments]
    environment = {**lab_mpi.open_mpi_settings(folder), **environment_for(False, os.environ)}
    return [*words, str(hpcc)], environment, len(shares)


def _on_lab(
    asked: Asked, where: Where, hpcc: Path, launcher: Launcher, site: lab.Site, folder: Path
) -> _Started:
    shares = lab.spread(asked.ranks, site.hosts, where.ranks_per_host)
    places = [(share.host, share.count) for share in shares]
    words = [launcher.program, "-n", str(asked.ranks), *where.launcher_arguments]
    command, environment = lab_mpi.command(site.enter, launcher, words, places, [str(hpcc)], folder)
    return list(map(str, command)), environment, len(shares)


def _run(command: Sequence[str], environment: Mapping[str, str], where: Where, folder: Path) -> str:
    """What it and its launcher said: its result is in a file."""
    try:
        done = process_group.run(command, environment, where.time_limit_seconds, folder)
    except process_group.Overran as error:
        raise WorkloadError(
            f"hpcc was ended after {where.time_limit_seconds:g} s; more with --time-limit, or a smaller "
            "-N. Its RandomAccess, which comes first, takes two minutes at most, all else grows with -N"
        ) from error
    text = f"{done.printed}\n{done.complained}".strip()
    if done.status != 0:
        tail = "\n".join(text.splitlines()[-STDERR_LINES_KEPT:])
        alone = f"\n{_ALONE}" if _TOO_FEW in text else ""
        raise WorkloadError(f"hpcc ended with status {done.status}" + (f":\n{tail}" if tail else "") + alone)
    return text


def _result(asked: Asked, where: Where, file: Path, complained: str) -> Output:
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
