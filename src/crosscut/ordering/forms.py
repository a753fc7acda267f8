"""Orders as launchers read them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Form:
    says: str
    text: Callable[[Sequence[str]], str]
    """Takes [rank] its host."""
    command: str
    """How to use it; {file} and {ranks} stand for these."""


def _lines(hosts: Sequence[str]) -> str:
    """Returns a line for each rank."""
    return "".join(f"{host}\n" for host in hosts)


def _rankfile(hosts: Sequence[str]) -> str:
    there: Counter[str] = Counter()
    lines = []
    for rank, host in enumerate(hosts):
        lines.append(f"rank {rank}={host} slot={there[host]}\n")
        there[host] += 1
    return "".join(lines)


FORMS = {
    "hostfile": Form("a host on each line, rank 0 first", _lines, "mpiexec -f {file} -n {ranks} PROGRAM"),
    "mpich": Form("hostfile, as MPICH's mpiexec reads it", _lines, "mpiexec -f {file} -n {ranks} PROGRAM"),
    "openmpi": Form(
        "hostfile, for Open MPI's sequential mapper", _lines,
        "mpirun --hostfile {file} --map-by seq --bind-to none -n {ranks} PROGRAM",
    ),
    "rankfile": Form(
        "Open MPI's rankfile, which also binds each rank to a core", _rankfile,
        "mpirun --rankfile {file} -n {ranks} PROGRAM",
    ),
    "slurm": Form(
        "hostfile, for srun --distribution=arbitrary", _lines,
        "SLURM_HOSTFILE={file} srun --distribution=arbitrary -n {ranks} PROGRAM",
    ),
}  # fmt: skip
