"""`crosscut check`: does the network deliver what was promised?"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crosscut.base import core, units, whole_file
from crosscut.base.errors import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK, UsageError
from crosscut.cli.compare import EXIT_UNDECIDED, status_of, tell_untold
from crosscut.cli.parsing import options
from crosscut.cli.parsing.measuring import launching, measuring, recorded
from crosscut.cli.parsing.parser import flag, option, record, tell, whole
from crosscut.session.measure import decide

if TYPE_CHECKING:
    from crosscut.analysis.compare.promises import Checked, PromiseVerdict
    from crosscut.analysis.compare.spec import Spec
    from crosscut.analysis.figures.cautions import Caution

EPILOG = """
examples:
  crosscut check spec.toml aapc.zarr         judge what was measured; examples/acceptance.toml is a spec
  crosscut check spec.toml --on hosts:hosts.txt --protocol acceptance.html --junit check.xml
  crosscut check spec.toml --on hosts:hosts.txt --protocol vendor.html --redact
  crosscut check --quick --baseline good.zarr --on hosts:hosts.txt

With --on, check measures in rounds until every promise is decided or the time is up. Each round normally
starts new processes with new connections; where that is slow, they are started once and used for all rounds.

exit status: 0 all promises are kept (--quick: nothing is worse); 1 one is broken, or the machine failed;
2 wrong usage or unreadable input; 3 none is broken, but one is undecided, perhaps because a lab's machine
was too slow to emulate the network; 130 interrupted
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    known = core.load()
    parser.add_argument(
        "spec",
        nargs="?",
        type=options.folder,
        metavar="SPEC",
        help="Specification: what was promised (TOML).",
    )
    parser.add_argument(
        "runs", nargs="*", type=options.folder, metavar="DIR", help="Runs or folders of launches to judge."
    )
    group = parser.add_argument_group("what to measure if no run is named")
    option(group, "--time-limit TIME", units.parse_seconds,
           "Measure for at most this long. Default 10min; with --quick 30s.",
           dest="time_limit_seconds")  # fmt: skip
    option(group, "--most-repetitions N", whole(1),
           "Largest number of repetitions for each promise. Default 200.", default=200)  # fmt: skip
    option(group, "--seed N", whole(0), "Seed of all random choices. Default 1.", default=1)
    flag(group, "--quick", "Compare with --baseline within half a minute; takes no SPEC.")
    option(group, "--baseline DIR", options.folder, "With --quick: the earlier run to compare with.")
    options.add_where(parser, options.backend_names(known))
    group = parser.add_argument_group("output")
    option(group, "--protocol FILE", Path, "Write an acceptance report to this file, .html or .pdf.")
    option(group, "--junit FILE", Path, "Write the verdicts to this file as JUnit XML.")
    flag(group, "--redact", "Replace node names with numbers in all output.")
    options.add_keep(group)
    options.add_reading(group)
    flag(group, "--json", "Print one JSON object on standard output.")
    flag(group, "--quiet", "Show no progress.")


def execute(args: argparse.Namespace) -> int:
    given = {key: value for key, value in vars(args).items() if value is not None}
    typed = options.launch(given)
    measuring = bool(typed.on or typed.backend or typed.ranks is not None)
    _writable(args)
    if args.quick:
        return _quick(args, given)
    if args.baseline is not None:
        raise UsageError("--baseline needs --quick; to compare two runs, use crosscut compare")
    if args.spec is None:
        raise UsageError(
            "crosscut check: name a spec (examples/acceptance.toml is one), or give --quick --baseline RUN"
        )
    if args.spec.is_dir() and not measuring:
        raise UsageError(
            f"crosscut check: {args.spec} is a run; the specification comes first: crosscut check SPEC "
            f"{args.spec} (examples/acceptance.toml is one)"
        )
    if bool(args.runs) == measuring:
        raise UsageError(
            "crosscut check: either name runs to judge, or give --on PLACE (or -n RANKS) to measure"
        )
    from crosscut.analysis.compare import promises, spec
    from crosscut.analysis.figures.launches import open_run
    from crosscut.reports.words import check_cautions

    promised = spec.read(args.spec)
    interrupted = False
    if args.runs:
        checked = promises.verdicts(promised, [open_run(path) for path in args.runs])
        cautions = check_cautions.of_runs(checked.runs, promised.sizes_bytes)
    else:
        checked, cautions, interrupted = _measured(args, given, promised)
    _tell(args, promised, checked, cautions)
    return EXIT_INTERRUPTED if interrupted else status(checked.judged)


def _writable(args: argparse.Namespace) -> None:
    """Raises, before anything is measured, if an output file cannot be written."""
    for name, file in (("--protocol", args.protocol), ("--junit", args.junit)):
        if file is not None:
            whole_file.need_place(name, file)
    if args.protocol is not None:
        from crosscut.reports import protocol

        protocol.refuse(args.protocol)


