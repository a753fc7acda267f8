"""Shows a comparison as a table on a terminal or as JSON."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict
from typing import Any, TypeVar

import numpy as np

from crosscut.base import units
from crosscut.base.records import finite
from crosscut.network import switch_words
from crosscut.reports.terminal.screen import Rows, Screen
from crosscut.reproduce.comparing import ComparisonRow, SeriesCurve, Summary
from crosscut.reproduce.experiment import PLACES, Experiment, Series
from crosscut.reproduce.quantities import QUANTITIES
from crosscut.reproduce.running import MeasuredSeries
from crosscut.run.realm import Realm

Trait = TypeVar("Trait")
KINDS = {"published": "predictions", "fitted": "fits", "calculated": "calculated from the set-up"}
"""Figures by what their errors are against, as ComparisonRow.against."""
NAMES = {Realm.EMULATED: "emulated", Realm.SIMULATED: "simulated", Realm.HERE: "this machine"}
OUTSIDE = "*"
OUTSIDE_SAYS = "outside the experiment's aim: does not count below"
LIMITED = "!"
LIMITED_SAYS = "the machine was the limit, not the network"


def render(
    screen: Screen, experiment: Experiment, rows: Sequence[ComparisonRow], found: Sequence[Summary],
    measured: Sequence[MeasuredSeries],
) -> None:  # fmt: skip
    screen.line(experiment.title, "bold")
    screen.line(experiment.source, "dim")
    for sentence in conditions(measured):
        screen.line(sentence, "dim")
    places = [place for place in PLACES if any(one.place == place for one in measured)]
    screen.table(_table(rows, places, {one.name for one in experiment.series if sizes_on_x(one)}))
    if about := places_on_x(experiment, rows):
        screen.line(f"at: {about}", "dim")
    for sentence in compared(experiment):
        screen.line(sentence, "dim")
    if any(not row.in_aim and row.held_against is not None for row in rows):
        screen.line(f"{OUTSIDE} {OUTSIDE_SAYS}", "dim")
    if any(row.emulated_limited for row in rows):
        screen.line(f"{LIMITED} {LIMITED_SAYS}: its cores were busy", "yellow")
    for note in dict.fromkeys(f"{row.series}: {row.note}" for row in rows if row.note):
        screen.line(note, "dim")
    for fit in dict.fromkeys(f"{row.series}: no prediction: {row.fitted}" for row in rows if row.fitted):
        screen.line(fit, "dim")
    for one, sentence in zip(found, summary_sentences(experiment, found), strict=True):
        warns = one.met is False or one.left_out > 0
        screen.line(sentence, "bold yellow" if warns else "bold")


def sizes_on_x(series: Series) -> bool:
    return series.by_size and not series.x


def places_on_x(experiment: Experiment, rows: Sequence[ComparisonRow]) -> str:
    """Names the numbers in the column `at`; empty if they are sizes."""
    numbered = {row.series for row in rows if row.x is not None}
    there = [one for one in experiment.series if one.name in numbered and not sizes_on_x(one)]
    if not there:
        return ""
    if experiment.picture.form in ("points", "phases") and experiment.picture.x:
        return experiment.picture.x
    kinds = ["ranks" if one.rank_counts else "phase" for one in there if not one.x]
    return ", or ".join(dict.fromkeys(kinds))


def compared(experiment: Experiment) -> list[str]:
    """Describes the figures, one line for each quantity."""
    names = dict.fromkeys(one.quantity_name for one in experiment.series)
    return [f"{name}: {QUANTITIES[name].help}" for name in names]


def shown_x(x: float, is_size: bool) -> str:
    """Formats an x value without an exponent."""
    return units.size(x) if is_size else np.format_float_positional(x, trim="-")


def _table(rows: Sequence[ComparisonRow], places: Sequence[Realm], of_sizes: Collection[str]) -> Rows:
    against = {"published": [row.published for row in rows], "calculated": [row.calculated for row in rows]}
    shown = [name for name, figures in against.items() if any(figures)]
    errors = ["error"] if shown else []
    table = Rows(
        "<figure", "at", *shown, *(heading for place in places for heading in (NAMES[place], *errors))
    )
    before = ""
    for at, row in enumerate(rows):
        named = row.series if row.series != before else ""
        cells = [named, _at(row, of_sizes), *(number(against[name][at], row.unit) for name in shown)]
        for place in places:
            value = row.at(place)
            mark = f" {LIMITED}" if row.limited(place) else ""
            cells.append(number(value, row.unit if row.held_against is None else "") + mark)
            cells += [error_words(row, value)] if shown else []
        table.add(*cells, style="" if row.in_aim or not shown else "dim")
        before = row.series
    return table


def named(row: ComparisonRow | None, experiment: Experiment) -> str:
    """`ER16 (phase 3)`; the series alone if it has a single figure; empty without a row."""
    if row is None:
        return ""
    series = next(one for one in experiment.series if one.name == row.series)
    if row.x is None or len(series.x) == 1 or (len(series.phases) == 1 and not series.x):
        return row.series
    shown, axis = shown_x(row.x, sizes_on_x(series)), experiment.picture.x.partition(" (")[0]
    if sizes_on_x(series):
        return f"{row.series} ({shown})"
    kind = f"{axis}:" if series.x and axis else "ranks:" if series.rank_counts else "phase"
    return f"{row.series} ({kind} {shown})"


def _at(row: ComparisonRow, of_sizes: Collection[str]) -> str:
    return "" if row.x is None else shown_x(row.x, row.series in of_sizes)


def number(value: float | None, unit: str = "", absent: str = "–") -> str:
    if value is None:
        return absent
    number = f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"
    return f"{number} {unit}" if unit and unit != "share" else number


def error_words(row: ComparisonRow, value: float | None) -> str:
    """`+3.1 % *`; empty if there is no error."""
    error = row.error(value)
    if error is None:
        return ""
    shown = f"{100 * error:+.1f}"
    return f"{'0.0' if float(shown) == 0 else shown} %" + ("" if row.in_aim else f" {OUTSIDE}")


def summary_sentences(experiment: Experiment, found: Sequence[Summary]) -> list[str]:
    return [_summary(one, experiment) for one in found]


def met_words(met: bool | None) -> str:
    """Says whether an aim is met; empty if there is none."""
    return "" if met is None else "met" if met else "missed"


_AGAINST = {
    "published": "",
    "fitted": " fitted to what is published",
    "calculated": " compared with calculated ones",
}


def _summary(one: Summary, experiment: Experiment) -> str:
    there = one.rows + one.left_out
    left_out = f"{one.left_out} of {there} left out: {LIMITED_SAYS}"
    row = one.worst_row
    if row is None:
        return f"{NAMES[one.place]}: {left_out}"
    against = _AGAINST[one.against]
    text = (
        f"{NAMES[one.place]}: {units.count(one.rows, 'figure')}{against}, mean error "
        f"{units.percent(one.mean)}, worst {units.percent(one.worst)}: {named(row, experiment)}"
    )
    aims = [
        f"{name} {units.percent(aim)}"
        for name, aim in (("mean", experiment.aim.mean), ("worst", experiment.aim.worst))
        if aim is not None
    ]
    if one.met is not None:
        text += f"; aim {', '.join(aims)}: {met_words(one.met)}"
    return f"{text}; {left_out}" if one.left_out else text


def conditions(measured: Sequence[MeasuredSeries]) -> list[str]:
    """Lists how the simulator was set, and the ways in which the emulation differs from the paper."""
    return [*_of_simulator(measured), *_of_lab(measured)]


def _of_simulator(measured: Sequence[MeasuredSeries]) -> list[str]:
    """Lists parameters other than the simulator's defaults."""
    simulated = [one for one in measured if one.place is Realm.SIMULATED]
    set_to = _named_by(simulated, lambda one: tuple(one.series.simulator.items()))
    return [
        f"simulated: {', '.join(f'{key} {value}' for key, value in given)}{f', of {names}' if names else ''}"
        for given, names in set_to.items()
        if given
    ]


