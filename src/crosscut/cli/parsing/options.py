"""Options of commands that measure or read runs, and how they become a launch and a job.

Options of a launch or job are absent from the namespace unless typed (`SUPPRESS`): only the core knows a
job's defaults (core/src/conduct/job.hpp), and options may come before or after the pattern's name.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crosscut.base import bounded_file, units
from crosscut.base.core import Backend, Core, Parameter, Pattern
from crosscut.base.errors import EXIT_FAILED, EXIT_OK, UsageError, plainly
from crosscut.base.spelling import missing
from crosscut.cabling.model import Cabling
from crosscut.cli.parsing.parser import Parser, flag, option, record, split, typed_flag, typed_option, whole
from crosscut.places import all_places, typed_as
from crosscut.places.base import Place, PlaceOption
from crosscut.session.measure import Launch

if TYPE_CHECKING:
    from crosscut.analysis.findings.model import Finding

AUTO = "auto"
"""The job's `window` until it is found (campaigns/window.py)."""
# As in core/src/program/in_flight.hpp.
WIDEST_WINDOW = 10_000
MOST_RAILS = 64
RAILS = "--rails"
ALL_RAILS = 0
"""The job's `rails` for all interfaces that ranks listen on."""
# Group titles in the help.
WHERE = "where to measure"
HOW = "how to measure"
# Large enough for the list of pairs of the largest job.
_LONGEST_VALUE_BYTES = 16 << 20
# Options for `--on sim:NETWORK` that also have a name without the backend's.
_SHORT_NAMES = {("sim", "engine"): ("--engine",)}
# How messages of the core name a parameter.
_PARAMETER = re.compile(r"(?:(backend|pattern) [\w-]+: )?(?<![\w-])(--[a-z][a-z-]*)")
# Members of the job that have an option of the same name.
_JOB_MEMBERS = (
    "repetitions", "minimum_repetitions", "interval", "warm_up", "iterations", "window", "rails", "sync",
    "cache", "noise", "wait", "seed", "memory_bytes", "verify", "compute", "tolerate_failures",
    "time_limit_seconds", "raw_budget_bytes",
)  # fmt: skip


def _add(group: argparse._ActionsContainer, *flags: str, **options: Any) -> None:
    group.add_argument(*flags, default=argparse.SUPPRESS, **options)


def add_cabling(parser: argparse._ActionsContainer) -> None:
    """Adds `--cabling` and `--switch-counters`, which `cabling_of` reads."""
    option(parser, "--cabling FILE", Path,
           "List of cables, so that findings name rack, switch and port: a CSV file, output of "
           "lldpctl (or a folder with one such file per host), output of ibnetdiscover, or Slurm's "
           "topology.conf. May be repeated; the lists add up.", action="append", default=[])  # fmt: skip
    parser.add_argument(
        "--switch-counters", type=Path, nargs=2, default=None, metavar=("BEFORE", "AFTER"),
        help="Counters of switch ports, read before and after the measurement, to show with the findings: "
        "two CSV files with the columns switch,port,counter,value. Needs --cabling.",
    )  # fmt: skip


def add_fail_on_fault(
    parser: argparse._ActionsContainer, text: str = "Exit with status 1 if a finding is a fault."
) -> None:
    """Adds `--fail-on-fault`, which `status_of` reads."""
    flag(parser, "--fail-on-fault", text)


def status_of(args: argparse.Namespace, found: Sequence[Finding]) -> int:
    failed = args.fail_on_fault and any(one.kind.fault for one in found)
    return EXIT_FAILED if failed else EXIT_OK


