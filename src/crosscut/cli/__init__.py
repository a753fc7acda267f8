"""The command line. Each command is a module in this folder, which defines `EPILOG`, `add_arguments(parser)`
and `execute(args) -> int`, and has one line in COMMANDS."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
import threading
from collections.abc import Generator, Iterator, Sequence
from importlib import import_module

import crosscut
from crosscut.base import memory
from crosscut.base.errors import EXIT_FAILED, EXIT_INTERRUPTED, CrosscutError, Interrupted, UsageError
from crosscut.base.printable import printing
from crosscut.base.spelling import sentence
from crosscut.cli.parsing.parser import HelpFormatter, Parser, epilog

_INTERRUPTS = signal.SIGINT, signal.SIGTERM, signal.SIGHUP
_AGAIN_SECONDS = 0.01

# The commands with their help lines, by group, in the order shown. Only the module of the given command is
# imported: importing all takes longer than most commands run.
GROUPS = {
    "measure": {
        "run": "measure one communication pattern",
        "evaluate": "measure everything in one go: sweep, dense patterns, streams, chain, load",
        "locate": "find slow hosts, cables and trunks, and which hosts share a bottleneck",
        "check": "judge a network by a specification, with a verdict for each promise",
        "health": "search a Slurm cluster's nodes for faults, drain bad ones, resume what is sound again",
        "expect": "calculate the rate and latency to expect here, and show the calculation",
    },
    "read and compare": {
        "show": "show a run in the terminal: rates, histograms, slowest routes",
        "report": "write runs as one self-contained HTML page",
        "explain": "say which capacity limits each phase of a run",
        "compare": "report changes between runs that exceed the noise and are large enough to matter",
        "history": "keep months of runs in one file: trends, change points, a page, metrics",
        "export": "write a run as a table: CSV, Parquet or JSON",
        "import": "make a run from the output of OSU, mpiGraph, iperf3 and other programs",
        "fsck": "check that a run on disk is intact",
    },
    "networks": {
        "network": "check, analyse and draw a described network: distances, bisection, price",
        "lab": "build an emulated cluster on this machine, plant faults in it, remove it",
        "price": "price networks from price books, and weigh price against performance",
    },
    "programs": {
        "profile": "run an MPI program, and report what messages it sends and how long it waits for them",
        "predict": "predict how long a traced MPI program would take on described networks, and why",
        "place": "order an MPI program's ranks so that those that exchange much are near each other",
        "simulate": "run an MPI program on a described network, under SimGrid's SMPI",
        "workload": "run, time and verify applications that communicate (NAS Parallel Benchmarks and others)",
    },
    "other": {
        "reproduce": "repeat a paper's experiment, and compare the results with the published ones",
        "clone": "copy a file or block device to many nodes, along a chain",
        "list": "list patterns, backends and places",
        "doctor": "check what works on this machine, what is missing and how to get it",
        "build-mpi": "build the measuring core with this site's MPI",
        "build-smpi": "build what --engine smpi needs, with this machine's SimGrid",
        "build-profiler": "build the library that crosscut profile loads into programs, for this site's MPI",
        "completion": "print a completion script for a shell",
    },
}
COMMANDS = {name: text for group in GROUPS.values() for name, text in group.items()}

_EXAMPLES = """
examples:
  crosscut run aapc -n 8 --size 1MB          measure, and show the result
  crosscut show aapc-tcp-*.zarr              show it again
  crosscut list                              patterns, and what each answers
  crosscut doctor                            what can be measured on this machine

