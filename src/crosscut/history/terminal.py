"""A history on the terminal."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from crosscut.base import units
from crosscut.base.spelling import sentence
from crosscut.history import words
from crosscut.history.changes import ChangesFound
from crosscut.history.queries import FindingRow, NoteRow, RunRow, SeriesRow, VerdictRow
from crosscut.history.trends import Curve, SubjectTrend
from crosscut.reports.terminal.glyphs import Glyphs
from crosscut.reports.terminal.screen import Rows, Screen

_LABEL = 12
_FINDINGS_SHOWN = 8
_EARLY_SHOWN = 8


def render_runs(
    screen: Screen, series: SeriesRow, runs: Sequence[RunRow], faults: dict[int, list[str]],
    judged: dict[int, list[VerdictRow]],
) -> None:  # fmt: skip
    """Lists the latest runs of a series. `faults`: by run, the hosts that its findings on faults name."""
    screen.title(series.name)
    table = Rows(
        "<start (UTC)", "hosts", "sent", "received", "?faults", "<hosts at fault", "?<promises", "?<state"
    )
    for run in runs:
        broken = [one.promise for one in judged.get(run.id, ()) if one.verdict == "fail"]
        promises = f"broken: {', '.join(broken)}" if broken else "not broken" if judged.get(run.id) else ""
        table.add(
            run.start.replace("T", " ").removesuffix("Z"), f"{run.hosts:,}", rate(run.sent),
            rate(run.received), str(run.faults) if run.faults else "", ", ".join(faults.get(run.id, ())[:4]),
            promises, "" if run.state == "complete" else run.state, style="yellow" if run.faults else "",
        )  # fmt: skip
    screen.table(table)
    if len(runs) < series.runs:
        screen.line(f"the latest {len(runs)} of {series.runs:,} runs; more: --last N", "dim")


def render_notes(screen: Screen, notes: Sequence[NoteRow]) -> None:
    if notes:
        screen.title("Notes")
    for note in notes:
        screen.line(f"{note.day}: {note.words}")


def rate(value: float | None) -> str:
    return units.rate(value) if value is not None else "–"


def render_trend(screen: Screen, trend: SubjectTrend, last: int) -> None:
    screen.title(f"{trend.subject}, {trend.series.name}")
    if trend.starts:
        screen.field("runs", f"{len(trend.starts):,}, {trend.starts[0][:10]} to {trend.starts[-1][:10]}")
    for curve in trend.curves:
        if any(value is not None for value in curve.rates):
            _curve(screen, curve)
    if trend.starts and last:
        screen.line()
        _rows(screen, trend, last)
    repeated = [
        list(same) for _, same in itertools.groupby(
            sorted(trend.findings, key=_same_finding), key=_same_finding
        )
    ]  # fmt: skip
    repeated.sort(key=lambda same: same[-1].start)
    for same in repeated[-_FINDINGS_SHOWN:]:
        first, last_ = same[0].start[:10], same[-1].start[:10]
        when = last_ if len(same) == 1 else f"{first} to {last_}, {len(same)} runs, the latest"
        screen.line(f"{when}: {same[-1].what}", "yellow" if same[-1].fault else "")
    if (more := len(repeated) - _FINDINGS_SHOWN) > 0:
        screen.line(f"{units.count(more, 'older finding')} more; --json has all", "dim")


def _same_finding(one: FindingRow) -> tuple[str, str, str]:
    return one.kind, one.direction or "", one.parts


def _curve(screen: Screen, curve: Curve) -> None:
    values = np.array([math.nan if value is None else value for value in curve.rates])
    known = values[np.isfinite(values)]
    drawn = sparkline(values, screen.width - _LABEL - 2, screen.glyphs)
    least, middle, most = (units.rate(float(f(known))) for f in (np.min, np.median, np.max))
    span = f"{middle} in every run" if least == most else f"from {least} to {most}; median {middle}"
    screen.field(curve.name, f"{drawn}\n{span}; columns begin at 0")


def sparkline(values: np.ndarray[tuple[int], np.dtype[np.float64]], width: int, glyphs: Glyphs) -> str:
    """Columns from 0 to the highest value; each is the lowest of its values. A blank: not measured."""
    top = float(np.nanmax(values))
    steps = len(glyphs.eighths) - 1
    cells = []
    for part in np.array_split(values, min(width, len(values))):
        known = part[np.isfinite(part)]
        cells.append(glyphs.eighths[max(1, round(float(known.min()) / top * steps))] if len(known) else " ")
    return "".join(cells)


def _rows(screen: Screen, trend: SubjectTrend, last: int) -> None:
    shares = [curve for curve in trend.curves if curve.medians]
    table = Rows(
        "<start (UTC)",
        *(curve.name for curve in trend.curves),
        *(f"?{curve.name}, of median" for curve in shares),
    )
    for at in range(max(0, len(trend.starts) - last), len(trend.starts)):
        cells = [rate(curve.rates[at]) for curve in trend.curves]
        cells += [_share(curve.rates[at], curve.medians[at]) for curve in shares]
        table.add(trend.starts[at].replace("T", " ").removesuffix("Z"), *cells)
    screen.table(table)


def _share(rate_: int | None, median: int | None) -> str:
    return f"{100 * rate_ / median:.0f} %" if rate_ and median else ""


def render_changes(screen: Screen, found: Sequence[ChangesFound]) -> None:
    for one in found:
        nights = one.nights
        screen.title(nights.series.name)
        span = "".join(f", {day}" for day in nights.days[:1])
        span += f" to {nights.days[-1]}" if len(nights.days) > 1 else ""
        screen.line(
            f"{units.count(len(nights.days), 'night')}{span}, {units.count(len(nights.hosts), 'host')}", "dim"
        )
        for change in one.common:
            said = f"{sentence(words.change(nights, change))} {words.chance(change.doubt)}"
            if change.worse:
                screen.warn(said)
            else:
                screen.line(said)
            for also in change.coincides:
                screen.line(f"  – at the same time: {also}", "dim")
        for drift in one.drifts:
            screen.line(sentence(words.drift(nights, drift)))
        for step in one.early[:_EARLY_SHOWN]:
            screen.warn(sentence(words.early(nights, step)))
        if (more := len(one.early) - _EARLY_SHOWN) > 0:
            screen.line(f"{more} more that are not yet significant; --json has all", "dim")
        if not one.common and not one.drifts:
            screen.line(words.none(one))
    if any(one.common for one in found):
        screen.line()
        screen.line(words.P_MEANS, "dim")
        screen.line(words.NOT_FAULTS, "dim")
