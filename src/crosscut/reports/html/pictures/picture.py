"""Pictures as data for the page: text and columns of numbers that its script draws."""

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
    """(factor, name). Columns stay in bytes and seconds; only axis labels are divided by the factor."""
    log: bool = False

    def as_json(self) -> dict[str, object]:
        return {"label": self.label, "factor": self.unit[0], "unit": self.unit[1], "log": self.log}


def rate_axis(label: str, typical: float, *, log: bool = False) -> Axis:
    return Axis(label, units.rate_unit(typical), log)


# Largest ratio between medians of overlaid runs on a linear axis; beyond it, slow runs would seem zero.
_FARTHEST_APART = 5.0
LOGARITHMIC = "The runs are so far apart that the axis of rates is logarithmic."


def far_apart(rates: Sequence[Floats]) -> bool:
    """True if rates of several runs are far apart and all positive. Each run must have a finite rate."""
    middles = [float(np.nanmedian(values)) for values in rates]
    lowest = min(float(np.nanmin(values)) for values in rates)
    return len(middles) > 1 and lowest > 0 and max(middles) > _FARTHEST_APART * min(middles)


def time_axis(label: str, typical: float, *, log: bool = False) -> Axis:
    return Axis(label, units.time_unit(typical), log)


@dataclass(frozen=True)
class Picture:
    """A picture, drawn by the script that `kind` names (assets/main.js). Its `columns` are also its CSV."""

    kind: str
    name: str
    """Used as the page's anchor and in names of exported files."""
    title: str
    caption: str
    """States in words what the picture shows, also for screen readers."""
    columns: Mapping[str, Column] = field(default_factory=dict)
    x: Axis | None = None
    y: Axis | None = None
    more: Mapping[str, object] = field(default_factory=dict)
    body: Markup = NOTHING
    """Markup of a picture that needs no script."""

    def as_json(self) -> dict[str, object]:
        shown = {name: value for name, value in vars(self).items() if name != "body"}
        return shown | {"x": self.x.as_json() if self.x else None, "y": self.y.as_json() if self.y else None}


def link(picture: Picture, **attributes: str) -> Markup:
    """Returns a link to the picture that proves a sentence."""
    words = f"See: {picture.title}"
    return element("a", words, href=f"#{picture.name}", class_="proof", **attributes)


@dataclass(frozen=True)
class RunAtSize:
    """One run at one size, for pictures of one or several overlaid runs."""

    name: str
    view: View
    digest: Digest

    @property
    def samples(self) -> Samples:
        return self.digest.phases

    @property
    def rates(self) -> Medians:
        """[phase] Rates, by the pattern's formula if its reports use that."""
        return self.digest.formula if self.view.by_formula else self.digest.rates


def laid_over(runs: Sequence[tuple[str, Mapping[str, Column]]]) -> dict[str, Column]:
    """Concatenates the columns of named runs; the column `run` names the run of each row."""
    found: dict[str, list[float | int | str | None]] = {"run": []}
    for name, columns in runs:
        for key, column in columns.items():
            values = column.tolist() if isinstance(column, np.ndarray) else column
            found.setdefault(key, []).extend(values)
        found["run"] += [name] * (len(found[key]) - len(found["run"]))
    return dict(found)


def captions(said: Sequence[tuple[str, str]], *, log: bool = False) -> str:
    """Returns one line per (name, words), without the name for a single run. `log` adds the note on a
    logarithmic axis."""
    several = len(said) > 1
    lines = [f"{name}: {words}" if several else capital(words) for name, words in said]
    return "\n".join([*lines, LOGARITHMIC] if log else lines)