def status(judged: Sequence[PromiseVerdict]) -> int:
    from crosscut.analysis.compare.promises import Verdict

    found = {one.verdict for one in judged}
    if Verdict.FAIL in found:
        return EXIT_FAILED
    return EXIT_UNDECIDED if Verdict.UNDECIDED in found else EXIT_OK


def _measured(
    args: argparse.Namespace, given: dict[str, Any], promised: Spec
) -> tuple[Checked, list[Caution], bool]:
    from crosscut.campaigns import check as checking
    from crosscut.reports.words import check as words_check
    from crosscut.reports.words import check_cautions

    decided = decide(core.load(), options.launch(given))
    allowed = {"time_limit_seconds": 600.0} | given
    how = record(checking.CheckOptions, allowed, metadata=recorded(args, decided))

    def told(judged: Sequence[PromiseVerdict]) -> None:
        if not args.quiet:
            count = max(one.repetitions for one in judged)
            why = next((f"; {one.left_out}" for one in judged if one.left_out), "")
            print(f"crosscut: {count} repetitions: {words_check.sentence(judged)}{why}", file=sys.stderr)

    with launching(args, decided) as (folder, launch):
        checked, interrupted = checking.measure(launch, decided, promised, folder, how, told)
        # Read now and cached: a temporary folder is removed at the end of this block.
        cautions = check_cautions.of_runs(checked.runs, promised.sizes_bytes)
        for run in checked.runs:
            _ = (run.node_names, run.node_indices)
    return checked, cautions, interrupted


def _tell(args: argparse.Namespace, promised: Spec, checked: Checked, cautions: Sequence[Caution]) -> None:
    from crosscut.analysis.findings import of_run
    from crosscut.reports import junit, protocol, redaction
    from crosscut.reports.json import check as json_check
    from crosscut.reports.terminal import check as terminal_check
    from crosscut.reports.words import check_cautions

    if args.redact:
        promised, checked = redaction.check(promised, checked)
    names: tuple[str, ...] = ()
    for run in checked.runs:
        if run.ranks > len(names):
            names = of_run.rank_names(run)
    planted = check_cautions.planted(checked.runs)
    not_built = check_cautions.not_built(checked.runs)
    if args.junit is not None:
        whole_file.write_output(
            args.junit, junit.document(promised, checked.judged, names, cautions).encode()
        )
    told = (promised, checked.judged, names, cautions)
    tell(args, lambda: json_check.document(*told) | {"faults": planted},
         lambda screen: terminal_check.render(screen, *told, planted, not_built))  # fmt: skip
    if args.protocol is not None:
        protocol.write(args.protocol, promised, checked, names, redact=args.redact, cautions=cautions)


def _quick(args: argparse.Namespace, given: dict[str, Any]) -> int:
    if args.baseline is None or args.spec is not None:
        raise UsageError("crosscut check --quick needs --baseline RUN and takes no spec")
    if args.protocol or args.junit:
        raise UsageError("crosscut check --quick judges no promises, so it has no --protocol and no --junit")
    from crosscut.analysis.compare import worse_nodes
    from crosscut.analysis.compare.comparing import ComparisonSettings, compare
    from crosscut.analysis.compare.conditions import UntoldError
    from crosscut.analysis.findings import of_run
    from crosscut.analysis.findings.groups import groups_of
    from crosscut.campaigns import quick
    from crosscut.reports import redaction
    from crosscut.reports.json import compare as json_compare
    from crosscut.reports.terminal import check as terminal_check
    from crosscut.run.run import Run

    begun = time.monotonic()
    baseline, asked = Run.open(args.baseline), ComparisonSettings()
    given.setdefault("ranks", baseline.ranks)
    decided = decide(core.load(), options.launch(given))
    end = begun + given.get("time_limit_seconds", 30.0)
    quick.refuse(baseline, decided, asked)
    with measuring(args, decided, progress=True) as (folder, session):
        run = quick.measure(session, baseline, decided, folder, end, asked, recorded(args, decided))
        try:
            found = compare(baseline, run, groups_of(baseline), asked)
            # What others get of a trunk depends on all, so only the new run itself can show who is at fault.
            worse = worse_nodes.worse_nodes(found, baseline, of_run.look(run)[0])
        except UntoldError as error:
            if args.redact:
                error = redaction.untold(error, redaction.aliases([baseline, run]))
            return tell_untold(args, error, drain=[], worse=[])
    names = of_run.rank_names(baseline)
    if args.redact:
        known = redaction.aliases([baseline, run])
        found, names = redaction.comparison(found, known), of_run.rank_names(redaction.run(baseline, known))
        worse = redaction.worse_nodes(worse, known)
    listed = {"drain": worse.faulty, "worse": worse.others}
    drained = {key: [{"node": node, "reason": why} for node, why in nodes] for key, nodes in listed.items()}
    tell(args, lambda: json_compare.document(found, asked, names) | drained,
         lambda screen: terminal_check.render_quick(screen, found, asked, names, worse, decided.on),
         )  # fmt: skip
    return status_of(found.worse)
