"""The drawing surface of a terminal report: console, width and available characters."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TextIO, cast

from rich import box
from rich.console import Console, RenderableType
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from crosscut.base.printable import drawn_on, printable_but_styles
from crosscut.base.spelling import tied
from crosscut.reports.terminal.glyphs import ASCII, Glyphs, glyphs_for

# Longer lines are hard to follow. Wide screens show two plots side by side instead.
WIDEST = 110
NARROWEST = 40
# Stands for a space beside a number while text is wrapped: any kind of space would be taken for a place to
# break.
_TIE = "\ue000"
# What a paragraph may begin with; its other lines are indented as far.
_HEAD = re.compile(r"\s*(?:[–⚠!] )?")
# A table column of words wraps only if one of its cells is longer than this.
SHORT_WORDS = 20
_DASH = "–"
# Width of the names of fields.
_FIELD = 12


class Rows:
    """Content of a table. A heading that starts with `?` marks a column that a narrow screen omits; `<`
    marks words, which may wrap; all other columns hold numbers. If no heading has text, the table has no
    header. `dash`: why a cell is a dash, said if one is."""

    def __init__(self, *headings: str, dash: str = "") -> None:
        self.headings = headings
        self.dash = dash
        self.lines: list[tuple[tuple[str | Text, ...], str]] = []

    def add(self, *cells: str | Text, style: str = "") -> None:
        self.lines.append((cells, style))


@dataclass(frozen=True)
class Screen:
    console: Console
    glyphs: Glyphs

    @property
    def width(self) -> int:
        return max(NARROWEST, min(self.console.width, WIDEST))

    def line(self, text: str = "", style: str = "") -> None:
        """Prints text, wrapped at words, with a hanging indent. Numbers stay with their units."""
        began = _HEAD.match(text)
        head = began[0] if began else ""
        body = Text(tied(self.glyphs.plain(text[len(head) :]), _TIE))
        for line in body.wrap(self.console, self.width - len(head)) or [Text()]:
            said = self.glyphs.plain(head) + line.plain.replace(_TIE, " ")
            self.console.print(Text(said, style=style), width=self.width)
            head = " " * len(head)

    def warn(self, text: str) -> None:
        self.line(f"{self.glyphs.warning} {text}", "yellow")

    def command(self, text: str) -> None:
        """Prints a command to copy. It is never wrapped."""
        self.console.print(Text(text), soft_wrap=True)

    def field(self, name: str, text: str) -> None:
        """Prints `name      text`, with a hanging indent for the text."""
        head = self.glyphs.plain(name).ljust(_FIELD) + "  "
        body = Text(tied(self.glyphs.plain(text), _TIE))
        for line in body.wrap(self.console, self.width - len(head)) or [Text()]:
            self.console.print(Text.assemble((head, "dim"), line.plain.replace(_TIE, " ")), width=self.width)
            head = " " * len(head)

    def title(self, text: str) -> None:
        self.console.print()
        self.console.print(Text(self.glyphs.plain(text), style="bold"), width=self.width)

    def drawing(self, lines: Sequence[str]) -> Text:
        """Returns a plot as text that is never wrapped."""
        return Text("\n".join(lines), style="cyan", no_wrap=True, overflow="crop")

    def show(self, renderable: RenderableType) -> None:
        self.console.print(renderable, width=self.width)

    def beside(self, left: tuple[str, Sequence[str]], right: tuple[str, Sequence[str]]) -> None:
        """Draws two titled plots, side by side on a wide screen, otherwise one below the other."""
        titled = [(title, lines) for title, lines in (left, right) if lines]
        if len(titled) == 2 and self.two_columns:
            grid = Table.grid(padding=(0, 3, 0, 0))
            grid.add_row(*(Text(self.glyphs.plain(title), style="bold") for title, _ in titled))
            grid.add_row(*(self.drawing(lines) for _, lines in titled))
            self.console.print()
            self.show(grid)
            return
        for title, lines in titled:
            self.title(title)
            self.show(self.drawing(lines))

    @property
    def two_columns(self) -> bool:
        return self.width >= 96

    @property
    def half(self) -> int:
        """Width of one of two plots that `beside` draws."""
        return (self.width - 3) // 2 if self.two_columns else self.width

    def table(self, rows: Rows) -> None:
        """Draws a table without optional columns that are empty, and without columns of dashes alone. On a
        narrow screen, further optional columns are dropped, last one first; then the rest is split."""
        optional = [index for index, heading in enumerate(rows.headings) if heading.startswith("?")]
        left_out = {index for index in range(1, len(rows.headings)) if _says_nothing(rows, index)}
        kept = _without(rows, left_out)
        while optional and self._whole_width(rows, kept) > self.width:
            left_out.add(optional.pop())
            kept = _without(rows, left_out)
        self._show_columns(rows, kept)
        if rows.dash and any(
            str(cells[index]).startswith(_DASH) for cells, _ in rows.lines for index in kept
        ):
            self.line(f"{_DASH}: {rows.dash}", "dim")

    def _whole_width(self, rows: Rows, kept: Sequence[int]) -> int:
        """The width in which nothing wraps."""
        unlimited = self.console.options.update(max_width=10_000)
        return Measurement.get(self.console, unlimited, self._table(rows, kept)).maximum

    def _show_columns(self, rows: Rows, kept: Sequence[int]) -> None:
        """Draws these columns: in several tables, each with the first one, if the screen would cut them."""
        if _least_width(rows, kept) <= self.width or len(kept) <= 2:
            self.show(self._table(rows, kept))
            return
        middle = len(kept) // 2 + 1
        self._show_columns(rows, kept[:middle])
        self.line()
        self._show_columns(rows, (kept[0], *kept[middle:]))

    def _table(self, rows: Rows, kept: Sequence[int]) -> Table:
        table = Table(
            box=box.ASCII2 if self.glyphs is ASCII else box.SIMPLE_HEAD,
            show_edge=False,
            pad_edge=False,
            header_style="dim",
            show_header=any(heading.strip("?<") for heading in rows.headings),
        )
        worded = {index for index in kept if rows.headings[index].removeprefix("?").startswith("<")}
        for index in kept:
            heading, words = rows.headings[index].removeprefix("?"), index in worded
            # On a narrow screen headings wrap, so that numbers are whole.
            table.add_column(
                Text(self.glyphs.plain(heading.removeprefix("<"))),
                justify="left" if words else "right",
                no_wrap=words and _longest(rows, index) <= SHORT_WORDS,
                min_width=None if words else _longest(rows, index),
                overflow="fold" if words else "ellipsis",
            )
        for cells, style in rows.lines:
            table.add_row(*(self._cell(cells[index], index not in worded) for index in kept), style=style)
        return table

    def _cell(self, content: str | Text, is_number: bool) -> Text:
        if isinstance(content, Text):
            return content
        return Text(self.glyphs.plain(content), no_wrap=True if is_number else None)


def _least_width(rows: Rows, kept: Sequence[int]) -> int:
    """Returns the width in which no number is cut and no heading's word; long words fold."""
    least = 3 * (len(kept) - 1)  # between columns
    for index in kept:
        heading, longest = rows.headings[index].removeprefix("?"), _longest(rows, index)
        if heading.startswith("<"):
            least += min(longest, SHORT_WORDS)
        else:
            least += max(longest, *map(len, heading.split()), 1)
    return least


