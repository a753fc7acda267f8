"""Draws the Pareto front: price to the right, time upwards, good value at the lower left."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from crosscut.pricing.amounts import amount
from crosscut.pricing.choosing import Standing, centre
from crosscut.pricing.judging import JudgedCandidate, MixJudgement
from crosscut.pricing.report_mix import ratio, sentence, what_would_decide
from crosscut.reports import charts

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Annotation

_COLOURS = {Standing.ON: charts.COLOURS[0], Standing.PERHAPS: charts.COLOURS[4], Standing.OFF: "#8b96a1"}
_WORDS = {
    Standing.ON: "on the front: nothing is both cheaper and faster",
    Standing.PERHAPS: "perhaps on it: intervals overlap",
    Standing.OFF: "something is both cheaper and faster",
}
_BAND, _BAND_INK = "#e8f4ec", "#2e7d4f"
_NEAR = 20
# Places for a label relative to its dot, in points (right, up), the preferred ones first.
_PLACES = sorted(
    ((x, y) for x in (10, -10, 0, 50, -50) for y in (8, -8, 0, 30, -30, 52, -52, 74, -74) if x or y),
    key=lambda place: (math.hypot(*place) > _NEAR, place[0] == 0, math.hypot(*place), -place[0]),
)


_Point = tuple[float, float]
_Line = tuple[_Point, _Point]


def chart(found: MixJudgement) -> Figure:
    judged = sorted(found.judged, key=lambda one: one.candidate.price.middle)
    prices, scores = [one.candidate.price for one in judged], [one.candidate.score for one in judged]
    said = textwrap.wrap(
        f"{sentence(found)} {what_would_decide(found)}".strip(), 142, break_on_hyphens=False
    )[:3]
    title = f"{found.mix.title}: time against price, {found.ranks:,} ranks"
    figure, axes = charts.new(title, "\n".join(said), height=6.4)
    good, slowest = 1 + found.mix.within, max(one.high for one in scores)
    if slowest > 5 * min(one.low for one in scores):
        charts.by_powers(axes, "y")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:.3g} ×")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.margins(x=0.14, y=0.1)
    for standing in Standing:
        if own := [one for one in judged if one.standing is standing]:
            colour = _COLOURS[standing]
            axes.plot(*zip(*map(_at, own), strict=True), "o", ms=9, color=colour, label=_WORDS[standing])
            for line in (line for one in own for line in _bars(one)):
                axes.plot(*zip(*line, strict=True), color=colour)
    if found.choice.decided:
        (chosen,) = [one for one in judged if one.candidate.name == found.choice.contenders[0]]
        axes.plot(*_at(chosen), "o", markersize=17, fillstyle="none", color=_COLOURS[chosen.standing])
    if min(one.low for one in prices) < 0.4 * max(one.high for one in prices):
        axes.set_xlim(left=0)
    axes.set_ylim(top=max(axes.get_ylim()[1], 1.15 * good))
    axes.set_autoscale_on(False)
    axes.axhspan(axes.get_ylim()[0], good, color=_BAND, zorder=0)
    within = axes.annotate(
        f"within {100 * found.mix.within:g} % of the best", (0, 0), (6, 6), xycoords="axes fraction",
        textcoords="offset points", color=_BAND_INK,
    )  # fmt: skip
    stairs = _stairs(axes, [one for one in judged if one.standing is Standing.ON])
    axes.set_xlabel(f"price of the {found.prices_are_of} for {found.ranks:,} ranks, {found.currency}")
    axes.set_ylabel("time, relative to the best")
    axes.legend(loc="upper left", bbox_to_anchor=(0, -0.11), borderaxespad=0, ncols=len(Standing), fontsize=9)
    figure.draw_without_rendering()  # makes positions known
    _label(axes, judged, found, within, [*pairwise(stairs), *(line for one in judged for line in _bars(one))])
    return figure


def _at(one: JudgedCandidate) -> _Point:
    return one.candidate.price.middle, centre(one.candidate.score)


def _bars(one: JudgedCandidate) -> tuple[_Line, _Line]:
    """Error bars in both directions."""
    (x, y), price, score = _at(one), one.candidate.price, one.candidate.score
    return ((price.low, y), (price.high, y)), ((x, score.low), (x, score.high))


def _stairs(axes: Axes, on: Sequence[JudgedCandidate]) -> list[_Point]:
    """Draws the least time for a given price as a staircase: from the top edge to the right edge."""
    points = [_at(one) for one in on]
    if not points:
        return []
    corners = [(points[0][0], axes.get_ylim()[1]), points[0]]
    for (_, before), (x, y) in pairwise(points):
        corners += [(x, before), (x, y)]
    corners.append((axes.get_xlim()[1], points[-1][1]))
    axes.plot(*zip(*corners, strict=True), color=_COLOURS[Standing.ON], alpha=0.45, lw=1.5, ls="--")
    return corners


def _label(
    axes: Axes, judged: Sequence[JudgedCandidate], found: MixJudgement, within: Annotation, lines: list[_Line]
) -> None:
    """Places each dot's label where it hides least; a thin line leads to a distant label."""
    from matplotlib.transforms import Bbox

    pixels = axes.figure.dpi / 72
    dots = axes.transData.transform([_at(one) for one in judged])
    taken = [within.get_window_extent(), *(Bbox(axes.transData.transform(line)) for line in lines)]
    taken += [Bbox.from_extents(x - 9, y - 9, x + 9, y + 9) for x, y in dots]
    for one, (x, y) in zip(judged, dots, strict=True):
        says = f"{one.candidate.name}\n{amount(one.candidate.price)} {found.currency}, "
        says = charts.plain(f"{says}{ratio(one.candidate.score)} ×")
        note = axes.annotate(says, _at(one), (0, 0), fontsize=9, textcoords="offset points")
        wide, tall = note.get_window_extent().size
        boxes = [
            Bbox.from_bounds(
                x + pixels * right - wide * (1 - np.sign(right)) / 2,
                y + pixels * up - tall * (1 - np.sign(up)) / 2,
                wide, tall,
            )
            for right, up in _PLACES
        ]  # fmt: skip
        hides = [
            box.count_overlaps(taken) + sum(not axes.bbox.contains(*at) for at in (box.min, box.max))
            for box in boxes
        ]
        best = hides.index(min(hides))
        taken.append(boxes[best].padded(3))
        note.set_position(((boxes[best].x0 - x) / pixels, (boxes[best].y0 - y) / pixels))
        if math.hypot(*_PLACES[best]) > _NEAR:
            line = {"arrowstyle": "-", "color": charts.FAINT, "linewidth": 0.7}
            axes.annotate("", _at(one), _PLACES[best], textcoords="offset points", arrowprops=line)
