"""`crosscut show`: draws a run in the terminal."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from crosscut.base import units
from crosscut.base.errors import EXIT_CODES_OF_FAULTS, EXIT_FAILED, EXIT_OK, UsageError
from crosscut.campaigns.campaign import is_campaign, review
from crosscut.cli.parsing import options
from crosscut.cli.parsing.parser import flag, option
from crosscut.run.launches import is_launches, load

if TYPE_CHECKING:
    from crosscut.reports.terminal.screen import Screen

EPILOG = f"""
examples:
  crosscut show aapc.zarr
  crosscut show aapc.zarr --size 100KB
  crosscut show aapc.zarr --findings         slow hosts, cables, shared limits: in words
  crosscut show evaluation                   the runs of `crosscut evaluate`, and their summary
  crosscut show launches                     the runs of `crosscut run --launches`, and how much they differ
  crosscut show *.zarr --json | jq '.sizes[].phases[].bytes_per_second.median'

Rates are per rank and direction; 1 MB is 10^6 bytes. [low – high] is the non-parametric 95 % confidence
interval of the median, widened where samples that follow each other are correlated. The rate of a phase is
that of its slowest rank. In formulas, m is the message size and t_slowest the time of a phase's slowest rank.
NO_COLOR=1 turns colours off; CROSSCUT_ASCII=1 draws with ASCII characters only.

{EXIT_CODES_OF_FAULTS}
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "runs",
        nargs="+",
        type=options.folder,
        metavar="DIR",
        help="Run, evaluation or folder of launches.",
    )
    option(parser, "--size SIZE", units.parse_bytes, "Message size to show in detail. Default: the largest.")
    flag(parser, "--findings", "Show findings in words instead of figures.")
    options.add_cabling(parser)
    options.add_fail_on_fault(parser, "With --findings: exit with status 1 if one is a fault.")
    options.add_reading(parser)
    flag(parser, "--json", "Print one JSON object per run, each on a line of its own.")


def execute(args: argparse.Namespace) -> int:
    from crosscut.reports.terminal import headline  # numpy and xarray take a second to import
    from crosscut.reports.terminal import run as terminal
    from crosscut.reports.terminal.screen import screen_for
    from crosscut.reports.view import View

    if (args.cabling or args.switch_counters) and not args.findings:
        raise UsageError("--cabling and --switch-counters need --findings")
    if args.fail_on_fault and not args.findings:
        raise UsageError("--fail-on-fault needs --findings")
    screen, status = screen_for(), EXIT_OK
    for index, path in enumerate(args.runs):
        if index and not args.json:
            screen.console.print()
            screen.console.rule(style="dim")
        if is_campaign(path) or is_launches(path):
            if args.findings and is_launches(path):
                raise UsageError(f"--findings: {path} is a folder of launches; name one of them")
            if args.size is not None:
                raise UsageError(f"--size: {path} holds several runs; name one of them")
            shown = _show_launches if is_launches(path) else _show_campaign
            status = max(status, shown(path, screen, as_json=args.json))
        elif args.findings:
            status = max(status, _show_findings(path, screen, args))
        elif args.json:
            print(json.dumps(headline.as_json(path), allow_nan=False))
        else:
            terminal.render(screen, View.open(path), args.size)
    if len(args.runs) > 1 and not (args.json or args.findings):
        _show_together([path for path in args.runs if not (is_campaign(path) or is_launches(path))], screen)
    return status


def _show_together(paths: list[Path], screen: Screen) -> None:
    """Shows results that need several runs."""
    from crosscut.reports.view import View
    from crosscut.reports.words import loggp

    if (found := loggp.together([View.open(path) for path in paths])) is not None:
        screen.console.print()
        screen.title("LogGP, from ping-pong and stream together")
        screen.line(loggp.sentence(found))


def _show_findings(path: Path, screen: Screen, args: argparse.Namespace) -> int:
    """Shows the findings in a run; returns the exit status."""
    from crosscut.analysis.findings import cable_names, of_run
    from crosscut.analysis.findings import model as findings
    from crosscut.reports.terminal import findings as terminal_findings
    from crosscut.reports.terminal import run as terminal
    from crosscut.reports.view import View
    from crosscut.reports.words import advice
    from crosscut.run.run import Run

    run = Run.open(path)
    found, structure = of_run.look(run, run.size_index(args.size) if args.size is not None else None)
    if (cabling := options.cabling_of(args, run.node_names)) is not None:
        found, structure = cable_names.named(found, structure, cabling)
    if args.json:
        print(json.dumps(findings.as_json(found, structure), allow_nan=False))
        return options.status_of(args, found)
    view = View.open(path)
    terminal.header(screen, view)
    terminal.warn(screen, view, [of_size.phases for of_size in view.digests()])
    if found:
        on = advice.place_of(run.attributes)
        terminal_findings.render(screen, *advice.placed(found, structure, on))
    else:
        screen.line("No findings: this pattern does not load many routes at once, as crosscut run aapc does.")
    return options.status_of(args, found)


def _show_launches(folder: Path, screen: Screen, *, as_json: bool) -> int:
    """Shows the figures of each launch and how much they differ; returns the exit status."""
    from crosscut.reports.json import launches as json_launches
    from crosscut.reports.terminal import launches as terminal_launches

    manifest = load(folder)
    if as_json:
        print(json.dumps(json_launches.document(manifest), allow_nan=False))
    else:
        terminal_launches.render(screen, manifest)
    return EXIT_OK


def _show_campaign(directory: Path, screen: Screen, *, as_json: bool) -> int:
    """Shows the summary of an evaluation, from its runs as they are now; returns the exit status."""
    from crosscut.campaigns import summary

    results = [*map(summary.checked, review(directory))]
    if as_json:
        print(json.dumps(summary.as_json(directory, results), allow_nan=False))
    else:
        summary.render(directory, results, [screen])
    return EXIT_FAILED if any(result.state == "damaged" for result in results) else EXIT_OK
