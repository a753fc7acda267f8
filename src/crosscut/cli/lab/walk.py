"""`crosscut lab walk`: traces every route of a lab and compares it with the tables the lab was built from."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import Any

from crosscut.base import units
from crosscut.base.errors import EXIT_FAILED, EXIT_OK, CrosscutError, UsageError
from crosscut.cli.lab.naming import add_lab, found
from crosscut.cli.parsing.parser import add_action, flag, option
from crosscut.lab import describe, state
from crosscut.lab.walk import walk
from crosscut.lab.walk.walk import Walked, WalkedPath

# More routes are only counted; --json lists all.
_MOST_SHOWN = 20
_LIMIT_SECONDS = 60.0


def add_arguments(commands: Any) -> None:
    one = add_action(
        commands, "walk", _walk, "trace every route, and list those that differ from the computed ones",
        description="Traces the route from every node to every other, and compares it with the tables that "
        "the lab was built from. The exit status is 1 if a route differs, or leads nowhere.",
    )  # fmt: skip
    add_lab(one, " Default: the only one that is up.", nargs="?")
    option(one, "--from NODE", str, "Trace only routes from this node.", dest="source", default="")
    option(
        one,
        "--to NODE",
        str,
        "Trace only routes to this node, or to one of its adapters, such as n0003/eth1.",
        default="",
    )
    option(one, "--time-limit TIME", units.parse_seconds,
           "Routes not traced within this time count as failures. Default 60s.",
           default=_LIMIT_SECONDS)  # fmt: skip
    flag(one, "--json", "Print one JSON object on standard output, with every route.")


def _walk(args: argparse.Namespace) -> int:
    record = found(_only_one() if args.lab is None else args.lab)
    if (condition := describe.condition(record)).startswith("broken") or condition == "being built":
        raise CrosscutError(f"lab {record.name} is {condition}; crosscut lab status {record.name}")
    walked = walk.walk(record, args.source, args.to, args.time_limit)
    if args.json:
        print(json.dumps(as_json(record.name, walked)))
    else:
        show(record.name, walked, every=bool(args.source or args.to))
    return EXIT_FAILED if walked.unlike or walked.not_walked else EXIT_OK


def _only_one() -> str:
    names = state.names()
    if len(names) != 1:
        there = f"there are {', '.join(names)}" if names else "none is up; crosscut lab up NETWORK builds one"
        raise UsageError(f"name a lab: {there}")
    return names[0]


def as_json(lab: str, walked: Walked) -> dict[str, Any]:
    return {
        "lab": lab,
        "seconds": walked.seconds,
        "routes": len(walked.routes),
        "unlike": len(walked.unlike),
        "not_walked": walked.not_walked,
        "spoilt": walked.spoilt(),
        "by_gateways": {str(count): routes for count, routes in walked.by_gateways().items()},
        "ways": [
            {"from": one.source, "to": one.to, "computed": list(one.computed), "found": list(one.found),
             "end": one.end, "as_computed": one.is_as_computed}
            for one in walked.routes
        ],
    }  # fmt: skip


def show(lab: str, walked: Walked, *, every: bool) -> None:
    from crosscut.reports.terminal.screen import Rows, screen_for

    screen = screen_for()
    number = units.count(len(walked.routes), "route")
    screen.line(f"lab {lab}: {number} traced in {units.seconds(walked.seconds, 2)}", "bold")
    rows = Rows("gateways on the path", "routes", "")
    for gateways, routes in walked.by_gateways().items():
        rows.add(str(gateways), f"{routes:,}", units.percent(routes / len(walked.routes)))
    if rows.lines:
        screen.table(rows)
    if every:
        _print_some(screen, [one for one in walked.routes if one.is_as_computed], "")
    unlike, missing = walked.unlike, walked.not_walked
    # The conclusion comes before the routes, which may be many.
    if spoilt := walked.spoilt():
        screen.line(f"no route from, to or through {', '.join(spoilt)} is as computed", "bold yellow")
    if missing:
        screen.line(f"{units.count(missing, 'route')} not traced: time ran out (--time-limit)", "bold yellow")
    if unlike:
        screen.line(f"{units.count(len(unlike), 'route')} not as computed:", "bold yellow")
        _print_some(screen, unlike, "yellow")
    if not unlike and not missing:
        screen.line("every route is as computed")


def _print_some(screen: Any, routes: Sequence[WalkedPath], style: str) -> None:
    for one in routes[:_MOST_SHOWN]:
        screen.line(f"  {walk.sentence(one)}", style)
    if len(routes) > _MOST_SHOWN:
        screen.line(f"  and {len(routes) - _MOST_SHOWN:,} more; --from and --to select, --json lists all")
