"""Summarises the runs of a campaign: key figures of each, and where to look further."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

from rich.text import Text

from crosscut.analysis.figures import summary
from crosscut.analysis.figures.cautions import LARGEST_INTERVAL_SHARE, CautionKind
from crosscut.analysis.figures.launches import LaunchSpread, spreads
from crosscut.analysis.stats.intervals import FEWEST_FOR_INTERVAL
from crosscut.base import units
from crosscut.base.errors import CrosscutError
from crosscut.base.spelling import as_typed
from crosscut.campaigns.campaign import StepResult, launch_folders
from crosscut.reports.json import launches as json_launches
from crosscut.reports.terminal import findings, headline
from crosscut.reports.terminal.screen import Rows, Screen
from crosscut.reports.view import View
from crosscut.reports.words import about
from crosscut.reports.words import launches as words
from crosscut.reports.words.sentences import figures_of
from crosscut.run.shape import Shape


def checked(result: StepResult) -> StepResult:
    """Marks a run that cannot be opened as `damaged`, so that the others can still be shown."""
    if result.measured:
        try:
            View.open(result.out)
        except CrosscutError as error:
            return replace(result, state="damaged", reason=str(error).splitlines()[0].rstrip(":"))
    return result


def render(directory: Path, results: Sequence[StepResult], screens: Sequence[Screen]) -> None:
    """Renders a summary of results that have passed through `checked`, on each screen."""
    views = {result.step.name: View.open(result.out) for result in results if result.measured}
    worst = findings.worst(views)
    for screen in screens:
        _render(screen, directory, results, views)
        if worst is not None:
            findings.render_worst(screen, *worst, as_typed(views[worst[0]].path))
        if views:
            screen.line()
            screen.line("To see one run in detail:", "dim")
            screen.command(f"crosscut show {as_typed(next(iter(views.values())).path)}")


def _render(screen: Screen, directory: Path, results: Sequence[StepResult], views: dict[str, View]) -> None:
    screen.line(f"{as_typed(directory)}: {_states(results)}", "bold")
    if views:
        first = next(iter(views.values()))
        screen.line(f"{units.count(first.ranks, 'rank')}, {about.where(first)}")
        screen.line("; ".join(about.how(first)), "dim")
    _cautions(screen, views)
    _figures(screen, results, views)
    _by_size(screen, views)
    _by_launch(screen, spreads_of(directory, views))


def _states(results: Sequence[StepResult]) -> str:
    """Counts states: `11 of 12 runs complete, 1 refused`."""
    counts = Counter(result.state for result in results)
    complete = f"{counts.pop('complete', 0)} of {units.count(len(results), 'run')} complete"
    return ", ".join([complete, *(f"{count} {state}" for state, count in counts.items())])


def _cautions(screen: Screen, views: dict[str, View]) -> None:
    """Shows each caution once: its text alone if all runs share it, otherwise with the runs it concerns."""
    found: dict[CautionKind, dict[str, list[str]]] = {}
    advice: dict[CautionKind, str] = {}
    for name, view in views.items():
        measured = view.measured()
        for caution in about.beware(view, measured):
            found.setdefault(caution.kind, {}).setdefault(caution.text, []).append(name)
            advice.setdefault(caution.kind, caution.advice)
    for kind, texts in found.items():
        if len(texts) == 1 and len(next(iter(texts.values()))) == len(views):
            said = next(iter(texts))
        elif kind in _IN_SHORT:
            said = f"{_IN_SHORT[kind]}: {', '.join(dict.fromkeys(chain.from_iterable(texts.values())))}"
        else:
            said = "; ".join(f"{', '.join(names)}: {text}" for text, names in texts.items())
        hint = f" ({advice[kind]})" if advice[kind] and kind is not CautionKind.UNFINISHED else ""
        screen.warn(f"{said}{hint}")


# Short forms for several runs; `show` gives the full text for each, with its own sizes.
_IN_SHORT = {
    CautionKind.SKEW: "in some phases, ranks leave the barrier apart by more than 5 % of the phase",
    CautionKind.FEW_REPETITIONS: f"fewer than {FEWEST_FOR_INTERVAL} repetitions of some phases, so no 95 % "
    "interval",
    CautionKind.INDEPENDENCE_ASSUMED: "too few repetitions of some phases to estimate their correlation: the "
    "95 % interval may be too narrow",
    CautionKind.WIDE_INTERVALS: "some phases' 95 % interval is wider than "
    f"{units.percent(LARGEST_INTERVAL_SHARE)} of the median",
}


def _figures(screen: Screen, results: Sequence[StepResult], views: dict[str, View]) -> None:
    """Shows a paragraph for each step."""
    screen.title("Figures")
    table = Rows("<run", "<state", "<")
    for result in results:
        lines = figures_of(views[result.step.name]) if result.measured else []
        table.add(
            Text(result.step.name, style="bold cyan"),
            result.state,
            screen.glyphs.plain("\n".join([*lines, *([result.reason] if result.reason else [])])),
            style="" if result.state == "complete" else "yellow",
        )
    screen.table(table)


def _rates_by_size(views: dict[str, View]) -> dict[str, dict[int, float]]:
    """Rate of the median phase by size, for runs with several sizes; omits shapes with their own sizes."""
    rates: dict[str, dict[int, float]] = {}
    for name, view in views.items():
        measured = view.measured_sizes()
        if len(measured) > 1 and view.shape not in (Shape.SWEEP, Shape.LOADED):
            rates[name] = {
                view.sizes_bytes[index]: summary.phase_rates(view.samples(index)).middle for index in measured
            }
    return rates


def _by_size(screen: Screen, views: dict[str, View]) -> None:
    rates = _rates_by_size(views)
    sizes = sorted({size for row in rates.values() for size in row})
    if not sizes:
        return
    screen.title("Median phase, MB/s per rank and direction, by message size")
    table = Rows("<pattern", *map(units.size, sizes), dash="not measured at this size")
    for name, row in rates.items():
        cells = [
            units.number(row[size], (1e6, "MB/s")) if math.isfinite(row.get(size, math.nan)) else "–"
            for size in sizes
        ]
        table.add(name, *cells)
    screen.table(table)


def spreads_of(directory: Path, views: dict[str, View]) -> dict[str, LaunchSpread]:
    """Spread between launches for each step, at its largest size; only steps that several launches share."""
    found: dict[str, LaunchSpread] = {}
    for name, view in views.items():
        paths = [folder / view.path.name for folder in launch_folders(directory)[1:]]
        runs = [view, *filter(None, map(_opened, paths))]
        if len(runs) > 1 and (there := spreads(runs)):
            found[name] = there[-1]
    return found


def _opened(path: Path) -> View | None:
    """Opens a run; None if it is missing or damaged (`fsck` reports that)."""
    try:
        return View.open(path)
    except CrosscutError:
        return None


def _by_launch(screen: Screen, found: dict[str, LaunchSpread]) -> None:
    if not found:
        return
    screen.title("Standard deviation between launches and within one")
    table = Rows("<run", "launches", "size", "median launch", "between", "within")
    for name, one in found.items():
        spread = words.share(one.between), words.share(one.within)
        table.add(name, str(int(one.middle.count[0])), units.size(one.size_bytes), words.middle(one), *spread)
    screen.table(table)
    for name, one in found.items():
        if (sentence := words.sentence(one)) is not None:
            screen.line(f"{name}: {sentence}")


def as_json(directory: Path, results: Sequence[StepResult]) -> dict[str, object]:
    """The summary as JSON, for scripts."""
    views = {result.step.name: View.open(result.out) for result in results if result.measured}
    spread = spreads_of(directory, views)
    return {
        "out": str(directory),
        "launches": {name: json_launches.size(one) for name, one in spread.items()},
        "steps": [
            {"name": result.step.name, "state": result.state, "reason": result.reason}
            | (headline.as_json(result.out) if result.measured else {})
            for result in results
        ],
    }
