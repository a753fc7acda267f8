"""Writes docs/reference/papers.md: every item of each paper, and its printed figures beside ours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.papers import kept
from benchmarks.papers.kept import Figures
from crosscut.base import units
from crosscut.reproduce import comparing, experiment, papers
from crosscut.reproduce.comparing import ComparisonRow, Summary
from crosscut.reproduce.experiment import Experiment
from crosscut.reproduce.paper_report import counts
from crosscut.reproduce.papers import Paper
from crosscut.reproduce.report import KINDS, NAMES, error_words, met_words, named, number
from crosscut.run.realm import Realm

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "papers.md"
_IMAGES = Path("docs") / "images"


def text(figures: Figures) -> str:
    return "\n".join(
        [*_introduction(), *(line for name in experiment.paper_names() for line in _paper(name, figures))]
    )


_INTRODUCTION = Path(__file__).with_name("introduction.md")


def _introduction() -> Iterator[str]:
    states = list(papers.ItemState)
    yield _INTRODUCTION.read_text(encoding="utf-8")
    yield f"| paper | items | {' | '.join(states)} | tables and figures compared or stated |"
    yield f"| --- | ---: {'| ---: ' * len(states)}| ---: |"
    for name in experiment.paper_names():
        paper = papers.read(name)
        told, there = paper.numbered
        numbers = " | ".join(str(paper.count(state)) for state in papers.ItemState)
        yield f"| [{name}](#{name}) | {len(paper.items)} | {numbers} | {told} of {there} |"
    yield ""


def _paper(name: str, figures: Figures) -> Iterator[str]:
    paper = papers.read(name)
    read = [experiment.read(experiment.find(one)) for one in paper.experiments]
    found = {one.name: tuple(comparing.rows(one, list(kept.curves(figures, one)))) for one in read}
    yield from (f"## {name}", "", f"{paper.title}.", "", f"{counts(paper)}.", "")
    errors = [(one, each) for one in read for each in comparing.summaries(one, found[one.name]) if each.rows]
    if errors:
        yield from ("### Errors", "")
        yield "| experiment | where | figures | number | mean error | worst | worst figure | aim |"
        yield "| --- | --- | --- | ---: | ---: | ---: | --- | --- |"
        yield from (_error(one, each) for one, each in errors)
        yield ""
    yield from _items(paper)
    yield from _rows(read, found)
    for one in read:
        if (picture := _IMAGES / f"{one.name}.png").is_file():
            yield from (f"![{one.title}](../images/{picture.name})", "")


def _error(one: Experiment, found: Summary) -> str:
    return (
        f"| `{one.name}` | {NAMES[found.place]} | {KINDS[found.against]} | {found.rows} "
        f"| {units.percent(found.mean)} | {units.percent(found.worst)} "
        f"| {named(found.worst_row, one)} | {met_words(found.met)} |"
    )


def _items(paper: Paper) -> Iterator[str]:
    yield from ("### Items", "", "| item | state | what | printed | repeated by | remark |",
                "| --- | --- | --- | --- | --- | --- |")  # fmt: skip
    for item in paper.items:
        by = ", ".join(_linked(name) for name in item.by)
        cells = map(_cell, (item.name, item.state, item.about, item.printed, by, item.remark))
        yield f"| {' | '.join(cells)} |"
    yield ""


def _linked(by: str) -> str:
    """Links an experiment to its file; `by` may also be a command."""
    return f"[`{by}`](../../experiments/{by}.toml)" if by in experiment.names() else f"`{by}`"


def _cell(said: str) -> str:
    return said.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")


def _rows(read: Sequence[Experiment], found: dict[str, tuple[ComparisonRow, ...]]) -> Iterator[str]:
    """Yields the rows that have a printed figure."""
    yield from ("### Printed figures beside ours", "")
    yield "| place | experiment | figure | unit | printed | simulated | emulated | this machine | note |"
    yield "| --- | --- | --- | --- | ---: | ---: | ---: | ---: | --- |"
    for one in read:
        for row in found[one.name]:
            if row.published is None:
                continue
            ours = " | ".join(_ours(row, place) for place in (Realm.SIMULATED, Realm.EMULATED, Realm.HERE))
            note = "; ".join(filter(None, (f"fit: {row.fitted}" if row.fitted else "", row.note)))
            cells = (row.where, f"`{one.name}`", _cell(named(row, one)), row.unit, number(row.published))
            yield f"| {' | '.join(cells)} | {ours} | {_cell(note)} |"
    yield ""


def _ours(row: ComparisonRow, place: Realm) -> str:
    value = row.at(place)
    if value is None:
        return ""
    error = error_words(row, value)
    limited = " machine-limited" if row.limited(place) else ""
    return number(value) + (f" ({error}{limited})" if error else "")