def cabling_of(args: argparse.Namespace, nodes: Sequence[str] = ()) -> Cabling | None:
    """Returns the cabling, or None if no file was named. UsageError names file and line.

    `nodes`: if there are any, the cabling must name at least one of them.
    """
    from crosscut.cabling import reading, switch_counters

    if not args.cabling:
        if args.switch_counters:
            raise UsageError("--switch-counters needs --cabling, which says what is connected to which port")
        return None
    found = reading.read(args.cabling)
    if why := found.stranger_to(list(dict.fromkeys(nodes))):
        raise UsageError(f"--cabling: {why}")
    if not args.switch_counters:
        return found
    return replace(found, counted=switch_counters.read(*args.switch_counters))


def add_keep(parser: argparse._ActionsContainer) -> None:
    """Adds `--keep`, which `measuring` reads."""
    option(parser, "--keep DIR", folder, "Keep the measured runs in this folder, which must be new or empty.")


def add_reading(parser: argparse._ActionsContainer) -> None:
    """Adds the memory limit of commands that read runs; `cli._run` sets it."""
    typed_option(parser, "--memory SIZE", units.parse_bytes,
                 "Memory limit for reading runs; a larger array is refused. Default: half of the "
                 "free memory.", dest="reading_bytes")  # fmt: skip


def add_place_options(
    group: argparse._ArgumentGroup, places: Sequence[Place], without: Collection[PlaceOption] = ()
) -> None:
    """Adds the options that these places declare; `own` reads them."""
    for one in dict.fromkeys(one for place in places for one in place.options if one not in without):
        owners = " or ".join(typed_as(place) for place in places if one in place.options)
        words = f"With --on {owners}: {one.help[:1].lower()}{one.help[1:]}"
        typed_option(group, f"--{one.name} {one.metavar}", one.parse, words, dest=_place_dest(one))


def own(given: Mapping[str, Any]) -> dict[str, object]:
    """Returns the values typed for options of places, by option name."""
    return {
        option.name: given[_place_dest(option)]
        for place in all_places()
        for option in place.options
        if _place_dest(option) in given
    }


def add_where(parser: argparse.ArgumentParser, backends: str) -> None:
    """Adds the options of the launch: place, backend, ranks."""
    places = all_places()
    group = parser.add_argument_group(WHERE)
    typed_option(group, "-n --ranks RANKS", whole(2),
                 "Number of ranks, the processes that measure. Default: as many as the "
                 "place offers (on this machine one per core, but at least 2 and at most 8).")  # fmt: skip
    typed_option(
        group, "--backend NAME", str, f"What carries messages: {backends}. Default tcp; with --on mpi: mpi."
    )
    typed_option(group, "--on PLACE", str,
                 f"Where ranks run: {', '.join(map(typed_as, places))}. NETWORK is a file (TOML) or a "
                 "name that `crosscut network list` shows; after lab: it may be a lab that is up. Default "
                 "local; with --backend mpi or rma: mpi.")  # fmt: skip
    add_place_options(group, places)
    typed_option(
        group, "--interface NAME", str, "Address or interface that ranks listen on; A,B for several rails."
    )
    typed_option(group, "--control-interface NAME", str,
                 "Address or interface for barriers and control, to keep them off the measured network. "
                 "Default: as --interface.")  # fmt: skip
    typed_option(group, "--timeout TIME", units.parse_seconds,
                 "End the run if a rank is silent for this long, and name the rank. Shutting down may take "
                 "as long again. Default 30s.",
                 dest="timeout_seconds")  # fmt: skip
    _add(group, "--pin", action=argparse.BooleanOptionalAction,
         help="Bind each rank to a core of its own, if there are enough cores. Default: yes.")  # fmt: skip
    typed_option(group, "--launcher PATH", str,
                 "Path of the mpiexec, srun or ssh that starts the ranks. Default: the one on "
                 "PATH.")  # fmt: skip
    typed_option(group, "--launcher-args WORDS", split,
                 "Further arguments for the launcher, quoted as one: '--partition=debug'.",
                 dest="launcher_arguments")  # fmt: skip
    typed_option(
        group, "--core-path PATH", str, "Path of crosscut-core on the other nodes. Default: the same as here."
    )