def _of_lab(measured: Sequence[MeasuredSeries]) -> list[str]:
    lab = [one for one in measured if one.place is Realm.EMULATED]
    if not lab:
        return []
    found = []
    for words, names in _named_by(lab, lambda one: switch_words.clause(one.switch)).items():
        if words:  # empty for the default switch
            found.append(words + (f", of {names}" if names else ""))
    for factor, names in _named_by(lab, lambda one: one.dilation).items():
        if factor != 1:
            which = f"rates of {names}" if names else "all rates"
            found.append(f"{which} divided by {factor:g}, rates shown times {factor:g}")
    series = [one.series for one in lab]
    shorter = {(one.messages[0], one.lab_messages[0]) for one in series if one.messages != one.lab_messages}
    for paper, sent in sorted(shorter):
        found.append(f"messages of {units.size(sent)} in place of {units.size(paper)}; times scaled")
    changed = {
        f"{key} {value} in place of {one.parameters.get(key, 'none')}"
        for one in series
        for key, value in one.lab_parameters.items()
        if one.parameters.get(key) != value
    }
    return [f"emulated: {sentence}" for sentence in (*found, *sorted(changed))]


def _named_by(lab: Sequence[MeasuredSeries], trait: Callable[[MeasuredSeries], Trait]) -> dict[Trait, str]:
    """Names of the series with each trait; empty if all have the same."""
    found: dict[Trait, list[str]] = {}
    for one in lab:
        found.setdefault(trait(one), []).append(one.series.name)
    return {each: ", ".join(names) if len(found) > 1 else "" for each, names in found.items()}


def as_json(
    experiment: Experiment, rows: Sequence[ComparisonRow], found: Sequence[Summary],
    curves: Sequence[SeriesCurve], measured: Sequence[MeasuredSeries],
) -> dict[str, Any]:  # fmt: skip
    return {
        "experiment": experiment.name,
        "title": experiment.title,
        "source": experiment.source,
        "conditions": conditions(measured),
        "quantities": {one.name: one.quantity_name for one in experiment.series},
        "compared": compared(experiment),
        "rows": [
            asdict(row)
            | {"emulated_error": row.error(row.emulated), "simulated_error": row.error(row.simulated)}
            for row in rows
        ],
        "summary": [
            {"place": one.place, "against": one.against, "rows": one.rows, "left_out": one.left_out,
             "mean_error": finite(one.mean), "worst_error": finite(one.worst), "aim_met": one.met}
            for one in found
        ],
        "curves": [
            {"series": one.series, "place": one.place, "x": list(one.x), "values": list(one.values),
             "unevenness": list(one.unevenness), "limited": list(one.limited)}
            for one in curves
        ],
        "runs": [
            {"series": one.series.name, "place": one.place, "seconds": one.seconds, "dilation": one.dilation,
             "switch": one.switch if one.place is Realm.EMULATED else None,
             "paths": [path.name for path in one.runs]}
            for one in measured
        ],
    }  # fmt: skip
