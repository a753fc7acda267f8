"""`crosscut build-smpi`: builds the player of patterns for SimGrid's SMPI, if crosscut lacks it."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from crosscut.base import core
from crosscut.base.errors import EXIT_OK, CrosscutError
from crosscut.cli import building
from crosscut.places import smpi

EPILOG = """
examples:
  crosscut build-smpi                                    beside crosscut-core
  crosscut build-smpi --out ~/bin/crosscut-smpi-player   elsewhere; CROSSCUT_SMPI_PLAYER then names it

Needs SimGrid (apt install libsimgrid-dev), a C++20 compiler (GCC 11 or newer, Clang 14 or newer) and cmake.
`crosscut simulate` does not need it.
"""


OPTIONS = {"CROSSCUT_SMPI": "ON", "CROSSCUT_MPI": "OFF"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    building.add_out(parser, f"File to write. Default: {smpi.PLAYER} beside crosscut-core.")
    building.add_jobs(parser)


def execute(args: argparse.Namespace) -> int:
    if (reason := smpi.unavailable()) is not None:
        raise CrosscutError(reason)
    beside = core.load().executable.parent / smpi.PLAYER
    # An existing player is replaced: it works with only one version of SimGrid.
    target = building.find_target(args.out, beside, replace=True)
    with tempfile.TemporaryDirectory(prefix="crosscut-build-smpi-") as folder:
        built = building.compile_core(args, Path(folder), smpi.PLAYER, OPTIONS, smpi.version())
        building.put_in_place(built, target)
    building.tell_written(target, beside, smpi.PLAYER_VARIABLE)
    print("next: crosscut run aapc --on sim:NETWORK --engine smpi")
    return EXIT_OK
