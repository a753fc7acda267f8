"""`crosscut import`: makes a run of what another program measured."""

from __future__ import annotations

import argparse
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from crosscut.base import units, whole_file
from crosscut.base.errors import EXIT_OK, UsageError
from crosscut.cli.parsing import options
from crosscut.cli.parsing.parser import flag, option

if TYPE_CHECKING:
    from crosscut.imports.measured import Measured

EPILOG = """
examples:
  crosscut import osu_bw.txt                                 writes osu_bw.zarr
  crosscut import mpigraph.out && crosscut show mpigraph.zarr --findings
  crosscut import np.out --hosts n1,n2                       NetPIPE's file does not name its hosts
  crosscut import monday-*.json -o monday.zarr               outputs of repeated runs: repetitions of one run
  crosscut compare monday.zarr friday.zarr                   needs a few outputs on each side

formats: osu (osu_latency, osu_bw, osu_bibw), mpigraph, hp2p (its page), iperf3 (-J), netpipe (np.out of
NetPIPE 3), sockperf (ping-pong --full-log), perftest (ib_write_bw, ib_send_lat and the like). A run that is
imported says what it lacks.
"""
_UNNAMED = "hosts are not named: give their names with --hosts if you want to compare runs"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files", nargs="+", type=options.folder, metavar="FILE",
        help="Output of another program. Several files: outputs of repeated runs.",
    )  # fmt: skip
    option(parser, "--format NAME", str, "Format of the files. Default: detected from their content.")
    option(parser, "-o --out DIR", Path, "Run to write. Default, for one file: its name with .zarr.")
    option(
        parser, "--hosts NAMES", _names, "Names of the hosts, one for each rank, separated by commas, in "
        "place of those that the output gives, if any.",
    )  # fmt: skip
    option(
        parser, "--started TIME", _time, "When the measurement began, such as 2026-03-12T02:30 (UTC unless "
        "it names a zone): for outputs that do not say so. `crosscut history add` needs it.",
    )  # fmt: skip
    flag(parser, "--force", "Replace the run if it exists.")


def _time(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
        moment = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise UsageError(f"'{text}': not a time such as 2026-03-12T02:30") from None
    if moment > datetime.now(UTC):
        raise UsageError(f"'{text}' has not come yet")
    return moment


def _names(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise UsageError(f"'{text}': a name is empty")
    return names


def execute(args: argparse.Namespace) -> int:
    from crosscut.imports import output, runs  # numpy takes a moment to import
    from crosscut.imports.formats import FORMATS, guessed
    from crosscut.run import writing

    if args.format is not None and args.format not in FORMATS:
        raise UsageError(f"--format {args.format}: not one of {', '.join(FORMATS)}")
    if args.out is None and len(args.files) > 1:
        raise UsageError("several files were named: name their run with -o DIR")
    if args.out is not None:
        whole_file.need_folder("-o", args.out)
    out = args.out or Path(args.files[0].absolute().name).with_suffix(".zarr")
    writing.refuse(out, overwrite=args.force)
    parts = []
    for path in args.files:
        text = output.read(path)
        one = FORMATS[args.format] if args.format else guessed(text)
        parts.append((text, one.parse(text)))
    measured = runs.joined(parts)
    if args.hosts is not None:
        measured = runs.named(measured, args.hosts)
    if args.started is not None and measured.start:
        raise UsageError(f"--started: {args.files[0]} says when it began, {measured.start}; leave it out")
    if args.started is not None:
        measured = replace(measured, start=args.started.strftime("%Y-%m-%dT%H:%M:%SZ"), end="")
    runs.write(measured, [text for text, _ in parts], out, overwrite=args.force)
    _tell(measured, out, runs.lacks(measured))
    return EXIT_OK


def _tell(measured: Measured, out: Path, lacks: tuple[str, ...]) -> None:
    sizes, repetitions, phases = measured.message_seconds.shape[:3]
    smallest, largest = units.size(measured.size_bytes[0]), units.size(measured.size_bytes[-1])
    span = smallest if sizes == 1 else f"{smallest} to {largest}"
    counts = (
        f"{units.count(sizes, 'size')} ({span})", units.count(repetitions, "repetition"),
        units.count(phases, "phase"), units.count(len(measured.hosts), "rank"),
    )  # fmt: skip
    print(f"{measured.program}: {', '.join(counts)}")
    shared = [name for name, ranks in Counter(measured.hosts).items() if ranks > 1]
    one_host = f"ranks share a host ({', '.join(shared[:3])}): messages between them crossed no network"
    notes = (*(() if measured.hosts_named else (_UNNAMED,)), *((one_host,) if shared else ()))
    for one in (*lacks, *notes):
        print(f"  {one}")
    print(f"wrote {out}")
