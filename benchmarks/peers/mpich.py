"""crosscut's MPI program for the MPICH of Debian's NPmpich2: a twin of the installed program, built once with
that library's compiler wrapper and kept under build/."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.measuring import Session
from benchmarks.processes import BenchmarkError, output_of

ROOT = Path(__file__).resolve().parents[2]
WRAPPER = "mpicxx.mpich"
LAUNCHER = "mpiexec.mpich"
VARIABLE = "CROSSCUT_CORE_MPICH"
"""Names an existing program to use instead."""
BUILD_LIMIT_SECONDS = 1200


def core_mpich() -> Path:
    """Returns the program's path; builds it (minutes) if it is missing or older than the sources."""
    if named := os.environ.get(VARIABLE):
        return Path(named).absolute()
    target = ROOT / "build" / "benchmarks" / "crosscut-core-mpich"
    sources = [
        path.stat().st_mtime for path in (ROOT / "core").rglob("*") if path.suffix in (".cpp", ".hpp", ".def")
    ]
    if target.exists() and target.stat().st_mtime > max(sources, default=0):
        return target
    if shutil.which(WRAPPER) is None:
        raise BenchmarkError(f"{WRAPPER} is not installed: apt install libmpich-dev")
    print(f"building {target.name} with {WRAPPER}, once", flush=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    words: list[str | Path] = [
        sys.executable,
        "-m",
        "crosscut",
        "build-mpi",
        "--mpicxx",
        WRAPPER,
        "--out",
        target,
        "--replace",
    ]
    output_of([*words, "--source", ROOT], limit_seconds=BUILD_LIMIT_SECONDS)
    return target


def launcher(cores: Sequence[int]) -> tuple[str, ...]:
    return (LAUNCHER, "-n", "2", "-bind-to", "user:" + ",".join(map(str, cores)))


def crosscut_mpi(words: Sequence[str], executable: Path, backend: str = "mpi") -> Session:
    return Session((*words, executable, "mpi-rank"), 2, backend)
