"""Draws pictures for the documentation: `crosscut show RUN` as SVG, and pages of reports as PNG.

    python docs/images/draw.py RUN OUT.svg
    python docs/images/draw.py PAGE.html OUT.png [--width 1100] [--height 2200] [--dark] [--at FIGURE]

In the SVG, block characters become rectangles, since fonts leave gaps between them; other text stays text.
Pages are captured in Chromium with playwright, offline. `--point X,Y` places the pointer on the map of
routes, as fractions of its width and height; `--number SELECTOR …` puts ①, ②, … on the first element that
each CSS selector finds. docs/images/page.png, of the page that docs/howto-read.md makes, is drawn with

    --width 1000 --height 2440 --number .kicker h1 ".findings li:nth-child(1)" ".findings li:nth-child(1) a"
    ".findings li:nth-child(3)" "#run1-phases" "#run1-routes"
"""

import argparse
import io
import re
import shutil
import sys
from collections.abc import Iterator
from html import escape
from itertools import groupby
from pathlib import Path

from rich.console import Console
from rich.style import Style
from rich.text import Text

from crosscut.reports.terminal import run as terminal
from crosscut.reports.terminal.glyphs import UNICODE
from crosscut.reports.terminal.screen import Screen
from crosscut.reports.view import View

COLUMNS = 100
CELL_WIDTH, CELL_HEIGHT, BASELINE, MARGIN = 7.2, 15.0, 11.5, 14.0
BACKGROUND, FOREGROUND = "#17191d", "#d6d8dc"
# By the number of the terminal's standard colour.
COLOURS = {1: "#e0605a", 2: "#7fb86a", 3: "#e0b04a", 4: "#6a9be0", 5: "#b58ad0", 6: "#4cb8c4"}
DIM = 0.6
# Puts a numbered disc at the upper left corner of each element.
NUMBER = """selectors => selectors.forEach((selector, index) => {
  document.body.style.paddingLeft = "24px";
  const box = document.querySelector(selector).getBoundingClientRect();
  const disc = document.createElement("div");
  disc.textContent = index + 1;
  disc.style = `position: absolute; left: ${Math.max(2, box.left + scrollX - 30)}px; z-index: 99;
    top: ${box.top + scrollY - 4}px; width: 26px; height: 26px; border-radius: 13px; background: #c2410c;
    color: white; font: bold 15px/26px sans-serif; text-align: center`;
  document.body.append(disc);
})"""
EIGHTHS_UP, EIGHTHS_RIGHT = "▁▂▃▄▅▆▇█", "▏▎▍▌▋▊▉"
BLOCKS = EIGHTHS_UP + EIGHTHS_RIGHT + "░"


def shown(run: Path) -> list[Text]:
    """Returns the lines of `crosscut show` with their styles."""
    buffer = io.StringIO()
    console = Console(
        file=buffer, width=COLUMNS, force_terminal=True, color_system="standard", highlight=False
    )
    terminal.render(Screen(console, UNICODE), View.open(run))
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
    """Returns the attributes of the rectangle for `count` equal block characters side by side."""
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
    """Returns a key that groups adjacent cells to draw at once: equal blocks, or text of one style."""
    character, style = cell
    return (character if character in BLOCKS else "", style)


def draw_line(line: Text, y: float) -> Iterator[str]:
    x = MARGIN
    for (character, style), group in groupby(cells(line), key=kind):
        run = "".join(one for one, _ in group)
        if character:
            yield f"<rect {block(character, len(run), x, y)} {fill(style)}/>"
        weight = ' font-weight="bold"' if style.bold else ""
        # Browsers differ in what they make of several blanks, so no text has any.
        for words in () if character else re.finditer(r"\S+(?: \S+)*", run):
            # Force any font onto the grid.
            grid = f'textLength="{len(words[0]) * CELL_WIDTH:.1f}" lengthAdjust="spacingAndGlyphs"'
            place = f'x="{x + words.start() * CELL_WIDTH:.1f}" y="{y + BASELINE:.1f}"'
            yield f"<text {place} {grid} {fill(style)}{weight}>{escape(words[0])}</text>"
        x += len(run) * CELL_WIDTH


def svg(lines: list[Text], title: str) -> str:
    width = 2 * MARGIN + COLUMNS * CELL_WIDTH
    height = 2 * MARGIN + len(lines) * CELL_HEIGHT
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" role="img" '
        'font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="12" '
        'shape-rendering="crispEdges">',
        f"<title>{escape(title)}</title>",
        f'<rect width="100%" height="100%" rx="8" fill="{BACKGROUND}"/>',
    ]
    for index, line in enumerate(lines):
        parts += draw_line(line, MARGIN + index * CELL_HEIGHT)
    return "\n".join([*parts, "</svg>\n"])


def photograph(page_file: Path, out: Path, asked: argparse.Namespace) -> None:
    from playwright.sync_api import sync_playwright

    browser_file = next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
    )
    if browser_file is None:
        sys.exit("draw.py: drawing a page needs Chromium: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=browser_file, args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(
            viewport={"width": asked.width, "height": asked.height}, offline=True,
            color_scheme="dark" if asked.dark else "light",
        )  # fmt: skip
        page.goto(page_file.absolute().as_uri())
        for name in page.eval_on_selector_all("figure", "figures => figures.map((figure) => figure.id)"):
            page.locator(f"#{name}").scroll_into_view_if_needed()
            page.wait_for_selector(f"#{name}[data-drawn=yes]")
        page.evaluate("scrollTo({ top: 0, behavior: 'instant' })")
        if asked.point:
            canvas = page.locator("figure .stage canvas").first
            box = canvas.bounding_box()
            assert box is not None
            across, down = (float(share) for share in asked.point.split(","))
            canvas.hover(position={"x": across * box["width"], "y": down * box["height"]}, force=True)
            page.evaluate("scrollTo({ top: 0, behavior: 'instant' })")
        page.evaluate(NUMBER, asked.number)
        (page.locator(f"#{asked.at}") if asked.at else page).screenshot(path=str(out))
        browser.close()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("source", type=Path, help="a run, or a page of `crosscut report`")
    parser.add_argument("out", type=Path)
    parser.add_argument("--width", type=int, default=1100, help="pixels")
    parser.add_argument("--height", type=int, default=2200, help="pixels from the top of the page")
    parser.add_argument("--dark", action="store_true")
    parser.add_argument("--at", default="", help="id of the only figure or part to draw")
    parser.add_argument("--point", default="", metavar="X,Y")
    parser.add_argument("--number", nargs="*", default=[], metavar="SELECTOR")
    asked = parser.parse_args()
    if asked.out.suffix == ".png":
        photograph(asked.source, asked.out, asked)
        return
    lines = shown(asked.source)
    title = f"crosscut show {asked.source.name}: {lines[0].plain}"
    asked.out.write_text(svg(lines, title), encoding="utf-8")


if __name__ == "__main__":
    main()
