"""Which MPI a program is linked with, and that MPI's launcher.

Several MPIs on one machine are usual, and the first launcher on PATH is any one's: under another's, a program
becomes so many jobs of one rank each.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from crosscut.base import programs
from crosscut.base.errors import PlaceError, UsageError
from crosscut.places.launchers import Launcher, find_hydra

OPEN_MPI = "Open MPI"
MPICH = "MPICH"
_OPEN_MPI_NAMES = ("mpiexec.openmpi", "mpirun.openmpi", "mpiexec", "mpirun")
# As Debian, Fedora and the MPI ABI name them. Open MPI's libmpi.so is number 40 since release 3, MPICH's 12.
_LIBRARIES = (
    (OPEN_MPI, re.compile(r"libmpi\.so\.(?!12\b)|libopen-(rte|pal)|libprrte")),
    (MPICH, re.compile(r"libmpich|libmpi\.so\.12\b|libmpi_abi")),
)


def linked_with(path: Path) -> str:
    """`OPEN_MPI`, `MPICH`, or "": neither, as far as one sees."""
    libraries = programs.said(["ldd", path])
    return next((name for name, pattern in _LIBRARIES if pattern.search(libraries)), "")


def mpi_of(launcher: Launcher) -> str:
    """Whose it is; "" where it does not say."""
    return (MPICH if launcher.is_hydra() else "") or (OPEN_MPI if is_open_mpi(launcher.program) else "")


def is_open_mpi(launcher: str) -> bool:
    said = programs.said([launcher, "--version"])
    return any(name in said for name in ("Open MPI", "OpenRTE", "Open RTE"))


def launcher_for(path: Path, mpi: str, named: str) -> Launcher:
    """The launcher for a program linked with this MPI: the one named, else the MPI's own. Another MPI's is
    refused; what nobody knows is tried."""
    if named:
        if (found := shutil.which(named)) is None:
            raise UsageError(f"--launcher {named}: there is no such program")
        launcher = _launcher(found)
        other = mpi_of(launcher)
        if mpi and other and other != mpi:
            raise UsageError(
                f"--launcher {named}: is {other}'s, and {path} is linked with {mpi}: every rank would run "
                "alone; leave it out, or name that MPI's"
            )
        return launcher
    own = _open_mpi() if mpi == OPEN_MPI else find_hydra("", path) if mpi == MPICH else None
    if own is not None:
        return own
    raise PlaceError(
        f"{path} is linked with {mpi or 'an MPI that crosscut does not know'}, whose mpiexec is not on PATH; "
        "name it with --launcher" + (" (Debian: apt install openmpi-bin)" if mpi == OPEN_MPI else "")
    )


def _open_mpi() -> Launcher | None:
    for name in _OPEN_MPI_NAMES:
        for folder in os.get_exec_path():
            found = shutil.which(name, path=folder)
            if found and is_open_mpi(found):
                return _launcher(found)
    return None


def _launcher(found: str) -> Launcher:
    """Open MPI takes the folder above its launcher's for its own: not that of /bin, a link to /usr/bin."""
    path = Path(found)
    return Launcher(str(path.parent.resolve() / path.name))
