"""What a picture is to the page: words, and columns of numbers that the page's script draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from crosscut.analysis.figures.digest import Digest
from crosscut.analysis.figures.samples import Samples
from crosscut.analysis.stats.intervals import Floats, Medians
from crosscut.base import units
from crosscut.base.spelling import capital
from crosscut.reports.html.markup import NOTHING, Markup, element
from crosscut.reports.view import View

Column = NDArray[np.generic] | Sequence[float | int | str | None]


@dataclass(frozen=True)
class Axis:
    label: str
    unit: tuple[float, str] = (1.0, "")
    """(factor, name): the columns stay in bytes and seconds, the axis is divided."""
    log: bool = False

    def as_json(self) -> dict[str, object]:
        return {"label": self.label, "factor": self.unit[0], "unit": self.unit[1], "log": self.log}


def rate_axis(label: str, typical: float, *, log: bool = False) -> Axis:
    return Axis(label, units.rate_unit(typical), log)


# For runs laid over each other: with more between their medians the slow ones would lie on the axis.
_FARTHEST_APART = 5.0
LOGARITHMIC = "The runs are so far apart that the axis of rates is logarithmic."


def far_apart(rates: Sequence[Floats]) -> bool:
    """True if runs' rates (each with some that are finite) ask for a logarithmic axis, and allow it."""
    middles = [float(np.nanmedian(values)) for values in rates]
    lowest = min(float(np.nanmin(values)) for values in rates)
    return len(middles) > 1 and lowest > 0 and max(middles) > _FARTHEST_APART * min(middles)


def time_axis(label: str, typical: float, *, log: bool = False) -> Axis:
    return Axis(label, units.time_unit(typical), log)


@dataclass(frozen=True)
class Picture:
    """`kind` names the script that draws it (assets/main.js); `columns` are also its CSV."""

    kind: str
    name: str
    """Part of the page's anchors and of the names of exported files."""
    title: str
    caption: str
    """What there is to see, in words: also what a screen reader says."""
    columns: Mapping[str, Column] = field(default_factory=dict)
    x: Axis | None = None
    y: Axis | None = None
    more: Mapping[str, object] = field(default_factory=dict)
    body: Markup = NOTHING
    """Markup of a picture that is drawn already."""

    def as_json(self) -> dict[str, object]:
        shown = {name: value for name, value in vars(self).items() if name != "body"}
        return shown | {"x": self.x.as_json() if self.x else None, "y": self.y.as_json() if self.y else None}


def link(picture: Picture, **attributes: str) -> Markup:
    """A link to what proves a sentence."""
    words = f"See: {picture.title}"
    return element("a", words, href=f"#{picture.name}", class_="proof", **attributes)


@dataclass(frozen=True)
class RunAtSize:
    """One run at one size, for pictures that lay several over each other."""

    name: str
    view: View
    digest: Digest

    @property
    def samples(self) -> Samples:
        return self.digest.phases

    @property
    def rates(self) -> Medians:
        """[phase] rates as the pattern's reports tell them."""
        return self.digest.formula if self.view.by_formula else self.digest.rates


def laid_over(runs: Sequence[tuple[str, Mapping[str, Column]]]) -> dict[str, Column]:
    """Columns of named runs, one below the other; the column `run` tells whose row it is."""
    found: dict[str, list[float | int | str | None]] = {"run": []}
    for name, columns in runs:
        for key, column in columns.items():
            values = column.tolist() if isinstance(column, np.ndarray) else column
            found.setdefault(key, []).extend(values)
        found["run"] += [name] * (len(found[key]) - len(found["run"]))
    return dict(found)


def captions(said: Sequence[tuple[str, str]], *, log: bool = False) -> str:
    """A line for each run's (name, words), without the name where there is one run; `log`: an axis of rates
    is logarithmic."""
    several = len(said) > 1
    lines = [f"{name}: {words}" if several else capital(words) for name, words in said]
    return "\n".join([*lines, LOGARITHMIC] if log else lines)
