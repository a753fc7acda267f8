"""`crosscut build-mpi`: builds the core with a site's own MPI."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from crosscut.base import programs
from crosscut.base.core import CORE_MPI, VARIABLES
from crosscut.base.errors import EXIT_OK, CrosscutError, plainly
from crosscut.cli import building
from crosscut.cli.parsing.parser import flag, option

EPILOG = """
examples:
  crosscut build-mpi --mpicxx mpicxx                     the MPI whose module is loaded
  crosscut build-mpi --mpicxx /opt/openmpi/bin/mpicxx --out ~/bin/crosscut-core-mpi
  crosscut build-mpi --mpicxx CC                         Cray: the compiler that finds MPI by itself

Needs a C++20 compiler behind the wrapper (GCC 11 or newer, Clang 14 or newer) and cmake.
"""

# What the wrapper of Intel MPI's PyPI package prints for its own folder, unless I_MPI_ROOT names it.
_UNPLACED = "I_MPI_SUBSTITUTE_INSTALLDIR"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    option(parser, "--mpicxx PATH", str, "C++ compiler wrapper of the MPI.", required=True)
    building.add_out(parser, f"Executable to write. Default: {CORE_MPI} beside this crosscut.")
    flag(parser, "--replace", "Replace the executable if it exists.")
    building.add_jobs(parser)


def options(wrapper: Path) -> dict[str, object]:
    """Returns the CMake options for this MPI."""
    return {"CROSSCUT_MPI": "ON", "CROSSCUT_MPICXX": wrapper}


def check_built(executable: Path) -> None:
    """Raises CrosscutError unless the executable starts, which needs the MPI library, and has the mpi
    backend."""
    try:
        done = subprocess.run([executable, "list", "--json"], capture_output=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CrosscutError(f"the new {executable.name} does not start: {plainly(error)}") from error
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip()
        raise CrosscutError(
            f"the new {executable.name} does not start: {said}\n"
            "if a library is missing, load the MPI's module (LD_LIBRARY_PATH) and try again"
        )
    backends = json.loads(done.stdout)["backends"]
    mpi = next((backend for backend in backends if backend["name"] == "mpi"), None)
    if mpi is None or not mpi.get("available", True):
        raise CrosscutError(
            f"the new {executable.name} has no mpi backend: are its sources from another version?"
        )


def execute(args: argparse.Namespace) -> int:
    wrapper = building.find_wrapper("--mpicxx", args.mpicxx)
    if _UNPLACED in programs.said([wrapper, "-show"]):
        os.environ["I_MPI_ROOT"] = str(wrapper.parent.parent)
    beside = Path(sys.executable).parent / CORE_MPI
    target = building.find_target(args.out, beside, replace=args.replace)
    with tempfile.TemporaryDirectory(prefix="crosscut-build-mpi-") as folder:
        built = building.compile_core(args, Path(folder), CORE_MPI, options(wrapper), wrapper)
        check_built(built)
        building.put_in_place(built, target)
    building.tell_written(target, beside, VARIABLES[CORE_MPI])
    print("next: crosscut run pingpong -n 2 --backend mpi, started by this MPI's own mpiexec or by srun")
    return EXIT_OK
