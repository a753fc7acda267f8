"""`crosscut build-profiler`: compiles the library of `crosscut profile` for a site's own MPI."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from crosscut.base.errors import EXIT_OK, CrosscutError, plainly
from crosscut.cli import building
from crosscut.cli.parsing.parser import flag, option
from crosscut.profile.profiler import LIBRARY, LIBRARY_VARIABLE

EPILOG = """
examples:
  crosscut build-profiler --mpicc mpicc                          the MPI whose module is loaded
  crosscut build-profiler --mpicc /opt/openmpi/bin/mpicc --out ~/lib/libcrosscut-profile.so
  crosscut build-profiler --mpicc cc                             Cray: the compiler that finds MPI by itself

Needs only a C11 compiler behind the wrapper. Programs of the standard MPI ABI (MPICH 5) do not need this
command if crosscut found an MPI when it was installed.
"""

FLAGS = ("-std=gnu11", "-O2", "-g", "-fPIC", "-shared", "-fvisibility=hidden", "-Wl,-z,lazy")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    option(parser, "--mpicc PATH", str, "C compiler wrapper of the MPI.", required=True)
    building.add_out(parser, f"Library to write. Default: {LIBRARY} beside this crosscut.")
    flag(parser, "--replace", "Replace the library if it exists.")


def check_built(library: Path) -> None:
    """Raises CrosscutError unless an ordinary program runs silently with the library preloaded."""
    words = [shutil.which("true") or "/bin/true"]
    variables = {**os.environ, "LD_PRELOAD": str(library)}
    try:
        done = subprocess.run(words, env=variables, capture_output=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CrosscutError(f"the new {LIBRARY} cannot be tested: {plainly(error)}") from error
    said = done.stderr.decode("utf-8", "replace").strip()
    if done.returncode != 0 or said:
        raise CrosscutError(f"the new {LIBRARY} cannot be loaded: {said or f'status {done.returncode}'}")


def execute(args: argparse.Namespace) -> int:
    wrapper = building.find_wrapper("--mpicc", args.mpicc)
    folder = building.find_source(args.source, "profiler/calls.def", "the profiler") / "profiler"
    beside = Path(sys.executable).parent / LIBRARY
    target = building.find_target(args.out, beside, replace=args.replace)
    with tempfile.TemporaryDirectory(prefix="crosscut-build-profiler-") as temporary:
        built = Path(temporary) / LIBRARY
        print(f"compiling {folder} with {wrapper}", flush=True)
        # Drops the MPI library that the wrapper links: the program brings its own.
        flags = (*FLAGS, "-Wl,--as-needed")
        sources = map(str, sorted(folder.glob("*.c")))
        building.run_step("compiling", [str(wrapper), *flags, *sources, "-ldl", "-o", str(built)])
        check_built(built)
        building.put_in_place(built, target)
    building.tell_written(target, beside, LIBRARY_VARIABLE)
    print("next: crosscut profile -- mpiexec -n 4 ./program")
    return EXIT_OK