Sizes end in B, KB, MB, GB, TB (powers of 1000; also K, M, G, T) or KiB to TiB (powers of 1024); a bare number
is bytes. Times end in ns, us, ms, s, min or h; a bare number is seconds. A share is 5% or 0.05.
"""


def build_parser(only: str | None = None) -> Parser:
    """Returns the parser of all commands. Commands other than `only` get just a name and a help line."""
    parser = Parser(
        prog="crosscut",
        description="Measures the interconnect of a cluster with dense communication patterns.",
        epilog=epilog(_EXAMPLES),
        formatter_class=_Grouped,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="show crosscut's version and exit")
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command", required=True)
    for name, text in COMMANDS.items():
        if only not in (None, name):
            subparsers.add_parser(name, help=text)
            continue
        command = import_module(f"{__name__}.{name.replace('-', '_')}")
        one = subparsers.add_parser(
            name, help=text, description=sentence(text), epilog=epilog(command.EPILOG)
        )
        command.add_arguments(one)
        one.set_defaults(execute=command.execute)
    return parser


class _Grouped(HelpFormatter):
    """Prints the name of each group above its commands."""

    def _iter_indented_subactions(self, action: argparse.Action) -> Generator[argparse.Action, None, None]:
        """Groups become actions without help, since argparse has no groups of commands."""
        first = {next(iter(commands)): group for group, commands in GROUPS.items()}
        for command in super()._iter_indented_subactions(action):
            if command.dest in first:
                self._dedent()
                yield argparse.Action([], "", metavar=f"{first[command.dest]}:")
                self._indent()
            yield command


class _Version(argparse.Action):
    """Prints the version; looks it up only when the option is given."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        print(f"crosscut {crosscut.__version__}")
        parser.exit()


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command; returns the exit status."""
    try:
        with printing(), _signals_as_ctrl_c():
            return _run(argv)
    except KeyboardInterrupt:
        # If the exception passed through source text that Python ran (dataclasses are made so), the
        # interpreter would kill itself with SIGINT at its end. Running other text makes it forget.
        exec("")  # noqa: S102
        return _complain(Interrupted("interrupted"))


@contextlib.contextmanager
def _signals_as_ctrl_c() -> Iterator[None]:
    """While inside, SIGTERM (a batch system) and SIGHUP (the terminal) act like Ctrl-C, so that commands
    clean up. Signals that are ignored (nohup) stay so.

    Python ignores exceptions of finalizers and of functions that it calls at a fork. A KeyboardInterrupt
    that it ignores there comes again a moment later.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in (*_INTERRUPTS, signal.SIGALRM)}
    unraisable = sys.unraisablehook

    def ignored(about: sys.UnraisableHookArgs) -> None:
        if issubclass(about.exc_type, KeyboardInterrupt):
            signal.setitimer(signal.ITIMER_REAL, _AGAIN_SECONDS)
        else:
            unraisable(about)

    for number in (signal.SIGTERM, signal.SIGHUP):
        if before[number] is not signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler)
    signal.signal(signal.SIGALRM, _interrupt)
    sys.unraisablehook = ignored
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        sys.unraisablehook = unraisable
        for number, handler in before.items():
            signal.signal(number, handler)


def _interrupt(*_: object) -> None:
    for number in _INTERRUPTS:
        if callable(signal.getsignal(number)):
            signal.raise_signal(number)
            return


def _run(argv: Sequence[str] | None) -> int:
    # Not list(…): importing the command `list` rebinds that name in this package.
    words = [*(sys.argv[1:] if argv is None else argv)]
    name = next((word for word in words if not word.startswith("-")), "")
    try:
        args = build_parser(only=name).parse_args(words)
        args.words = ["crosscut", *words]
        memory.set_limit(getattr(args, "reading_bytes", None))
        status: int = args.execute(args)
        sys.stdout.flush()  # inside the try, which handles a broken pipe
        return status
    except BrokenPipeError:
        # The reader (`| head`) has closed the pipe; the interpreter's final flush must not fail as well.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_FAILED
    except MemoryError as error:
        what = f" ({error})" if str(error) else ""
        return _complain(UsageError(f"not enough memory{what}. {memory.advice()}"))
    except CrosscutError as error:
        return _complain(error)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return _complain(CrosscutError(f"{where}{error.strerror or error}"))


def _complain(error: CrosscutError) -> int:
    word = "" if error.exit_code == EXIT_INTERRUPTED else "error: "
    print(f"crosscut: {word}{error}", file=sys.stderr)
    return error.exit_code
