"""Verdicts on a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from crosscut import units
from crosscut.analysis.comparing import Asked, Comparison
from crosscut.analysis.promises import Judged, Verdict
from crosscut.reports import terminal_compare, words_check
from crosscut.reports.screen import Rows, Screen
from crosscut.spec import Spec

_STYLES = {Verdict.PASS: "green", Verdict.FAIL: "bold red", Verdict.UNDECIDED: "yellow"}


def render(screen: Screen, spec: Spec, judged: Sequence[Judged], names: Sequence[str]) -> None:
    worst = max((one.verdict for one in judged), key=[Verdict.PASS, Verdict.UNDECIDED, Verdict.FAIL].index)
    screen.line(f"{spec.title}: {words_check.sentence(judged)}.", _STYLES[worst])
    rows = Rows("<verdict", "<promise", "<measured", "?wrong by chance", "?repetitions")
    for one in judged:
        rows.add(
            one.verdict.value, f"{one.promise.name}: {one.promise.said}", words_check.measured(one, names),
            words_check.chance(one), str(one.repetitions), style=_STYLES[one.verdict],
        )  # fmt: skip
    screen.console.print()
    screen.table(rows)
    for one in judged:
        for text in filter(None, (words_check.broken(one, names), words_check.undecided(one))):
            screen.line(f"{one.promise.name}: {text}")
    screen.line(
        f"Any verdict wrong: at most {units.percent(spec.error_rate)}, whenever one stops measuring "
        "(betting on the median, "
        f"Ville 1939; Howard and Ramdas 2022).", "dim",
    )  # fmt: skip


def render_quick(
    screen: Screen, found: Comparison, asked: Asked, names: Sequence[str], drain: Sequence[tuple[str, str]]
) -> None:
    terminal_compare.render(screen, found, asked, names)
    screen.title("To drain")
    if not drain:
        screen.line("no node is worse than in the baseline")
    for node, why in drain:
        screen.command(f"scontrol update nodename={node} state=drain reason='crosscut: {why}'")
