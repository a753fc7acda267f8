"""Starting hpcc: here, or on the nodes of a lab, in a folder of its own that is removed at the end."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from crosscut import process_group
from crosscut.errors import CrosscutError, PlaceError, UsageError, plainly
from crosscut.hpl import output, program
from crosscut.hpl.asking import INPUT, OUTPUT, Asked, input_file
from crosscut.hpl.output import Output
from crosscut.places import lab
from crosscut.places.base import STDERR_LINES_KEPT
from crosscut.places.local import cores
from crosscut.places.mpi import YIELDING, Launcher, environment_for, stays_here
from crosscut.workloads import WorkloadError

PLACES = ("local", "lab:NETWORK")
LABS_NETWORK = {
    # Links of a lab are Ethernet: messages between nodes go over TCP, through the adapter.
    "OMPI_MCA_btl": "self,vader,tcp",
    "OMPI_MCA_pml": "ob1",
    "OMPI_MCA_btl_tcp_if_include": lab.INTERFACE,
    "OMPI_MCA_oob_tcp_if_include": lab.INTERFACE,
    # Every node believes that the machine's cores are its own, and would bind its first rank to the first.
    "OMPI_MCA_hwloc_base_binding_policy": "none",
}

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
    if where.on != "local" and not where.on.startswith("lab:"):
        raise UsageError(f"--on {where.on}: HPL runs on {', '.join(PLACES)}")
    if where.keep is not None and where.keep.exists():
        raise UsageError(f"--keep {where.keep}: it exists; name another file")
    hpcc = program.find()
    launcher = program.launcher_for(hpcc, where.launcher)
    with (
        tempfile.TemporaryDirectory(prefix="crosscut-hpl-") as folder,
        _place(asked, where, hpcc.path, launcher) as start,
    ):
        command, environment, hosts = start(Path(folder))
        (Path(folder) / INPUT).write_text(input_file(asked), encoding="ascii")
        complained = _run(command, environment, where, Path(folder))
        return Ran(where.on, hosts, _result(asked, where, Path(folder) / OUTPUT, complained))


@contextmanager
def _place(asked: Asked, where: Where, hpcc: Path, launcher: Launcher) -> Iterator[_Start]:
    if where.on == "local":
        yield lambda folder: _local(asked, where, hpcc, launcher, folder)
        return
    from crosscut.lab import lifecycle

    if (reason := lifecycle.unavailable()) is not None:
        raise PlaceError(f"--on {where.on}: {reason}")
    site = lab.open_site(where.on.partition(":")[2])
    try:
        yield lambda folder: _on_lab(asked, where, hpcc, launcher, site, folder)
    finally:
        if site.release is not None:
            site.release()


def _local(asked: Asked, where: Where, hpcc: Path, launcher: Launcher, folder: Path) -> _Started:
    words = [launcher.program, "-n", str(asked.ranks), *where.launcher_arguments, str(hpcc)]
    here = stays_here(launcher, where.launcher_arguments)
    environment = environment_for(here and asked.ranks > cores(), os.environ)
    return words, {**_own(folder), **environment}, 1 if here else 0


def _own(folder: Path) -> dict[str, str]:
    """Open MPI's files go where ours do, so that none is left. It refuses root unless told twice: labs need
    it, containers have nobody else, and hpcc writes nothing outside its folder."""
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return {"OMPI_MCA_orte_tmpdir_base": str(folder), **(root if os.geteuid() == 0 else {})}


def _on_lab(
    asked: Asked, where: Where, hpcc: Path, launcher: Launcher, site: lab.Site, folder: Path
) -> _Started:
    per_host = where.ranks_per_host or -(-asked.ranks // len(site.hosts))
    if asked.ranks > (most := per_host * len(site.hosts)):
        raise UsageError(
            f"-n {asked.ranks}: the lab has room for {most} at {per_host} a host; more with --ranks-per-host"
        )
    shares = lab.blocks(asked.ranks, site.hosts, per_host)
    first = [launcher.program, "-n", str(asked.ranks), *where.launcher_arguments]
    if launcher.is_hydra():
        first += ["-wdir", str(folder)]
        command, environment = lab.mpi_command(site, first, asked.ranks, per_host, [str(hpcc)])
        return list(map(str, command)), environment, len(shares)
    script = str(site.folder / "enter")
    places = ",".join(f"{share.host}:{share.count}" for share in shares)
    words = [*first, "--host", places, "--wdir", str(folder), str(hpcc)]
    settings = {**_own(folder), **LABS_NETWORK, **YIELDING, "OMPI_MCA_plm_rsh_agent": script}
    return [script, shares[0].host, shlex.join(words)], {**settings, **os.environ}, len(shares)


def _run(command: Sequence[str], environment: Mapping[str, str], where: Where, folder: Path) -> str:
    """What it complained of. In a process group of its own, so that nothing of it is left."""
    try:
        process = subprocess.Popen(
            list(command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env=dict(environment),
            start_new_session=True,
        )
    except OSError as error:
        raise PlaceError(f"cannot start {command[0]}: {plainly(error)}") from error
    with process:
        try:
            said, _ = process.communicate(timeout=where.time_limit_seconds)
        except subprocess.TimeoutExpired as error:
            raise WorkloadError(
                f"hpcc was ended after {where.time_limit_seconds:g} s; more with --time-limit, or a smaller "
                "-N. Its RandomAccess, which comes first, takes two minutes at most, all else grows with -N"
            ) from error
        finally:
            process_group.end(process)
    text = said.decode("utf-8", "replace").strip()
    if process.returncode != 0:
        tail = "\n".join(text.splitlines()[-STDERR_LINES_KEPT:])
        raise WorkloadError(f"hpcc ended with status {process.returncode}" + (f":\n{tail}" if tail else ""))
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
