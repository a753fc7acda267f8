"""`crosscut workload hpl`: High-Performance Linpack and b_eff's rings, run by the installed hpcc."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from crosscut.base import units
from crosscut.base.errors import EXIT_FAILED, EXIT_OK, UsageError
from crosscut.cli.parsing import programs
from crosscut.cli.parsing.parser import flag, option, record, tell, whole
from crosscut.places.launchers import Launcher, stays_here
from crosscut.reports.terminal.screen import Screen
from crosscut.workloads.hpl import input as asking
from crosscut.workloads.hpl import output, program
from crosscut.workloads.hpl import report as telling
from crosscut.workloads.hpl import run as running
from crosscut.workloads.hpl.run import HplRun

HELP = "run High-Performance Linpack and rings of messages, with hpcc"
DEFAULT_ORDER = 2000


def add_to(commands: Any) -> None:
    one = commands.add_parser("hpl", help=HELP)
    size = one.add_mutually_exclusive_group()
    option(size, "-N --order N", asking.parse_order,
           f"Order of the matrix, which takes 8 N² bytes. Default {DEFAULT_ORDER:,}.")  # fmt: skip
    option(size, "--memory SIZE", asking.parse_memory,
           "Instead of -N: the largest matrix that fits in this memory: 2GB, or 40%% of what is "
           "free on this machine.")  # fmt: skip
    option(one, "--nb N[,…]", asking.parse_blocks,
           "Columns in a panel. Default 80.", dest="blocks", default=(80,))  # fmt: skip
    option(one, "-n --ranks RANKS", whole(1), "Number of ranks. Default 4, or as many as --grid has.")
    option(one, "--grid PxQ", asking.parse_grid,
           "Rows and columns of ranks. Default: as square as possible, with no more rows than "
           "columns.")  # fmt: skip
    names = ", ".join(f"{name} ({asking.BROADCAST_NAMES[name]})" for name in asking.BROADCASTS)
    option(one, "--broadcast WAY[,…]", asking.parse_broadcasts,
           f"How a panel travels along a row: {names}. Default 1rg,1rM.",
           dest="broadcasts", default=("1rg", "1rM"))  # fmt: skip
    option(one, "--repeat N", whole(1), "Runs of each combination. Default 1.", default=1)
    _add_where(one)
    flag(one, "--json", "Print one JSON object on standard output.")
    one.set_defaults(act=act)


def _add_where(one: argparse.ArgumentParser) -> None:
    launcher = "Path of the mpiexec. Default: that of the MPI with which hpcc is linked."
    programs.add_mpi_place(one, running.places(), launcher, networks="a lab", limited="hpcc")
    option(one, "--keep FILE", Path, "Copy hpcc's own output to this file.")
    option(one, "--read FILE", Path, "Run nothing; report this output of hpcc, wherever it ran.")


def unavailable() -> str:
    """Returns why HPL cannot run here, or an empty string if it can."""
    return program.unavailable() or ""


def listing(screen: Screen) -> None:
    screen.title("High-Performance Linpack: crosscut workload hpl")
    if reason := unavailable():
        screen.line(f"not here: {reason}", "yellow")
        return
    found = program.find()
    screen.line(f"{found.path}, linked with {found.mpi}")


def act(args: argparse.Namespace) -> int:
    if args.read is not None:
        ran = HplRun(str(args.read), 0, output.load(args.read))
    else:
        ran = running.run(_asked(args), record(running.HplWhere, vars(args)))
    tell(args, lambda: telling.as_json(ran), lambda screen: telling.render(screen, ran))
    return EXIT_OK if ran.output.verified else EXIT_FAILED


def _asked(args: argparse.Namespace) -> asking.HplInput:
    rows, columns = args.grid or asking.grid_of(args.ranks or 4)
    if args.ranks and args.ranks != rows * columns:
        raise UsageError(f"--grid {rows}x{columns}: has {rows * columns} ranks, but -n says {args.ranks}")
    if rows * columns > asking.MOST_RANKS:
        raise UsageError(f"{rows * columns:,} ranks: at most {asking.MOST_RANKS:,}")
    return asking.HplInput(_order(args), args.blocks, rows, columns, args.broadcasts, args.repeat)


def _order(args: argparse.Namespace) -> int:
    """Returns the order of the matrix. Raises UsageError if the matrix does not fit in this machine's free
    memory: hpcc would skip it, after minutes of other benchmarks. If the launcher may start ranks on other
    machines, their free memory is not known, and nothing is checked."""
    here = stays_here(Launcher(args.launcher), args.launcher_arguments)
    order: int = args.order or DEFAULT_ORDER
    if args.memory is None and not here:
        return order
    free, asked = asking.free_bytes(), f"-N {order}: its matrix"
    if args.memory is not None:
        asked = "--memory: the matrix"
        order = asking.order_for(args.memory.in_bytes or args.memory.share * free, max(args.blocks))
    if here and (needed := asking.BYTES_A_NUMBER * order**2) > free:
        raise UsageError(
            f"{asked} takes {units.about_size(needed)}, but {units.about_size(free)} are free here; "
            "choose a smaller one, or --memory 80%"
        )
    return order
