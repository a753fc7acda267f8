"""`crosscut run`: measures one pattern."""

from __future__ import annotations

import argparse
import shutil
import textwrap
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import crosscut
from crosscut.base import core, units
from crosscut.base.errors import (
    CrosscutError,
    Interrupted,
    SessionError,
    UsageError,
)
from crosscut.base.job import Job
from crosscut.base.spelling import as_typed, missing
from crosscut.campaigns.campaign import is_campaign
from crosscut.cli import run_ended, run_launches
from crosscut.cli.batch import submit_run
from crosscut.cli.parsing import options
from crosscut.cli.parsing.measuring import checked_words, resume_command
from crosscut.cli.parsing.parser import Parser, epilog, typed_flag, typed_option
from crosscut.places import DEFAULT, find_place
from crosscut.run.format import DamagedRun, load_json
from crosscut.run.launches import is_launches, load
from crosscut.session import restarts
from crosscut.session.client import JobOutcome, Listener
from crosscut.session.measure import (
    Decided,
    checked_out,
    decide,
    default_backend,
    default_out,
    is_taken,
    ready_session,
    refuse_bytes,
)

EPILOG = """
examples:
  crosscut run aapc -n 8 --size 1MB
  crosscut run pingpong -n 2 --backend mpi
  crosscut run pairwise -n 16 --size 1KB,100KB,1MB --repetitions 50 --out pairwise.zarr
  crosscut run aapc --on hosts:hosts.txt --size 1MB --interval 5%
  crosscut run chain --help                  parameters of one pattern
  crosscut run --resume pairwise.zarr        measure only what is missing
  crosscut run aapc -n 8 --launches 6 --out aapc    six runs with new processes, and how much they differ

Ctrl-C stops at the end of the current block of measurements; the run can then be shown or resumed.
Options of a pattern: crosscut run PATTERN --help; with --backend NAME or --on sim:NETWORK, it adds those of
that backend or simulation.
"""


_OUTPUT = "output"
# Groups of options that the help of a pattern omits; the help of `crosscut run` has them.
_COMMON_ELSEWHERE = {options.HOW, options.WHERE, _OUTPUT}


def _add_common(parser: argparse.ArgumentParser, known: core.Core) -> None:
    group = parser.add_argument_group("what to measure")
    typed_option(group, "--size SIZE[,…]", units.parse_sizes,
                         "Message sizes, such as 1KB,64KiB,1MB. Default: the pattern's own.",
                         dest="sizes")  # fmt: skip
    typed_option(group, "--phases FIRST-LAST", units.parse_phases,
                         "Measure only these phases of the pattern, such as 1-30. Default: all.")  # fmt: skip
    options.add_how(parser)
    options.add_where(parser, options.backend_names(known))
    group = parser.add_argument_group(_OUTPUT)
    typed_option(group, "--out DIR", options.folder,
                 "Directory to write the run (or launches) to. Default: PATTERN-BACKEND-DATE-TIME.zarr "
                 "in this directory.")  # fmt: skip
    typed_option(
        group,
        "--resume DIR",
        options.folder,
        "Continue this run, or these launches: measure only what is missing.",
    )
    typed_flag(
        group,
        "--force",
        "With --out: replace that run once the new one has measured something. With --resume: continue "
        "even if nodes or settings differ; the run records that they do.",
    )
    typed_flag(group, "--batch", "With --on slurm: submit the run as a batch job, and return.")
    typed_flag(group, "--json", "Print one JSON object on standard output at the end.")
    typed_flag(group, "--quiet", "Print errors only: no progress, no summary.")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    known = core.load()
    _add_common(parser, known)
    subparsers = parser.add_subparsers(
        title="patterns", metavar="PATTERN", dest="pattern", parser_class=PatternParser, required=False
    )
    for pattern in known.patterns:
        words = pattern.summary.replace("%", "%%")
        one = subparsers.add_parser(
            pattern.name, help=words, conflict_handler="resolve", **_described(known, pattern)
        )
        _add_common(one, known)
        options.add_pattern_parameters(one, pattern)
        options.add_backend_parameters(one, known.backends)
        one.set_defaults(pattern_parser=one)
        one.backends = tuple(backend.name for backend in known.backends if backend.parameters)
        one.backend_groups = options.backend_groups(known.backends)


