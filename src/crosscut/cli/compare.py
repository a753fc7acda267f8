"""`crosscut compare`: what changed between runs."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from crosscut.base import units
from crosscut.base.errors import EXIT_FAILED, EXIT_OK, UsageError
from crosscut.cli.parsing import options
from crosscut.cli.parsing.parser import flag, option, tell

if TYPE_CHECKING:
    from crosscut.analysis.compare.conditions import UndecidedError
    from crosscut.reports.terminal.screen import Screen

EXIT_UNDECIDED = 3
EPILOG = """
examples:
  crosscut compare before.zarr after.zarr
  crosscut compare monday.zarr *.zarr        three and more: a trend, or a step
  crosscut compare a.zarr b.zarr --matters 10% --json
  crosscut compare before after              two folders of launches: their medians are the samples

The runs must repeat one measurement: same pattern, message size, number of ranks and --sync. Nodes are
matched by their identity. Launches are compared with launches; with the default --error-rate that needs at
least 5 on each side.

exit status: 0 nothing is worse; 1 something is worse, or the machine failed; 2 wrong usage, or runs that
cannot be compared; 3 undecided: only single routes changed between two single runs, there are too few
launches, or a lab's machine was too slow to emulate the network; 130 interrupted
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "runs",
        nargs="+",
        type=options.folder,
        metavar="DIR",
        help="Runs or folders of launches, the oldest first.",
    )
    option(parser, "--matters SHARE", units.parse_fraction,
           "Ignore changes smaller than this. Default 3%%.", default=0.03)  # fmt: skip
    option(parser, "--error-rate SHARE", units.parse_fraction,
           "Accepted probability of reporting any change at all when nothing has changed. Default 1%%.",
           default=0.01)  # fmt: skip
    options.add_reading(parser)
    flag(parser, "--json", "Print one JSON object on standard output.")


def execute(args: argparse.Namespace) -> int:
    if len(args.runs) < 2:
        raise UsageError("name at least two runs, the oldest first")
    if not 0 < args.error_rate < 0.5:
        raise UsageError("--error-rate must be above 0 and below 50 %")
    return _compare(args)


def _compare(args: argparse.Namespace) -> int:
    # numpy and xarray take a second to import
    from crosscut.analysis.compare import causes
    from crosscut.analysis.compare.comparing import ComparisonSettings, compare
    from crosscut.analysis.compare.conditions import UndecidedError
    from crosscut.analysis.compare.trend import trends
    from crosscut.analysis.figures.launches import open_run
    from crosscut.analysis.findings import of_run
    from crosscut.analysis.findings.groups import groups_of
    from crosscut.reports.json import compare as json_compare
    from crosscut.reports.terminal import compare as terminal_compare
    from crosscut.run.run import Run

    asked = ComparisonSettings(error_rate=args.error_rate, matters=args.matters)
    runs: Sequence[Run] = [open_run(path) for path in args.runs]
    found = None
    try:
        if len(runs) > 2:
            found, runs = trends(runs, groups_of(runs[0]), asked)
        first, *later = runs
        groups = groups_of(first)
        # Too few runs for a trend are each compared with the first.
        several = found is not None and found.too_few
        pairs = [(run, compare(first, run, groups, asked)) for run in (later if several else later[-1:])]
    except UndecidedError as error:
        return tell_untold(args, error)
    names = of_run.rank_names(first)
    told = []
    for run, comparison in pairs:
        why = causes.of_changes(comparison, first, run)
        told.append((run, causes.explained(comparison, why, asked.matters), why))
    trends_worse = bool(found and any(trend.worse(asked) for trend in found.series))
    worse = trends_worse or of_several(causes.worse(one, why) for _, one, why in told)

    def render(screen: Screen) -> None:
        # A trend covers the runs of the comparison, so its conditions are enough.
        terminal_compare.render_conditions(screen, (found or told[-1][1]).conditions)
        if found is not None:
            terminal_compare.render_trend(screen, found, asked, names)
        for run, comparison, why in told:
            if found is not None:
                screen.title(f"{first.path.name} → {run.path.name}")
            terminal_compare.render(screen, comparison, asked, names, why)

    def document() -> dict[str, Any]:
        _, last, why = told[-1]
        before = [
            {"run": run.path.name} | json_compare.document(one, asked, names, None, its)
            for run, one, its in told[:-1]
        ]
        made = json_compare.document(last, asked, names, found, why)
        return made | ({"before_last": before, "worse": worse} if before else {})

    tell(args, document, render)
    return status_of(worse)


def of_several(worse: Iterable[bool | None]) -> bool | None:
    """True if one is; else None if one is undecided."""
    each = set(worse)
    return True if True in each else None if None in each else False


def status_of(worse: bool | None) -> int:
    """Returns the exit status. `worse`: as in `Comparison`."""
    return EXIT_UNDECIDED if worse is None else EXIT_FAILED if worse else EXIT_OK


def tell_untold(args: argparse.Namespace, error: UndecidedError, **more: Any) -> int:
    """Reports why nothing can be decided: a run says nothing about the network, or launches are too few.
    `more` adds members to the JSON object."""
    from crosscut.reports.json import compare as json_compare
    from crosscut.reports.terminal import compare as terminal_compare

    tell(args, lambda: json_compare.untold(error) | more,
         lambda screen: terminal_compare.render_untold(screen, error))  # fmt: skip
    return EXIT_UNDECIDED
