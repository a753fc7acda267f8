"""What commands share that start programs: their ends, what is told meanwhile, options of launchers."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence

from crosscut.base import units
from crosscut.cli.parsing.parser import option, split, whole


def add_launcher(parser: argparse._ActionsContainer, which: str, example: str) -> None:
    """`which`: what it may be, as a sentence; `example`: of further words for it."""
    option(parser, "--launcher PATH", str, which, default="")
    option(parser, "--launcher-args WORDS", split,
           f"Further words for the launcher, as one argument: '{example}'.",
           dest="launcher_arguments", default=())  # fmt: skip


def add_mpi_place(
    parser: argparse._ActionsContainer, places: Sequence[str], launcher: str, networks: str, limited: str
) -> None:
    """Where an MPI program runs and for how long. `networks`: those with hosts of their own; `limited`: what
    the time limit is of."""
    option(parser, "--on PLACE", str, f"Where: {', '.join(places)}. Default local.", default="local")
    option(parser, "--ranks-per-host N", whole(1),
           f"On {networks}: ranks on each host. Without it, as few as possible.", default=0)  # fmt: skip
    add_launcher(parser, launcher, "--partition=debug")
    option(parser, "--time-limit TIME", units.parse_seconds,
           f"End {limited} after this time. Default 1h.",
           dest="time_limit_seconds", default=3600.0)  # fmt: skip


def as_ctrl_c() -> None:
    """A batch system's end and the terminal's do what Ctrl-C does; what nohup has put off stays so."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler)


def tell_progress(args: argparse.Namespace, what: str) -> None:
    """On a terminal, what is being run; empty: gone, as a table or a complaint comes."""
    if not args.json and sys.stderr.isatty():
        print(f"\r\033[K{what}", end="", file=sys.stderr, flush=True)
