"""The table on a terminal, and the same as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from crosscut import units
from crosscut.reports.screen import Rows, Screen
from crosscut.reproduce.comparing import Curve, Row, Summary
from crosscut.reproduce.experiment import Experiment
from crosscut.reproduce.running import Measured

NAMES = {"lab": "emulated", "sim": "simulated"}


def render(
    screen: Screen, experiment: Experiment, rows: Sequence[Row], found: Sequence[Summary],
    measured: Sequence[Measured],
) -> None:  # fmt: skip
    screen.line(experiment.title, "bold")
    screen.line(experiment.source, "dim")
    for sentence in conditions(measured):
        screen.line(sentence, "dim")
    places = [place for place in ("lab", "sim") if any(one.place == place for one in measured)]
    headings = ["<figure", "at", "published"]
    for place in places:
        headings += [NAMES[place], "error"]
    table = Rows(*headings)
    before = ""
    for row in rows:
        named = row.series if row.series != before else ""
        cells = [named, _at(row), _number(row.published, row.unit)]
        for place in places:
            value = row.emulated if place == "lab" else row.simulated
            cells += [_number(value, row.unit if row.published is None else ""), _error(row, value)]
        table.add(*cells, style="" if row.in_aim else "dim")
        before = row.series
    screen.table(table)
    for note in dict.fromkeys(f"{row.series}: {row.note}" for row in rows if row.note):
        screen.line(note, "dim")
    for one in found:
        screen.line(_summary(one, experiment), "bold" if one.met is not False else "bold yellow")


def _at(row: Row) -> str:
    return "" if row.x is None else f"{row.x:g}"


def _number(value: float | None, unit: str = "") -> str:
    if value is None:
        return "–"
    number = f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"
    return f"{number} {unit}" if unit and unit != "share" else number


def _error(row: Row, value: float | None) -> str:
    error = row.error(value)
    return "" if error is None else f"{100 * error:+.1f} %" + ("" if row.in_aim else " *")


def _summary(one: Summary, experiment: Experiment) -> str:
    row = one.worst_row
    where = row.series + (f" at {row.x:g}" if row.x is not None else "")
    text = (
        f"{NAMES[one.place]}: {units.count(one.rows, 'figure')} off by {units.percent(one.mean)} in the "
        f"mean, {units.percent(one.worst)} at worst ({where})"
    )
    aims = [
        f"{name} {units.percent(aim)}"
        for name, aim in (("mean", experiment.mean_aim), ("worst", experiment.worst_aim))
        if aim is not None
    ]
    return text if one.met is None else f"{text}; aim {', '.join(aims)}: {'met' if one.met else 'missed'}"


def conditions(measured: Sequence[Measured]) -> list[str]:
    """What is unlike the paper, in sentences."""
    lab = [one for one in measured if one.place == "lab"]
    if not lab:
        return []
    found = []
    if lab[0].dilation != 1:
        factor = f"{lab[0].dilation:g}"
        found.append(f"emulated: all rates divided by {factor}, rates shown times {factor}")
    shorter = {
        (one.series.messages[0], one.series.lab_messages[0])
        for one in lab
        if one.series.messages != one.series.lab_messages
    }
    for paper, sent in sorted(shorter):
        found.append(
            f"emulated: messages of {units.size(sent)} in place of {units.size(paper)}; times scaled"
        )
    return found


def as_json(
    experiment: Experiment, rows: Sequence[Row], found: Sequence[Summary], curves: Sequence[Curve],
    measured: Sequence[Measured],
) -> dict[str, Any]:  # fmt: skip
    return {
        "experiment": experiment.name,
        "title": experiment.title,
        "source": experiment.source,
        "conditions": conditions(measured),
        "rows": [
            asdict(row)
            | {"emulated_error": row.error(row.emulated), "simulated_error": row.error(row.simulated)}
            for row in rows
        ],
        "summary": [
            {"place": one.place, "rows": one.rows, "mean_error": one.mean, "worst_error": one.worst,
             "aim_met": one.met}
            for one in found
        ],
        "curves": [
            {"series": one.series, "place": one.place, "x": list(one.x), "values": list(one.values),
             "unevenness": list(one.unevenness)}
            for one in curves
        ],
        "runs": [
            {"series": one.series.name, "place": one.place, "seconds": one.seconds, "dilation": one.dilation,
             "paths": [path.name for path in one.runs]}
            for one in measured
        ],
    }  # fmt: skip