class PatternParser(Parser):
    """Parses `crosscut run PATTERN`. It accepts all options of a run, but its help omits those that
    `crosscut run --help` shows, and those of backends that are not chosen."""

    backends: tuple[str, ...] = ()
    """Names of the backends that have parameters."""
    backend_groups: Mapping[str, Collection[str]] = {}
    """The titles of their parameters in the help, and the names of the backends that have these."""

    def format_help(self) -> str:
        chosen = _chosen_backend(self.words)
        hidden = {title for title, names in self.backend_groups.items() if chosen not in names}
        hidden |= _COMMON_ELSEWHERE
        everything, more = self._action_groups, self.epilog
        # The first two are argparse's own: no positional arguments here, and --help alone.
        self._action_groups = [group for group in everything[2:] if group.title not in hidden]
        self.epilog = f"{self._elsewhere(chosen)}\n\n{more}"
        try:
            return super().format_help()
        finally:
            self._action_groups, self.epilog = everything, more

    def _elsewhere(self, chosen: str) -> str:
        others = ", ".join(name for name in self.backends if name != chosen)
        return (
            "Options of every run (repetitions, ranks, place, output): crosscut run --help\n"
            f"Parameters of other backends ({others}): crosscut list BACKEND"
        )


def _chosen_backend(words: Sequence[str]) -> str:
    """Returns the backend that the typed words name or imply."""
    typed = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    typed.add_argument("--backend", nargs="?", default="")
    typed.add_argument("--on", nargs="?", default="")
    found, _ = typed.parse_known_args([*words])
    return found.backend or default_backend(found.on or "")


def _described(known: core.Core, pattern: core.Pattern) -> dict[str, Any]:
    """Returns arguments of argparse for a pattern's help: question, formula, source and examples."""
    width = shutil.get_terminal_size().columns - 2
    rate = f"Rate: {pattern.formula}" + (f", per {pattern.formula_per}." if pattern.formula_per else ".")
    lines = [f"{pattern.summary}.", f"Question: {pattern.answers}", rate, f"Source: {pattern.source}."]
    if pattern.window > 1:
        lines.append(f"Messages in flight per route: {pattern.window}, unless --window says otherwise.")
    text = "\n".join(textwrap.fill(line, width, subsequent_indent="  ") for line in lines)
    if not pattern.parameters:
        text += f"\n\nThe pattern {pattern.name} has no parameters of its own."
    size = "-n 2" if pattern.shape == "sweep" else "-n 8 --size 1MB"  # a sweep has sizes of its own
    examples = f"example:\n  crosscut run {pattern.name} {size}"
    if with_parameters := [backend.name for backend in known.backends if backend.parameters]:
        examples += f"\n  crosscut run {pattern.name} --backend {with_parameters[-1]} --help"
    usage = f"crosscut run {pattern.name} [OPTION …]"
    return {"usage": usage, "description": text.replace("%", "%%"), "epilog": epilog(examples)}


def execute(args: argparse.Namespace) -> int:
    try:
        return _execute(args)
    except CrosscutError as error:
        if (parser := getattr(args, "pattern_parser", None)) is not None:
            named = options.as_typed(str(error), parser, _chosen_backend(args.words))
            error.args = (named, *error.args[1:])
        raise


def _execute(args: argparse.Namespace) -> int:
    given = {key: value for key, value in vars(args).items() if value is not None}
    known = core.load()
    checked_words(args.words)
    if given.get("force") and not given.keys() & {"out", "resume"}:
        raise UsageError("--force needs --out, the run to replace, or --resume, the run to continue")
    if "resume" in given and "out" in given:
        raise UsageError("--out and --resume cannot be combined: a resumed run stays where it is")
    if "resume" in given and "pattern" not in given:
        job, decided = _resumed(known, given)
    else:
        job, decided = _typed(known, given)
    _check_window(job, decided, known, given)
    if given.get("batch", False):
        return submit_run(decided, given["words"])
    if "resume" in given or not is_taken(job.out):
        return _measured(job, decided, given)
    from crosscut.run import replacing  # imports numpy

    with replacing.set_aside(job.out):
        return _measured(job, decided, given, replaces=True)


