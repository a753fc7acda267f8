"""What a terminal report is drawn on: a console, its width, the characters it has."""

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
from crosscut.reports.terminal.glyphs import ASCII, Glyphs, glyphs_for

# Wider than this, lines get hard to follow; two plots stand side by side instead.
WIDEST = 110
NARROWEST = 40
# Words in a table are wrapped only where a cell is longer.
SHORT_WORDS = 20


class Rows:
    """A table's content. A heading that starts with `?` is a column that a narrow screen leaves out, one
    with `<` holds words (wrapped where need be), any other numbers. Without any text in a heading the
    table has no head."""

    def __init__(self, *headings: str) -> None:
        self.headings = headings
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
        """A line of text, wrapped at words."""
        self.console.print(Text(self.glyphs.plain(text), style=style), width=self.width)

    def warn(self, text: str) -> None:
        self.line(f"{self.glyphs.warning} {text}", "yellow")

    def command(self, text: str) -> None:
        """A line to be typed again as it stands: never wrapped."""
        self.console.print(Text(text), soft_wrap=True)

    def field(self, name: str, text: str) -> None:
        """`name      text`, wrapped under the text."""
        grid = Table.grid(padding=(0, 2, 0, 0))
        grid.add_column(style="dim", min_width=12, no_wrap=True)
        grid.add_column(overflow="fold")
        grid.add_row(name, Text(self.glyphs.plain(text)))
        self.console.print(grid, width=self.width)

    def title(self, text: str) -> None:
        self.console.print()
        self.console.print(Text(self.glyphs.plain(text), style="bold"), width=self.width)

    def drawing(self, lines: Sequence[str]) -> Text:
        """A plot, exactly as drawn: never wrapped."""
        return Text("\n".join(lines), style="cyan", no_wrap=True, overflow="crop")

    def show(self, renderable: RenderableType) -> None:
        self.console.print(renderable, width=self.width)

    def beside(self, left: tuple[str, Sequence[str]], right: tuple[str, Sequence[str]]) -> None:
        """Two titled plots: side by side where the screen is wide, else one below the other."""
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
        """Width of a plot that may stand beside another."""
        return (self.width - 3) // 2 if self.two_columns else self.width

    def table(self, rows: Rows) -> None:
        """Draws a table; where the screen is too narrow, optional columns go, the last one first."""
        left_out: set[int] = set()
        optional = [index for index, heading in enumerate(rows.headings) if heading.startswith("?")]
        table = self._table(rows, left_out)
        unlimited = self.console.options.update(max_width=10_000)
        while optional and Measurement.get(self.console, unlimited, table).maximum > self.width:
            left_out.add(optional.pop())
            table = self._table(rows, left_out)
        self.show(table)

    def _table(self, rows: Rows, left_out: set[int]) -> Table:
        table = Table(
            box=box.ASCII2 if self.glyphs is ASCII else box.SIMPLE_HEAD,
            show_edge=False,
            pad_edge=False,
            header_style="dim",
            show_header=any(heading.strip("?<") for heading in rows.headings),
        )
        kept = [index for index in range(len(rows.headings)) if index not in left_out]
        for index in kept:
            heading = rows.headings[index].removeprefix("?")
            words = heading.startswith("<")
            table.add_column(
                Text(self.glyphs.plain(heading.removeprefix("<"))),
                justify="left" if words else "right",
                no_wrap=not words or _longest(rows, index) <= SHORT_WORDS,
                overflow="fold" if words else "ellipsis",
            )
        for cells, style in rows.lines:
            shown = (cells[index] for index in kept)
            table.add_row(
                *(cell if isinstance(cell, Text) else Text(self.glyphs.plain(cell)) for cell in shown),
                style=style,
            )
        return table


def _longest(rows: Rows, column: int) -> int:
    """Characters in the longest line of a column."""
    cells = (str(cells[column]) for cells, _ in rows.lines)
    return max((len(line) for cell in cells for line in cell.splitlines()), default=0)


class _Trimmed:
    """A stream that gets styles and printable text alone, without the blanks with which rich fills lines: no
    log or pasted report needs them."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        return self._stream.write(_TRAILING_BLANKS.sub(r"\1\n", printable_but_styles(text)))

    def __getattr__(self, name: str) -> object:
        if name == "rich_proxied_file":  # by which rich would write to the stream itself
            raise AttributeError(name)
        return getattr(self._stream, name)


# Blanks before a line's end, and whatever ends a colour between the two.
_TRAILING_BLANKS = re.compile(r" +((?:\x1b\[[0-9;]*m)*)\n")


def screen_for(stream: TextIO | None = None) -> Screen:
    """The screen of a stream (standard output). Rich leaves colours out for a pipe and for NO_COLOR."""
    stream = stream or sys.stdout  # as it is now: it may have been replaced since the import
    trimmed = cast(TextIO, _Trimmed(drawn_on(stream)))
    return Screen(Console(file=trimmed, highlight=False), glyphs_for(stream))
