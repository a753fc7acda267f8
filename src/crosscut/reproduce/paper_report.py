"""Shows the items of papers on a terminal or as JSON."""

from __future__ import annotations

from collections.abc import Sequence

from crosscut.base import units
from crosscut.reports.terminal.screen import Screen
from crosscut.reproduce.papers import ItemState, Paper


def render_all(screen: Screen, found: Sequence[Paper]) -> None:
    for one in found:
        screen.line(f"{one.name}: {counts(one)}", "bold")
        screen.line(one.title)
    screen.line(
        "compared: a printed number stands beside crosscut's; stated: a sentence without a number is tested; "
        "not printed: the text has no value; not describable: the paper omits what it would take, or "
        "crosscut cannot describe what limited the measurement; open: not done yet",
        "dim",
    )
    screen.command("crosscut reproduce --list NAME: every table, figure and numbered statement of a paper")


def counts(paper: Paper) -> str:
    """`44 items: 15 compared, 4 stated, …; 9 of 19 tables and figures compared or stated`"""
    states = [f"{number} {state}" for state in ItemState if (number := paper.count(state))]
    told, there = paper.numbered
    return (
        f"{units.count(len(paper.items), 'item')}: {', '.join(states)}; {told} of {there} tables and figures "
        "compared or stated"
    )


def render(screen: Screen, paper: Paper) -> None:
    screen.line(paper.title, "bold")
    for item in paper.items:
        screen.line()
        screen.line(f"{item.name}: {item.state}", _STYLES[item.state])
        screen.line(item.about)
        if item.printed:
            screen.field("printed", item.printed)
        if item.by:
            screen.field("by", ", ".join(item.by))
        if item.remark:
            screen.line(item.remark, "dim")
    screen.line()
    screen.line(counts(paper), "bold")


_STYLES = {
    ItemState.COMPARED: "bold green", ItemState.STATED: "bold green", ItemState.OPEN: "bold yellow",
    ItemState.NOT_PRINTED: "bold", ItemState.NOT_DESCRIBABLE: "bold",
}  # fmt: skip


def as_json(paper: Paper) -> dict[str, object]:
    return {
        "paper": paper.name,
        "title": paper.title,
        "items": [
            {"name": item.name, "about": item.about, "state": item.state, "by": list(item.by),
             "printed": item.printed or None, "remark": item.remark or None}
            for item in paper.items
        ],
    }  # fmt: skip
