"""`crosscut network`: networks that are described, not built: what they would give, and cost."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from crosscut.base.errors import EXIT_OK, CrosscutError
from crosscut.cli.parsing.parser import flag, option
from crosscut.network import description

EPILOG = """
examples:
  crosscut network list                                   the networks that come with crosscut
  crosscut network show xibalba-e7-config1                one of them, or a file of your own
  crosscut network show my.toml --draw my.svg             also .png
  crosscut network show my.toml --json | jq .bisection
  crosscut network check my.toml                          every mistake, with file and line
  crosscut network routes my.toml n0000 n0063             the way of a flow, and what it shares
  crosscut network tables beowulf-routed-4x9              JSON: routing tables of hosts that forward
  crosscut run aapc --on sim:my.toml                      any pattern on it, simulated

The form of a description: docs/reference/network-format.md.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(title="what to do", metavar="ACTION", dest="action", required=True)
    one = commands.add_parser("list", help="names of the catalogue")
    flag(one, "--json", "one JSON object on standard output")
    one.set_defaults(act=_list)
    one = commands.add_parser("show", help="figures of a network, and a drawing")
    one.add_argument("file", metavar="NETWORK", help="a description (TOML), or a name of the catalogue")
    flag(one, "--json", "one JSON object on standard output")
    option(one, "--draw FILE", Path, "draw it into an .svg or .png file")
    one.set_defaults(act=_show)
    one = commands.add_parser("check", help="every mistake of a description")
    one.add_argument("file", metavar="NETWORK", help="a description (TOML), or a name of the catalogue")
    one.set_defaults(act=_check)
    one = commands.add_parser("routes", help="the way of a flow between two hosts")
    one.add_argument("file", metavar="NETWORK", help="a description (TOML), or a name of the catalogue")
    one.add_argument("source", metavar="SOURCE", help="a host")
    one.add_argument("destination", metavar="DESTINATION", help="a host")
    one.add_argument("--key", type=int, default=0, help="of the flow, where ways are equal (0)")
    flag(one, "--json", "one JSON object on standard output")
    one.set_defaults(act=_routes)
    one = commands.add_parser("tables", help="routing tables of hosts that forward, as JSON")
    one.add_argument("file", metavar="NETWORK", help="a description (TOML), or a name of the catalogue")
    one.set_defaults(act=_tables)


def execute(args: argparse.Namespace) -> int:
    status: int = args.act(args)
    return status


def _list(args: argparse.Namespace) -> int:
    folder = description.catalogue()
    if folder is None:
        raise CrosscutError(f"no catalogue was found; name its folder in {description.CATALOGUE_VARIABLE}")
    titles = {name: _title(folder / f"{name}.toml") for name in description.catalogue_names()}
    if args.json:
        print(json.dumps({"folder": str(folder), "networks": titles}))
        return EXIT_OK
    from crosscut.reports.terminal.screen import Rows, screen_for

    screen = screen_for()
    rows = Rows("<", "<")
    for name, title in titles.items():
        rows.add(name, title)
    screen.table(rows)
    screen.line()
    screen.line(f"One of them: crosscut network show NAME. They are files in {folder}", "dim")
    return EXIT_OK


def _title(path: Path) -> str:
    from crosscut.base import toml_fields

    try:
        return str(toml_fields.document(path, "a network").values.get("title", ""))
    except CrosscutError:
        return "cannot be read; see crosscut network check"


def _show(args: argparse.Namespace) -> int:
    if args.draw:
        from crosscut.reports.svg import network as network_drawing  # imports numpy

        network_drawing.write(description.load(args.file, graph=True), args.draw)
    words = ["show", args.file, *(["--json"] if args.json else [])]
    sys.stdout.write(description.ask(*words).stdout.decode("utf-8", "replace"))
    if args.draw and not args.json:
        print(f"drawn into {args.draw}")
    return EXIT_OK


def _check(args: argparse.Namespace) -> int:
    sys.stdout.write(description.ask("check", args.file).stdout.decode("utf-8", "replace"))
    return EXIT_OK


def _routes(args: argparse.Namespace) -> int:
    words = ["routes", args.file, args.source, args.destination, "--key", str(args.key)]
    answer = description.ask(*words, *(["--json"] if args.json else []))
    sys.stdout.write(answer.stdout.decode("utf-8", "replace"))
    return EXIT_OK


def _tables(args: argparse.Namespace) -> int:
    sys.stdout.write(description.ask("tables", args.file, "--json").stdout.decode("utf-8", "replace"))
    return EXIT_OK
