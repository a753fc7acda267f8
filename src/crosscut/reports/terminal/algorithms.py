"""Report of the algorithms of a collective operation: time of each by message size."""

from __future__ import annotations

from crosscut.analysis.figures.algorithms import algorithm_times
from crosscut.analysis.figures.samples import Samples
from crosscut.base.spelling import sentence
from crosscut.reports.terminal.screen import Rows, Screen
from crosscut.reports.view import View, text
from crosscut.reports.words import algorithms, figures


def render(screen: Screen, view: View, measured: list[Samples], detailed: Samples) -> None:
    found, names = algorithm_times(measured), view.labels(detailed)
    screen.title("Time of each algorithm, by the size of the vector")
    table = Rows("size", *names)
    for at in range(len(found.size_bytes)):
        table.add(*algorithms.rows(found, at))
    screen.table(table)
    screen.line(algorithms.FASTEST, "dim")
    for line in algorithms.comparison(found, view, names):
        screen.line(sentence(line))
    if detailed.size_bytes:
        at = found.size_bytes.index(detailed.size_bytes)
        screen.line(f"formula: {text(view.attributes, 'pattern', 'formula')}", "dim")
        each = (f"{name} {figures.at(found.rates[at], number).rate()}" for number, name in enumerate(names))
        screen.line(f"bus bandwidth at {algorithms.rows(found, at)[0]}: {'; '.join(each)}")
