"""Draws what `crosscut show RUN` prints as an SVG, for these pages: python docs/images/draw.py RUN OUT.svg

Block characters become rectangles, since fonts leave gaps between them; other text stays text.
"""

import io
import sys
from collections.abc import Iterator
from html import escape
from itertools import groupby
from pathlib import Path

from rich.console import Console
from rich.style import Style
from rich.text import Text

from crosscut.reports import terminal
from crosscut.reports.glyphs import UNICODE
from crosscut.reports.screen import Screen
from crosscut.reports.view import open_view

COLUMNS = 100
CELL_WIDTH, CELL_HEIGHT, BASELINE, MARGIN = 7.2, 15.0, 11.5, 14.0
BACKGROUND, FOREGROUND = "#17191d", "#d6d8dc"
# By the number that a terminal's standard colours have.
COLOURS = {1: "#e0605a", 2: "#7fb86a", 3: "#e0b04a", 4: "#6a9be0", 5: "#b58ad0", 6: "#4cb8c4"}
DIM = 0.6
EIGHTHS_UP, EIGHTHS_RIGHT = "▁▂▃▄▅▆▇█", "▏▎▍▌▋▊▉"
BLOCKS = EIGHTHS_UP + EIGHTHS_RIGHT + "░"


def shown(run: Path) -> list[Text]:
    """The lines of `crosscut show`, with their styles."""
    buffer = io.StringIO()
    console = Console(
        file=buffer, width=COLUMNS, force_terminal=True, color_system="standard", highlight=False
    )
    terminal.render(Screen(console, UNICODE), open_view(run))
    return [Text.from_ansi(line.rstrip()) for line in buffer.getvalue().rstrip().splitlines()]


def cells(line: Text) -> Iterator[tuple[str, Style]]:
    styles = [Style()] * len(line.plain)
    for span in line.spans:
        style = span.style if isinstance(span.style, Style) else Style.parse(span.style)
        for index in range(span.start, min(span.end, len(styles))):
            styles[index] += style
    return zip(line.plain, styles, strict=True)


def fill(style: Style) -> str:
    number = style.color.number if style.color else None
    colour = COLOURS.get(number % 8, FOREGROUND) if number is not None else FOREGROUND
    return f'fill="{colour}"' + (f' opacity="{DIM}"' if style.dim else "")


def block(character: str, count: int, x: float, y: float) -> str:
    """Attributes of the rectangle that so many equal block characters side by side are."""
    width, height, opacity = CELL_WIDTH * count, CELL_HEIGHT, ""
    if character in EIGHTHS_UP:
        height = CELL_HEIGHT * (EIGHTHS_UP.index(character) + 1) / 8
    elif character in EIGHTHS_RIGHT:
        width = CELL_WIDTH * (EIGHTHS_RIGHT.index(character) + 1) / 8
    else:
        opacity = ' fill-opacity="0.3"'
    top = y + CELL_HEIGHT - height
    return f'x="{x:.1f}" y="{top:.2f}" width="{width:.2f}" height="{height:.2f}"{opacity}'


def kind(cell: tuple[str, Style]) -> tuple[str, Style]:
    """Cells of the same kind are drawn at once: equal blocks, or words."""
    character, style = cell
    return (character if character in BLOCKS else "", style)


def draw_line(line: Text, y: float) -> Iterator[str]:
    x = MARGIN
    for (character, style), group in groupby(cells(line), key=kind):
        run = "".join(one for one, _ in group)
        if character:
            yield f"<rect {block(character, len(run), x, y)} {fill(style)}/>"
        elif run.strip():
            weight = ' font-weight="bold"' if style.bold else ""
            # Every font is held to the grid.
            grid = f'textLength="{len(run) * CELL_WIDTH:.1f}" lengthAdjust="spacingAndGlyphs"'
            place = f'x="{x:.1f}" y="{y + BASELINE:.1f}"'
            yield f"<text {place} {grid} {fill(style)}{weight}>{escape(run)}</text>"
        x += len(run) * CELL_WIDTH


def svg(lines: list[Text], title: str) -> str:
    width = 2 * MARGIN + COLUMNS * CELL_WIDTH
    height = 2 * MARGIN + len(lines) * CELL_HEIGHT
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" role="img" '
        'font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="12" '
        'shape-rendering="crispEdges" xml:space="preserve">',
        f"<title>{escape(title)}</title>",
        f'<rect width="100%" height="100%" rx="8" fill="{BACKGROUND}"/>',
    ]
    for index, line in enumerate(lines):
        parts += draw_line(line, MARGIN + index * CELL_HEIGHT)
    return "\n".join([*parts, "</svg>\n"])


def main(run: Path, out: Path) -> None:
    lines = shown(run)
    out.write_text(svg(lines, f"crosscut show {run.name}: {lines[0].plain}"), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
