"""Report of the algorithms of a collective operation: time of each by message size."""

from __future__ import annotations

from crosscut.analysis.figures.algorithms import algorithm_times
from crosscut.analysis.figures.samples import Samples
from crosscut.base import units
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
        screen.title(f"Bandwidth at {units.size(detailed.size_bytes)}")
        table = Rows("<", "algorithm bandwidth", "bus bandwidth", "?95 % interval")
        for number, name in enumerate(names):
            rate, seconds = figures.at(found.rates[at], number), found.seconds[at].median[number]
            unit = units.rate_unit(rate.median)
            bus, interval = rate.in_unit(unit)
            table.add(name, units.rate(detailed.size_bytes / seconds), f"{bus} {unit[1]}", interval)
        screen.table(table)
        screen.line("algorithm bandwidth: the vector m over the time of the slowest rank", "dim")
        screen.line(text(view.attributes, "pattern", "formula"), "dim")