def _without(rows: Rows, left_out: set[int]) -> list[int]:
    return [index for index in range(len(rows.headings)) if index not in left_out]


def _says_nothing(rows: Rows, column: int) -> bool:
    """True for a column of dashes alone, and for an optional one without text."""
    cells = {str(cells[column]) for cells, _ in rows.lines}
    return cells == {_DASH} or (cells <= {_DASH, ""} and rows.headings[column].startswith("?"))


def _longest(rows: Rows, column: int) -> int:
    """Returns the number of characters in the longest line of a column."""
    cells = (str(cells[column]) for cells, _ in rows.lines)
    return max((len(line) for cell in cells for line in cell.splitlines()), default=0)


class _Trimmed:
    """Stream wrapper that passes only styles and printable text, without the blanks that rich appends to
    lines, which logs and pasted reports do not need."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        return self._stream.write(_TRAILING_BLANKS.sub(r"\1\n", printable_but_styles(text)))

    def __getattr__(self, name: str) -> object:
        if name == "rich_proxied_file":  # rich would use it to bypass this wrapper
            raise AttributeError(name)
        return getattr(self._stream, name)


# Blanks at the end of a line, with any escape sequences between them and the newline.
_TRAILING_BLANKS = re.compile(r" +((?:\x1b\[[0-9;]*m)*)\n")


def screen_for(stream: TextIO | None = None) -> Screen:
    """Returns a screen on `stream` (default: stdout). Rich omits colours for a pipe or under NO_COLOR."""
    stream = stream or sys.stdout  # looked up now, since it may have been replaced after the import
    trimmed = cast(TextIO, _Trimmed(drawn_on(stream)))
    return Screen(Console(file=trimmed, highlight=False), glyphs_for(stream))
