"""`crosscut list`: the patterns, backends, places and engines to measure with."""

from __future__ import annotations

import argparse
import dataclasses
import json
from collections.abc import Mapping

from rich.text import Text

from crosscut.base import core
from crosscut.base.errors import EXIT_OK, UsageError
from crosscut.cli.parsing import options
from crosscut.cli.parsing.parser import flag, tell
from crosscut.places import all_places, smpi
from crosscut.reports.terminal.screen import Rows, Screen, screen_for

EPILOG = """
examples:
  crosscut list                              everything, one line each
  crosscut list aapc                         one pattern or backend with its parameters
  crosscut list --json                       the same for a script
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "name", nargs="?", metavar="NAME", help="Pattern or backend to show with its parameters."
    )
    flag(parser, "--json", "Print one JSON object on standard output.")


def execute(args: argparse.Namespace) -> int:
    known = core.load()
    if args.name is not None:
        _one(known, args.name, args.json)
    else:
        tell(args, lambda: _as_json(known), lambda screen: _overview(screen, known))
    return EXIT_OK


def _as_json(known: core.Core) -> dict[str, object]:
    return {
        "version": known.version,
        "executable": str(known.executable),
        "patterns": [dataclasses.asdict(pattern) for pattern in known.patterns],
        "backends": [dataclasses.asdict(backend) for backend in known.backends],
        "places": [
            {"name": place.name, "summary": place.help, "unavailable": place.available() or ""}
            for place in all_places()
        ],
        "engines": [dataclasses.asdict(engine) for engine in smpi.engines()],
    }


def _section(screen: Screen, title: str, entries: list[tuple[str, str, str]]) -> None:
    """Shows entries, each (name, text, reason if unavailable), under a title."""
    screen.title(title)
    table = Rows("<", "<")
    for name, text, why_not in entries:
        shown = Text(screen.glyphs.plain(text))
        if why_not:
            shown.append(screen.glyphs.plain(f"\nnot here: {why_not}"), style="yellow")
        table.add(Text(name, style="dim" if why_not else "bold cyan"), shown)
    screen.table(table)


def _overview(screen: Screen, known: core.Core) -> None:
    patterns = [(one.name, one.answers or one.summary, "") for one in known.patterns]
    _section(screen, "Patterns: crosscut run PATTERN", patterns)
    backends = [(one.name, one.summary, one.unavailable) for one in known.backends]
    _section(screen, "Backends: --backend NAME", backends)
    places = [
        (":".join(filter(None, (p.name, p.argument))), p.help, p.available() or "") for p in all_places()
    ]
    _section(screen, "Places: --on PLACE", places)
    engines = [(one.name, one.summary, one.unavailable) for one in smpi.engines()]
    _section(screen, "Engines of --on sim:NETWORK: --engine NAME", engines)
    screen.line()
    screen.line("To see the parameters of one: crosscut list NAME", "dim")


def _one(known: core.Core, name: str, as_json: bool) -> None:
    entry = known.pattern(name) or known.backend(name)
    if entry is None:
        names = ", ".join([*(one.name for one in known.patterns), *(one.name for one in known.backends)])
        raise UsageError(f"there is no pattern or backend '{name}'; known: {names}")
    if as_json:
        print(json.dumps(dataclasses.asdict(entry)))
        return
    screen = screen_for()
    screen.line(entry.name, "bold")
    screen.line(entry.summary)
    if isinstance(entry, core.Pattern):
        for title, text in (("answers", entry.answers), ("rate", entry.formula), ("source", entry.source)):
            screen.field(title, text)
    elif entry.unavailable:
        screen.line(f"not here: {entry.unavailable}", "yellow")
    kind = "pattern" if isinstance(entry, core.Pattern) else "backend"
    if entry.parameters:
        _parameters(screen, {_flag(known, entry, one): one for one in entry.parameters})
    else:
        screen.line()
        screen.line(f"The {kind} {entry.name} has no parameters of its own.")
    if kind == "pattern":
        screen.line()
        screen.line("Options of every run: crosscut run --help", "dim")


def _flag(known: core.Core, entry: core.Pattern | core.Backend, parameter: core.Parameter) -> str:
    if isinstance(entry, core.Backend):
        return options.backend_flag(parameter, known.backends)
    return options.pattern_flag(entry, parameter, options.of_every_run())


def _parameters(screen: Screen, parameters: Mapping[str, core.Parameter]) -> None:
    """`parameters`: by option."""
    screen.title("Parameters")
    table = Rows("<option", "<kind", "<default", "<meaning")
    for option, one in parameters.items():
        kind = "|".join(one.choices) if one.choices else one.kind
        unit = f" [{one.unit}]" if one.unit else ""
        table.add(option, kind, one.default, one.help + unit)
    screen.table(table)