def _measured(job: Job, decided: Decided, given: Mapping[str, Any], *, replaces: bool = False) -> int:
    """Measures a run or launches, and prints the result; returns the exit status. `replaces`: if nothing is
    measured, an earlier run takes the place again."""
    if "launches" in given or is_launches(job.out):
        return run_launches.execute(job, decided, given, measure)
    again = resume_command(job.out, decided)
    try:
        outcome, interrupted = measure(job, decided, quiet=given.get("quiet", False))
    except (SessionError, Interrupted) as error:
        if (job.out / "zarr.json").is_file():
            error.args = (f"{error}\n{run_ended.kept(job.out, again, str(error), replaces=replaces)}",)
        raise
    if outcome.state != "complete" and replaces:
        run_ended.refuse_empty(job.out, interrupted)
    as_json, quiet = given.get("json", False), given.get("quiet", False)
    return run_ended.report(outcome, interrupted, again, as_json=as_json, quiet=quiet)


def _check_window(job: Job, decided: Decided, known: core.Core, given: Mapping[str, Any]) -> None:
    """Refuses `--window auto` where no window can be found, before ranks start."""
    if given.get("window") != options.AUTO:
        return
    if "resume" in given:
        raise UsageError("--resume keeps the window of the run; leave out --window")
    if "launches" in given or is_launches(job.out):
        raise UsageError(
            "--window auto would find a window for each launch, and launches with different windows cannot "
            "be compared; give a number"
        )
    from crosscut.campaigns import window  # imports numpy

    found = known.backend(decided.options.backend)
    window.refuse(job, lossy=found is not None and found.lossy)


def _metadata(decided: Decided, words: list[str]) -> dict[str, object]:
    """Returns what `--resume` needs to start the same ranks again, and the command line."""
    return {
        "command_line": words,
        "crosscut": crosscut.__version__,
        "on": decided.on,
        "ranks": decided.options.ranks,
        "interface": decided.options.interface,
        "control_interface": decided.options.control_interface,
        "pin": decided.options.pin,
        "place_options": dict(decided.options.own),
    }


def _typed(known: core.Core, given: Mapping[str, Any]) -> tuple[Job, Decided]:
    """Returns the job as typed. With `--resume`, the core compares it with the one that the run records."""
    if "pattern" not in given:
        names = ", ".join(pattern.name for pattern in known.patterns)
        raise UsageError(f"no pattern was named: crosscut run PATTERN; known: {names}")
    decided = decide(known, options.launch(given))
    backend = decided.options.backend
    backend_parameters = options.backend_parameters(given, backend)
    resume = "resume" in given
    default = default_out(given["pattern"], backend, Path.cwd())
    named = given.get("out") or (default.with_suffix("") if "launches" in given else default)
    out = given["resume"].absolute() if resume else checked_out(named, force=given.get("force", False))
    refuse_bytes("--resume", out)
    job = Job(
        pattern=given["pattern"],
        out=out,
        pattern_parameters=options.pattern_parameters(given),
        backend=backend,
        backend_parameters=backend_parameters,
        sizes=given.get("sizes", ()),
        phases=given.get("phases"),
        options=options.job_options(given) | _resume_flags(resume, given),
        metadata=_metadata(decided, given["words"]),
    )
    return job, decided


def _resume_flags(resume: bool, given: Mapping[str, Any]) -> dict[str, object]:
    return {"resume": True, "force": bool(given.get("force", False))} if resume else {}


