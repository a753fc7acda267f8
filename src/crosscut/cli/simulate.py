"""`crosscut simulate`: a real MPI program on a network that is described, not built."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import tempfile
from pathlib import Path

from crosscut.base import units
from crosscut.base.errors import EXIT_OK, CrosscutError
from crosscut.cli.parsing.parser import flag, option, record, whole
from crosscut.places import smpi

EPILOG = """
examples:
  crosscut simulate fat-tree.toml -- ./ring              compiled with smpicc
  crosscut simulate xibalba-e7-config1 -n 16 -- ring.c   a source file is compiled first
  crosscut simulate my.toml --compute none -- ./ring     only messages take time
  crosscut simulate my.toml --compute 0.5 -- ./solver    processors twice as fast as this one
  crosscut simulate my.toml --option smpi/bcast:mpich -- ./solver

Rates and latencies are those of the network description: none of SimGrid's factors is applied.
More in docs/howto-smpi.md.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "network", metavar="NETWORK", help="Description (TOML), or a name from `crosscut network list`."
    )
    option(parser, "-n --ranks RANKS", whole(1), "Number of ranks. Default: as many as the network has.")
    option(parser, "--ranks-per-host N", whole(1),
           "Ranks on each host. Default: as the network says.", default=0)  # fmt: skip
    option(parser, "--compute HOW", str,
           "How long computing takes: host (the default), as long as here; none, no time; or a "
           "number, that many times as long.", default="host")  # fmt: skip
    option(parser, "--option NAME:VALUE", smpi.checked_option,
           "Option of SimGrid (--cfg), which overrides what crosscut sets. May be repeated.",
           dest="options", action="append", default=[])  # fmt: skip
    flag(parser, "--json", "Print one JSON object on standard output; the program prints on standard error.")
    parser.add_argument(
        "program", metavar="PROGRAM", help="Program compiled with smpicc, or a source file (.c, .cpp, .f90)."
    )
    parser.add_argument("arguments", nargs="*", metavar="ARGUMENT", help="Arguments of the program.")


def execute(args: argparse.Namespace) -> int:
    if (reason := smpi.unavailable()) is not None:
        raise CrosscutError(reason)
    smpi.compute_options(args.compute)
    settings = record(smpi.SimulationSettings, vars(args), options=tuple(args.options))
    with tempfile.TemporaryDirectory(prefix="crosscut-simulate-") as name:
        folder = Path(name)
        smpi.rank_count(settings)  # reports errors in the network before anything is compiled
        program = smpi.prepared(smpi.SimulatedProgram(Path(args.program), tuple(args.arguments)), folder)
        sys.stdout.flush()
        done = smpi.simulate(program, settings, folder, sys.stderr.buffer if args.json else None)
    return _report(args, settings, done)


def _report(args: argparse.Namespace, settings: smpi.SimulationSettings, done: smpi.Simulated) -> int:
    words = shlex.join([args.program, *args.arguments])
    if args.json:
        print(json.dumps(_as_json(args, settings, done)))
    if done.stuck:
        few = "; ".join(done.stuck[:8]) + ("; …" if len(done.stuck) > 8 else "")
        raise CrosscutError(f"{words}: deadlock: every remaining rank waits forever: {few}")
    if done.seconds is None:
        raise CrosscutError(
            f"{words}: the simulation ended early (status {done.status}); SimGrid's own message is above"
        )
    if not args.json:
        took = f"took {units.seconds(done.wall_seconds, 2)}"
        print(f"simulated {units.seconds(done.seconds, 6)}: {done.ranks} ranks on {args.network}; {took}")
    if done.status != 0:
        raise CrosscutError(f"{words} ended with status {done.status}")
    return EXIT_OK


def _as_json(
    args: argparse.Namespace, settings: smpi.SimulationSettings, done: smpi.Simulated
) -> dict[str, object]:
    return {
        "network": settings.network,
        "ranks": done.ranks,
        "program": [args.program, *args.arguments],
        "compute": settings.compute,
        "simulated_seconds": done.seconds,
        "wall_seconds": done.wall_seconds,
        "status": done.status,
        "stuck": list(done.stuck),
        "simgrid": smpi.version(),
        "options": list(done.options),
    }
