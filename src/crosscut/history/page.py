"""The page: changes first, then the map of all hosts and nights, each change, and the latest runs."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from crosscut.base import units
from crosscut.base.spelling import sentence, tied
from crosscut.history import pictures, queries, words
from crosscut.history.changes import ChangeSettings, ChangesFound, CommonChange, changes
from crosscut.history.queries import RunRow, SeriesRow
from crosscut.reports.html import frame
from crosscut.reports.html.markup import Markup, element, join, table
from crosscut.reports.html.meaning import Meaning
from crosscut.reports.html.pictures.picture import Picture, link

_CHANGES_DRAWN, _CHANGES_TOLD, _RUNS_SHOWN, _FAULTS_TOLD = 8, 20, 30, 6
_FEWEST_FOR_MAP = 2


def render(connection: sqlite3.Connection, wanted: Sequence[SeriesRow], asked: ChangeSettings) -> str:
    """Returns the whole page."""
    found = changes(connection, wanted, asked)
    chapters = [
        (one, f"series{number}", _pictures(one, f"series{number}")) for number, one in enumerate(found, 1)
    ]
    latest = _latest_faults(connection, found)
    body = join(
        _opening(found, latest, chapters[0][2]),
        *(_chapter(one, name, drawn, alone=len(found) == 1) for one, name, drawn in chapters),
        element("section", element("h2", "Latest runs"),
                *(_runs(connection, one.nights.series) for one in found), id="runs"),
        element("section", element("h2", "How changes are found"), _method(asked), id="method"),
    )  # fmt: skip
    shown = {picture.name: picture.as_json() for _, _, drawn in chapters for picture in drawn}
    links = [(name, one.nights.series.name if len(found) > 1 else "Pictures") for one, name, _ in chapters]
    links += [("runs", "Latest runs"), ("method", "How changes are found")]
    clusters = ", ".join(dict.fromkeys(one.nights.series.cluster for one in found))
    return frame.page(
        f"History of {clusters}", body, {"pictures": shown, "sizes": {}}, links, _headline(found, latest),
        pictures=chapters[0][1],
    )  # fmt: skip


def _pictures(one: ChangesFound, name: str) -> list[Picture]:
    nights = one.nights
    if len(nights.days) < _FEWEST_FOR_MAP or not nights.hosts:
        return []
    of_all = pictures.of_all(nights, one.common, f"{name}-all")
    drawn = [pictures.of_hosts(nights, one.common, f"{name}-hosts"), *([of_all] if of_all else [])]
    return drawn + [
        pictures.of_change(nights, change, at, _anchor(name, at))
        for at, change in enumerate(one.common[:_CHANGES_DRAWN])
    ]


def _anchor(name: str, at: int) -> str:
    return f"{name}-change{at + 1}"


def _latest_faults(connection: sqlite3.Connection, found: Sequence[ChangesFound]) -> list[str]:
    """Returns the faults that the latest run of each series found."""
    return [
        f"{words.day(run.day)}, the latest run: {finding.what}"
        for one in found
        for run in queries.runs(connection, one.nights.series.id, 1)
        for finding in queries.findings(connection, run.id)
        if finding.fault
    ]


def _headline(found: Sequence[ChangesFound], latest: Sequence[str]) -> str:
    if latest and not words.worse(found):
        return latest[0]
    return words.headline(found)


def _class(warns: bool) -> str | None:
    return Meaning.FAULT.value if warns else None


def _opening(found: Sequence[ChangesFound], latest: Sequence[str], drawn: Sequence[Picture]) -> Markup:
    alone = found[0] if len(found) == 1 else None
    title = _headline(found, latest)
    others = [*([words.headline(found)] if title in latest else []), *(one for one in latest if one != title)]
    return element(
        "header",
        element("p", _kicker(alone) if alone else f"history of {units.count(len(found), 'series', 'series')}",
                class_="kicker"),
        element("h1", tied(sentence(title)), class_=_class(bool(latest or words.worse(found)))),
        *(element("p", tied(sentence(one))) for one in others[:_FAULTS_TOLD]),
        _told(alone, drawn) if alone else None,
    )  # fmt: skip


def _kicker(one: ChangesFound) -> str:
    nights = one.nights
    span = "".join(f", {words.day(day)}" for day in nights.days[:1])
    span += f" to {words.day(nights.days[-1])}" if len(nights.days) > 1 else ""
    return (
        f"history of {nights.series.name} · {units.count(len(nights.days), 'night')}{span} · "
        f"{units.count(len(nights.hosts), 'host')}"
    )


def _told(one: ChangesFound, drawn: Sequence[Picture]) -> Markup:
    nights = one.nights
    names = {picture.name: picture for picture in drawn}
    series = drawn[0].name.partition("-")[0] if drawn else ""
    entries = [
        _entry(one, change, at, names.get(_anchor(series, at)))
        for at, change in enumerate(one.common[:_CHANGES_TOLD])
    ]
    entries += [
        element("li", element("p", tied(sentence(words.drift(nights, drift)))))
        for drift in one.drifts[:_CHANGES_TOLD]
    ]
    entries += [
        element("li", element("p", tied(sentence(words.early(nights, step)))))
        for step in one.early[:_CHANGES_TOLD]
    ]
    more = len(one.common) + len(one.drifts) + len(one.early) - len(entries)
    return join(
        element("ol", entries, class_="findings") if entries else None,
        element(
            "p", f"{units.count(more, 'more change')}: crosscut history changes lists all.", class_="doubt"
        )
        if more > 0
        else None,
        element("p", f"{words.P_MEANS} {words.NOT_FAULTS}", class_="doubt") if one.common else None,
        element("p", tied(sentence(words.none(one))), class_="doubt")
        if not one.common and not one.drifts
        else None,
    )


def _entry(found: ChangesFound, one: CommonChange, at: int, proof: Picture | None) -> Markup:
    doubt = " · ".join([words.chance(one.doubt), *(f"at the same time: {also}" for also in one.coincides)])
    return element(
        "li",
        element(
            "p",
            element("strong", f"{pictures.letter(at)}  "),
            tied(sentence(words.change(found.nights, one))),
        ),
        element("p", tied(doubt), class_="doubt"),
        link(proof) if proof else None,
        class_=_class(one.worse),
    )


def _chapter(one: ChangesFound, name: str, drawn: Sequence[Picture], *, alone: bool) -> Markup:
    intro = None if alone else join(element("p", _kicker(one), class_="kicker"), _told(one, drawn))
    shown = (
        frame.figures(drawn)
        if drawn
        else element("p", "There is too little to draw: one night, or no hosts.")
    )
    return element(
        "section", element("h2", "Pictures" if alone else one.nights.series.name), intro, shown, id=name
    )


def _runs(connection: sqlite3.Connection, series: SeriesRow) -> Markup:
    runs = queries.runs(connection, series.id, _RUNS_SHOWN)
    rows = [_row(connection, run) for run in reversed(runs)]
    caption = f"{series.name}: the latest {len(runs)} of {units.count(series.runs, 'run')}"
    return table(
        ("start (UTC)", "hosts", "sent, median", "received, median", "faults", "hosts at fault", "state"),
        rows, words=frozenset({0, 5, 6}), caption=caption,
    )  # fmt: skip


def _row(connection: sqlite3.Connection, run: RunRow) -> list[str]:
    rates = [units.rate(rate) if rate is not None else "–" for rate in (run.sent, run.received)]
    faulty = queries.finding_hosts(connection, run.id)
    named = ", ".join(faulty[:6]) + (" …" if len(faulty) > 6 else "")
    state = "" if run.state == "complete" else run.state
    return [
        run.start.replace("T", " ").removesuffix("Z"),
        f"{run.hosts:,}",
        *rates,
        str(run.faults or ""),
        named,
        state,
    ]


def _method(asked: ChangeSettings) -> Markup:
    return element(
        "p",
        "Each host's rate is compared with that of the median host of the same night, and the median host "
        "with itself, by rank tests at every night in intervals of many lengths, after the correlation of "
        "successive nights is removed. If nothing changed, any change is reported with a probability of at "
        f"most {units.percent(asked.error_rate)}; changes below {units.percent(asked.matters)} are not "
        "reported. "
        "docs/reference/history.md counts changes of simulated healthy clusters.",
    )  # fmt: skip
