"""`crosscut build-smpi`: builds the player of patterns under SimGrid's SMPI, where SimGrid came later."""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path

import crosscut
from crosscut.base import core
from crosscut.base.errors import EXIT_OK, CrosscutError, UsageError
from crosscut.cli.build_mpi import add_build_arguments, find_cmake, find_source, put_in_place, run_step
from crosscut.places import smpi

EPILOG = """
examples:
  crosscut build-smpi                                    beside crosscut-core
  crosscut build-smpi --out ~/bin/crosscut-smpi-player   elsewhere; CROSSCUT_SMPI_PLAYER then names it

Needs SimGrid (apt install libsimgrid-dev), a C++20 compiler (GCC 11 or newer, Clang 14 or newer) and cmake.
`crosscut simulate` needs nothing of this.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--out", type=Path, metavar="FILE", help=f"the file to write ({smpi.PLAYER} beside crosscut-core)"
    )
    add_build_arguments(parser)


def find_target(given: Path | None) -> Path:
    """Where to write; raises UsageError. A player that is there is replaced: it fits one SimGrid alone."""
    beside = core.load().executable.parent / smpi.PLAYER
    target = (given if given is not None else beside).expanduser().absolute()
    if target.is_dir():
        raise UsageError(f"--out {target} is a folder; name the file to write, as {target / smpi.PLAYER}")
    if not target.parent.is_dir() or not os.access(target.parent, os.W_OK):
        raise UsageError(f"cannot write into {target.parent}; choose another place with --out FILE")
    return target


def configure_command(cmake: str, source: Path, build: Path) -> list[str]:
    options = {
        "CMAKE_BUILD_TYPE": "Release",
        "CROSSCUT_SMPI": "ON",
        "CROSSCUT_MPI": "OFF",
        "CROSSCUT_TESTS": "OFF",
        # A compiler that warns about more than ours must not keep anybody from building.
        "CROSSCUT_WERROR": "OFF",
        "CROSSCUT_VERSION": crosscut.__version__,
    }
    defines = [f"-D{name}={value}" for name, value in options.items()]
    return [cmake, "-S", str(source), "-B", str(build), *defines]


def execute(args: argparse.Namespace) -> int:
    if args.jobs < 1:
        raise UsageError(f"--jobs {args.jobs}: at least 1")
    if (reason := smpi.unavailable()) is not None:
        raise CrosscutError(reason)
    source = find_source(args.source)
    target = find_target(args.out)
    cmake = find_cmake()
    with tempfile.TemporaryDirectory(prefix="crosscut-build-smpi-") as folder:
        build = Path(folder)
        print(f"configuring {source} with {smpi.version()}", flush=True)
        run_step("configuring", configure_command(cmake, source, build))
        print(f"compiling, {args.jobs} files at a time", flush=True)
        jobs = ("--parallel", str(args.jobs))
        run_step("compiling", [cmake, "--build", str(build), "--target", smpi.PLAYER, *jobs])
        put_in_place(build / "core" / smpi.PLAYER, target)
    print(f"wrote {target}")
    if target != core.load().executable.parent / smpi.PLAYER:
        print(f"to use it: export {smpi.PLAYER_VARIABLE}={target}")
    print("next: crosscut run aapc --on sim:NETWORK --engine smpi")
    return EXIT_OK
