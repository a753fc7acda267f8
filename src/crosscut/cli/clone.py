"""`crosscut clone`: copies one file or device to many nodes, down a chain."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from pathlib import Path

from crosscut.base import units
from crosscut.base.errors import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK, Interrupted, SessionError, UsageError
from crosscut.cli.parsing import options
from crosscut.cli.parsing.measuring import checked_words
from crosscut.cli.parsing.parser import flag, option, record
from crosscut.cli.parsing.programs import add_launcher
from crosscut.clone import places
from crosscut.clone.clone import COMPLETE, STOPPED, VERIFIED, CloneOutcome, Copy, Order, clone
from crosscut.clone.progress import reporter
from crosscut.places import all_places
from crosscut.places.base import RANKS_PER_HOST
from crosscut.reports.terminal.screen import Rows, screen_for
from crosscut.run.realm import Realm
from crosscut.session.measure import Launch, ready_session, refuse_bytes

EPILOG = """
examples:
  crosscut clone image.raw /scratch/image.raw --on hosts:hosts.txt
  crosscut clone image.raw /dev/sdb --on hosts:hosts.txt                    lists the devices, and a code
  crosscut clone image.raw /dev/sdb --on hosts:hosts.txt --confirm CODE     overwrites just these devices
  crosscut clone data.tar /scratch/data.tar --on hosts:hosts.txt --interface eth0,eth1
  crosscut clone image.raw '/tmp/copy-{rank}.raw' --on local:4              one reads, three write

The source is read here (in an allocation or a lab: on its first node). More in docs/howto-clone.md.

exit status: 0 every copy is verified; 1 one is not; 2 wrong usage, or a target in the way; 130 interrupted
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", metavar="SOURCE", help="File or block device.")
    parser.add_argument(
        "target",
        metavar="TARGET",
        help="Path on every other node; {rank} and {host} in it are filled in there.",
    )
    option(parser, "--on PLACE", str, f"Where the nodes are: {', '.join(places.names())}.", required=True)
    flag(parser, "--yes", "Replace files that exist.", dest="overwrite")
    option(parser, "--confirm CODE", str,
           "Overwrite the block devices that were listed with this code when the command was refused.",
           dest="confirmed", default="")  # fmt: skip
    flag(parser, "--resume",
         "Keep the correct parts of unfinished copies (on a device: of its present content), found "
         "by reading them.")  # fmt: skip
    option(parser, "--chunk SIZE", units.parse_bytes,
           "Unit in which data is checked, passed on and stored. Default 1 MiB; more for images over "
           "256 GiB.", dest="chunk_bytes")  # fmt: skip
    flag(parser, "--json", "Print one JSON object on standard output.")
    flag(parser, "--quiet", "Print errors only.")
    _add_launch(parser.add_argument_group("how the nodes are reached"))


def _add_launch(group: argparse._ArgumentGroup) -> None:
    option(group, "--interface NAME[,…]", str,
           "Address or interface that nodes listen on; several are used at once, striped.",
           default="")  # fmt: skip
    option(group, "--timeout TIME", units.parse_seconds,
           "Skip a node that is silent for about this long. Default 30s.",
           dest="timeout_seconds", default=30.0)  # fmt: skip
    one_each = [place for place in all_places() if place.one_each_as]
    options.add_place_options(group, one_each, without=[RANKS_PER_HOST])
    add_launcher(group, "Path of the ssh or srun that starts the nodes. Default: the one on PATH.", "-i key")
    option(group, "--core-path PATH", str,
           "Path of crosscut-core on the other nodes. Default: the same as here.", default="")  # fmt: skip


def execute(args: argparse.Namespace) -> int:
    given = vars(args)
    checked_words(args.words)
    launch = record(Launch, given, pin=False, own=options.own(given))  # a rank has several threads
    source, target = str(Path(args.source).absolute()), _target(args.target, args.on)
    refuse_bytes("SOURCE", source)
    refuse_bytes("TARGET", target)
    order = record(Order, given, source=source, target=target)
    try:
        with (
            places.decided(launch) as decided,
            reporter(args.quiet) as listener,
            ready_session(decided, listener) as session,
        ):
            outcome = clone(session, order)
    except (SessionError, Interrupted) as error:
        error.args = (f"{error}\n{_GO_ON}",)
        raise
    if args.json:
        print(json.dumps(_as_json(outcome), allow_nan=False))
    elif not args.quiet:
        _print(args.source, outcome)
    _complain(outcome)
    if outcome.state == STOPPED:
        return EXIT_INTERRUPTED
    return EXIT_OK if outcome.state == COMPLETE else EXIT_FAILED


def _target(typed: str, on: str) -> str:
    """Returns the absolute target path. A relative one is allowed only if the ranks run on this machine."""
    if typed.startswith("/"):
        return typed
    if places.find(on)[0].realm not in (Realm.HERE, Realm.EMULATED):
        raise UsageError(f"TARGET {typed}: on other machines it must be absolute, beginning with /")
    return f"{Path.cwd()}/{typed}"


_GO_ON = "to continue, repeat the command with --resume: it keeps what is already correct"


def _as_json(outcome: CloneOutcome) -> dict[str, object]:
    found = dataclasses.asdict(outcome)
    for copy, fields in zip(outcome.copies, found["copies"], strict=True):
        fields["bytes_per_second"] = copy.bytes_per_second
    return found


def _print(source: str, outcome: CloneOutcome) -> None:
    screen = screen_for()
    verified = len(outcome.verified)
    screen.title(
        f"{source}: {units.size(outcome.bytes)} to {units.count(len(outcome.copies), 'node')} in "
        f"{units.seconds(outcome.seconds)}, {verified} verified"
    )
    has_kept = any(copy.kept_bytes for copy in outcome.copies)
    headings = ["<node", "?<target", "<copy", "received", *(["kept"] if has_kept else []), "time", "rate"]
    table = Rows(*headings)
    for copy in outcome.copies:
        cells = [copy.node, copy.target, _verdict(copy, outcome.bytes), units.size(copy.received_bytes)]
        if has_kept:
            cells.append(units.size(copy.kept_bytes))
        cells.append(units.seconds(copy.seconds) if copy.seconds else "")
        cells.append(units.rate(copy.bytes_per_second) if copy.bytes_per_second else "")
        table.add(*cells, style="" if copy.state == VERIFIED else "red")
    screen.table(table)
    if outcome.sha256:
        screen.line()
        screen.field("SHA-256", outcome.sha256)


def _verdict(copy: Copy, whole: int) -> str:
    """Returns the copy's state, with the share already held if it ended early."""
    if copy.state in (VERIFIED, "differs") or whole == 0:
        return copy.state
    return f"{copy.state} at {units.percent(copy.held_bytes / whole)}"


def _complain(outcome: CloneOutcome) -> None:
    for copy in outcome.copies:
        if copy.reason:
            print(f"crosscut: {copy.node}, {copy.target}: {copy.reason}", file=sys.stderr)
    if len(outcome.verified) < len(outcome.copies):
        print(f"crosscut: {_GO_ON}", file=sys.stderr)
