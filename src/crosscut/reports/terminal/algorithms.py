"""Report of the algorithms of a collective operation: time of each by message size."""

from __future__ import annotations

from collections.abc import Sequence

from crosscut.analysis.figures.algorithms import TakingPart, groups
from crosscut.analysis.figures.samples import Samples
from crosscut.base import units
from crosscut.base.spelling import sentence
from crosscut.reports.terminal.screen import Rows, Screen
from crosscut.reports.view import View, text
from crosscut.reports.words import algorithms, figures


def render(screen: Screen, view: View, measured: list[Samples], detailed: Samples) -> None:
    found = groups(measured, view.label)
    for group in found:
        _by_size(screen, view, group)
    at = found[0].times.size_bytes.index(detailed.size_bytes)
    if len(found) > 1 and len({group.names for group in found}) == 1:
        _by_ranks(screen, view, found, at)
    elif len(found) == 1 and detailed.size_bytes:
        _bandwidths(screen, view, found[0], at)


def _by_size(screen: Screen, view: View, group: TakingPart) -> None:
    taking_part = f" with {algorithms.who(group, view)}" if group.who else ""
    screen.title(f"Time of each algorithm{taking_part}, by the size of the vector")
    table = Rows("size", *group.names)
    for at in range(len(group.times.size_bytes)):
        table.add(*algorithms.rows(group.times, at))
    screen.table(table)
    screen.line(algorithms.FASTEST, "dim")
    for line in algorithms.comparison(group, view):
        screen.line(sentence(line))


def _by_ranks(screen: Screen, view: View, found: Sequence[TakingPart], at: int) -> None:
    """Prints tables of times and of bus bandwidths: one row for each group of ranks."""
    size = units.size(found[0].times.size_bytes[at])
    times, rates = (Rows("<taking part", *found[0].names) for _ in range(2))
    for group in found:
        who = algorithms.who(group, view)
        times.add(who, *algorithms.rows(group.times, at)[1:])
        each = group.times.rates[at].median.tolist()
        rates.add(who, *map(units.rate, each))
    screen.title(f"By the ranks that take part, at {size}: time")
    screen.table(times)
    for line in algorithms.more_ranks(found, view):
        screen.line(sentence(line))
    if found[0].times.size_bytes[at]:
        screen.title(f"By the ranks that take part, at {size}: bus bandwidth")
        screen.table(rates)
        screen.line(text(view.attributes, "pattern", "formula"), "dim")


def _bandwidths(screen: Screen, view: View, group: TakingPart, at: int) -> None:
    found, size = group.times, group.times.size_bytes[at]
    screen.title(f"Bandwidth at {units.size(size)}")
    table = Rows("<", "algorithm bandwidth", "bus bandwidth", "?95 % interval")
    for number, name in enumerate(group.names):
        rate, seconds = figures.at(found.rates[at], number), found.seconds[at].median[number]
        unit = units.rate_unit(rate.median)
        bus, interval = rate.in_unit(unit)
        table.add(name, units.rate(size / seconds), f"{bus} {unit[1]}", interval)
    screen.table(table)
    screen.line("algorithm bandwidth: the vector m over the time of the slowest rank", "dim")
    screen.line(text(view.attributes, "pattern", "formula"), "dim")
