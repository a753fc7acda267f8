"""What changed between the two runs of a page, as `crosscut compare` says it."""

from __future__ import annotations

from crosscut.analysis.compare import causes
from crosscut.analysis.compare.comparing import ComparisonSettings, compare
from crosscut.analysis.compare.conditions import UndecidedError
from crosscut.analysis.compare.matching import match
from crosscut.analysis.compare.trend import started
from crosscut.analysis.findings import of_run
from crosscut.analysis.findings.groups import groups_of
from crosscut.base.errors import UsageError
from crosscut.base.spelling import as_typed, tied
from crosscut.reports.html.markup import Markup, element, table
from crosscut.reports.html.meaning import Meaning
from crosscut.reports.html.pictures.picture import RunAtSize
from crosscut.reports.words import comparison
from crosscut.reports.words.comparison import ROWS, ChangeLine

NAME = "changes"
# Comparing more takes more than half a minute.
_MOST_MESSAGES = 70_000


def section(first: RunAtSize, second: RunAtSize) -> Markup | None:
    """Returns the section, from the earlier run to the later; None if the runs may not be compared."""
    starts = started(first.view), started(second.view)
    if starts[0] is not None and starts[1] is not None and starts[1] < starts[0]:
        first, second = second, first
    runs, asked = (first.view, second.view), ComparisonSettings()
    try:
        if max(run.ranks * run.dataset.sizes["phase"] for run in runs) > _MOST_MESSAGES:
            match(*runs)
            command = f"crosscut compare {' '.join(as_typed(run.path) for run in runs)}"
            words = f"Not compared here, as that takes a while: {command}"
            return _section(first, second, element("p", words, class_="doubt"))
        found = compare(*runs, groups_of(first.view), asked)
    except UndecidedError as error:
        return _section(first, second, element("p", tied(f"Undecided: {error}."), class_="doubt"))
    except UsageError:
        return None
    why = causes.of_changes(found, *runs)
    found = causes.explained(found, why, asked.matters)
    told = comparison.told(found, asked, of_run.rank_names(first.view), why)
    lines = [*told.causes, *([told.headline] if told.headline else [])]
    said = [element("li", tied(one.text), class_=_class(one)) for one in lines]
    doubts = [element("li", tied(one)) for one in (*found.conditions, *told.cautions)]
    rows = [
        (row.what, row.size, row.before_after, row.change, row.interval, row.by_chance)
        for row in told.rows[:ROWS]
    ]
    head = ("what", "size", "before → after", "change", "95 % interval", "by chance")
    return _section(
        first, second,
        element("ol", said, class_="findings"),
        element("aside", element("ul", doubts), class_="cautions") if doubts else None,
        table(head, rows, words=frozenset({0}), caption="Median routes, and the hosts that changed",
              stacked=True)
        if rows else None,
        element("ul", [element("li", tied(one)) for one in told.further]) if told.further else None,
        [element("p", tied(one), class_="doubt") for one in told.notes],
    )  # fmt: skip


def _section(first: RunAtSize, second: RunAtSize, *said: Markup | list[Markup] | None) -> Markup:
    head = element("h2", f"What changed from {first.name} to {second.name}")
    return element("section", head, *said, id=NAME)


def _class(line: ChangeLine) -> str:
    meaning: Meaning = {True: Meaning.FAULT, False: Meaning.SOUND, None: Meaning.UNKNOWN}[line.worse]
    return str(meaning.value)
