"""`crosscut workload`: runs, times and verifies applications that communicate."""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import json
import sys
import time
from collections.abc import Sequence
from typing import Any

from crosscut.base.errors import EXIT_FAILED, EXIT_OK, CrosscutError, UsageError
from crosscut.cli import workload_hpl
from crosscut.cli.parsing import programs
from crosscut.cli.parsing.parser import actions, add_action, flag, option, record, run_action, split, whole
from crosscut.places import find_place
from crosscut.reports.terminal.screen import screen_for
from crosscut.workloads import applications, launch, tables

EPILOG = """
examples:
  crosscut workload list
  crosscut workload run cg --class A -n 4
  crosscut workload run is mg --class W -n 1,2,4,8 --repeat 5     a speed-up curve with its deviation
  crosscut workload run all --class S,W -n 1-16                   all numbers of ranks that each can use
  crosscut workload run ft -n 16 --on lab:fast-ethernet.toml      on an emulated cluster
  crosscut workload run ft -n 16 --on sim:fat-tree-1024           on a simulated one
  crosscut workload run data-server -n 2 --options '--processors overloaded --waiting poll'
  crosscut workload hpl -N 4000 -n 4 --repeat 5                   Linpack, and b_eff's rings, by hpcc

More in docs/howto-workloads.md.

exit status: 0 all verified; 1 something was not, or did not run; 2 wrong usage; 130 interrupted
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    commands = actions(parser)
    one = add_action(commands, "list", _list, "list the workloads")
    flag(one, "--json", "Print one JSON object on standard output.")
    _add_run(commands)
    workload_hpl.add_to(commands)


def _add_run(commands: Any) -> None:
    one = add_action(commands, "run", _run, "run workloads, and verify what they compute")
    one.add_argument(
        "names", nargs="+", metavar="NAME", help="Workloads, npb (all of NPB, bt to sp), or all."
    )
    option(one, "--class CLASS", applications.parse_classes,
           "Problem size: S (seconds at most; the default), W, A, B or C (minutes to hours), or "
           "several: S,W.", dest="classes", default=("S",))  # fmt: skip
    option(one, "-n --ranks RANKS", applications.parse_rank_counts,
           "Numbers of ranks: one (4), several (1,2,4), or a range (1-16), from which each "
           "workload takes the numbers that it can use. Default 4.", default=((4,), False))  # fmt: skip
    option(one, "--repeat N", whole(1), "Runs of each workload. Default 1.", default=1)
    launcher, networks = (
        "Path of the mpiexec or srun. Default: the one on PATH.",
        "a simulated or emulated network",
    )
    programs.add_mpi_place(one, launch.places(), launcher, networks, limited="one run")
    option(one, "--compute HOW", str,
           "On a simulated network, how long computing takes: host (the default), as long as here; "
           "none, no time; or a number, that many times as long.", default="host")  # fmt: skip
    option(one, "--options WORDS", split,
           "Further options of the workload, quoted as one: '--waiting sleep'. The workload's own "
           "--help lists them.", default=())  # fmt: skip
    flag(one, "--json", "Print one JSON object per run, each on a line of its own.")


execute = run_action


def _list(args: argparse.Namespace) -> int:
    if args.json:
        workloads = [
            dataclasses.asdict(one) | {"unavailable": _unavailable(one)} for one in applications.WORKLOADS
        ]
        hpl = {"unavailable": workload_hpl.unavailable()}
        print(json.dumps({"source": applications.NPB_SOURCE, "workloads": workloads, "hpl": hpl}))
        return EXIT_OK
    screen = screen_for()
    tables.listing(screen, applications.WORKLOADS)
    for reason in dict.fromkeys(filter(None, map(_unavailable, applications.WORKLOADS))):
        screen.line(f"not here: {reason}", "yellow")
    workload_hpl.listing(screen)
    screen.title("Copies down a chain, as Dolly makes them")
    screen.command("crosscut clone SOURCE TARGET --on PLACE")
    return EXIT_OK


def _unavailable(workload: applications.Workload) -> str:
    try:
        applications.find_executable(workload)
    except CrosscutError as error:
        return str(error)
    return ""


def _run(args: argparse.Namespace) -> int:
    chosen = applications.find(args.names)
    counts, ranged = args.ranks
    fitting = {one: applications.fitting(one, counts, ranged=ranged) for one in chosen}
    for workload, few in fitting.items():
        if not few:
            raise UsageError(
                f"-n names no number of ranks that fits {workload.name}, which takes {workload.ranks}"
            )
        if find_place(args.on)[0].starts_mpi:  # the simulator compiles it instead
            applications.find_executable(workload)
    began = time.monotonic()
    curves: list[applications.ScalingCurve] = []
    try:
        with launch.opened(record(launch.Where, vars(args))) as runner:
            for workload, problem_class in itertools.product(chosen, args.classes):
                curves.append(_curve(args, runner, workload, problem_class, fitting[workload]))
    finally:
        if len(curves) > 1 and not args.json:
            tables.summary(screen_for(), curves, time.monotonic() - began)
    return EXIT_OK if all(curve.verified for curve in curves) else EXIT_FAILED


def _curve(
    args: argparse.Namespace,
    runner: launch.Runner,
    workload: applications.Workload,
    problem_class: str,
    counts: Sequence[int],
) -> applications.ScalingCurve:
    """Runs one workload and class on several numbers of ranks; prints a table of the runs, even after an
    error. A failed run ends the curve, since a hundred more might wait for the time limit."""
    rows: list[applications.ScalingRow] = []
    failed: list[int] = []
    results: list[applications.Result] = []
    try:
        for ranks in counts:
            programs.tell_progress(args, f"{workload.name} {problem_class}: {ranks} of {counts[-1]} ranks")
            try:
                for _ in range(args.repeat):
                    results.append(runner(workload, problem_class, ranks))
                    if args.json:
                        print(json.dumps(as_json(results[-1], args.on)), flush=True)
            except UsageError:
                if not args.ranks[1] or (ranks == counts[-1] and not rows):
                    raise
                # In a range, numbers of ranks for which this class is too small are skipped.
            _close(rows, results)
    except applications.WorkloadError as error:
        failed.append(ranks)
        programs.tell_progress(args, "")
        print(f"crosscut: error: {error}", file=sys.stderr, flush=True)
    finally:
        _close(rows, results)
        programs.tell_progress(args, "")
        if rows and not args.json:
            tables.curve(screen_for(), workload, problem_class, rows)
    return applications.ScalingCurve(workload, problem_class, tuple(rows), tuple(failed))


def _close(rows: list[applications.ScalingRow], results: list[applications.Result]) -> None:
    """Moves the results for one number of ranks into a row."""
    if results:
        rows.append(applications.ScalingRow(tuple(results)))
        results.clear()


def as_json(result: applications.Result, on: str) -> dict[str, object]:
    found = dataclasses.asdict(result)
    spread = zip(("minimum", "median", "maximum"), result.communication_seconds, strict=True)
    found["communication_seconds"] = dict(spread)
    return {"name": result.name, "class": found.pop("problem_class"), "on": on, **found}
