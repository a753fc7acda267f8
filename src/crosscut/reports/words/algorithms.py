"""Which algorithm of a collective operation is the fastest, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from crosscut.analysis.figures.algorithms import AlgorithmRange, AlgorithmTimes, TakingPart, ranges
from crosscut.analysis.figures.sent_like import sent_like
from crosscut.base import units
from crosscut.reports.view import View, text
from crosscut.reports.words import figures


def sentences(groups: Sequence[TakingPart], view: View) -> list[str]:
    """The comparison, and the highest rate; for several groups of ranks, each one's comparison, and what more
    ranks cost."""
    if len(groups) > 1:
        said = [
            f"{who(group, view)}: {line}"
            for group in groups
            for line in [fastest(group, view), *slow_library(group, view)]
        ]
        return [*more_ranks(groups, view), *said]
    (group,) = groups
    lines, found = comparison(group, view), group.times
    if group.who:
        lines[0] = f"{who(group, view)}: {lines[0]}"
    last = len(found.size_bytes) - 1
    if found.ranges() and (best := found.fastest(last)) and found.size_bytes[last] > 0:
        rate = figures.at(found.rates[last], best[0]).rate()
        lines.append(
            f"bus bandwidth at {units.size(found.size_bytes[last])}: {rate} ({group.names[best[0]]})"
        )
    return lines


def comparison(group: TakingPart, view: View) -> list[str]:
    """The fastest algorithms, where the library's own call is slow, and which of them it sends like."""
    return [fastest(group, view), *slow_library(group, view), *library_sends_like(group, view)]


def who(group: TakingPart, view: View) -> str:
    """`every 4th rank (2 a node)`; without the number if nodes have different ones, or none."""
    _, here = np.unique(view.rank_nodes[:: group.every], return_counts=True)
    alike = len(here) == len(view.nodes) > 1 and len(set(here.tolist())) == 1
    return f"{group.who} ({here[0]} a node)" if alike else group.who


def more_ranks(groups: Sequence[TakingPart], view: View) -> list[str]:
    """`by the fastest algorithms, the all-reduce of 1 MB takes 3.40 ms with all ranks (4 a node), 2.75 times
    as long as with every 4th rank (1 a node), which takes 1.24 ms`."""
    few, many = max(groups, key=lambda group: group.every), min(groups, key=lambda group: group.every)
    if few.names != many.names or few.every == many.every:
        return []
    last = len(few.times.size_bytes) - 1
    best_few, best_many = few.times.fastest(last), many.times.fastest(last)
    if not best_few or not best_many:
        return []
    short, long = (
        figures.at(group.times.seconds[last], best[0]) for group, best in ((few, best_few), (many, best_many))
    )
    whole = all(np.isfinite(group.times.seconds[last].median).all() for group in (few, many))
    if not whole or not short.median > 0:
        return []
    size = few.times.size_bytes[last]
    what = f"{_operation(view)} of {units.size(size)}" if size else _operation(view)
    return [
        f"by the fastest algorithms, the {what} takes {long.seconds()} with {who(many, view)}, "
        f"{long.median / short.median:.2f} times as long as with {who(few, view)}, which takes "
        f"{short.seconds()}"
    ]


def fastest(group: TakingPart, view: View) -> str:
    """`fastest all-reduce: recursive doubling up to 4 KB; ring from 8 KB on`"""
    found, names = group.times, group.names
    parts = _parts(found.ranges(), names, {len(names): "none stands out"})
    if not parts:
        return "nothing was measured"
    alike = len(parts) == 1 and parts[0].startswith("none")
    said = (
        f"{_operation(view)}: no algorithm stands out"
        if alike
        else f"fastest {_operation(view)}: {'; '.join(parts)}"
    )
    return f"{units.size(found.size_bytes[0])}: {said}" if len(found.size_bytes) == 1 else said


LIBRARY = "library"
"""Begins the labels of the phases that are the library's own call (core/patterns/collective.cpp)."""


