"""Options of commands that start programs elsewhere by another's launcher."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence

from crosscut.base import units
from crosscut.cli.parsing.parser import quantity, whole


def add_launcher(parser: argparse._ActionsContainer, which: str, example: str) -> None:
    """`which`: what it may be, as a sentence; `example`: of further words for it."""
    parser.add_argument("--launcher", default="", metavar="PATH", help=which)
    parser.add_argument(
        "--launcher-args",
        type=shlex.split,
        default=[],
        metavar="WORDS",
        help=f"Further words for the launcher, as one argument: '{example}'.",
    )


def add_mpi_place(
    parser: argparse._ActionsContainer, places: Sequence[str], launcher: str, networks: str, limited: str
) -> None:
    """Where an MPI program runs and for how long. `networks`: those with hosts of their own; `limited`: what
    the time limit is of."""
    parser.add_argument(
        "--on", default="local", metavar="PLACE", help=f"Where: {', '.join(places)}. Default local."
    )
    parser.add_argument(
        "--ranks-per-host",
        type=whole(1),
        default=0,
        metavar="N",
        help=f"On {networks}: ranks on each host. Without it, as few as possible.",
    )
    add_launcher(parser, launcher, "--partition=debug")
    parser.add_argument(
        "--time-limit",
        type=quantity(units.parse_seconds),
        default=3600.0,
        metavar="TIME",
        help=f"Of {limited}, which is ended then. Default 1h.",
    )
