"""`crosscut fsck`: checks a run on disk, and repairs it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from crosscut.base import units
from crosscut.base.errors import EXIT_FAILED, EXIT_OK, UsageError
from crosscut.campaigns.campaign import PLAN, is_campaign, launch_folders, load_plan
from crosscut.cli.parsing import options
from crosscut.cli.parsing.parser import flag
from crosscut.run.format import runs_in
from crosscut.run.launches import MANIFEST, is_launches, load

if TYPE_CHECKING:
    from crosscut.run.fsck import Report

EPILOG = """
examples:
  crosscut fsck aapc.zarr                    lengths, indices, status against samples
  crosscut fsck evaluation                   every run of `crosscut evaluate`
  crosscut fsck *.zarr --json                one JSON object per run, one per line
  crosscut fsck --repair aapc.zarr           mark lost samples as not measured; resuming measures them

exit status: 0 every run is intact; 1 something is damaged; 2 not a run
"""

_SHOWN = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "runs",
        nargs="+",
        type=Path,
        metavar="DIR",
        help="Run, evaluation or folder of launches.",
    )
    flag(parser, "--repair", "Mark damaged samples as not measured, then check again.")
    options.add_reading(parser)
    flag(parser, "--json", "Print one JSON object per run, each on a line of its own.")


def execute(args: argparse.Namespace) -> int:
    from crosscut.run import fsck  # numpy takes a moment to import
    from crosscut.run.repair import repair

    def checked(path: Path) -> Report:
        for line in repair(path) if args.repair else ():
            if not args.json:
                print(line)
        return fsck.check(path)

    runs, damaged = _expanded(args.runs)
    whole = not damaged
    for report in chain(damaged, map(checked, runs)):
        whole &= report.ok
        if args.json:
            print(fsck.as_json(report))
        else:
            _print(report, repaired=args.repair)
    return EXIT_OK if whole else EXIT_FAILED


def _expanded(given: Sequence[Path]) -> tuple[list[Path], list[Report]]:
    """Returns the runs to check, with every evaluation or folder of launches expanded, and reports of
    damaged plans."""
    from crosscut.run.files import Problem
    from crosscut.run.fsck import Report

    runs: list[Path] = []
    damaged = []
    for path in chain.from_iterable(map(launch_folders, given)):
        if not (is_campaign(path) or is_launches(path)):
            runs.append(path)
            continue
        plan = path / (PLAN if is_campaign(path) else MANIFEST)
        try:
            planned = _planned(path)
        except UsageError as error:
            lost = "nothing here can be resumed; its runs are checked one by one"
            what = str(error).removeprefix(f"{plan}: ")
            damaged.append(Report(path, "unknown", (Problem(plan, what, lost),), (), {}))
            planned = []
        runs += [run for run in planned if run.exists()]
        runs += [run for run in runs_in(path) if run not in planned]
    return runs, damaged


def _planned(path: Path) -> list[Path]:
    if is_campaign(path):
        return [step.out(path) for step in load_plan(path)[1]]
    manifest = load(path)
    return [manifest.out(launch) for launch in manifest.launches]


def _print(report: Report, *, repaired: bool) -> None:
    from crosscut.run import fsck

    for problem in report.problems[:_SHOWN]:
        print(problem)
    if len(report.problems) > _SHOWN:
        print(f"… and {len(report.problems) - _SHOWN} more problems (--json lists all)")
    for note in report.notes:
        print(f"note: {note}")
    print(f"{report.path}: {_verdict(report)}")
    if report.damage and report.state != "unknown" and not repaired:
        print(f"repair it: crosscut fsck --repair {report.path}")
        if any(not problem.lost.startswith(fsck.NOTHING_LOST) for problem in report.damage):
            print("  it marks damaged cells as not measured; their samples are lost")
            print(f"then measure them again: crosscut run --resume {report.path}")


def _verdict(report: Report) -> str:
    """`intact but incomplete: 17,584 of 22,400 cells measured, 12 failed`"""
    counts = dict(report.cells)
    total, measured = sum(counts.values()), counts.pop("measured", 0)
    counts.pop("unmeasured", 0)
    said = "intact" if report.ok else units.count(len(report.problems), "problem")
    if report.ok and measured < total:
        said += " but incomplete"
    parts = [
        f"{measured:,} of {total:,} cells {'measured' if report.ok else 'marked as measured'}",
        *(f"{count:,} {name}" for name, count in counts.items() if count),
    ]
    return f"{said}: {', '.join(parts)}" if total else said