def slow_library(group: TakingPart, view: View) -> list[str]:
    """`the library's own all-reduce takes longer than an algorithm from 64 KB to 1 MB; at 256 KB 1.70 times
    what ring takes, …`; nothing where intervals overlap."""
    found, names = group.times, group.names
    if LIBRARY not in names:
        return []
    others = [number for number, name in enumerate(names) if not name.startswith(LIBRARY)]
    excesses = found.excesses(names.index(LIBRARY), others)
    if not excesses:
        return []
    stretches: list[list[int]] = []
    for one in excesses:
        if stretches and one.at == stretches[-1][-1] + 1:
            stretches[-1].append(one.at)
        else:
            stretches.append([one.at])
    sizes = [(units.size(found.size_bytes[at[0]]), units.size(found.size_bytes[at[-1]])) for at in stretches]
    where = " and ".join(f"from {low} to {high}" if low != high else f"at {low}" for low, high in sizes)
    worst = max(excesses, key=lambda one: one.low)
    return [
        f"the library's own {_operation(view)} takes longer than an algorithm {where}; at "
        f"{units.size(found.size_bytes[worst.at])} {worst.ratio:.2f} times what {names[worst.fastest]} "
        f"takes, by the 95 % intervals at least {worst.low:.2f}"
    ]


def library_sends_like(group: TakingPart, view: View) -> list[str]:
    """`by bytes and frames at adapters, the library's all-reduce sends like recursive doubling up to 2 KB;
    ring from 4 KB on`, and the fastest algorithms; nothing where adapters did not count its messages."""
    found, names = group.times, group.names
    numbers = {label: number for number, label in view.phase_labels.items()}
    own = [name for name in names if not name.startswith(LIBRARY)]
    if LIBRARY not in names or not all(label in numbers for label in group.labels):
        return []
    counted = view.attributes.get("sent_by_adapters")
    number = dict(zip(names, (numbers[label] for label in group.labels), strict=True))
    here = {view.nodes[node] for node in view.rank_nodes[:: group.every]}
    like = sent_like(counted, number[LIBRARY], [number[name] for name in own], here)
    if set(like) != set(found.size_bytes):
        return []
    by_size = {size: tuple(group.labels.index(view.phase_labels[one]) for one in like[size]) for size in like}
    all_or_none = {len(own): "any of crosscut's algorithms", 0: "none of crosscut's algorithms"}
    alike = _parts(ranges(by_size), names, all_or_none)
    lines = [
        f"by bytes and frames at adapters, the library's {_operation(view)} sends like {'; '.join(alike)}"
    ]
    library = [at for at, name in enumerate(names) if name.startswith(LIBRARY)]
    fastest_own = _parts(found.ranges(without=library), names, {len(own): "none stands out"})
    if len(own) > 1 and fastest_own:
        lines.append(f"fastest without the library: {'; '.join(fastest_own)}")
    return lines


def _parts(found: Sequence[AlgorithmRange], names: Sequence[str], said: Mapping[int, str]) -> list[str]:
    """`ring up to 4 KB`, `…`: who, and at which sizes. `said` has words for numbers of algorithms but one."""
    parts = []
    for at, one in enumerate(found):
        who = " or ".join(names[algorithm] for algorithm in one.algorithms)
        if len(one.algorithms) != 1:
            who = said.get(len(one.algorithms), who)
        parts.append(who + _sizes(at, len(found), one.first_bytes, one.last_bytes))
    return parts


def _operation(view: View) -> str:
    return text(view.attributes, "pattern", "parameters", "operation")


def _sizes(at: int, ranges: int, first: int, last: int) -> str:
    if ranges == 1:
        return ""
    if at == 0:
        return f" up to {units.size(last)}"
    if at == ranges - 1:
        return f" from {units.size(first)} on"
    return f" from {units.size(first)} to {units.size(last)}" if first != last else f" at {units.size(first)}"


def rows(found: AlgorithmTimes, at: int) -> tuple[str, ...]:
    """Returns the size and each algorithm's time, `*` beside the fastest ones."""
    fastest, seconds = found.fastest(at), found.seconds[at]
    times = (
        figures.at(seconds, number).seconds().partition(" [")[0] + (" *" if number in fastest else "")
        for number in range(len(seconds.median))
    )
    return units.size(found.size_bytes[at]), *times


FASTEST = "*: the fastest; several if their 95 % intervals overlap"