def add_how(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the measurement itself."""
    group = parser.add_argument_group(HOW)
    typed_option(group, "--launches K", whole(1),
                 "Measure K times into one folder, each time with new processes and connections, and with "
                 "sizes and phases in a new random order.")  # fmt: skip
    typed_option(
        group,
        "--repetitions N",
        whole(1),
        "Repetitions of each phase. Default 20; with --interval the largest number, by default 100.",
    )
    typed_option(group, "--interval SHARE", units.parse_fraction,
                 "Repeat until the 95%% confidence interval of each phase's median is at most this share of "
                 "the median, such as 5%%.")  # fmt: skip
    typed_option(
        group, "--minimum-repetitions N", whole(1), "With --interval: the fewest repetitions. Default 20."
    )
    typed_option(group, "--warm-up N", whole(0), "Repetitions at the start that are not recorded. Default 1.")
    typed_option(
        group,
        "--iterations N",
        whole(0),
        "How often a phase runs for one sample, the mean. Default 0: chosen automatically for each size.",
    )
    typed_option(group, "--window W", _window,
                 "Messages in flight at once on each route of a phase. Times are recorded per message. auto: "
                 "the smallest number that fills a route, found before the run on one route with the "
                 "smallest size. Default 1, unless the pattern's help names another.")  # fmt: skip
    typed_option(group, f"{RAILS} N|all", _rails,
                 "Split each message over the first N of the interfaces that ranks listen on (--interface "
                 "A,B); all: over all of them. Default 1.")  # fmt: skip
    _add(group, "--sync", choices=("barrier", "none"),
         help="barrier (the default): ranks wait for each other between phases. none: they do not "
         "(streaming), so that phases overlap.")  # fmt: skip
    _add(group, "--cache", choices=("warm", "rotate", "cold"),
         help="Whether messages lie in the processor's caches. warm (the default): the same buffers again "
         "and again. rotate: each iteration takes the next buffer, from memory of twice the last-level "
         "cache. cold: caches are filled with other data before each phase, which is then measured "
         "once.")  # fmt: skip
    typed_option(group, "--noise TIME/PERIOD", str,
                 "Take each rank's processor away for this long, at least 1us, once in each period of at "
                 "most 1s, at a moment drawn anew, as an operating system does: 100us/10ms. Give a run "
                 "without it the same --iterations. Not with --library, over udp, sim or "
                 "null.")  # fmt: skip
    _add(group, "--wait", choices=("auto", "block", "poll"),
         help="How ranks wait for data. Default auto: poll if each has a core of its own, else "
         "block.")  # fmt: skip
    typed_option(group, "--seed N", whole(0), "Seed of all random choices. Default 1.")
    typed_option(group, "--memory SIZE", units.parse_bytes,
                 "Memory limit for the buffers of a rank; a job that needs more is refused before it "
                 "starts. Default 2GiB.", dest="memory_bytes")  # fmt: skip
    typed_option(group, "--raw-budget SIZE", units.parse_bytes,
                 "Disk space limit for raw samples; if they need more, summaries take their place. "
                 "Default 4GiB.", dest="raw_budget_bytes")  # fmt: skip
    typed_option(group, "--time-limit TIME", units.parse_seconds,
                 "Stop after this time, at the end of a block of measurements. The run can be resumed, "
                 "and the exit status is 0.",
                 dest="time_limit_seconds")  # fmt: skip
    typed_flag(group, "--verify", "Check every received byte, and name the route of a wrong one.")
    typed_flag(
        group,
        "--compute",
        "Let ranks compute as well; the run records how much computing they still get done.",
    )
    typed_flag(group, "--tolerate-failures", "Continue without ranks that are lost.")


def _window(text: str) -> int | str:
    return text if text == AUTO else whole(1, WIDEST_WINDOW)(text)


def _rails(text: str) -> int:
    return ALL_RAILS if text == "all" else whole(1, MOST_RAILS)(text)


def parameter_help(parameter: Parameter) -> str:
    """Returns the help as a sentence, then unit and default: `Buffer of a socket. In bytes; default 4MiB.`"""
    sentence = f"{parameter.help[:1].upper()}{parameter.help[1:].rstrip('.')}."
    unit = f"in {parameter.unit}" if parameter.unit else ""
    default = f"default {parameter.default}" if parameter.default else ""
    facts = "; ".join(filter(None, (unit, default)))
    return f"{sentence} {facts[:1].upper()}{facts[1:]}." if facts else sentence


def _add_parameter(
    group: argparse._ArgumentGroup, flag: str, dest: str, parameter: Parameter, *also: str
) -> None:
    choices = tuple(parameter.choices)
    text = parameter_help(parameter).replace("%", "%%")
    if parameter.kind == "boolean":
        # `--flag` alone means true; the core parses the value
        _add(group, flag, *also, dest=dest, nargs="?", const="true", choices=("true", "false"), help=text)
    else:
        metavar = None if choices else parameter.kind.upper()
        _add(group, flag, *also, dest=dest, choices=choices or None, metavar=metavar, help=text)


def of_every_run() -> set[str]:
    """Returns the options that a run of any pattern has."""
    parser = argparse.ArgumentParser(add_help=False)
    add_how(parser)
    add_where(parser, "")
    return {option for action in vars(parser)["_actions"] for option in action.option_strings}


def pattern_flag(pattern: Pattern, parameter: Parameter, taken: Container[str]) -> str:
    """Returns an option such as `--stride`, or `--pairwise-seed` for a name that options of every run have;
    but `--rails`, which the core gives to a pattern that has such a parameter."""
    flag = f"--{parameter.name}"
    return f"--{pattern.name}-{parameter.name}" if flag in taken and flag != RAILS else flag


def add_pattern_parameters(parser: argparse.ArgumentParser, pattern: Pattern) -> None:
    """Adds the options of a pattern alone. `parser` lets later options replace earlier ones."""
    if not pattern.parameters:
        return
    taken = set(vars(parser)["_option_string_actions"])
    group = parser.add_argument_group(f"parameters of {pattern.name}")
    for parameter in pattern.parameters:
        if (flag := pattern_flag(pattern, parameter, taken)) == RAILS:
            help_text = f"{parameter_help(parameter)} all: all that ranks listen on."
            typed_option(group, f"{RAILS} N|all", _rails, help_text)
        else:
            _add_parameter(group, flag, f"pattern.{parameter.name}", parameter)


def add_backend_parameters(parser: argparse.ArgumentParser, backends: tuple[Backend, ...]) -> None:
    """Adds an option for each parameter, and one for a parameter that several backends have."""
    groups = {names: parser.add_argument_group(title) for title, names in backend_groups(backends).items()}
    for backend in backends:
        for parameter in backend.parameters:
            names = _backends_with(parameter, backends)
            if backend.name == names[0]:
                dest = f"backend.{','.join(names)}.{parameter.name}"
                also = _SHORT_NAMES.get((backend.name, parameter.name), ())
                _add_parameter(groups[names], backend_flag(parameter, backends), dest, parameter, *also)


def _backends_with(parameter: Parameter, backends: Sequence[Backend]) -> tuple[str, ...]:
    return tuple(backend.name for backend in backends if parameter in backend.parameters)


def backend_flag(parameter: Parameter, backends: Sequence[Backend]) -> str:
    """Returns an option such as `--tcp-nodelay`: with the backend's name, a new pattern never renames it. A
    parameter that several backends have is `--memory-kind`."""
    return _flag_of(_backends_with(parameter, backends), parameter.name)


def _flag_of(backends: Sequence[str], parameter: str) -> str:
    if len(backends) > 1:
        return f"--{parameter}"
    return f"--{backends[0]}-{parameter.removeprefix(f'{backends[0]}-')}"


def backend_groups(backends: Sequence[Backend]) -> dict[str, tuple[str, ...]]:
    """Returns the titles of backends' parameters in the help, and the names of the backends."""
    groups = {}
    for parameter in (parameter for backend in backends for parameter in backend.parameters):
        names = _backends_with(parameter, backends)
        groups[f"parameters of the backend{'s' if len(names) > 1 else ''} {' and '.join(names)}"] = names
    return groups


def as_typed(message: str, parser: Parser, backend: str) -> str:
    """Returns a message of the core with parameters named as the options of this command: the core's
    `backend tcp: --connections`, or `--connections` alone, becomes `--tcp-connections`."""
    spelled = {action.dest: action.option_strings[0] for action in parser.actions if action.option_strings}
    of_backend = {name: spelled[key] for key, name in _of_backend(spelled, backend).items()}

    def renamed(found: re.Match[str]) -> str:
        owner, option = found.groups()
        if owner is None and parser.knows(option):
            return option
        name = option.removeprefix("--")
        return (spelled.get(f"pattern.{name}") if owner == "pattern" else of_backend.get(name)) or found[0]

    return _PARAMETER.sub(renamed, message)


def _of_backend(keys: Iterable[str], backend: str) -> dict[str, str]:
    """Returns the keys of options of this backend, with the names of their parameters."""
    parts = [(key, *key.split(".", 2)[1:]) for key in keys if key.startswith("backend.")]
    return {key: name for key, names, name in parts if backend in names.split(",")}


def pattern_parameters(given: Mapping[str, Any]) -> dict[str, str]:
    """Returns the pattern's parameters as typed."""
    names = {key: key.removeprefix("pattern.") for key in given if key.startswith("pattern.")}
    return {name: _typed_text(name, given[key]) for key, name in names.items()}


def backend_parameters(given: Mapping[str, Any], backend: str) -> dict[str, str]:
    """Returns the backend's parameters as typed. Raises UsageError if others of other backends were."""
    own = _of_backend(given, backend)
    if foreign := [key for key in given if key.startswith("backend.") and key not in own]:
        _, names, parameter = foreign[0].split(".", 2)
        others = names.split(",")
        raise UsageError(
            f"{_flag_of(others, parameter)} is an option of the backend {' or '.join(others)}, "
            f"but the backend is {backend}; leave it out, or choose --backend {others[0]}"
        )
    return {name: _typed_text(name, given[key]) for key, name in own.items()}


def _typed_text(name: str, value: object) -> str:
    """Returns a parameter as text. Only here `@FILE` stands for the file's text: a list of pairs can be
    longer than a command line, but a run or a spec must not refer to files."""
    return _text_of(name, str(value)) if str(value).startswith("@") else str(value)


def _text_of(name: str, typed: str) -> str:
    path = Path(typed[1:]).expanduser()
    if not path.is_file():  # a device or a pipe would block or never end
        raise UsageError(f"--{name} {typed}: {missing(path)}")
    try:
        return bounded_file.read(path, _LONGEST_VALUE_BYTES, "a list of ranks or pairs").decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"--{name} {typed}: not a text file: {plainly(error)}") from error


def job_options(given: Mapping[str, Any]) -> dict[str, object]:
    """Returns the members of the job that were typed."""
    return {name: given[name] for name in _JOB_MEMBERS if name in given}


def launch(given: Mapping[str, Any]) -> Launch:
    """Returns the launch as typed: where and over what to measure."""
    return record(Launch, given, own=own(given))


def _place_dest(option: PlaceOption) -> str:
    return f"place.{option.name}"


def folder(text: str) -> Path:
    """Parses a directory from the command line, with `~` expanded."""
    return Path(text).expanduser()


def backend_names(core: Core) -> str:
    """Returns the backends for the help, such as `tcp, null, udp (not here)`."""
    return ", ".join(
        backend.name + (" (not here)" if backend.unavailable else "") for backend in core.backends
    )
