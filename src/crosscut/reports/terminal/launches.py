"""A folder of launches on a terminal: the figures of each and how much they differ."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping

from crosscut.analysis.figures.launches import LaunchSpread, spreads
from crosscut.analysis.stats.intervals import FEWEST_FOR_INTERVAL
from crosscut.base import units
from crosscut.reports.terminal.screen import Rows, Screen
from crosscut.reports.view import View
from crosscut.reports.words import about
from crosscut.reports.words import launches as words
from crosscut.run.launches import Manifest

# The table by launch shows only this many of the largest sizes, so that rows fit; that by size has them all.
_SIZES_ACROSS = 6


def render(screen: Screen, manifest: Manifest) -> None:
    """Draws the report, for which it opens every launch that was started."""
    views = {path.name: View.open(path) for path in manifest.there}
    states = [views[one.name].state if one.name in views else "missing" for one in manifest.launches]
    screen.line(
        f"{units.count(len(states), 'launch', 'launches')} in {manifest.path}: {_counted(states)}", "bold"
    )
    if not views:
        screen.line("nothing is measured yet")
        return
    first = next(iter(views.values()))
    screen.line(f"{about.what(first)} ({about.where(first)})")
    screen.line("; ".join(about.how(first)), "dim")
    found = spreads([*views.values()])
    if not found:
        screen.line("nothing is measured yet")
        return
    for caution in about.beware(first, first.measured()):
        screen.warn(caution.text)
    _few(screen, found)
    _by_size(screen, found)
    _by_launch(screen, manifest, views, found)
    _compared(screen, found)
    screen.line()
    screen.line("One launch in detail:", "dim")
    screen.command(f"crosscut show {first.path}")


def _counted(states: list[str]) -> str:
    """`4 complete, 1 missing`"""
    return ", ".join(f"{count} {state}" for state, count in Counter(states).items())


def _by_size(screen: Screen, found: list[LaunchSpread]) -> None:
    what = "Median message" if found[0].timed else "Median phase, per rank and direction"
    screen.title(f"{what}: the median launch, and standard deviations")
    rows = Rows("size", "median launch", "between launches", "within a launch")
    for one in found:
        spread = words.share(one.between), words.share(one.within)
        rows.add(units.size(one.size_bytes), words.middle(one), *spread)
    screen.table(rows)


def _by_launch(
    screen: Screen, manifest: Manifest, views: Mapping[str, View], found: list[LaunchSpread]
) -> None:
    shown = found[-_SIZES_ACROSS:]
    screen.title("Each launch")
    rows = Rows("<launch", "<state", *(units.size(one.size_bytes) for one in shown), dash="not measured")
    order = [*views]
    for launch in manifest.launches:
        if launch.name not in views:
            rows.add(launch.name, "missing", *("–" for _ in shown), style="yellow")
            continue
        at, state = order.index(launch.name), views[launch.name].state
        figures = (_figure(one, float(one.launches[at])) for one in shown)
        rows.add(launch.name, state, *figures, style="" if state == "complete" else "yellow")
    screen.table(rows)


def _figure(of: LaunchSpread, value: float) -> str:
    if not math.isfinite(value):
        return "–"
    return units.seconds(value) if of.timed else units.rate(value)


def _few(screen: Screen, found: list[LaunchSpread]) -> None:
    if min(int(one.middle.count[0]) for one in found) < FEWEST_FOR_INTERVAL:
        screen.warn(
            f"fewer than {FEWEST_FOR_INTERVAL} launches, so no 95 % interval over launches "
            f"(crosscut run --resume FOLDER --launches {FEWEST_FOR_INTERVAL})"
        )


def _compared(screen: Screen, found: list[LaunchSpread]) -> None:
    if said := [sentence for one in found if (sentence := words.sentence(one)) is not None]:
        screen.line()
        for sentence in said:
            screen.line(sentence)
