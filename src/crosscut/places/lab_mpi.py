"""MPI programs on the nodes of a lab: the first runs the launcher, whose remote shell is the lab's `enter`.

A lab's links are Ethernet: messages between nodes go over TCP, through the adapter, those within a node
through its own shared memory. Ranks outnumber cores, so they wait without a loop.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from crosscut.base.errors import PlaceError
from crosscut.places.launchers import YIELDING, Launcher, find_hydra, open_mpi_settings
from crosscut.places.mpi_library import OPEN_MPI, launcher_for, linked_with

INTERFACE = "eth0"
_MPICH = {"FI_PROVIDER": "tcp", "FI_TCP_IFACE": INTERFACE}
_OPEN_MPI = {
    "OMPI_MCA_btl": "self,vader,tcp",
    "OMPI_MCA_pml": "ob1",
    "OMPI_MCA_btl_tcp_if_include": INTERFACE,
    "OMPI_MCA_oob_tcp_if_include": INTERFACE,
    # Every node believes that the machine's cores are its own, and would bind its first rank to the first.
    "OMPI_MCA_hwloc_base_binding_policy": "none",
}


def launcher_of(named: str, program: Path | None) -> Launcher:
    """The one named, else that of the MPI which the program is linked with, else MPICH's."""
    if program is not None and (mpi := linked_with(program)) == OPEN_MPI:
        return launcher_for(program, mpi, named)
    if (found := find_hydra(named, program)) is None:
        raise PlaceError(
            "a lab needs MPICH's mpiexec"
            + (f", and {named} is none" if named else "")
            + "; `pip install 'crosscut[mpich]'`, or name it with --launcher"
        )
    return found


def command(
    enter: Path,
    launcher: Launcher,
    words: Sequence[str],
    shares: Sequence[tuple[str, int]],
    program: Sequence[str],
    folder: Path | None = None,
) -> tuple[list[str | Path], Mapping[str, str]]:
    """The command that calls the launcher with these words on the first node, and its environment.

    `enter`: the lab's remote shell; `shares`: hosts and their numbers of ranks; `folder`: where ranks run, if
    not here."""
    script = str(enter)
    places = ",".join(f"{host}:{count}" for host, count in shares)
    if launcher.is_hydra():
        options = ["-launcher", "rsh", "-launcher-exec", script, "-iface", INTERFACE, "-hosts", places]
        options += ["-wdir", str(folder)] if folder is not None else []
        settings = _MPICH
    else:
        options = ["--host", places, *(["--wdir", str(folder)] if folder is not None else [])]
        settings = open_mpi_settings(folder) | _OPEN_MPI | {"OMPI_MCA_plm_rsh_agent": script}
    line = shlex.join([*words, *options, *program])
    return [script, shares[0][0], line], {**settings, **YIELDING, **os.environ}
