"""`crosscut lab`: a cluster on one machine, of namespaces, bridges and shaped links."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from crosscut.base import spelling, units
from crosscut.base.errors import EXIT_FAILED, EXIT_OK, CrosscutError, UsageError
from crosscut.cli.lab import fault as lab_fault
from crosscut.cli.lab import walk
from crosscut.cli.lab.naming import add_lab, found
from crosscut.cli.parsing.parser import actions, add_action, flag, option, run_action
from crosscut.lab import describe, enter, lifecycle, state
from crosscut.lab.plan.management import LOGIN
from crosscut.lab.slurm import daemons
from crosscut.network import switch_choice, switch_words
from crosscut.places.lab import divisor, mpi_environment

EPILOG = """
examples:
  crosscut lab up xibalba-maintenance --dilate 10     128 nodes and 9 switches, all rates a tenth
  crosscut lab up my.toml --name test
  crosscut lab up my.toml --switch user,buffer=64KiB  with delays and queues that overflow
  crosscut lab status
  crosscut lab exec test n0003 -- iperf3 -s           any program, as on a host
  crosscut lab shell test n0003
  crosscut lab walk test                              trace every route
  crosscut lab fault plant test slow n0003 --to 10%
  crosscut run aapc --on lab:test                     measure it
  crosscut run aapc --on lab:my.toml                  build, measure, remove
  crosscut lab up my.toml --name c --slurm            with Slurm on its nodes
  crosscut lab exec c login -- crosscut run aapc --on slurm -n 4
  crosscut lab down test

More in docs/howto-lab.md.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    commands = actions(parser)
    _add_up(commands)
    one = add_action(
        commands, "status", _status, "list the labs, or show everything about one",
        epilog="exit status: 0 all is well; 1 a lab is broken, or was left behind by a killed run; 2 there "
        "is no such lab",
    )  # fmt: skip
    add_lab(one, nargs="?")
    flag(one, "--json", "Print one JSON object on standard output.")
    one = add_action(commands, "exec", _exec, "run a program on a node",
                     epilog="exit status: that of the program; 127 there is no such program")  # fmt: skip
    _add_node(one)
    one.add_argument(
        "program", nargs=argparse.REMAINDER, metavar="-- COMMAND …", help="Program and its arguments."
    )
    _add_node(add_action(commands, "shell", _shell, "open a shell on a node"))
    walk.add_arguments(commands)
    lab_fault.add_arguments(commands)
    one = add_action(commands, "down", _down, "remove a lab, or what a crash left of it")
    add_lab(one, nargs="?")
    flag(one, "--all", "Remove every lab of this user, except those that a run is using.")
    flag(one, "--force", "Remove the lab even if a run is using it; that run fails.")


def _add_up(commands: Any) -> None:
    one = add_action(commands, "up", _up, "build a lab")
    one.add_argument(
        "network", metavar="NETWORK", help="Description (TOML), or a name from `crosscut network list`."
    )
    option(one, "--name NAME", state.checked_name, "Name of the lab. Default: the network's name.")
    option(one, "--dilate N", divisor,
           "Divide all rates by N, to emulate in slow motion a network that is too fast for this machine.",
           default=1.0)  # fmt: skip
    option(one, f"--switch {switch_choice.METAVAR}", switch_choice.checked,
           "kernel (the default): bridges and token buckets; with queues=fair, senders take turns at every "
           "link (docs/howto-lab.md). user: crosscut-switch, with delays and finite queues; it has the "
           f"settings {', '.join(switch_choice.OPTIONS)} (docs/reference/user-switch.md).",
           default=switch_choice.KERNEL)  # fmt: skip
    flag(
        one,
        "--slurm",
        "Also run a Slurm cluster on the nodes (docs/howto-lab.md). Needs root, and Slurm's and "
        "munge's programs.",
    )
    flag(one, "--exact", "Refuse a network that cannot be emulated here in full. Default: warn.")
    flag(one, "--json", "Print one JSON object on standard output.")


def _add_node(parser: argparse.ArgumentParser) -> None:
    add_lab(parser)
    parser.add_argument(
        "node",
        metavar="NODE",
        help=f"Host of the network, '{enter.FABRIC}' for its switches, or '{LOGIN}' for Slurm's login host.",
    )


execute = run_action


