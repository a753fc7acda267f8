"""`crosscut fsck`: checks a run on disk, and repairs it."""

from __future__ import annotations

import argparse
from pathlib import Path

from crosscut.errors import EXIT_FAILED, EXIT_OK

NAME = "fsck"
HELP = "check that a run on disk is whole"
EPILOG = """
examples:
  crosscut fsck aapc.zarr                    lengths, indices, status against samples
  crosscut fsck *.zarr --json                one JSON object a run, a line each
  crosscut fsck --repair aapc.zarr           call unmeasured what is lost; resuming measures it again

exit status: 0 every run is whole; 1 something is damaged; 2 no run.
"""

_SHOWN = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", nargs="+", type=Path, metavar="DIR", help="a run, or several")
    parser.add_argument(
        "--repair", action="store_true", help="make what is damaged unmeasured, then check again"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object a run, a line each")


def execute(args: argparse.Namespace) -> int:
    from crosscut import fsck  # numpy takes a moment to import
    from crosscut.fsck_repair import repair

    whole = True
    for path in args.runs:
        if args.repair:
            for line in repair(path):
                if not args.json:
                    print(line)
        report = fsck.check(path)
        whole &= report.ok
        if args.json:
            print(fsck.as_json(report))
        else:
            _print(report)
    return EXIT_OK if whole else EXIT_FAILED


def _print(report: object) -> None:
    from crosscut.fsck import Report

    assert isinstance(report, Report)
    for problem in report.problems[:_SHOWN]:
        print(problem)
    if len(report.problems) > _SHOWN:
        print(f"… and {len(report.problems) - _SHOWN} more problems (all of them: --json)")
    for note in report.notes:
        print(f"note: {note}")
    cells = ", ".join(f"{count} {name}" for name, count in report.cells.items() if count)
    verdict = "whole" if report.ok else f"{len(report.problems)} problem" + "s" * (len(report.problems) > 1)
    print(f"{report.path}: {verdict}" + (f"; cells: {cells}" if cells else ""))
