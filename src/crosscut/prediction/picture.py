"""The parts of each network's time as bars, one network below the other: SVG, or PNG by resvg-py."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

from crosscut.base import units
from crosscut.base.errors import CrosscutError, UsageError, plainly
from crosscut.prediction.predicting import PARTS, Predicted, Prediction
from crosscut.reports.svg.chart import COLOURS, ticks

WIDTH, LEFT, RIGHT, TOP, ROW, BAR = 1080, 230, 110, 104, 46, 28
_INK, _FAINT, _GRID = "#1f2933", "#6b7785", "#e4e8ec"
# Computing and waiting are none of the network's: greys; then what each part is told apart by.
_FILLS = dict(zip(PARTS, ("#8a949e", "#c9d0d6", COLOURS[0], COLOURS[2], COLOURS[1]), strict=True))
_LONGEST_NAME = 30


def check(file: Path) -> None:
    """Before anything is replayed; raises UsageError."""
    if file.suffix not in (".svg", ".png"):
        raise UsageError(f"-o {file}: the picture is .svg or .png")
    if not file.absolute().parent.is_dir():
        raise UsageError(f"-o {file}: there is no folder {file.absolute().parent}")
    if file.suffix == ".png":
        try:
            import resvg_py  # noqa: F401
        except ImportError as error:
            raise UsageError(
                f"-o {file}: PNG needs resvg-py (pip install resvg-py); .svg does not"
            ) from error


def write(file: Path, predicted: Predicted) -> None:
    text = svg(predicted)
    try:
        if file.suffix == ".svg":
            file.write_text(text, encoding="utf-8")
            return
        import resvg_py

        file.write_bytes(bytes(resvg_py.svg_to_bytes(svg_string=text, zoom=1.5)))
    except OSError as error:
        raise CrosscutError(f"-o {file}: {plainly(error)}") from error


def svg(predicted: Predicted) -> str:
    networks = predicted.networks
    height = TOP + ROW * len(networks) + 56
    longest = max(max(one.seconds, sum(max(0.0, part) for part in one.parts.values())) for one in networks)
    scale = (WIDTH - LEFT - RIGHT) / (longest or 1.0)
    trace = predicted.trace
    title = f"{trace.index.parent.name}: {units.count(trace.ranks, 'rank')}, predicted"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
        f'viewBox="0 0 {WIDTH} {height}" font-family="DejaVu Sans, Helvetica, Arial, sans-serif">',
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        _text(24, 34, title, size=18, weight="bold"),
        *_legend(),
        *_axis(longest, scale, height),
        *(line for at, one in enumerate(networks) for line in _bar(one, networks, at, scale)),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _legend() -> Iterator[str]:
    x = 24.0
    for name in PARTS:
        yield f'<rect x="{x:.0f}" y="56" width="13" height="13" fill="{_FILLS[name]}"/>'
        yield _text(x + 19, 67, name)
        x += 40 + 8.2 * len(name)


def _axis(longest: float, scale: float, height: int) -> Iterator[str]:
    unit = units.time_unit(longest)
    bottom = height - 46
    for value in ticks(0.0, longest / unit[0] or 1.0, False):
        x = LEFT + value * unit[0] * scale
        yield f'<path d="M{x:.1f} {TOP - 12}V{bottom}" stroke="{_GRID}"/>'
        yield _text(x, bottom + 18, f"{value:g}", colour=_FAINT, anchor="middle")
    yield _text((LEFT + WIDTH - RIGHT) / 2, bottom + 36, f"time, {unit[1]}", anchor="middle", size=13)


def _bar(one: Prediction, networks: Sequence[Prediction], at: int, scale: float) -> Iterator[str]:
    top = TOP + ROW * at
    middle = top + BAR / 2 + 4
    name = Path(one.network).stem
    short = name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"
    yield _text(LEFT - 12, middle, short, anchor="end", size=13)
    x = float(LEFT)
    for part, seconds in one.parts.items():
        width = max(0.0, seconds) * scale
        if width > 0:
            box = f'x="{x:.2f}" y="{top}" width="{width:.2f}" height="{BAR}"'
            says = f"{part}: {units.seconds(seconds)}"
            yield f'<rect {box} fill="{_FILLS[part]}"><title>{escape(says)}</title></rect>'
        x += width
    first = networks[0].seconds
    ratio = f"  ×{one.seconds / first:.2f}" if at and first > 0 else ""
    yield _text(x + 8, middle, units.seconds(one.seconds) + ratio)


def _text(
    x: float, y: float, text: str, *, size: int = 12, colour: str = _INK, anchor: str = "start",
    weight: str = "normal",
) -> str:  # fmt: skip
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{colour}" text-anchor="{anchor}" '
        f'font-weight="{weight}">{escape(text)}</text>'
    )
