"""Shared by commands that start programs: options of launchers, progress."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from crosscut.base import units
from crosscut.cli.parsing.parser import option, split, whole


def add_launcher(parser: argparse._ActionsContainer, which: str, example: str) -> None:
    """Adds the launcher's options. `which` is its help; `example` shows further words for it."""
    option(parser, "--launcher PATH", str, which, default="")
    option(parser, "--launcher-args WORDS", split,
           f"Further arguments for the launcher, quoted as one: '{example}'.",
           dest="launcher_arguments", default=())  # fmt: skip


def add_mpi_place(
    parser: argparse._ActionsContainer, places: Sequence[str], launcher: str, networks: str, limited: str
) -> None:
    """Adds where an MPI program runs and for how long. `networks` names the places whose hosts come from a
    network; `limited` names what the time limit ends."""
    option(parser, "--on PLACE", str, f"Where to run: {', '.join(places)}. Default local.", default="local")
    option(parser, "--ranks-per-host N", whole(1),
           f"On {networks}: ranks on each host. Default: as few as possible.", default=0)  # fmt: skip
    add_launcher(parser, launcher, "--partition=debug")
    option(parser, "--time-limit TIME", units.parse_seconds,
           f"End {limited} after this time. Default 1h.",
           dest="time_limit_seconds", default=3600.0)  # fmt: skip


def tell_progress(args: argparse.Namespace, what: str) -> None:
    """Shows on a terminal what is running. An empty text clears the line before a table or an error."""
    if not args.json and sys.stderr.isatty():
        print(f"\r\033[K{what}", end="", file=sys.stderr, flush=True)
