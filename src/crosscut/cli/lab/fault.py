"""`crosscut lab fault`: plants, lists and lifts faults as they occur in real machine rooms."""

from __future__ import annotations

import argparse
import json
from typing import Any

from crosscut.base import units
from crosscut.base.errors import EXIT_OK
from crosscut.cli.lab.naming import add_lab, found
from crosscut.cli.parsing.parser import actions, add_action, flag, quantity, typed_option, whole
from crosscut.lab.faults import catalogue, plant
from crosscut.lab.faults.fault import DIRECTIONS, Fault

# Members of a fault, and their options.
_OPTIONS = {
    "share": "--to", "direction": "--direction", "seconds": "--for", "every": "--every", "bytes": "--bytes",
    "adapter": "--adapter",
}  # fmt: skip

_PLANT = """kinds:
{kinds}

examples:
  crosscut lab fault plant test slow n0003 --to 10% --direction in
  crosscut lab fault plant test loss n0005 --for 20ms --every 1s
  crosscut lab fault plant test swap n0001 n0002
  crosscut lab fault lift test all                  undo
"""


def add_arguments(commands: Any) -> None:
    fault = commands.add_parser("fault", help="plant, lift or list faults")
    choices = actions(fault, "fault_action")
    _add_plant(choices)
    one = add_action(choices, "lift", _lift, "lift one fault, those of a node, or all")
    add_lab(one)
    one.add_argument("which", metavar="FAULT", help="Number of the fault (f1), a node, or 'all'.")
    one = add_action(choices, "list", _list, "list the planted faults")
    add_lab(one)
    flag(one, "--json", "Print one JSON object on standard output.")


def _add_plant(commands: Any) -> None:
    kinds = "\n".join(f"  {kind.name:<12} {kind.help}" for kind in catalogue.KINDS)
    two = " and ".join(kind.name for kind in catalogue.KINDS if kind.nodes == 2)
    one = add_action(
        commands,
        "plant",
        _plant,
        f"plant a fault: {', '.join(catalogue.NAMES)}",
        epilog=_PLANT.format(kinds=kinds),
    )
    add_lab(one)
    one.add_argument("kind", metavar="KIND", choices=catalogue.NAMES, help="Kind of fault; see below.")
    one.add_argument("nodes", metavar="NODE", nargs="+", help=f"Node that gets the fault; {two} take two.")

    def add(member: str, words: str, **options: Any) -> None:
        help_ = f"{', '.join(catalogue.names_with(member))}: {words}"
        one.add_argument(_OPTIONS[member], dest=member, default=argparse.SUPPRESS, help=help_, **options)

    share, seconds = quantity(units.parse_fraction), quantity(units.parse_seconds)
    add("share", "share of the rate that is left. Default 10%%.", type=share, metavar="SHARE")
    add("direction", "'in' is traffic to the node, 'out' from it. Default both.", choices=DIRECTIONS)
    add("seconds", "how long the fault lasts each time. Default 20ms.", type=seconds, metavar="TIME")
    add("every", "time from one occurrence to the next. Default 1s.", type=seconds, metavar="TIME")
    add("bytes", "MTU of the adapter. Default 576.", type=whole(1), metavar="N")
    typed_option(one, "--adapter N", whole(0), "Number of the node's adapter. Default 0; for dead: all.")


def _plant(args: argparse.Namespace) -> int:
    given = {name: getattr(args, name) for name in _OPTIONS if hasattr(args, name)}
    catalogue.check_options(args.kind, {name: _OPTIONS[name] for name in given})
    entry = plant.plant(found(args.lab).name, Fault(args.kind, tuple(args.nodes), **given))
    print(f"{entry['id']}: {entry['says']}")
    return EXIT_OK


def _lift(args: argparse.Namespace) -> int:
    lifted = plant.lift(found(args.lab).name, args.which)
    if not lifted:
        print("no faults are planted")
    for entry in lifted:
        print(f"lifted {entry['id']}: {entry['says']}")
    return EXIT_OK


def _list(args: argparse.Namespace) -> int:
    record = found(args.lab)
    if args.json:
        print(json.dumps({"lab": record.name, "faults": [dict(entry) for entry in record.faults]}))
    elif not record.faults:
        print("no faults are planted")
    for entry in () if args.json else record.faults:
        print(f"{entry['id']}: {entry['says']}")
    return EXIT_OK