def _up(args: argparse.Namespace) -> int:
    choices = lifecycle.Choices(
        name=args.name, dilation=args.dilate, exact=args.exact, switch=args.switch, slurm=args.slurm
    )
    record = lifecycle.up(args.network, choices)
    about = describe.status(record)
    if args.json:
        print(json.dumps(about))
        return EXIT_OK
    took = units.seconds(record.seconds_to_build, 2)
    nodes = units.count(len(about["nodes"]), "node")
    print(f"lab {record.name} is up: {nodes}, {_carried(record, about)}, built in {took}")
    _print_unlike(record)
    print(f"measure it:  crosscut run aapc --on lab:{record.name}")
    if record.slurm:
        print(f"use Slurm:   crosscut lab exec {record.name} {LOGIN} -- sinfo")
    print(f"remove it:   crosscut lab down {record.name}")
    return EXIT_OK


def _carried(record: state.Record, about: Mapping[str, Any]) -> str:
    """Returns what forwards the frames: bridges or the switch. `record.unlike` states the dilation."""
    words = switch_words.clause(record.switch)
    if record.switch_process is not None:
        return words
    return units.count(len(about["bridges"]), "bridge") + (f", {words}" if words else "")


def _print_unlike(record: state.Record) -> None:
    for sentence in record.unlike:
        print(f"  differs from its file: {sentence}")


def _status(args: argparse.Namespace) -> int:
    if args.lab:
        record = found(args.lab)
        about = describe.status(record)
        if args.json:
            print(json.dumps(about))
        else:
            _print_one(record, about)
        return _judged([about])
    labs = [_short(name) for name in state.names()]
    if args.json:
        print(json.dumps({"folder": str(state.root()), "labs": labs}))
    elif not labs:
        print("no lab is up")
    else:
        from crosscut.reports.terminal.screen import Rows, screen_for

        rows = Rows("<lab", "<condition", "<network", "<--switch", "rates", "faults")
        for lab in labs:
            rates = {0.0: "", 1.0: "full"}.get(lab["dilation"], f"1/{lab['dilation']:g}")
            rows.add(lab["name"], lab["condition"], lab["network"], lab["switch"], rates, str(lab["faults"]))
        screen_for().table(rows)
    return _judged(labs)


def _judged(labs: Sequence[Mapping[str, Any]]) -> int:
    """Prints a remedy for each lab in a bad condition; returns the exit status."""
    status = EXIT_OK
    for lab in labs:
        name, condition = str(lab["name"]), str(lab["condition"])
        if remedy := describe.remedy(name, condition):
            print(f"crosscut: lab {name} is {condition}; {remedy}", file=sys.stderr)
            status = EXIT_FAILED
    return status


def _short(name: str) -> dict[str, Any]:
    """Returns a summary of a lab whose record may be unreadable."""
    try:
        record = state.read(name)
    except CrosscutError:
        record = state.Record(name, network="", switch="", dilation=0.0)
        condition = describe.condition_of_name(name)
    else:
        condition = describe.condition(record)
    return {
        "name": name, "condition": condition, "network": record.network, "switch": record.switch,
        "dilation": record.dilation, "faults": len(record.faults),
    }  # fmt: skip


def _print_one(record: state.Record, about: dict[str, Any]) -> None:
    print(f"lab {record.name}: {about['condition']}")
    print(
        f"  network     {record.network}"
        + (f", rates divided by {record.dilation:g}" if record.dilation != 1 else "")
    )
    print(f"  folder      {about['folder']}" + (" (rootless)" if about["rootless"] else ""))
    print(f"  inside      {units.count(len(about['processes']), 'process', 'processes')}")
    if "nodes" in about:
        nodes = about["nodes"]
        print(f"  nodes       {len(nodes)}: {nodes[0]['name']} {nodes[0]['addresses'][0]} to "
              f"{nodes[-1]['name']} {nodes[-1]['addresses'][0]}")  # fmt: skip
        if further := further_adapters(nodes):
            print(f"              further adapters: {further}")
        if record.switch_process is None:
            bridges = about["bridges"]
            print(f"  bridges     {', '.join(bridges[:8])}{', …' if len(bridges) > 8 else ''}")
            if served := switch_words.clause(record.switch):
                print(f"              {served}")
        else:
            _print_switch(record, about["switch_statistics"])
    if record.slurm:
        _print_slurm(record, about["slurm"])
    for fault in record.faults:
        print(f"  fault {fault['id']:<5} {fault['says']}")
    _print_unlike(record)


def _print_slurm(record: state.Record, slurm: Mapping[str, Any]) -> None:
    print(f"  Slurm       crosscut lab exec {record.name} {slurm['login']} -- sinfo")
    for name in slurm["ended"]:
        print(f"              {name} has ended; its last words are in {Path(slurm['configuration']).parent}")


