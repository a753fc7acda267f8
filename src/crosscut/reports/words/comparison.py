"""A comparison of two runs in words: its sentences, and a table of what changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from crosscut.analysis.compare.causes import Cause, touches
from crosscut.analysis.compare.comparing import Comparison, ComparisonSettings, Difference
from crosscut.analysis.figures.series import Family
from crosscut.base import units
from crosscut.reports.words import change as words

SHOWN = 12
ROWS = 2 * SHOWN
_ROUTES = 5
_LABELLED = 6
# Changes of hosts are told together if the logarithms of their ratios differ by less.
_ALIKE = 0.05


@dataclass(frozen=True)
class ChangeLine:
    text: str
    worse: bool | None
    """None: nothing changed, or it is undecided."""


@dataclass(frozen=True)
class ChangeRow:
    what: str
    size: str
    """Empty if all rows have the same."""
    before_after: str
    change: str
    interval: str
    by_chance: str
    worse: bool | None
    """None: the change is too small, or may be chance."""


@dataclass(frozen=True)
class ToldComparison:
    causes: tuple[ChangeLine, ...]
    """Faults that began or ended between the runs."""
    cautions: tuple[str, ...]
    headline: ChangeLine | None
    """None if the causes explain all changes."""
    rows: tuple[ChangeRow, ...]
    further: tuple[str, ...]
    """Sentences on routes and phases."""
    notes: tuple[str, ...]
    """What the words mean, and how the runs were compared."""


def told(
    found: Comparison, asked: ComparisonSettings, names: Sequence[str], causes: Sequence[Cause] = ()
) -> ToldComparison:
    """Returns a comparison in words. `names`: [rank of the first run]; `causes`: told first."""
    news = [change for change in found.changes if change.explained_by is None]
    news.sort(key=lambda c: (not touches(c, causes), c.shift.middle))
    rest = [change for change in news if not touches(change, causes)]
    shown = [[one] for one in found.classes] + _alike(news)
    headline = None
    if rest or not causes:
        headline = _headline(found, asked, rest, names, "Not explained by this: " if causes else "")
    return ToldComparison(
        causes=tuple(ChangeLine(f"{words.fault(one)}.", one.worse) for one in causes[:SHOWN]),
        cautions=_cautions(found),
        headline=headline,
        rows=tuple(_row(changes, found, names) for changes in shown),
        further=(*_routes(rest, names), *_with_causes(news, rest), *_phases(found)),
        notes=_notes(found, asked, news, [one for changes in shown[:ROWS] for one in changes]),
    )


def _cautions(found: Comparison) -> tuple[str, ...]:
    if not found.changes or not found.single or found.computed:
        return found.notes
    one = f"two single runs cannot tell a change from ordinary variation between runs; {found.single}"
    return (*found.notes, one)


def _row(changes: Sequence[Difference], found: Comparison, names: Sequence[str]) -> ChangeRow:
    """Returns the row of changes that are told together, sorted by size."""
    change = changes[len(changes) // 2]
    several = len({one.subject.size_bytes for one in found.classes}) > 1
    interval, by_chance = words.interval(changes), chance(max(one.doubt for one in changes))
    return ChangeRow(
        what=words.subjects([one.subject for one in changes], names),
        size=units.size(change.subject.size_bytes) if several else "",
        before_after=words.from_to(change),
        change=_range(words.percent(changes[0].shift.middle), words.percent(changes[-1].shift.middle)),
        interval="" if found.computed else interval,
        by_chance="" if found.computed else by_chance,
        worse=change.worse if change in found.changes else None,
    )


def _notes(
    found: Comparison, asked: ComparisonSettings, news: Sequence[Difference], shown: Sequence[Difference]
) -> tuple[str, ...]:
    notes = []
    if hidden := len(found.changes) - len(news):
        follow = "follows" if hidden == 1 else "follow"
        notes.append(
            f"{units.count(hidden, 'further change')} {follow} from these; crosscut compare --json lists all"
        )
    if any(map(words.differs_from_medians, shown)):
        notes.append(words.CHANGE)
    return (*notes, _how(found, asked))


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


def _headline(
    found: Comparison, asked: ComparisonSettings, news: Sequence[Difference], names: Sequence[str], begin: str
) -> ChangeLine:
    if not found.changes:
        return ChangeLine(
            f"Nothing changed by {units.percent(asked.matters)} or more beyond the noise.", None
        )
    if news and all(map(found.doubtful, news)):
        return ChangeLine(_narrow(news, names, also=bool(begin)), worse=None)
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
    return ChangeLine(begin + said + text, worse > 0)


def _narrow(news: Sequence[Difference], names: Sequence[str], *, also: bool) -> str:
    """Returns the headline of changes that are all doubtful. `also`: something else is told before."""
    most = max(news, key=lambda c: (c.subject.family is not Family.PHASE, abs(c.shift.middle)))
    slower = sum(change.worse for change in news)
    which = "single routes or phases"
    begin = f"Also changed: {which}" if also else f"Undecided: only {which} changed"
    return (
        f"{begin}, {slower} slower and {len(news) - slower} faster, as they may from run to run; most: "
        f"{words.subject(most.subject, names)}, {words.percent(most.shift.middle)} ({words.from_to(most)}, "
        f"messages of {units.size(most.subject.size_bytes)})."
    )


def _routes(news: Sequence[Difference], names: Sequence[str]) -> list[str]:
    routes = sorted((c for c in news if c.subject.family is Family.ROUTE), key=lambda c: -abs(c.shift.middle))
    said = [
        f"{words.subject(c.subject, names)}: {words.percent(c.shift.middle)} ({words.from_to(c)})"
        for c in routes[:_ROUTES]
    ]
    more = len(routes) - _ROUTES
    return said + ([f"and {units.count(more, 'more route')}"] if more > 0 else [])


def _with_causes(news: Sequence[Difference], rest: Sequence[Difference]) -> list[str]:
    """Counts the routes that the causes at the top explain."""
    mine, others = (sum(c.subject.family is Family.ROUTE for c in each) for each in (news, rest))
    if mine == others:
        return []
    further = units.count(mine - others, "further route")
    return [f"{further} changed with what is said first; crosscut compare --json lists all"]


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
            f"{_which(sorted(change.subject.phase for change in mine), found.phase_labels)}"
        )
    return said


def _which(phases: Sequence[int], labels: Mapping[int, str]) -> str:
    """`1 to 5, 9`; of few phases with labels, `1 (ring), 3 (Rabenseifner)`."""
    if len(phases) > _LABELLED or not all(phase in labels for phase in phases):
        return words.ranges(phases)
    return ", ".join(f"{phase} ({labels[phase]})" for phase in phases)


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
