"""Bus bandwidth and time of the algorithms of a collective operation, by message size."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from crosscut.analysis.figures.algorithms import AlgorithmTimes, TakingPart, groups
from crosscut.base import units
from crosscut.base.spelling import sentence
from crosscut.reports.html.pictures.picture import Axis, Column, Picture, RunAtSize, laid_over, time_axis
from crosscut.reports.view import View
from crosscut.reports.words import algorithms

_THE_SAME = "The same messages, as times of the slowest rank."


def pictures(one: RunAtSize, name: str) -> list[Picture]:
    """Returns nothing for fewer than two sizes with bytes."""
    return [
        picture
        for number, group in enumerate(groups(one.view.measured(), one.view.label))
        for picture in _of_group(one.view, group, f"{name}-{number + 1}" if group.who else name)
    ]


def _of_group(view: View, group: TakingPart, name: str) -> list[Picture]:
    found, names = group.times, group.names
    sized = [
        at
        for at, size in enumerate(found.size_bytes)
        if size > 0 and np.isfinite(found.rates[at].median).any()
    ]
    if len(sized) < 2:
        return []
    columns = laid_over([(label, _columns(found, sized, number)) for number, label in enumerate(names)])
    fastest = max(float(np.nanmax(found.rates[at].median)) for at in sized)
    quickest = min(float(np.nanmin(found.seconds[at].median)) for at in sized)
    said = " ".join(map(sentence, algorithms.comparison(group, view)))
    parts = changes(found, names)
    by_size = "by message size" + (f", with {algorithms.who(group, view)}" if group.who else "")
    size_axis = Axis("size of the vector, bytes", log=True)
    return [
        Picture("sweep", f"{name}-rate", f"Bus bandwidth {by_size}", said, columns, size_axis,
                Axis("bus bandwidth", units.rate_unit(fastest)), {"value": "rate", "fastest": parts}),
        Picture("sweep", f"{name}-time", f"Time {by_size}", _THE_SAME, columns, size_axis,
                time_axis("time of the slowest rank", quickest, log=True),
                {"value": "seconds", "fastest": parts}),
    ]  # fmt: skip


def changes(found: AlgorithmTimes, names: Sequence[str]) -> list[dict[str, object]]:
    """The fastest algorithm's name over each range of sizes with bytes."""
    least = min(size for size in found.size_bytes if size > 0)
    return [
        {
            "from": max(part.first_bytes, least),
            "to": part.last_bytes,
            "label": names[part.algorithms[0]] if len(part.algorithms) == 1 else "several alike",
        }
        for part in found.ranges()
        if part.last_bytes > 0
    ]


def _columns(found: AlgorithmTimes, sized: list[int], number: int) -> dict[str, Column]:
    columns: dict[str, Column] = {"size_bytes": [found.size_bytes[at] for at in sized]}
    for name, of in (("seconds", found.seconds), ("rate", found.rates)):
        for suffix, bound in (("", "median"), ("_low", "low"), ("_high", "high")):
            columns[name + suffix] = np.array([getattr(of[at], bound)[number] for at in sized])
    return columns
