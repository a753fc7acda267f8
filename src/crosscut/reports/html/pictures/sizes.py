"""Pictures at message sizes other than the first shown, for the page's size selector."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from crosscut.base import units
from crosscut.base.spelling import tied
from crosscut.reports.html.markup import Markup, element
from crosscut.reports.html.pictures.picture import Picture

# A heat map takes up to 1.4 bytes of the page per cell, so six maps of 1,024 ranks stay below 10 MB.
MOST_CELLS = 6_500_000
MOST_SIZES = 24


@dataclass(frozen=True)
class SizeChoice:
    """The sizes at which one run or several overlaid runs can be shown."""

    group: str
    """Figures of one group always show the same size."""
    chosen_bytes: int
    others: Mapping[int, Sequence[Picture]]
    """Pictures by size in bytes. They have the same names as those shown first."""
    left_out: int = 0


def choice(
    group: str, chosen: int, there: Iterable[int], ranks: int, draw: Callable[[int], Sequence[Picture]]
) -> SizeChoice:
    """Chooses which of the sizes `there` the page offers. `draw` returns the pictures of a size."""
    others = sorted(size for size in set(there) if size != chosen)
    kept = offered(others, ranks)
    return SizeChoice(group, chosen, {size: draw(size) for size in kept}, len(others) - len(kept))


def offered(others: Sequence[int], ranks: int) -> list[int]:
    """Returns as many sizes as the page has room for, evenly spaced from the smallest."""
    most = min(MOST_SIZES, MOST_CELLS // max(ranks**2, 1))
    if len(others) <= most:
        return list(others)
    if most == 0:
        return []
    return [others[at] for at in np.linspace(0, len(others), most, endpoint=False).astype(int)]


def as_json(choices: Sequence[SizeChoice], shown: Sequence[Picture]) -> dict[str, object]:
    """Returns, by figure, its group and all sizes in order with pictures; null is the one shown first."""
    found: dict[str, object] = {}
    for one in choices:
        labels = _labels([one.chosen_bytes, *one.others])
        for picture in shown:
            at_size: dict[int, Picture | None] = {
                size: replace(drawn, name=f"{picture.name}-{size}B", caption=tied(drawn.caption))
                for size, pictures in one.others.items()
                for drawn in pictures
                if drawn.name == picture.name
            }
            if not at_size:
                continue
            at_size[one.chosen_bytes] = None
            found[picture.name] = {
                "group": one.group,
                "sizes": [
                    {"bytes": size, "label": labels[size], "picture": drawn.as_json() if drawn else None}
                    for size, drawn in sorted(at_size.items())
                ],
            }
    return found


def _labels(sizes: Sequence[int]) -> dict[int, str]:
    """Returns rounded labels, or exact ones where rounding would make two equal."""
    rounded = {size: units.size(size) for size in sizes}
    twice = {label for label in rounded.values() if list(rounded.values()).count(label) > 1}
    return {size: units.count(size, "byte") if label in twice else label for size, label in rounded.items()}


def note(one: SizeChoice, run: Path) -> Markup:
    """Returns a note if the page has no room for pictures of some sizes."""
    of_no_size = one.others and not any(one.others.values())
    if not one.left_out or of_no_size:
        return Markup("")
    there = f"{units.count(len(one.others) + 1, 'size')} of {len(one.others) + 1 + one.left_out:,}"
    command = f"crosscut report {shlex.quote(str(run))}"
    return element(
        "p",
        f"This page has pictures of {there}; for others: {command} --size SIZE.",
        class_="kicker",
    )
