"""Comparisons and trends on a terminal, in about thirty lines."""

from __future__ import annotations

from collections.abc import Sequence

from crosscut.analysis.compare.causes import Cause
from crosscut.analysis.compare.comparing import Comparison, ComparisonSettings
from crosscut.analysis.compare.conditions import UndecidedError
from crosscut.analysis.compare.trend import Trend, Trends
from crosscut.analysis.figures.series import Family
from crosscut.base import units
from crosscut.reports.terminal.screen import Rows, Screen
from crosscut.reports.words import change as words
from crosscut.reports.words import comparison
from crosscut.reports.words.comparison import ROWS, chance


def render_untold(screen: Screen, error: UndecidedError) -> None:
    render_conditions(screen, error.conditions)
    screen.line(f"Undecided: {error}.", "bold yellow")


def render_conditions(screen: Screen, said: Sequence[str]) -> None:
    """Prints differing conditions first, since they may explain the changes below instead of the network."""
    for sentence in said:
        screen.warn(sentence)
    if said:
        screen.line()


def render(
    screen: Screen, found: Comparison, asked: ComparisonSettings, names: Sequence[str],
    causes: Sequence[Cause] = (),
) -> None:  # fmt: skip
    """Prints the comparison. `causes`: faults that began or ended between the runs, told first."""
    told = comparison.told(found, asked, names, causes)
    for line in told.causes:
        screen.line(line.text, _style(line.worse))
    for caution in told.cautions:
        screen.warn(caution)
    if told.headline is not None:
        screen.line(told.headline.text, _style(told.headline.worse))
    several = any(row.size for row in told.rows)
    rows = Rows("<what", *(["size"] if several else []), "before → after", "change", "?95 %", "?by chance")
    for row in told.rows[:ROWS]:
        unsure = " (no finding)" if row.worse is None else ""
        rows.add(
            row.what, *([row.size] if several else []), row.before_after, row.change + unsure, row.interval,
            row.by_chance, style="dim" if row.worse is None else _style(row.worse),
        )  # fmt: skip
    screen.console.print()
    screen.table(rows)
    _render_rest(screen, len(told.rows))
    for text in told.further:
        screen.line(text)
    for text in told.notes:
        screen.line(text, "dim")


def _render_rest(screen: Screen, shown: int) -> None:
    if shown > ROWS:
        screen.line(f"and {shown - ROWS:,} more; --json lists all", "dim")


def _style(worse: bool | None) -> str:
    return "bold" if worse is None else "bold yellow" if worse else "bold green"


def render_trend(screen: Screen, found: Trends, asked: ComparisonSettings, names: Sequence[str]) -> None:
    told = [trend for trend in found.series if trend.told(asked)]
    for note in found.notes:
        screen.warn(note)
    if told:
        worst = max(told, key=lambda t: abs(t.step if t.told(asked) == "step" else t.change))
        screen.line(_sentence(worst, found, asked, names), _style(worst.worse(asked)))
    elif found.too_few:
        screen.line(
            f"{len(found.starts)} runs are too few for a trend at an error rate of "
            f"{units.percent(asked.error_rate)}: at least {found.fewest_runs} are needed. Each is compared "
            "with the first below.", "bold",
        )  # fmt: skip
        return
    else:
        screen.line(f"No trend and no step over {len(found.starts)} runs.", "bold")
    rows = Rows("<what", "?size", "first", "last", "overall change", "?by chance", "<step")
    shown = [t for t in found.series if t.subject.family is Family.CLASS or t in told]
    for trend in shown[:ROWS]:
        day, doubt = found.starts[trend.step_at][:16], chance(trend.step_doubt)
        step = f"{words.signed(trend.step)} from {day} on ({doubt})"
        rows.add(
            words.subject(trend.subject, names),
            units.size(trend.subject.size_bytes),
            units.rate(trend.rates[0]),
            units.rate(trend.rates[-1]),
            words.signed(trend.change),
            chance(trend.doubt),
            step,
            style=_style(trend.worse(asked)) if trend in told else "dim",
        )
    screen.console.print()
    screen.table(rows)
    _render_rest(screen, len(shown))
    screen.line(
        f"{units.count(len(found.series), 'series', 'series')} tested by permuting the runs: Mann-Kendall "
        "with the slope of Theil and Sen; Pettitt's step. Probability of reporting any by chance: at most "
        f"{units.percent(asked.error_rate)}.", "dim",
    )  # fmt: skip


def _sentence(trend: Trend, found: Trends, asked: ComparisonSettings, names: Sequence[str]) -> str:
    name = words.at_start(trend.subject, names)
    if trend.told(asked) == "step":
        return f"{name}: {words.signed(trend.step)} from {found.starts[trend.step_at]} on."
    return f"{name}: {words.signed(trend.change)} over {len(found.starts)} runs."