def _resumed(known: core.Core, given: Mapping[str, Any]) -> tuple[Job, Decided]:
    """Returns the job that the run on disk records, for ranks started as they were then."""
    out: Path = given["resume"].absolute()
    refuse_bytes("--resume", out)
    recorded = dict(load(out).job) if is_launches(out) else recorded_job(out)
    metadata = recorded.get("metadata")
    before: Mapping[str, Any] = metadata if isinstance(metadata, dict) else {}
    typed, ranks = options.launch(given), before.get("ranks")
    if isinstance(ranks, int) and typed.ranks not in (None, ranks):
        raise UsageError(
            f"--resume {given['resume']}: the run has {ranks} ranks, not {typed.ranks}; leave out -n"
        )
    launch = replace(
        typed,
        on=typed.on or str(before.get("on", "")),
        backend=typed.backend or str(recorded["backend"]),
        ranks=typed.ranks if typed.ranks is not None else ranks if isinstance(ranks, int) else None,
        interface=typed.interface or str(before.get("interface", "")),
        control_interface=typed.control_interface or str(before.get("control_interface", "")),
        pin=bool(given.get("pin", before.get("pin", True))),
        own={**_recorded_own(before), **typed.own},
    )
    decided = decide(known, launch)
    replaced = ("out", "pattern", "backend", "metadata")
    members = {key: value for key, value in recorded.items() if key not in replaced}
    if given.get("sizes") or given.get("phases"):
        raise UsageError("--resume keeps the sizes and phases of the run; leave out --size and --phases")
    job = Job(
        pattern=str(recorded["pattern"]),
        out=out,
        backend=decided.options.backend,
        options=members | options.job_options(given) | _resume_flags(True, given),
        metadata=dict(before) | _metadata(decided, list(before.get("command_line", given["words"]))),
    )
    return job, decided


def _recorded_own(before: Mapping[str, Any]) -> dict[str, object]:
    """Returns the recorded options of the place. A run that is older than `place_options` has only two."""
    recorded = before.get("place_options")
    if not isinstance(recorded, dict):
        recorded = {"switch": before.get("switch"), "dilate": before.get("dilation")}
    place, _ = find_place(str(before.get("on") or DEFAULT))
    return {
        option.name: option.parse(str(recorded[option.name]))
        for option in place.options
        if recorded.get(option.name)
    }


def recorded_job(out: Path) -> dict[str, Any]:
    """Returns the attribute `job`. Raises UsageError if `out` is not a run, or contains links or devices."""
    from crosscut.run.folder import refuse_links

    if is_campaign(out):
        raise UsageError(
            f"--resume {out} is an evaluation; continue with: crosscut evaluate --resume {as_typed(out)}"
        )
    if not (out / "zarr.json").exists():
        why = "it has no zarr.json" if out.is_dir() else missing(out, "directory")
        raise UsageError(f"--resume {out}: not a run that can be resumed: {why}")
    refuse_links(out)
    try:
        attributes = load_json(out / "zarr.json").get("attributes")
    except DamagedRun as error:
        raise UsageError(f"--resume {out}: not a run that can be resumed: {error}") from error
    job = attributes.get("job") if isinstance(attributes, dict) else None
    if not isinstance(job, dict) or not all(isinstance(job.get(key), str) for key in ("pattern", "backend")):
        raise UsageError(f"--resume {out}: not a run that can be resumed: it records no job")
    return job


def measure(job: Job, decided: Decided, quiet: bool) -> tuple[JobOutcome, bool]:
    """Starts ranks, measures one job and ends the ranks. Returns (outcome, whether a signal interrupted)."""
    from crosscut.session.progress import reporter

    with reporter(quiet) as listener:
        return restarts.measure(job, decided, partial(_measure_once, listener=listener), listener)


def _measure_once(job: Job, decided: Decided, listener: Listener) -> tuple[JobOutcome, bool]:
    def remarked(remark: str) -> None:
        listener({"event": "note", "message": remark})

    with ready_session(decided, listener, remarked) as session:
        if job.options.get("window") == options.AUTO:
            from crosscut.campaigns import window  # imports numpy

            job = _with_recorded_window(job) or window.found(job, session, decided, remarked)
        return session.run(job), session.interrupted


def _with_recorded_window(job: Job) -> Job | None:
    """Returns the job with the window that its run records: ranks were lost and started again since."""
    if not job.options.get("resume"):
        return None
    return replace(job, options={**job.options, "window": recorded_job(job.out)["window"]})
