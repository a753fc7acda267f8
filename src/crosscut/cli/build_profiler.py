"""`crosscut build-profiler`: compiles what `crosscut profile` loads into programs, for a site's own MPI."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import crosscut
from crosscut.base.errors import EXIT_OK, CrosscutError, UsageError, plainly
from crosscut.cli.build_mpi import find_target, put_in_place, run_step
from crosscut.profile.profiler import LIBRARY, LIBRARY_VARIABLE

EPILOG = """
examples:
  crosscut build-profiler --mpicc mpicc                          the MPI whose module is loaded
  crosscut build-profiler --mpicc /opt/openmpi/bin/mpicc --out ~/lib/libcrosscut-profile.so
  crosscut build-profiler --mpicc cc                             Cray: the compiler that finds MPI by itself

Needs a C11 compiler behind the wrapper, nothing else. Programs of the standard MPI ABI (MPICH 5) need none of
this where crosscut was installed with MPI at hand.
"""

FLAGS = ("-std=gnu11", "-O2", "-g", "-fPIC", "-shared", "-fvisibility=hidden", "-Wl,-z,lazy")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--mpicc", required=True, metavar="PATH", help="the MPI's C compiler wrapper")
    parser.add_argument(
        "--out", type=Path, metavar="FILE", help=f"the library to write ({LIBRARY} beside this crosscut)"
    )
    parser.add_argument("--replace", action="store_true", help="replace a library that is there")
    parser.add_argument(
        "--source",
        type=Path,
        metavar="DIR",
        help="crosscut's sources (those that came along)",
    )


def find_wrapper(name: str) -> Path:
    """By its path or through PATH; its name stays, for wrappers that go by their name (links)."""
    found = shutil.which(Path(name).expanduser())
    if found is None:
        raise UsageError(f"--mpicc {name}: no such program; load the MPI's module, or give its full path")
    return Path(found).absolute()


def find_sources(given: Path | None) -> list[Path]:
    package = Path(crosscut.__file__).resolve().parent
    candidates = [given] if given is not None else [package / "source", package.parents[1]]
    for folder in candidates:
        if (folder / "profiler" / "calls.def").is_file():
            return sorted((folder / "profiler").resolve().glob("*.c"))
    looked = " and ".join(str(folder) for folder in candidates)
    raise UsageError(f"no sources of the profiler in {looked}; name a checkout with --source DIR")


def check_built(library: Path) -> None:
    """It is loaded into an ordinary program without harm: nothing that it needs is missing."""
    words = [shutil.which("true") or "/bin/true"]
    variables = {**os.environ, "LD_PRELOAD": str(library)}
    try:
        done = subprocess.run(
            words,
            env=variables,
            capture_output=True,
            timeout=60,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CrosscutError(f"the new {LIBRARY} cannot be tried: {plainly(error)}") from error
    said = done.stderr.decode("utf-8", "replace").strip()
    if done.returncode != 0 or said:
        raise CrosscutError(f"the new {LIBRARY} cannot be loaded: {said or f'status {done.returncode}'}")


def execute(args: argparse.Namespace) -> int:
    wrapper = find_wrapper(args.mpicc)
    sources = find_sources(args.source)
    target = find_target(args.out, replace=args.replace, name=LIBRARY)
    with tempfile.TemporaryDirectory(prefix="crosscut-build-profiler-") as folder:
        built = Path(folder) / LIBRARY
        print(f"compiling {sources[0].parent} with {wrapper}", flush=True)
        # A wrapper adds the MPI's library, which is not wanted: the program brings its own.
        flags = (*FLAGS, "-Wl,--as-needed")
        run_step("compiling", [str(wrapper), *flags, *map(str, sources), "-ldl", "-o", str(built)])
        check_built(built)
        put_in_place(built, target)
    print(f"wrote {target}")
    if target != Path(sys.executable).parent / LIBRARY:
        print(f"to use it: export {LIBRARY_VARIABLE}={target}")
    print("next: crosscut profile -- mpiexec -n 4 ./program")
    return EXIT_OK
