"""A chart as SVG: points, lines, bars over two axes. Written by hand, so that it needs nothing installed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 1080, 620
LEFT, RIGHT, TOP, BOTTOM = 84, 300, 76, 64
# Okabe and Ito's palette, told apart by most eyes.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#5b4b8a", "#4d4d4d")
_DASHES = {
    "line": "",
    "dashed": ' stroke-dasharray="6 4"',
    "dotted": ' stroke-dasharray="0.1 5" stroke-linecap="round"',
}
_MOST_OWN_TICKS = 10
_INK, _FAINT, _GRID = "#1f2933", "#6b7785", "#e4e8ec"


@dataclass(frozen=True)
class Mark:
    """One set of points of one look."""

    label: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    colour: int
    look: str
    """Lines: `line`, `dashed`, `dotted`. Points: `dots`, `rings`, `pale`, `crosses`, `saltires`, `specks`.
    `bars`, of width `bar`. `colour`: none, in the legend alone."""
    bar: float = 0.0


@dataclass(frozen=True)
class ChartAxis:
    label: str
    is_log: bool = False
    least: float | None = None
    """Where the axis begins; None: at the smallest value."""


@dataclass(frozen=True)
class _Scale:
    low: float
    high: float
    start: float
    end: float
    is_log: bool

    def __call__(self, value: float) -> float:
        low, high = (math.log10(self.low), math.log10(self.high)) if self.is_log else (self.low, self.high)
        at = math.log10(max(value, self.low)) if self.is_log else value
        return self.start + (at - low) / (high - low) * (self.end - self.start)


def svg(title: str, subtitle: Sequence[str], marks: Sequence[Mark], x: ChartAxis, y: ChartAxis) -> str:
    across = _scale([v for mark in marks for v in _edges(mark)], x, LEFT, WIDTH - RIGHT)
    up = _scale([v for mark in marks for v in mark.y], y, HEIGHT - BOTTOM, TOP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}" font-family="DejaVu Sans, Helvetica, Arial, sans-serif">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        _text(LEFT, 30, title, size=18, weight="bold"),
        *(_text(LEFT, 50 + 15 * at, line, colour=_FAINT) for at, line in enumerate(subtitle)),
        *_axes(across, up, x, y, _own_ticks(marks, x)),
        *(part for mark in marks for part in _mark(mark, across, up)),
        *_legend(marks),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _edges(mark: Mark) -> Iterator[float]:
    for value in mark.x:
        yield value
        yield value + mark.bar


def _scale(values: Sequence[float], axis: ChartAxis, start: float, end: float) -> _Scale:
    finite = [value for value in values if math.isfinite(value) and (value > 0 or not axis.is_log)]
    low, high = (min(finite), max(finite)) if finite else (1.0, 2.0)
    if axis.is_log:
        low, high = low / 1.2, high * 1.2
        return _Scale(low, high if high > low else low * 10, start, end, True)
    low = low if axis.least is None else min(axis.least, low)
    pad = 0.05 * (high - low or abs(high) or 1.0)
    return _Scale(low if axis.least is not None else low - pad, high + pad, start, end, False)


def ticks(low: float, high: float, is_log: bool) -> list[float]:
    """Round numbers between both."""
    if is_log:
        first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
        steps = (1,) if last - first > 3 else (1, 2, 5)
        found = [step * 10.0**power for power in range(first, last + 1) for step in steps]
        return [value for value in found if low <= value <= high]
    raw = (high - low) / 6
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= raw)
    first = math.ceil(low / step)
    return [step * at for at in range(first, math.floor(high / step) + 1)]


def _own_ticks(marks: Sequence[Mark], x: ChartAxis) -> list[float]:
    """Few numbers that were chosen, as ranks or sizes, are named themselves; empty: they are many."""
    own = sorted({value for mark in marks for value in mark.x if value > 0})
    return own if x.is_log and 2 <= len(own) <= _MOST_OWN_TICKS else []


def _axes(
    across: _Scale, up: _Scale, x: ChartAxis, y: ChartAxis, across_ticks: Sequence[float]
) -> Iterator[str]:
    for value in ticks(up.low, up.high, up.is_log):
        at = up(value)
        yield f'<path d="M{LEFT} {at:.1f}H{WIDTH - RIGHT}" stroke="{_GRID}"/>'
        yield _text(LEFT - 8, at + 4, _number(value), anchor="end", colour=_FAINT)
    for value in across_ticks or ticks(across.low, across.high, across.is_log):
        at = across(value)
        yield f'<path d="M{at:.1f} {HEIGHT - BOTTOM}v5" stroke="{_FAINT}"/>'
        yield _text(at, HEIGHT - BOTTOM + 20, _number(value), anchor="middle", colour=_FAINT)
    yield f'<path d="M{LEFT} {HEIGHT - BOTTOM}H{WIDTH - RIGHT}" stroke="{_FAINT}"/>'
    yield _text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 18, x.label, anchor="middle", size=13)
    middle = (TOP + HEIGHT - BOTTOM) / 2
    yield _text(22, middle, y.label, anchor="middle", size=13, turn=f"rotate(-90 22 {middle:.0f})")


def _number(value: float) -> str:
    for factor, suffix in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= factor:
            return f"{value / (1e3 if suffix == 'k' else factor):g}{suffix}"
    return f"{value:.6g}"


def _mark(mark: Mark, across: _Scale, up: _Scale) -> Iterator[str]:
    colour = COLOURS[mark.colour % len(COLOURS)]
    points = [
        (across(a), up(b))
        for a, b in zip(mark.x, mark.y, strict=True)
        if math.isfinite(a) and math.isfinite(b)
    ]
    if mark.look == "bars":
        width = max(1.0, abs(across(across.low + mark.bar) - across(across.low)) - 1)
        floor = up(up.low)
        for a, b in points:
            box = f'x="{a:.1f}" y="{b:.1f}" width="{width:.1f}" height="{floor - b:.1f}"'
            yield f'<rect {box} fill="{colour}" fill-opacity="0.55"/>'
    elif mark.look in _DASHES and points:
        path = "L".join(f"{a:.1f} {b:.1f}" for a, b in points)
        yield f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2"{_DASHES[mark.look]}/>'
    else:
        for a, b in points:
            yield _point(mark.look, a, b, colour)


def _point(look: str, x: float, y: float, colour: str) -> str:
    if look == "specks":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="1.6" fill="{colour}" fill-opacity="0.35"/>'
    if look == "pale":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{colour}" fill-opacity="0.3"/>'
    if look == "saltires":
        return f'<path d="M{x - 4:.1f} {y - 4:.1f}l8 8m0 -8l-8 8" stroke="{colour}" stroke-width="1.5"/>'
    if look == "crosses":
        return f'<path d="M{x - 5:.1f} {y:.1f}h10m-5 -5v10" stroke="{colour}" stroke-width="2"/>'
    if look == "rings":  # empty: what agrees with it is seen inside
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="6" fill="none" stroke="{colour}" stroke-width="1.5"/>'
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}"/>'


def _legend(marks: Sequence[Mark]) -> Iterator[str]:
    left = WIDTH - RIGHT + 24
    shown = [mark for mark in marks if mark.label]
    for at, mark in enumerate(shown):
        y = TOP + 8 + 22 * at
        colour = COLOURS[mark.colour % len(COLOURS)]
        if mark.look in _DASHES:
            yield f'<path d="M{left - 9} {y}h20" stroke="{colour}" stroke-width="2"{_DASHES[mark.look]}/>'
        elif mark.look == "colour":
            yield f'<rect x="{left - 6}" y="{y - 5}" width="13" height="10" rx="2" fill="{colour}"/>'
        elif mark.look == "bars":
            box = f'x="{left - 6}" y="{y - 6}" width="13" height="12"'
            yield f'<rect {box} fill="{colour}" fill-opacity="0.55"/>'
        else:
            yield _point("dots" if mark.look == "specks" else mark.look, left, y, colour)
        yield _text(left + 18, y + 4, mark.label)


def _text(
    x: float, y: float, text: str, *, size: int = 12, colour: str = _INK, anchor: str = "start",
    weight: str = "normal", turn: str = "",
) -> str:  # fmt: skip
    turned = f' transform="{turn}"' if turn else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{colour}" text-anchor="{anchor}" '
        f'font-weight="{weight}"{turned}>{escape(text)}</text>'
    )
