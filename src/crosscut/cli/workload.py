"""`crosscut workload`: applications that feel the network, run and verified."""

from __future__ import annotations

import argparse
import dataclasses
import json
import shlex
import signal
import sys
from collections.abc import Sequence
from types import FrameType
from typing import Any

from crosscut import units, workload_places, workloads
from crosscut.cli import workload_hpl
from crosscut.cli.parser import quantity, whole
from crosscut.errors import EXIT_FAILED, EXIT_OK, CrosscutError, UsageError
from crosscut.reports import workload_figures
from crosscut.reports.screen import Rows, screen_for

NAME = "workload"
HELP = "run applications that communicate (NAS Parallel Benchmarks and others), verified and timed"
EPILOG = """
examples:
  crosscut workload list
  crosscut workload run cg --class A -n 4
  crosscut workload run is mg --class W -n 1,2,4,8 --repeat 5     a speed-up curve with its deviation
  crosscut workload run all --class S,W -n 1-16                   of a range the numbers that each can use
  crosscut workload run ft -n 16 --on lab:fast-ethernet.toml      on an emulated cluster
  crosscut workload run ft -n 16 --on sim:fat-tree-1024           on a simulated one
  crosscut workload run data-server -n 2 --options '--processors overloaded --waiting poll'
  crosscut workload hpl -N 4000 -n 4 --repeat 5                   Linpack, and b_eff's rings, by hpcc

More in docs/howto-workloads.md.

exit status: 0 all verified; 1 something was not, or did not run; 2 wrong usage; 130 interrupted
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(title="what to do", metavar="ACTION", dest="action", required=True)
    one = commands.add_parser("list", help="the workloads that there are")
    one.add_argument("--json", action="store_true", help="one JSON object on standard output")
    one.set_defaults(act=_list)
    _add_run(commands)
    workload_hpl.add_to(commands)


def _add_run(commands: Any) -> None:
    one = commands.add_parser("run", help="run some of them, and verify what they compute")
    one.add_argument("names", nargs="+", metavar="NAME", help="workloads, npb (bt to sp), or all")
    one.add_argument(
        "--class",
        dest="classes",
        type=quantity(workloads.parse_classes),
        default=("S",),
        metavar="CLASS",
        help="Size: S (seconds at most; the default), W, A, B, C (minutes to hours), or several: S,W.",
    )
    one.add_argument(
        "-n",
        "--ranks",
        type=quantity(workloads.parse_rank_counts),
        default=((4,), False),
        metavar="RANKS",
        help="Ranks: a number, several (1,2,4), or a range (1-16), of which each workload runs with those "
        "that it can use. Default 4.",
    )
    one.add_argument("--repeat", type=whole(1), default=1, metavar="N", help="Runs of each. Default 1.")
    one.add_argument(
        "--on",
        default="local",
        metavar="PLACE",
        help=f"Where: {', '.join(workload_places.PLACES)}. Default local.",
    )
    one.add_argument(
        "--ranks-per-host",
        type=whole(1),
        default=0,
        metavar="N",
        help="On a simulated or emulated network: ranks on each host. Without it, as few as possible.",
    )
    one.add_argument(
        "--compute",
        default="host",
        metavar="HOW",
        help="On a simulated network: how long computing takes: host, as long as here (the default); none; "
        "or so many times as long.",
    )
    one.add_argument(
        "--launcher", default="", metavar="PATH", help="The mpiexec or srun. Without it, the one on PATH."
    )
    one.add_argument(
        "--launcher-args",
        type=shlex.split,
        default=[],
        metavar="WORDS",
        help="Further words for the launcher, as one argument: '--partition=debug'.",
    )
    one.add_argument(
        "--options",
        type=shlex.split,
        default=[],
        metavar="WORDS",
        help="Further options of the workload, as one argument: '--waiting sleep'; its own --help has them.",
    )
    one.add_argument(
        "--time-limit",
        type=quantity(units.parse_seconds),
        default=3600.0,
        metavar="TIME",
        help="Of one run, which is ended then. Default 1h.",
    )
    one.add_argument("--json", action="store_true", help="one JSON object for each run, a line each")
    one.set_defaults(act=_run)


def execute(args: argparse.Namespace) -> int:
    status: int = args.act(args)
    return status


def _list(args: argparse.Namespace) -> int:
    if args.json:
        print(
            json.dumps(
                {
                    "source": workloads.NPB_SOURCE,
                    "workloads": [
                        dataclasses.asdict(one) | {"unavailable": _unavailable(one)}
                        for one in workloads.WORKLOADS
                    ],
                    "hpl": {"unavailable": workload_hpl.unavailable()},
                }
            )
        )
        return EXIT_OK
    screen = screen_for()
    screen.title("Workloads: crosscut workload run NAME")
    rows = Rows("<name", "<what it computes", "<what it sends", "<ranks")
    for one in workloads.WORKLOADS:
        rows.add(one.name, one.summary, one.messages, one.ranks)
    screen.table(rows)
    for reason in dict.fromkeys(filter(None, map(_unavailable, workloads.WORKLOADS))):
        screen.line(f"not here: {reason}", "yellow")
    screen.line()
    screen.line(f"bt to sp: {workloads.NPB_SOURCE}", "dim")
    workload_hpl.tell(screen)
    return EXIT_OK


def _unavailable(workload: workloads.Workload) -> str:
    try:
        workloads.find_executable(workload)
    except CrosscutError as error:
        return str(error)
    return ""


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _run(args: argparse.Namespace) -> int:
    chosen = workloads.find(args.names)
    counts, ranged = args.ranks
    where = workload_places.Where(
        on=args.on,
        launcher=args.launcher,
        launcher_arguments=tuple(args.launcher_args),
        ranks_per_host=args.ranks_per_host,
        compute=args.compute,
        time_limit_seconds=args.time_limit,
        options=tuple(args.options),
    )
    signal.signal(signal.SIGTERM, _interrupt)
    failed = 0
    with workload_places.opened(where) as runner:
        for workload in chosen:
            fitting = workloads.fitting(workload, counts, ranged=ranged)
            if not fitting:
                raise UsageError(f"{workload.name} takes {workload.ranks} of ranks; there is none in -n")
            for problem_class in args.classes:
                failed += _curve(args, runner, workload, problem_class, fitting)
    return EXIT_FAILED if failed else EXIT_OK


def _curve(
    args: argparse.Namespace,
    runner: workload_places.Runner,
    workload: workloads.Workload,
    problem_class: str,
    counts: Sequence[int],
) -> int:
    """One workload and class over numbers of ranks: a table. Returns how many rows were not verified."""
    rows: list[workloads.Row] = []
    for ranks in counts:
        results = []
        for _ in range(args.repeat):
            result = runner(workload, problem_class, ranks)
            results.append(result)
            if args.json:
                print(json.dumps(as_json(result, args.on)), flush=True)
        rows.append(workloads.Row(tuple(results)))
        _tell_progress(args, f"{workload.name} {problem_class}", ranks, counts)
    if not args.json:
        _print_table(workload, problem_class, rows)
    return sum(not row.verified for row in rows)


def as_json(result: workloads.Result, on: str) -> dict[str, object]:
    least, median, most = result.communication_seconds
    return {
        "name": result.name,
        "class": result.problem_class,
        "on": on,
        "ranks": result.ranks,
        "size": result.size,
        "layout": result.layout,
        "iterations": result.iterations,
        "seconds": result.seconds,
        "mops": result.mops,
        "verified": result.verified,
        "communication_seconds": {"minimum": least, "median": median, "maximum": most},
        "figures": [dataclasses.asdict(one) for one in result.figures],
    }


def _tell_progress(args: argparse.Namespace, what: str, ranks: int, counts: Sequence[int]) -> None:
    """On a terminal, what was done last; gone when the table comes."""
    if args.json or len(counts) == 1 or not sys.stderr.isatty():
        return
    last = ranks == counts[-1]
    print(
        "\r\033[K" + ("" if last else f"{what}: {ranks} of {counts[-1]} ranks"),
        end="",
        file=sys.stderr,
        flush=True,
    )


def _print_table(workload: workloads.Workload, problem_class: str, rows: Sequence[workloads.Row]) -> None:
    screen = screen_for()
    first = rows[0].first
    screen.title(f"{workload.name.upper()}, class {problem_class}: {first.size}")
    repeated = any(row.deviation_seconds is not None for row in rows)
    headings = ["ranks", "time", *(["deviation"] if repeated else []), "Mop/s"]
    headings += [*(["speed-up"] if len(rows) > 1 else []), "communicating", "<verified", "?<layout"]
    table = Rows(*headings)
    for row in rows:
        cells = [str(row.first.ranks), units.seconds(row.seconds)]
        if repeated:
            deviation = row.deviation_seconds
            cells.append("" if deviation is None else units.percent(deviation / row.seconds))
        cells.append(f"{row.mops:,.4g}" if row.mops < 1e4 else f"{row.mops:,.0f}")
        if len(rows) > 1:
            cells.append(f"{workloads.speed_up(row, rows[0]):.2f}")
        cells += [units.percent(row.communication_share), "yes" if row.verified else "NO", row.first.layout]
        table.add(*cells, style="" if row.verified else "red")
    screen.table(table)
    workload_figures.show(screen, rows)
