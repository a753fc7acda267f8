"""A page about a whole paper: its items, and each experiment's picture and figures beside printed ones."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from crosscut import __version__
from crosscut.base import units, whole_file
from crosscut.reports.html import assets
from crosscut.reports.html.markup import Markup, document, element, join, table
from crosscut.reproduce import report
from crosscut.reproduce.comparing import ComparisonRow
from crosscut.reproduce.experiment import PLACES
from crosscut.reproduce.paper_report import counts
from crosscut.reproduce.papers import Paper, PaperItem
from crosscut.reproduce.repeating import RESULT, RepeatedExperiment
from crosscut.run.realm import Realm

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
_STYLE = """
.prose table { font-size: .85rem; }
.prose th, .prose td { white-space: normal; vertical-align: top; min-width: 7rem; }
.prose th[scope="row"] { min-width: 9rem; }
"""
_WORDS = frozenset(range(9))


def write(
    folder: Path, paper: Paper, repeated: Sequence[RepeatedExperiment], left_out: Mapping[str, str], date: str
) -> Path:
    """Writes the page, which it returns, and all results as JSON."""
    results = {
        "paper": paper.name, "experiments": [one.document for one in repeated], "left_out": dict(left_out)
    }  # fmt: skip
    whole_file.write_output(folder / RESULT, (json.dumps(results) + "\n").encode())
    made = folder / "report.html"
    whole_file.write_output(made, page(paper, repeated, left_out, date).encode())
    return made


def page(paper: Paper, repeated: Sequence[RepeatedExperiment], left_out: Mapping[str, str], date: str) -> str:
    """`left_out`: reasons by experiment."""
    there = {one.experiment.name for one in repeated}
    kicker = f"repeated by crosscut {__version__}, {_places(repeated)}, {date}"
    body = join(
        element("header",
                element("p", kicker, class_="kicker"),
                element("h1", paper.title), element("p", f"{counts(paper)}.")),
        _errors(repeated),
        [element("p", f"{name} is left out: {why}.") for name, why in left_out.items()],
        element("h2", "Every table, figure and numbered statement"),
        element("p", "Remarks are those of crosscut's list; figures in them may come from earlier runs, "
                "also on labs. The figures of this page are below.", class_="doubt"),
        element("div", table(
            ("item", "state", "what", "printed", "repeated by", "remark"),
            [_item(item, there) for item in paper.items], words=_WORDS, caption=paper.name, stacked=True,
        ), class_="prose"),
        [_section(one) for one in repeated],
    )  # fmt: skip
    title = f"{paper.name}, repeated"
    return document(title, element("main", body), policy=_POLICY, style=assets.read("page.css") + _STYLE)


def _places(repeated: Sequence[RepeatedExperiment]) -> str:
    there = {found.place for one in repeated for found in one.measured}
    return ", ".join(report.NAMES[place] for place in PLACES if place in there)


def _errors(repeated: Sequence[RepeatedExperiment]) -> Markup:
    """Mean and worst errors of each experiment, fits apart from predictions."""
    rows = [
        (
            element("a", one.experiment.name, href=f"#{one.experiment.name}"), report.NAMES[found.place],
            report.KINDS[found.against], str(found.rows), units.percent(found.mean),
            units.percent(found.worst), report.named(found.worst_row, one.experiment),
            report.met_words(found.met),
        )
        for one in repeated for found in one.summaries if found.rows
    ]  # fmt: skip
    if not rows:
        return Markup("")
    return join(
        element("h2", "Errors"),
        table(
            ("experiment", "where", "figures are", "number", "mean error", "worst", "worst figure", "aim"),
            rows,
            words=frozenset({0, 1, 2, 6, 7}), caption="Errors of the figures that count, by experiment",
        ),
    )  # fmt: skip


def _item(item: PaperItem, there: set[str]) -> list[Markup | str]:
    by: list[Markup | str] = []
    for name in item.by:
        by += [", " if by else "", element("a", name, href=f"#{name}") if name in there else name]
    return [item.name, str(item.state), item.about, item.printed, join(by), item.remark]


def _section(one: RepeatedExperiment) -> Markup:
    pictures = [file for file in one.pictures if file.suffix == ".svg"]
    drawn = [
        element("img", alt=one.experiment.title, style="width: 100%; background: white",
                src=f"data:image/svg+xml;base64,{base64.b64encode(file.read_bytes()).decode('ascii')}")
        for file in pictures
    ]  # fmt: skip
    places = [place for place in PLACES if any(found.place is place for found in one.measured)]
    said = [*report.conditions(one.measured), *report.compared(one.experiment)]
    if any(not row.in_aim and row.held_against is not None for row in one.rows):
        said.append(f"{report.OUTSIDE} {report.OUTSIDE_SAYS}")
    notes = dict.fromkeys(
        f"{row.series}: {note}" for row in one.rows for note in (row.note, row.fitted) if note
    )
    heads = ["figure", "at", "unit", "published", "calculated"]
    for place in places:
        heads += [report.NAMES[place], "error"]
    return element(
        "section", element("h2", one.experiment.title), drawn,
        table(heads, [_row(row, places) for row in one.rows], words=frozenset({0, 2}),
              caption=one.experiment.name),
        [element("p", sentence, class_="doubt") for sentence in (*said, *notes)],
        id=one.experiment.name,
    )  # fmt: skip


def _row(row: ComparisonRow, places: Sequence[Realm]) -> list[str]:
    cells = [
        row.series,
        "" if row.x is None else f"{row.x:g}",
        row.unit,
        *(report.number(one, absent="") for one in (row.published, row.calculated)),
    ]
    for place in places:
        value = row.at(place)
        cells += [report.number(value, absent=""), report.error_words(row, value)]
    return cells
