"""The command line. A command is one file in this folder and one line in COMMANDS."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Protocol

from crosscut import __version__
from crosscut.base import memory
from crosscut.base.errors import EXIT_FAILED, EXIT_INTERRUPTED, CrosscutError, Interrupted, UsageError
from crosscut.cli.parsing.parser import Parser, epilog

# Module of each command, in the order in which help lists them.
COMMANDS = (
    "run",
    "show",
    "report",
    "evaluate",
    "locate",
    "explain",
    "compare",
    "check",
    "expect",
    "network",
    "simulate",
    "profile",
    "predict",
    "price",
    "lab",
    "clone",
    "reproduce",
    "workload",
    "list",
    "export",
    "fsck",
    "doctor",
    "build_mpi",
    "build_smpi",
    "build_profiler",
    "completion",
)

_EXAMPLES = """
examples:
  crosscut run aapc -n 8 --size 1MB          measure, and show the result
  crosscut show aapc-tcp-*.zarr              show it again
  crosscut list                              patterns, and what each answers
  crosscut doctor                            what can be measured on this machine
"""


class Command(Protocol):
    """What each module of this folder offers."""

    NAME: str
    HELP: str
    EPILOG: str

    def add_arguments(self, parser: argparse.ArgumentParser) -> None: ...

    def execute(self, args: argparse.Namespace) -> int: ...


def commands() -> list[Command]:
    """Every command of this installation."""
    found: list[Command] = []
    for module in COMMANDS:
        name = f"{__name__}.{module}"
        try:
            found.append(import_module(name))
        except ModuleNotFoundError as error:
            if error.name != name:
                raise
    return found


def build_parser(only: str | None = None) -> Parser:
    """The parser of all commands; `only` one of them gets its arguments (asking the core takes time)."""
    parser = Parser(
        prog="crosscut",
        description="Measures the interconnect of a cluster with dense communication patterns.",
        epilog=epilog(_EXAMPLES),
    )
    parser.add_argument("--version", action="version", version=f"crosscut {__version__}")
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command", required=True)
    for command in commands():
        subparser = subparsers.add_parser(
            command.NAME,
            help=command.HELP,
            description=_sentence(command.HELP),
            epilog=epilog(command.EPILOG),
        )
        if only is None or only == command.NAME:
            command.add_arguments(subparser)
        subparser.set_defaults(execute=command.execute)
    return parser


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:].rstrip(".") + "."


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command; returns the exit status."""
    # Not list(…): a command's module has that name here.
    words = [*(sys.argv[1:] if argv is None else argv)]
    name = next((word for word in words if not word.startswith("-")), "")
    try:
        args = build_parser(only=name).parse_args(words)
        args.words = ["crosscut", *words]
        memory.set_limit(getattr(args, "reading_bytes", None))
        status: int = args.execute(args)
        sys.stdout.flush()  # here, where a reader that went away is handled
        return status
    except BrokenPipeError:
        # The reader (`| head`) has what it wanted; the interpreter's own flush must not complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_FAILED
    except KeyboardInterrupt:
        return _complain(Interrupted("interrupted"))
    except MemoryError as error:
        what = f" ({error})" if str(error) else ""
        return _complain(UsageError(f"memory does not suffice{what}. {memory.advice()}"))
    except CrosscutError as error:
        return _complain(error)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return _complain(CrosscutError(f"{where}{error.strerror or error}"))


def _complain(error: CrosscutError) -> int:
    word = "" if error.exit_code == EXIT_INTERRUPTED else "error: "
    print(f"crosscut: {word}{error}", file=sys.stderr)
    return error.exit_code