def further_adapters(nodes: Sequence[Mapping[str, Any]]) -> str:
    """Returns the adapters after eth0 that have an address, such as `eth1 (10.1.0.x)`."""
    most = max(len(node["addresses"]) for node in nodes)
    third = "0" if len(nodes) < 255 else "x"  # addresses.ip: the 255th host is 10.0.0.255, the next 10.0.1.0
    names = [f"eth{adapter} (10.{adapter}.{third}.x)" for adapter in range(1, most)]
    return " to ".join(dict.fromkeys([*names[:1], *names[-1:]]))


def _print_switch(record: state.Record, said: dict[str, Any]) -> None:
    print(f"  switch      {switch_words.noun(record.switch)}")
    if "error" in said:
        print(f"              {said['error']}")
        return
    print(f"              {said['frames_delivered']:,} frames delivered, {said['frames_dropped']:,} "
          f"dropped by full queues in the network, {said['frames_lost_in_hosts']:,} in hosts")  # fmt: skip
    late = [units.seconds(said[f"lateness_{which}_seconds"], 2) for which in ("median", "p99", "max")]
    print(f"              late by {late[0]} (median), {late[1]} (99 %), {late[2]} at most; "
          f"{units.percent(said['cpu_share'])} of a core")  # fmt: skip


def _on_node(args: argparse.Namespace, words: list[str]) -> int:
    record = found(args.lab)
    hosts = lifecycle.plan_of(record).hosts
    others = (enter.FABRIC, LOGIN) if record.slurm else (enter.FABRIC,)
    if args.node not in (*hosts, *others):
        raise UsageError(
            f"{args.node}: lab {record.name} has no such node; there are {hosts[0]} to {hosts[-1]}, and "
            f"{' and '.join(others)}{spelling.hint(args.node, (*hosts, *others))}"
        )
    if (condition := describe.condition(record)).startswith("broken"):
        raise CrosscutError(f"lab {record.name} is {condition}; {describe.remedy(record.name, condition)}")
    _refuse_missing(args.node, words[0])
    folder = state.folder(record.name)
    environment = mpi_environment(folder / "enter")
    become(
        enter.command(record, folder, args.node, words),
        daemons.environment(folder, environment) if record.slurm else environment,
    )


def become(command: list[str], environment: Mapping[str, str]) -> NoReturn:
    """Replaces this process by `command`, which inherits the terminal."""
    sys.stdout.flush()
    os.execvpe(command[0], command, environment)  # noqa: S606


class NoProgram(CrosscutError):
    """A program that is missing or not executable; exit status 127, as in shells."""

    exit_code = 127


def _refuse_missing(node: str, program: str) -> None:
    """Raises NoProgram if this machine lacks the program. Nodes see this machine's files, but each has its
    own /dev/shm."""
    if shutil.which(program) is not None or program.startswith("/dev/shm/"):  # noqa: S108
        return
    if "/" in program and Path(program).exists():
        raise NoProgram(f"{node}: {program} cannot be run: it is a folder, or not executable (chmod +x)")
    raise NoProgram(f"{node}: no program {program}" + ("" if "/" in program else " on PATH"))


def _exec(args: argparse.Namespace) -> int:
    words = args.program[1:] if args.program[:1] == ["--"] else args.program
    if not words:
        raise UsageError(f"name a program: crosscut lab exec {args.lab} {args.node} -- COMMAND")
    return _on_node(args, words)


def _shell(args: argparse.Namespace) -> int:
    return _on_node(args, [os.environ.get("SHELL") or "/bin/sh"])


def _down(args: argparse.Namespace) -> int:
    if args.all and args.lab is not None:
        raise UsageError(f"both {args.lab} and --all were given; --all alone removes every lab")
    if not args.all and not args.lab:
        raise UsageError("name a lab, or give --all; crosscut lab status lists the labs")
    names = state.names() if args.all else [lifecycle.name_of(args.lab) or args.lab]
    for name in names:
        if not args.force and (why := lifecycle.why_busy(name)):
            text = f"lab {name} was left up: {why}; to remove it anyway: crosscut lab down {name} --force"
            if not args.all:
                raise CrosscutError(text)
            print(f"crosscut: {text}", file=sys.stderr)
            continue
        for sentence in lifecycle.down(name):
            print(f"crosscut: {sentence}", file=sys.stderr)
        print(f"lab {name} is down")
    return EXIT_OK
