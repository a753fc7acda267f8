"""`crosscut locate`: finds a network's bottlenecks and structure without prior knowledge."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crosscut.base import core, units, whole_file
from crosscut.base.errors import (
    EXIT_CODES_OF_FAULTS,
    EXIT_FAILED,
    EXIT_INTERRUPTED,
    CrosscutError,
    UsageError,
)
from crosscut.cli.parsing import options
from crosscut.cli.parsing.measuring import measuring, recorded
from crosscut.cli.parsing.parser import Parser, flag, option, record, whole
from crosscut.session.measure import decide

if TYPE_CHECKING:
    from crosscut.analysis.findings.model import Finding
    from crosscut.analysis.structure.model import Structure
    from crosscut.run.realm import DescribedNetwork

EPILOG = f"""
examples:
  crosscut locate aapc.zarr                  from a run that was measured
  crosscut locate --on hosts:hosts.txt       measure what is needed, and no more
  crosscut locate --on sim:xibalba-e7-config2 -n 96 -o found.toml
  crosscut run aapc --on sim:found.toml      the network it found, simulated

How it works, and what it cannot tell: docs/how-it-locates.md.

{EXIT_CODES_OF_FAULTS}
"""
_SIZE_BYTES = 1_000_000
# Shorter messages take hardly longer than one byte on a fast network.
_SMALLEST_BYTES = 10_000
_REPETITIONS = 3
_SOURCE = "crosscut locate"
"""Begins the source that a network file names; such a file may be replaced."""


def _probability(text: str) -> float:
    try:
        value = units.parse_fraction(text)
    except UsageError:
        value = 0.0
    if not 0.5 <= value < 1:
        raise UsageError(f"{text!r} is not a probability from 0.5 to below 1, such as 0.99 or 99%")
    return value


def add_arguments(parser: Parser) -> None:
    known = core.load()
    parser.add_argument(
        "run",
        nargs="?",
        type=options.folder,
        metavar="DIR",
        help="Run of a pattern in which all ranks send, such as aapc.",
    )
    group = parser.add_argument_group("what to measure if no run is named")
    option(group, "--size SIZE", units.parse_bytes,
           "Size of the messages, at least 10KB. Default 1MB, or more where these take less than "
           "50 µs.")  # fmt: skip
    of_a_run = len(parser.actions)
    option(group, "--repetitions N", whole(1),
           f"Repetitions of each phase. Default {_REPETITIONS}; in a simulation 1.")  # fmt: skip
    option(group, "--most-phases N", whole(4),
           "Measure at most this many phases of full messages, and up to eight more that repeat suspected "
           "faults. Default: the number of ranks less one, but at least 48, and no more than two million "
           "messages in all.")  # fmt: skip
    option(group, "--least-phases N", whole(1),
           "Measure at least this many phases in which every rank sends, even if nothing looks slow. More "
           "phases find limits that few of them reach. Default: the binary logarithm of the number of "
           "ranks; in small clusters up to 16.")  # fmt: skip
    option(group, "--confidence P", _probability,
           "Measure until the group of every rank is this certain. Default 0.999.")  # fmt: skip
    option(group, "--time-limit TIME", units.parse_seconds,
           "Stop after this time and report what is known. Steps that would end later are not begun.",
           dest="most_seconds")  # fmt: skip
    option(group, "--seed N", whole(0), "Seed of all random choices. Default 1.", default=1)
    options.add_where(parser, options.backend_names(known))
    group = parser.add_argument_group("output")
    options.add_keep(group)
    # Those with a default cannot be told from those that were typed.
    only_measuring = [one for one in parser.actions[of_a_run:] if one.default in (None, argparse.SUPPRESS)]
    parser.set_defaults(only_measuring={one.dest: one.option_strings[0] for one in only_measuring})
    option(
        group,
        "-o --network FILE",
        Path,
        "Write the network that was found to this file, as a description (TOML).",
    )
    options.add_cabling(group)
    options.add_reading(group)
    options.add_fail_on_fault(
        group, "Exit with status 1 if a finding is a fault, or if the search did not finish."
    )
    flag(group, "--json", "Print one JSON object on standard output.")
    flag(group, "--quiet", "Show no progress.")


def execute(args: argparse.Namespace) -> int:
    given = {key: value for key, value in vars(args).items() if value is not None}
    typed = options.launch(given)
    if args.run is None and not typed.on and not typed.backend and typed.ranks is None:
        raise UsageError("name a run, or give --on PLACE (or -n RANKS) to measure")
    if args.run is None and given.get("size", _SIZE_BYTES) < _SMALLEST_BYTES:
        raise UsageError(
            f"--size {units.size(args.size)}: so short messages show latencies, not what cables carry; use "
            f"at least {units.size(_SMALLEST_BYTES)}"
        )
    if args.network is not None:
        whole_file.need_own("-o", args.network, f'source = "{_SOURCE}'.encode())
    if args.run is None and args.switch_counters:
        raise UsageError("--switch-counters: name the run during which the counters were read")
    cabling = options.cabling_of(args)  # before anything is measured
    if args.run is not None:
        if typed_too := [name for dest, name in args.only_measuring.items() if dest in given]:
            raise UsageError(f"{typed_too[0]}: only for measuring; leave out either it or the run {args.run}")
        outcome = _of_run(args)
    else:
        outcome = _measured(args, given)
    if cabling is not None:
        from crosscut.analysis.findings import cable_names

        if outcome.structure is not None and (why := cabling.stranger_to(outcome.structure.hosts)):
            print(f"crosscut: --cabling: {why}", file=sys.stderr)
        found, structure = cable_names.named(outcome.found, outcome.structure, cabling)
        outcome = replace(outcome, found=found, structure=structure)
    _tell(args, outcome, typed.on)
    if outcome.interrupted:
        return EXIT_INTERRUPTED
    unsure = args.fail_on_fault and not outcome.complete
    return EXIT_FAILED if unsure else options.status_of(args, outcome.found)


@dataclass(frozen=True)
class _Outcome:
    found: list[Finding]
    structure: Structure | None
    planted: Sequence[str]
    """Faults of the lab."""
    network: DescribedNetwork | None
    interrupted: bool = False
    complete: bool = True
    """False: the search did not finish, and may have missed faults."""


def _of_run(args: argparse.Namespace) -> _Outcome:
    from crosscut.analysis.findings import of_run
    from crosscut.reports.words import check_cautions
    from crosscut.run.realm import described_network
    from crosscut.run.run import Run

    run = Run.open(args.run)
    found, structure = of_run.look(run, run.size_index(args.size) if args.size is not None else None)
    if structure is None and not found:
        raise UsageError(
            f"{args.run}: its pattern does not load many routes at once; use a run of aapc or all-pairs"
        )
    return _Outcome(found, structure, check_cautions.planted([run]), described_network(run.attributes))


def _measured(args: argparse.Namespace, given: dict[str, Any]) -> _Outcome:
    known = core.load()
    decided = decide(known, options.launch(given))
    # Imported only now, so that errors in the options are reported at once.
    from crosscut.analysis.findings import of_run
    from crosscut.campaigns import locate as locating

    is_live = any(one.live for one in known.backends if one.name == decided.options.backend)
    repetitions = given.get("repetitions") or (_REPETITIONS if is_live else 1)
    how = record(
        locating.LocateOptions, given, size_bytes=given.get("size", _SIZE_BYTES),
        may_grow="size" not in given, repetitions=repetitions, metadata=recorded(args, decided),
    )  # fmt: skip
    size, short = "", 0

    def told(step: locating.Step) -> None:
        nonlocal size, short
        size = units.size(step.size_bytes)
        if not args.quiet:
            again = "; again, since this machine's CPU limited all of them" if step.again else ""
            following = f"{step.phases} of {'one byte' if step.short else size}, {step.purpose}{again}"
            done = f"{units.count(step.measured, 'phase')} of {size}"
            done += f" and {short} of one byte" if short else ""
            print(f"crosscut: {done} measured; next: {following}", file=sys.stderr)
        short += step.phases if step.short else 0

    with measuring(args, decided) as (folder, session):
        gathered, located = locating.locate(session, decided, folder, how, told)
        interrupted = session.interrupted
    if not args.quiet and not interrupted:
        full = units.count(gathered.measured - gathered.short, "phase")
        print(f"crosscut: done: {full} of {size}, {gathered.short} of one byte", file=sys.stderr)

    def outcome(found: list[Finding], structure: Structure | None = None) -> _Outcome:
        complete = located is not None and located.finished
        return _Outcome(found, structure, gathered.planted, gathered.network, interrupted, complete)

    if located is None:
        return outcome(of_run.machine_only(gathered.told_limited, gathered.facts, gathered.nodes))
    if only := of_run.on_one_host(gathered.nodes):
        return outcome(only)
    found = of_run.of_located(located, gathered.names, gathered.facts, gathered.nodes, exact=gathered.exact)
    found, structure = of_run.after_search(found, located.structure)
    return outcome(gathered.senders.of_ranks(found, gathered.adapters), structure)


def _need_structure(network: Path | None, structure: Structure | None) -> None:
    """Raises CrosscutError if a network is to be written and none was inferred; the findings say why."""
    if network is not None and structure is None:
        raise CrosscutError(
            f"-o {network}: not written, because no network can be inferred from these findings"
        )


def _tell(args: argparse.Namespace, outcome: _Outcome, on: str) -> None:
    """`on`: the place typed, if any."""
    from crosscut.analysis.findings import model as findings
    from crosscut.analysis.structure import network_file
    from crosscut.reports.terminal import findings as terminal_findings
    from crosscut.reports.terminal.screen import screen_for
    from crosscut.reports.words import advice
    from crosscut.run.run import Run

    found, structure = outcome.found, outcome.structure
    if args.network is not None and structure is not None:
        source = _SOURCE + (f" of {args.run.name}" if args.run else "")
        whole_file.write_output(args.network, network_file.text(structure, source).encode())
    if args.json:
        digest = outcome.network.digest if outcome.network else None
        more = {"network": digest, "faults": list(outcome.planted), "complete": outcome.complete}
        print(json.dumps(findings.as_json(found, structure) | more, allow_nan=False))
        _need_structure(args.network, structure)
        return
    screen = screen_for()
    if structure is not None:
        phases = units.count(structure.phases_used, "phase")
        searched = units.count(structure.ranks, structure.noun)
        if outcome.network and structure.noun == "host" and structure.ranks < outcome.network.hosts:
            searched = f"{structure.ranks:,} of the network's {outcome.network.hosts:,} hosts"
        screen.line(f"{searched}, {phases} of full messages", "bold")
    if outcome.planted:
        screen.line(f"planted: {'; '.join(outcome.planted)}", "dim")
    on = on or (advice.place_of(Run.open(args.run).attributes) if args.run is not None else "")
    terminal_findings.render(screen, *advice.placed(found, structure, on))
    _need_structure(args.network, structure)
    if args.network is not None:
        screen.command(f"written: {args.network}; try: crosscut network show {args.network}")
