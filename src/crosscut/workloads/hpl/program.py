"""Finds hpcc on this machine, and the launcher of the MPI that hpcc is linked with.

Debian's hpcc is linked with Open MPI, while crosscut's own programs come with MPICH.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from crosscut.base.core import is_program
from crosscut.base.errors import PlaceError
from crosscut.places import launchers
from crosscut.places.launchers import Launcher

VARIABLE = "CROSSCUT_HPCC"
NAME = "hpcc"
INSTALL = (
    "on Debian and Ubuntu: apt install hpcc; else build it from https://icl.utk.edu/hpcc/ and name it in "
)


@dataclass(frozen=True)
class HplProgram:
    path: Path
    mpi: str
    """As named by `launchers.linked_with`."""


def find() -> HplProgram:
    """Finds hpcc. Raises PlaceError if there is none."""
    named = os.environ.get(VARIABLE)
    path = named or shutil.which(NAME)
    if named and not is_program(Path(named)):
        raise PlaceError(f"{VARIABLE}={named}: there is no such program; unset it or correct it")
    if not path:
        raise PlaceError(f"hpcc was not found; {INSTALL}{VARIABLE}")
    return HplProgram(Path(path).absolute(), launchers.linked_with(Path(path)))


def unavailable() -> str | None:
    """Returns why HPL cannot run here, or None if it can."""
    try:
        launcher_for(find(), "")
    except PlaceError as error:
        return str(error)
    return None


def launcher_for(program: HplProgram, named: str) -> Launcher:
    """The launcher named, or by default that of the program's MPI."""
    return launchers.launcher_for(program.path, program.mpi, named)
