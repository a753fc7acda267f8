"""Verdicts on a terminal."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from crosscut.analysis.compare.comparing import Comparison, ComparisonSettings
from crosscut.analysis.compare.promises import PromiseVerdict, Verdict
from crosscut.analysis.compare.spec import Spec
from crosscut.analysis.compare.worse_nodes import WorseNodes
from crosscut.analysis.figures.cautions import Caution
from crosscut.base import units
from crosscut.reports.terminal import compare as terminal_compare
from crosscut.reports.terminal.screen import Rows, Screen
from crosscut.reports.words import check as words_check

MOST_NODES = 8
_STYLES = {Verdict.PASS: "green", Verdict.FAIL: "bold red", Verdict.UNDECIDED: "yellow"}


def render(
    screen: Screen, spec: Spec, judged: Sequence[PromiseVerdict], names: Sequence[str],
    cautions: Sequence[Caution] = (), planted: Sequence[str] = (), not_built: str = "",
) -> None:  # fmt: skip
    if not_built:
        screen.warn(not_built)
    for caution in cautions:
        screen.warn(str(caution))
    screen.line(f"{spec.title}: {words_check.sentence(judged)}.", _STYLES[words_check.worst(judged)])
    rows = Rows("<verdict", "<promise", "<measured", "?error probability", "?repetitions")
    for one in judged:
        promised = f"{one.promise.name}: {one.promise.said}{words_check.only(one.promise)}"
        rows.add(
            words_check.VERDICTS[one.verdict], promised,
            words_check.measured(one, names), words_check.chance(one), str(one.repetitions),
            style=_STYLES[one.verdict],
        )  # fmt: skip
    screen.console.print()
    screen.table(rows)
    for one in judged:
        for text in words_check.notes(one, names):
            screen.line(f"{one.promise.name}: {text}")
    if planted:
        screen.line(f"planted: {'; '.join(planted)}", "dim")
    if not all(one.exact for one in judged):
        screen.line(
            "Probability that any promise is wrongly called kept or broken: at most "
            f"{units.percent(spec.error_rate)}, no matter when measuring stops (betting on quantiles, Ville "
            "1939; Howard and Ramdas 2022).", "dim",
        )  # fmt: skip


def render_quick(
    screen: Screen,
    found: Comparison,
    asked: ComparisonSettings,
    names: Sequence[str],
    worse: WorseNodes,
    on: str,
) -> None:
    terminal_compare.render_conditions(screen, found.conditions)
    terminal_compare.render(screen, found, asked, names)
    screen.title("To drain")
    if not worse.faulty:
        screen.line("no node" if worse.others else "no node is worse than in the baseline")
    for node, why in worse.faulty:
        screen.command(_drain_command(node, why))
    if worse.others:
        screen.title("Worse, but not shown to be at fault")
        for node, why in worse.others[:MOST_NODES]:
            screen.line(f"{node} {why}")
        if (more := len(worse.others) - MOST_NODES) > 0:
            screen.line(f"and {units.count(more, 'more node')}", "dim")
        screen.line(
            "A shared trunk, or a faulty node that they exchange with, slows sound nodes too. To find "
            f"what is at fault: crosscut locate --on {shlex.quote(on)}"
        )


def _drain_command(node: str, why: str) -> str:
    """Returns a shell command that is safe for any node name."""
    name = "".join(character if character.isprintable() else "?" for character in node)
    return (
        f"scontrol update nodename={shlex.quote(name)} state=drain reason={shlex.quote(f'crosscut: {why}')}"
    )
