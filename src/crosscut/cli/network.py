"""`crosscut network`: what described networks would deliver and cost, without building them."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from crosscut.base.errors import EXIT_OK, CrosscutError
from crosscut.base.whole_file import need_place
from crosscut.cli.parsing.parser import actions, add_action, flag, option, run_action
from crosscut.network import description

EPILOG = """
examples:
  crosscut network list                                   the networks that come with crosscut
  crosscut network show xibalba-e7-config1                one of them, or a file of your own
  crosscut network show my.toml --draw my.svg             also .png
  crosscut network show my.toml --json | jq .bisection
  crosscut network check my.toml                          every mistake, with file and line
  crosscut network routes my.toml n0000 n0063             the path of a flow, and what it shares
  crosscut network tables beowulf-routed-4x9              JSON: routing tables of hosts that forward
  crosscut run aapc --on sim:my.toml                      any pattern on it, simulated

How to describe a network: docs/reference/network-format.md.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    commands = actions(parser)
    one = add_action(commands, "list", _list, "list the networks that come with crosscut")
    flag(one, "--json", "Print one JSON object on standard output.")
    one = _add(commands, "show", _show, "show the figures of a network, and draw it")
    flag(one, "--json", "Print one JSON object on standard output.")
    option(one, "--draw FILE", Path, "Draw the network into this .svg or .png file.")
    _add(
        commands, "check", lambda args: _tell(args, "check", args.file), "list every mistake in a description"
    )
    one = _add(commands, "routes", _routes, "show the path of a flow between two hosts")
    one.add_argument("source", metavar="SOURCE", help="Host that sends.")
    one.add_argument("destination", metavar="DESTINATION", help="Host that receives.")
    one.add_argument(
        "--key",
        type=int,
        default=0,
        metavar="N",
        help="Number that chooses one of several equal paths. Default 0.",
    )
    flag(one, "--json", "Print one JSON object on standard output.")
    tables = "print the routing tables of hosts that forward, as JSON"
    _add(commands, "tables", lambda args: _tell(args, "tables", args.file, "--json"), tables)


def _add(
    commands: Any, name: str, act: Callable[[argparse.Namespace], int], words: str
) -> argparse.ArgumentParser:
    """Adds an action on one network; returns its parser."""
    one = add_action(commands, name, act, words)
    one.add_argument(
        "file", metavar="NETWORK", help="Description (TOML), or a name from `crosscut network list`."
    )
    return one


execute = run_action


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
    screen.line(f"To see one: crosscut network show NAME. The files are in {folder}", "dim")
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

        need_place("--draw", args.draw)
        network_drawing.write(description.load(args.file, graph=True), args.draw)
    _tell(args, "show", args.file)
    if args.draw and not args.json:
        print(f"drawn into {args.draw}")
    return EXIT_OK


def _tell(args: argparse.Namespace, *words: str) -> int:
    """Prints the core's answer, as JSON if `--json` was given."""
    answer = description.ask(*words, *(["--json"] if getattr(args, "json", False) else []))
    sys.stdout.write(answer.stdout.decode("utf-8", "replace"))
    return EXIT_OK


def _routes(args: argparse.Namespace) -> int:
    return _tell(args, "routes", args.file, args.source, args.destination, "--key", str(args.key))
