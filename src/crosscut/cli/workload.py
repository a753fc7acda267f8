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
           "Numbers of ranks: one (4), several (1,2,4), or a range (1-16). Of several, each workload "
           "runs on those that it takes. Default 4.", default=(4,))  # fmt: skip
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
    # Only workloads and numbers of ranks that fit each other run. A single workload with a single number is
    # left to the program, which alone knows the limits of a class.
    choosy = len(args.ranks) > 1 or len(chosen) > 1
    fitting = {one: [n for n in args.ranks if not choosy or one.takes(n)] for one in chosen}
    for workload, few in fitting.items():
        if left_out := sorted({*args.ranks} - {*few}):
            _leave_out(args, f"{workload.name}: {tables.spans(left_out)} ranks: it takes {workload.ranks}")
        if few and find_place(args.on)[0].starts_mpi:  # the simulator compiles it instead
            applications.find_executable(workload)
    began = time.monotonic()
    curves: list[applications.ScalingCurve] = []
    if not any(fitting.values()):
        raise UsageError(f"-n: no workload named takes {tables.spans(args.ranks)} ranks")
    try:
        with launch.opened(record(launch.Where, vars(args))) as runner:
            for workload, problem_class in itertools.product(chosen, args.classes):
                if few := fitting[workload]:
                    must = not choosy or len(chosen) == len(args.classes) == 1
                    curves.append(_curve(args, runner, workload, problem_class, few, must_run=must))
    finally:
        curves = [curve for curve in curves if curve.runs]
        if len(curves) > 1 and not args.json:
            tables.summary(screen_for(), curves, time.monotonic() - began)
    return EXIT_OK if curves and all(curve.verified for curve in curves) else EXIT_FAILED


def _leave_out(args: argparse.Namespace, why: str) -> None:
    programs.tell_progress(args, "")
    print(f"crosscut: left out: {why}", file=sys.stderr, flush=True)


def _curve(
    args: argparse.Namespace,
    runner: launch.Runner,
    workload: applications.Workload,
    problem_class: str,
    counts: Sequence[int],
    *,
    must_run: bool,
) -> applications.ScalingCurve:
    """Runs one workload and class on several numbers of ranks; prints a table of the runs, even after an
    error. A failed run ends the curve, since a hundred more might wait for the time limit.

    Numbers of ranks for which the class is too small are left out; if `must_run`, not all may be.
    """
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
            except UsageError as error:
                if must_run and ranks == counts[-1] and not rows:
                    raise
                _leave_out(args, str(error))
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
