"""`crosscut show`: draws a run in the terminal."""

from __future__ import annotations

import argparse
import json

from crosscut import units
from crosscut.cli import options
from crosscut.cli.parser import quantity
from crosscut.errors import EXIT_OK

NAME = "show"
HELP = "draw a run in the terminal: rates, histograms, slowest routes"
EPILOG = """
examples:
  crosscut show aapc.zarr
  crosscut show aapc.zarr --size 100KB
  crosscut show *.zarr --json | jq '.sizes[].phases[].bytes_per_second.median'

Rates are per rank and direction, 1 MB = 10^6 bytes. [low – high] is the non-parametric 95 % interval
of the median. NO_COLOR leaves colours out; CROSSCUT_ASCII=1 draws with ASCII alone.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", nargs="+", type=options.folder, metavar="DIR", help="a run, or several")
    parser.add_argument(
        "--size",
        type=quantity(units.parse_bytes),
        metavar="SIZE",
        help="the size of which to show details (the largest)",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object a run, a line each")


def execute(args: argparse.Namespace) -> int:
    from crosscut.reports import headline, terminal  # numpy and xarray take a second to import
    from crosscut.reports.screen import screen_for
    from crosscut.reports.view import open_view

    screen = screen_for()
    for index, path in enumerate(args.runs):
        if args.json:
            print(json.dumps(headline.as_json(path), allow_nan=False))
            continue
        if index:
            screen.console.print()
            screen.console.rule(style="dim")
        terminal.render(screen, open_view(path), args.size)
    return EXIT_OK
