"""`crosscut export`: writes a run as a table, for other programs."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from crosscut.base import whole_file
from crosscut.base.errors import EXIT_OK, UsageError
from crosscut.cli.parsing import options
from crosscut.cli.parsing.parser import flag, option
from crosscut.run import table_files

EPILOG = """
examples:
  crosscut export aapc.zarr > aapc.csv                       a row per message
  crosscut export aapc.zarr --table ranks --out ranks.csv    a row per rank and phase
  crosscut export aapc.zarr --out aapc.parquet               for pandas, polars, DuckDB, R
  crosscut export aapc.zarr --format json | jq '.[0]'

Times are in seconds, rates in bytes per second and direction. Repetitions and phases count from 1.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "run", type=Path, metavar="DIR", help="Run, which may be in an evaluation or a folder of launches."
    )
    parser.add_argument(
        "--table", choices=("messages", "ranks", "phases"),
        help="messages: a row per message. ranks: a row per rank and phase. phases: a row per phase. Default "
        "messages; phases for a run that holds only summaries of phases.",
    )  # fmt: skip
    parser.add_argument(
        "--format",
        choices=tuple(table_files.FORMATS),
        help="Format of the table. Default: by the suffix of FILE, or csv.",
    )
    option(parser, "--out FILE", Path, "File to write. Default: standard output.")
    options.add_reading(parser)
    flag(parser, "--force", "Replace the file if it exists.")


def execute(args: argparse.Namespace) -> int:
    from crosscut.run import tables  # numpy and xarray take a second to import
    from crosscut.run.run import Run

    if args.out is not None:
        whole_file.need_place("--out", args.out)
    name = args.format or (table_files.format_of(args.out) if args.out else "csv")
    if args.out is None and name == "parquet" and sys.stdout.isatty():
        raise UsageError("Parquet is a binary format; name a file with --out")
    run = Run.open(args.run)
    pieces = tables.tables(run, args.table or ("phases" if run.phase_summarised else "messages"))
    if args.out is not None:
        table_files.write_file(pieces, args.out, name, overwrite=args.force)
    else:
        table_files.FORMATS[name](pieces, sys.stdout.buffer)
    return EXIT_OK
