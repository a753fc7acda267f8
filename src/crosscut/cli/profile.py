"""`crosscut profile`: records the messages and MPI time of any MPI program, and a trace to replay."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from crosscut.base import bounded_file, whole_file
from crosscut.base.errors import EXIT_OK, CrosscutError, UsageError
from crosscut.base.units import count, parse_seconds
from crosscut.cli.parsing.parser import flag, operations_per_second, option
from crosscut.network import description
from crosscut.places import smpi
from crosscut.places.launchers import Launcher
from crosscut.profile import profiler, program, tit
from crosscut.reports.json import profile as profile_json
from crosscut.reports.terminal import profile as terminal_profile
from crosscut.reports.terminal.screen import screen_for

EPILOG = """
examples:
  crosscut profile -- mpiexec -n 16 ./solver input.dat
  crosscut profile --out solver.profile --timeout 10min -- srun ./solver
  crosscut profile --trace -- mpiexec -n 16 ./solver       also a trace for SimGrid's smpirun -replay
  crosscut profile --show solver.profile                   the report again
  crosscut profile --show solver.profile --json

The program needs no change. It must be linked dynamically, against an MPI of the standard ABI or against the
one that crosscut build-profiler was given.
"""

# Operations that stand for a second of computing: as many as a host of a described network does in one, so
# that computing takes as long there as here.
FLOPS_PER_SECOND = smpi.HOST_FLOPS
_OPEN_MPI_LAUNCHERS = ("mpiexec", "mpirun", "mpiexec.openmpi", "mpirun.openmpi", "orterun", "prterun")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    option(parser, "--out FOLDER", Path, "New folder to write to. Default: profile-DATE-TIME in this folder.")
    option(parser, "--show FOLDER", Path, "Run nothing; show the report of this profile.")
    flag(
        parser, "--trace", "Also write a time-independent trace, to replay with SimGrid or crosscut predict."
    )
    flag(
        parser, "--section",
        "Count only what the program marks: from MPI_Pcontrol(1) to MPI_Pcontrol(0), any number of times.",
    )  # fmt: skip
    option(parser, "--flops RATE", operations_per_second,
           "With --trace: floating-point operations that stand for one second of computing. Default "
           "%(default)g.", default=FLOPS_PER_SECOND)  # fmt: skip
    option(parser, "--network NETWORK", str,
           "With --trace: network on which the program runs, a description (TOML) or a name from `crosscut "
           "network list`; crosscut predict fits the processors' noise to it.")  # fmt: skip
    option(parser, "--timeout TIME", parse_seconds, "End the command after this time.")
    flag(parser, "--json", "Print one JSON object on standard output; the program prints on standard error.")
    parser.add_argument("command_line", nargs=argparse.REMAINDER, metavar="-- COMMAND …",
                        help="Launcher and program, after --.")  # fmt: skip


def execute(args: argparse.Namespace) -> int:
    if args.show is not None:
        if args.command_line or args.out is not None or args.trace or args.section:
            raise UsageError(
                "--show reports an existing profile: it takes no command, no --out, --trace or --section"
            )
        _report(program.load(args.show), as_json=args.json)
        return EXIT_OK
    if args.section and args.trace:
        raise UsageError("--section cannot be combined with --trace, which is of the whole program")
    if args.network is not None and not args.trace:
        raise UsageError("--network: only with --trace")
    # Read before the program runs, so that a mistake costs no run.
    network = description.text(args.network) if args.network is not None else ""
    command = profiler.checked(args.command_line)
    library = profiler.find_library(command)
    folder = _make_folder(args.out)
    added = profiler.environment(library, folder, trace=args.trace, section=args.section)
    started, variables = _prepared(command, added)
    sys.stdout.flush()
    ran = profiler.run(started, variables, args.timeout, sys.stderr.buffer if args.json else None)
    words = shlex.join(command)
    profiler.write_about(folder, command, ran, {})
    _need_something(folder, words, ran, library)
    _need_one_job(folder, words)
    if args.section and not any(one.sections for one in program.load(folder).found):
        raise CrosscutError(
            f"{words}: the program never called MPI_Pcontrol(1), so --section counted nothing; mark what "
            "counts, or leave it out"
        )
    trouble: CrosscutError | None = None
    if args.trace:
        try:
            _trace(folder, command, ran, args.flops)
            if network:
                whole_file.write(folder / tit.NETWORK, network.encode())
        except CrosscutError as error:
            trouble = error
    _report(program.load(folder), as_json=args.json)
    left = "the profile covers the program until then"
    profiler.complain(ran, words, f"{left}, without a trace: {trouble}" if trouble is not None else left)
    if trouble is not None:
        raise trouble
    return EXIT_OK


def _prepared(command: Sequence[str], variables: Mapping[str, str]) -> tuple[list[str], dict[str, str]]:
    """Returns the command and `variables` (of `profiler.environment`) as the launcher takes them.

    Open MPI refuses its list of variables to pass on beside -x, which names them one by one.
    """
    first, *words = command
    if "-x" not in words or Path(first).name not in _OPEN_MPI_LAUNCHERS or Launcher(first).is_hydra():
        return [*command], dict(variables)
    names = variables[profiler.PASSED_ON].split(";")
    others = {name: value for name, value in variables.items() if name != profiler.PASSED_ON}
    return [first, *(word for name in names for word in ("-x", name)), *words], others


def _make_folder(given: Path | None) -> Path:
    """Creates a new folder, so that results of two runs never mix."""
    folder: Path = given if given is not None else Path(time.strftime("profile-%Y%m%d-%H%M%S"))
    whole_file.need_folder("--out", folder)
    try:
        folder.mkdir()
    except OSError as error:
        why = " already exists" if isinstance(error, FileExistsError) else f": {error.strerror}"
        raise UsageError(f"{folder}{why}; name another with --out FOLDER") from error
    return folder


def _need_something(folder: Path, words: str, ran: profiler.CommandOutcome, library: Path) -> None:
    if any(folder.glob("rank-*.profile")):
        return
    (folder / program.ABOUT).unlink(missing_ok=True)
    other_mpi = folder / program.OTHER_MPI
    program_uses = (
        bounded_file.read_regular(other_mpi, 1 << 16, "a note of the profiler").decode("utf-8", "replace")
        if other_mpi.exists()
        else ""
    )
    other_mpi.unlink(missing_ok=True)
    folder.rmdir()
    if program_uses:
        raise CrosscutError(
            f"{words}: not profiled: {library} was built for another MPI than the program's, {program_uses}. "
            "Build it for that one, then try again: crosscut build-profiler --mpicc mpicc --replace"
        )
    profiler.complain(ran, words, "no rank left a profile")
    raise CrosscutError(
        f"{words}: no rank left a profile. It must be an MPI program, linked dynamically; "
        "its launcher must pass on LD_PRELOAD and CROSSCUT_PROFILE_FOLDER; and every node must see "
        f"{folder.absolute().parent}"
    )


def _need_one_job(folder: Path, words: str) -> None:
    """Refuses ranks of which each is a job of its own, so that the profile would be one rank's."""
    if (folder / program.AGAIN).exists() and program.load(folder).ranks == 1:
        raise CrosscutError(
            f"{words}: several jobs of one rank each ran, and {folder} has the profile of only the first. If "
            "they were to be one job, the launcher is another MPI's than the program's: start it with "
            "the mpiexec of its own MPI"
        )


def _trace(folder: Path, command: list[str], ran: profiler.CommandOutcome, flops_per_second: float) -> None:
    found = program.load(folder)
    written = tit.write(found, flops_per_second)
    about = {"file": written.file.name, "flops_per_second": flops_per_second, "actions": written.actions}
    profiler.write_about(folder, command, ran, about)
    print(f"trace: {written.file}: {count(written.actions, 'action')}, a second of computing is "
          f"{flops_per_second:g} operations", file=sys.stderr)  # fmt: skip
    if lacks := tit.lacks(found):
        print(f"trace: without {lacks}", file=sys.stderr)


def _report(found: program.Profile, *, as_json: bool) -> None:
    if as_json:
        print(json.dumps(profile_json.as_json(found)))
    else:
        terminal_profile.render(screen_for(), found)
