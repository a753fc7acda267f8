"""The Pareto front as SVG: price to the right, time upwards; what is worth it lies below and to the left."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from html import escape
from itertools import pairwise

from crosscut.pricing.amounts import amount
from crosscut.pricing.choosing import Standing, centre
from crosscut.pricing.judging import JudgedCandidate, MixJudgement
from crosscut.pricing.report_mix import ratio, sentence, what_would_decide
from crosscut.reports.svg.chart import ticks

WIDTH, HEIGHT = 1080, 640
LEFT, RIGHT, TOP, BOTTOM = 84, 36, 116, 72
_INK, _FAINT, _GRID, _BAND = "#1f2933", "#6b7785", "#e4e8ec", "#e8f4ec"
# Okabe and Ito's palette, told apart by most eyes.
_COLOURS = {Standing.ON: "#0072b2", Standing.PERHAPS: "#e69f00", Standing.OFF: "#8b96a1"}
_WORDS = {
    Standing.ON: "on the front: nothing is both cheaper and faster",
    Standing.PERHAPS: "perhaps on it: intervals overlap",
    Standing.OFF: "something is both cheaper and faster",
}
_LETTER = 7.5  # pixels, of bold text of 12
Scale = Callable[[float], float]
Box = tuple[float, float, float, float]


def svg(found: MixJudgement) -> str:
    judged = sorted(found.judged, key=lambda one: one.candidate.price.middle)
    across, prices = _across(judged)
    up, low, high, is_log = _upward(found)
    chosen = found.choice.contenders[0] if found.choice.decided else ""
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}" font-family="DejaVu Sans, Helvetica, Arial, sans-serif" role="img">',
        f"<title>{escape(sentence(found))}</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        *_head(found),
        *_axes(found, across, prices, up, (low, high, is_log)),
        *_front(judged, across, up),
        *(part for one in judged for part in _point(one, across, up, one.candidate.name == chosen)),
        *_labels(judged, found.currency, across, up, chosen),
        *_legend(judged),
        "</svg>",
    ]) + "\n"  # fmt: skip


def _across(judged: Sequence[JudgedCandidate]) -> tuple[Scale, tuple[float, float]]:
    """From nothing, where that leaves the candidates apart."""
    dearest = max(one.candidate.price.high for one in judged) or 1.0
    cheapest = min(one.candidate.price.low for one in judged)
    low = 0.0 if cheapest < 0.4 * dearest else cheapest - 0.3 * (dearest - cheapest or dearest)
    low, high = max(0.0, low), dearest + 0.25 * (dearest - low)
    return lambda value: LEFT + (value - low) / (high - low) * (WIDTH - LEFT - RIGHT), (low, high)


def _upward(found: MixJudgement) -> tuple[Scale, float, float, bool]:
    scores = [one.candidate.score for one in found.judged]
    low, high = min(one.low for one in scores), max(one.high for one in scores)
    high = max(high, 1.15 * (1 + found.mix.within))
    is_log = high / low > 5
    low, high = (low / 1.15, high * 1.15) if is_log else (max(0.0, low - 0.12 * (high - low)), high * 1.06)
    size: Scale = math.log if is_log else float

    def up(value: float) -> float:
        share = (size(max(value, low or 1e-9)) - size(low)) / (size(high) - size(low))
        return HEIGHT - BOTTOM - share * (HEIGHT - BOTTOM - TOP)

    return up, low, high, is_log


def _head(found: MixJudgement) -> Iterator[str]:
    yield _text(LEFT, 30, f"{found.mix.title}: time against price, {found.ranks:,} ranks", size=18, bold=True)
    said = f"{sentence(found)} {what_would_decide(found)}".strip()
    for at, line in enumerate(_wrapped(said, 132)[:3]):
        yield _text(LEFT, 52 + 17 * at, line, size=13)


def _wrapped(text: str, letters: int) -> list[str]:
    lines = [""]
    for word in text.split():
        if len(lines[-1]) + len(word) + 1 > letters:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def _axes(
    found: MixJudgement,
    across: Scale,
    prices: tuple[float, float],
    up: Scale,
    span: tuple[float, float, bool],
) -> Iterator[str]:
    floor, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    good = up(1 + found.mix.within)
    band = f'x="{LEFT}" y="{good:.1f}" width="{right - LEFT}" height="{floor - good:.1f}"'
    yield f'<rect {band} fill="{_BAND}"/>'
    within = f"within {100 * found.mix.within:g} % of the best"
    yield _text(LEFT + 8, good - 6, within, colour="#2e7d4f")
    for value in ticks(*span):
        at = up(value)
        yield f'<path d="M{LEFT} {at:.1f}H{right}" stroke="{_GRID}"/>'
        yield _text(LEFT - 8, at + 4, f"{value:.3g} ×", anchor="end", colour=_FAINT)
    for value in ticks(*prices, is_log=False):
        at = across(value)
        yield f'<path d="M{at:.1f} {floor}v5" stroke="{_FAINT}"/>'
        yield _text(at, floor + 20, f"{value:,.0f}", anchor="middle", colour=_FAINT)
    yield f'<path d="M{LEFT} {floor}H{right}" stroke="{_FAINT}"/>'
    what = "network and nodes" if found.with_nodes else "network"
    label = f"price of the {what} for {found.ranks:,} ranks, {found.currency}"
    yield _text((LEFT + right) / 2, HEIGHT - 30, label, anchor="middle", size=13)
    middle = (TOP + floor) / 2
    turned = f' transform="rotate(-90 20 {middle:.0f})"'
    yield _text(20, middle, "time, as so many times the best's", anchor="middle", size=13, more=turned)


def _stairs(judged: Sequence[JudgedCandidate], across: Scale, up: Scale) -> list[tuple[float, float]]:
    """For so much money, this is the least time: from above to the first, from the last on to the right."""
    on = [one.candidate for one in judged if one.standing is Standing.ON]
    corners: list[tuple[float, float]] = []
    for one in on:
        x, y = across(one.price.middle), up(centre(one.score))
        corners += [(x, corners[-1][1] if corners else TOP), (x, y)]
    return [*corners, (WIDTH - RIGHT, corners[-1][1])] if corners else []


def _front(judged: Sequence[JudgedCandidate], across: Scale, up: Scale) -> Iterator[str]:
    if corners := _stairs(judged, across, up):
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in corners)
        yield (
            f'<path d="M{path}" fill="none" stroke="{_COLOURS[Standing.ON]}" stroke-opacity="0.45" '
            'stroke-width="1.5" stroke-dasharray="5 4"/>'
        )


def _point(one: JudgedCandidate, across: Scale, up: Scale, chosen: bool) -> Iterator[str]:
    """A dot in the middle, bars from the least to the most."""
    price, score, colour = one.candidate.price, one.candidate.score, _COLOURS[one.standing]
    x, y = across(price.middle), up(centre(score))
    if not price.exact:
        yield _bar(f"M{across(price.low):.1f} {y:.1f}H{across(price.high):.1f}", colour)
    if score.high > score.low * 1.000001:
        yield _bar(f"M{x:.1f} {up(score.low):.1f}V{up(score.high):.1f}", colour)
    if chosen:
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="11" fill="none" stroke="{colour}" stroke-width="2"/>'
    yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="6" fill="{colour}"/>'


def _bar(path: str, colour: str) -> str:
    return f'<path d="{path}" stroke="{colour}" stroke-width="2"/>'


def _labels(
    judged: Sequence[JudgedCandidate], currency: str, across: Scale, up: Scale, chosen: str
) -> Iterator[str]:
    """Beside the dot where there is room: to the right, to the left, above, below."""
    corners = _stairs(judged, across, up)
    taken = [
        (min(a[0], b[0]) - 2, min(a[1], b[1]) - 2, max(a[0], b[0]) + 2, max(a[1], b[1]) + 2)
        for a, b in pairwise(corners)
    ]
    for one in judged:
        x, y = across(one.candidate.price.middle), up(centre(one.candidate.score))
        taken.append((x - 9, y - 9, x + 9, y + 9))
        taken.append((x - 3, up(one.candidate.score.high), x + 3, up(one.candidate.score.low)))
    for one in judged:
        x, y = across(one.candidate.price.middle), up(centre(one.candidate.score))
        box, lines = _room(x, y, one, currency, taken)
        taken.append(box)
        yield _text(box[0], box[1] + 13, lines[0], bold=one.candidate.name == chosen)
        for at, line in enumerate(lines[1:]):
            yield _text(box[0], box[1] + 28 + 14 * at, line, colour=_FAINT, size=11)


def _room(
    x: float, y: float, one: JudgedCandidate, currency: str, taken: Sequence[Box]
) -> tuple[Box, tuple[str, ...]]:
    """A free place, and what fits there: the name with its figures in one line, in two, or alone."""
    price, score = f"{amount(one.candidate.price)} {currency}", f"{ratio(one.candidate.score)} ×"
    name = one.candidate.name
    forms: tuple[tuple[str, ...], ...] = ((name, f"{price}, {score}"), (name, price, score), (name,))
    for lines in forms:
        wide = _LETTER * max(len(name), *(0.93 * len(line) for line in lines))
        for box in _places(x, y, wide, 18.0 + 14 * (len(lines) - 1), one.standing):
            if not any(_overlap(box, other) for other in taken):
                return box, lines
    return next(_places(x, y, _LETTER * len(name), 18.0, one.standing)), (name,)


def _places(x: float, y: float, wide: float, tall: float, standing: Standing) -> Iterator[Box]:
    """The stairs come from above and go on to the right: what is on them has room between, and below them."""
    places = [(x + 13, y - tall - 10), (x - 15 - wide, y + 6)]
    if standing is Standing.OFF:
        places = [(x + 15, y - tall / 2), (x - 15 - wide, y - tall / 2), *places]
    for off in (-12 - tall, 14, -30 - tall, 32, -48 - tall, 50):
        places += [(x + aside, y + off) for aside in (13, -13 - wide, -wide / 2)]
    boxes = [(left, top, left + wide, top + tall) for left, top in places]
    inside = [b for b in boxes if b[0] >= LEFT + 4 and b[2] <= WIDTH - 8 and b[1] >= TOP - 16]
    yield from ([b for b in inside if b[3] <= HEIGHT - BOTTOM] or boxes[:1])


def _overlap(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def _legend(judged: Sequence[JudgedCandidate]) -> Iterator[str]:
    x = float(LEFT)
    for standing in Standing:
        if any(one.standing is standing for one in judged):
            yield f'<circle cx="{x + 5:.1f}" cy="{HEIGHT - 12}" r="5" fill="{_COLOURS[standing]}"/>'
            yield _text(x + 16, HEIGHT - 8, _WORDS[standing], colour=_FAINT, size=11)
            x += 40 + 6.3 * len(_WORDS[standing])


def _text(
    x: float, y: float, text: str, *, size: int = 12, colour: str = _INK, anchor: str = "start",
    bold: bool = False, more: str = "",
) -> str:  # fmt: skip
    weight = ' font-weight="bold"' if bold else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{colour}" text-anchor="{anchor}"'
        f"{weight}{more}>{escape(text)}</text>"
    )
