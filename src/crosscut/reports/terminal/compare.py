"""Comparisons and trends on a terminal, in about thirty lines."""

from __future__ import annotations

from collections.abc import Sequence

from crosscut.analysis.compare.causes import Cause, touches
from crosscut.analysis.compare.comparing import Comparison, ComparisonSettings, Difference
from crosscut.analysis.compare.conditions import UndecidedError
from crosscut.analysis.compare.trend import Trend, Trends
from crosscut.analysis.figures.series import Family
from crosscut.base import units
from crosscut.reports.terminal.screen import Rows, Screen
from crosscut.reports.words import change as words

SHOWN = 12
ROWS = 2 * SHOWN
# Changes of hosts are told together if the logarithms of their ratios differ by less.
_ALIKE = 0.05


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
    several = len({change.subject.size_bytes for change in found.classes}) > 1
    news = [change for change in found.changes if change.explained_by is None]
    news.sort(key=lambda c: (not touches(c, causes), c.shift.middle))
    for one in causes[:SHOWN]:
        screen.line(f"{words.fault(one)}.", _style(one.worse))
    for note in found.notes:
        screen.warn(note)
    if found.changes and found.single and not found.computed:
        screen.warn(
            f"two single runs cannot tell a change from ordinary variation between runs; {found.single}"
        )
    rest = [change for change in news if not touches(change, causes)]
    if rest or not causes:
        _headline(screen, found, asked, rest, names, "Not explained by this: " if causes else "")
    rows = Rows("<what", *(["size"] if several else []), "before → after", "change", "?95 %", "?by chance")
    shown = [[one] for one in found.classes] + _alike(news)
    for changes in shown[:ROWS]:
        change = changes[len(changes) // 2]
        doubt = chance(max(one.doubt for one in changes))
        rows.add(
            words.subjects([one.subject for one in changes], names),
            *([units.size(change.subject.size_bytes)] if several else []),
            words.from_to(change),
            _range(words.percent(changes[0].shift.middle), words.percent(changes[-1].shift.middle)),
            *(("", "") if found.computed else (words.interval(changes), doubt)),
            style=_style(change.worse) if change in found.changes else "dim",
        )
    screen.console.print()
    screen.table(rows)
    _render_rest(screen, len(shown))
    for line in [*_routes(rest, names), *_with_causes(news, rest), *_phases(found)]:
        screen.line(line)
    hidden = len(found.changes) - len(news)
    if hidden:
        follow = "follows" if hidden == 1 else "follow"
        screen.line(f"{units.count(hidden, 'further change')} {follow} from these; --json lists all", "dim")
    if any(words.differs_from_medians(one) for changes in shown[:ROWS] for one in changes):
        screen.line(words.CHANGE, "dim")
    screen.line(_how(found, asked), "dim")


def _render_rest(screen: Screen, shown: int) -> None:
    if shown > ROWS:
        screen.line(f"and {shown - ROWS:,} more; --json lists all", "dim")


def _alike(news: Sequence[Difference]) -> list[list[Difference]]:
    """Returns the changes of nodes, those of the same direction and about the same size together, each list
    sorted by size."""
    found: list[list[Difference]] = []
    for change in news:
        if change.subject.family not in (Family.OUT, Family.IN):
            continue
        for changes in found:
            first = changes[0]
            same = (first.subject.family, first.subject.size_bytes, first.worse) == (
                change.subject.family, change.subject.size_bytes, change.worse
            )  # fmt: skip
            if same and abs(change.shift.middle - first.shift.middle) <= _ALIKE:
                changes.append(change)
                break
        else:
            found.append([change])
    return found


def _style(worse: bool) -> str:
    return "bold yellow" if worse else "bold green"


def _headline(
    screen: Screen,
    found: Comparison,
    asked: ComparisonSettings,
    news: Sequence[Difference],
    names: Sequence[str],
    begin: str,
) -> None:
    if not found.changes:
        screen.line(f"Nothing changed by {units.percent(asked.matters)} or more beyond the noise.", "bold")
        return
    # The slowest rank sets a phase's time, so any other changed subject is closer to the cause.
    first = max(
        news or found.changes, key=lambda c: (c.subject.family is not Family.PHASE, abs(c.shift.middle))
    )
    worse = sum(change.worse for change in news)
    with_it = next((each for each in _alike(news) if first in each), [first])
    several = words.subjects([one.subject for one in with_it], names)
    text = (
        f"{several if with_it[1:] else words.at_start(first.subject, names)}: "
        f"{words.percent(first.shift.middle)} "
        f"({words.from_to(first)}, messages of {units.size(first.subject.size_bytes)})."
    )
    said = f"{units.count(worse, 'change')} for the worse, {len(news) - worse} for the better. "
    screen.line(begin + said + text, _style(worse > 0))


def _routes(news: Sequence[Difference], names: Sequence[str]) -> list[str]:
    routes = [c for c in news if c.subject.family is Family.ROUTE]
    said = [
        f"{words.subject(c.subject, names)}: {words.percent(c.shift.middle)} ({words.from_to(c)})"
        for c in routes[:SHOWN]
    ]
    return said + ([f"and {units.count(len(routes) - SHOWN, 'more route')}"] if len(routes) > SHOWN else [])


def _with_causes(news: Sequence[Difference], rest: Sequence[Difference]) -> list[str]:
    """Counts the routes that the causes at the top explain."""
    mine, others = (sum(c.subject.family is Family.ROUTE for c in each) for each in (news, rest))
    return (
        [f"{units.count(mine - others, 'route')} changed with this; --json lists all"]
        if mine > others
        else []
    )


def _phases(found: Comparison) -> list[str]:
    """Summarises changed phases together, since the slowest rank sets a phase and one node slows many."""
    alike: dict[tuple[int, bool], list[Difference]] = {}
    for change in found.changes:
        if change.subject.family is Family.PHASE:
            alike.setdefault((change.subject.size_bytes, not change.worse), []).append(change)
    said = []
    for (size, faster), mine in sorted(alike.items(), key=lambda entry: entry[0]):
        shifts = sorted(change.shift.middle for change in mine)
        said.append(
            f"{units.count(len(mine), 'phase')} {'faster' if faster else 'slower'} at {units.size(size)}, "
            f"{_range(words.percent(shifts[0]), words.percent(shifts[-1]))}: "
            f"{words.ranges([change.subject.phase for change in mine])}"
        )
    return said


def _range(first: str, last: str) -> str:
    return first if first == last else f"{first} to {last}"


def chance(doubt: float) -> str:
    return "no" if doubt == 0 else f"{doubt:.1g}" if doubt < 0.095 else f"{doubt:.2f}"


def _how(found: Comparison, asked: ComparisonSettings) -> str:
    if found.computed:
        return f"{units.count(found.tests, 'figure')} compared; both runs were computed without noise."
    one, other = found.repetitions
    repeated = "launches" if found.of_launches else "repetitions"
    proviso = ", if only repetitions vary" if found.single else ""
    return (
        f"{units.count(found.tests, 'figure')} compared over {one} and {other} {repeated}. By chance: the "
        f"probability of such a change in any figure if nothing changed{proviso} (step-down permutation of "
        f"{repeated}, Westfall and Young 1993); reported at {units.percent(asked.error_rate)} or less."
    )


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
