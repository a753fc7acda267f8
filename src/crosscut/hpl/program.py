"""hpcc on this machine, which MPI it is linked with, and that MPI's launcher.

Debian's is linked with Open MPI, while crosscut's own programs come with MPICH, whose launcher is often the
first on PATH: there hpcc would become so many runs of one rank each.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from crosscut.errors import PlaceError, UsageError
from crosscut.places.mpi import Launcher, find_hydra

VARIABLE = "CROSSCUT_HPCC"
NAME = "hpcc"
INSTALL = (
    "on Debian and Ubuntu: apt install hpcc; else build it from https://icl.utk.edu/hpcc/ and name it in "
)
OPEN_MPI = "Open MPI"
MPICH = "MPICH"
_OPEN_MPI_NAMES = ("mpiexec.openmpi", "mpirun.openmpi", "mpiexec", "mpirun")
# As Debian, Fedora and the MPI ABI name them. Open MPI's libmpi.so is number 40 since release 3, MPICH's 12.
_LIBRARIES = (
    (OPEN_MPI, re.compile(r"libmpi\.so\.(?!12\b)|libopen-(rte|pal)|libprrte")),
    (MPICH, re.compile(r"libmpich|libmpi\.so\.12\b|libmpi_abi")),
)


@dataclass(frozen=True)
class Program:
    path: Path
    mpi: str
    """`OPEN_MPI`, `MPICH`, or "": linked with neither, as far as one sees."""


def find() -> Program:
    """PlaceError where there is none."""
    named = os.environ.get(VARIABLE)
    path = named or shutil.which(NAME)
    if named and not os.access(named, os.X_OK):
        raise PlaceError(f"{VARIABLE}={named}: there is no such program; unset it or correct it")
    if not path:
        raise PlaceError(f"hpcc is not here; {INSTALL}{VARIABLE}")
    return Program(Path(path).absolute(), linked_with(Path(path)))


def unavailable() -> str | None:
    """Why HPL cannot run here."""
    try:
        launcher_for(find(), "")
    except PlaceError as error:
        return str(error)
    return None


def linked_with(path: Path) -> str:
    try:
        said = subprocess.run(["ldd", str(path)], capture_output=True, timeout=10, check=False).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""
    libraries = said.decode("utf-8", "replace")
    return next((name for name, pattern in _LIBRARIES if pattern.search(libraries)), "")


def launcher_for(program: Program, named: str) -> Launcher:
    """The one named, else of the MPI that it is linked with."""
    if named:
        if (found := shutil.which(named)) is None:
            raise UsageError(f"--launcher {named}: there is no such program")
        launcher = _launcher(found)
        _fitting(program, named, launcher)
        return launcher
    if program.mpi == OPEN_MPI:
        for name in _OPEN_MPI_NAMES:
            for folder in os.get_exec_path():
                found = shutil.which(name, path=folder)
                if found and is_open_mpi(found):
                    return _launcher(found)
    elif program.mpi == MPICH and (hydra := find_hydra("", program.path)) is not None:
        return hydra
    raise PlaceError(
        f"{program.path} is linked with {program.mpi or 'an MPI that crosscut does not know'}, whose mpiexec "
        "is not on PATH; name it with --launcher"
        + (" (Debian: apt install openmpi-bin)" if program.mpi == OPEN_MPI else "")
    )


def _launcher(found: str) -> Launcher:
    """Open MPI takes the folder above its launcher's for its own: not that of /bin, a link to /usr/bin."""
    path = Path(found)
    return Launcher(str(path.parent.resolve() / path.name))


def _fitting(program: Program, named: str, launcher: Launcher) -> None:
    """One of an MPI that it is not linked with is refused; what nobody knows is tried."""
    other = (MPICH if launcher.is_hydra() else "") or (OPEN_MPI if is_open_mpi(launcher.program) else "")
    if program.mpi and other and other != program.mpi:
        raise UsageError(
            f"--launcher {named}: is {other}'s, and {program.path} is linked with {program.mpi}: every rank "
            "would run alone; leave it out, or name that MPI's"
        )


def is_open_mpi(launcher: str) -> bool:
    try:
        said = subprocess.run([launcher, "--version"], capture_output=True, timeout=10, check=False).stdout
    except (OSError, subprocess.TimeoutExpired):
        return False
    return b"Open MPI" in said or b"OpenRTE" in said or b"Open RTE" in said
