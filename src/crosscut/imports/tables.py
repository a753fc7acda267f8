"""Tables of one size a line, in which a number may be wrong, twice, or cut off."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from crosscut.imports.output import OutputFile, decimals

MOST_SIZES = 4096  # as in a run (run/format.py)
# A smaller error is not worth a sentence.
_SMALLEST_ROUNDING = 0.01


@dataclass(frozen=True)
class Row:
    line: int
    """Counted from 0."""
    size_bytes: int
    words: tuple[str, ...]
    """The columns after the size."""


def rows(output: OutputFile, lines: Iterable[int], columns: int, places: int) -> tuple[list[Row], list[str]]:
    """Parses lines of a size and `columns` further words, at least; returns them, and what was left out.

    Only the last line of a file may be cut off, and only it is left out. The program prints the last of the
    columns with `places` decimals. Raises UsageError.
    """
    found: list[Row] = []
    seen: dict[int, int] = {}
    for line in lines:
        words = output.lines[line].split()
        is_last = not output.ended and line == len(output.lines) - 1
        if is_last and (len(words) <= columns or decimals(words[columns]) < places):
            return found, [f"the file ends within line {line + 1}: that size is left out"]
        if len(words) <= columns:
            raise output.fault(f"{len(words)} columns; a row has a size and {columns} more", line)
        size = output.whole(words[0], "the size", line, 1 << 50)
        if size in seen:
            raise output.fault(f"size {size} again; it is in line {seen[size] + 1} already", line)
        seen[size] = line
        found.append(Row(line, size, tuple(words[1:])))
        if len(found) > MOST_SIZES:
            raise output.fault(f"more than {MOST_SIZES:,} sizes", line)
    return found, []


def half_step(word: str) -> float:
    """Returns by how much a printed number may be off."""
    return 0.5 * 10.0 ** -decimals(word)


def rounding(errors: Iterable[float]) -> tuple[str, ...]:
    """Says how far figures are rounded, if it matters. `errors`: of each figure, relative."""
    coarsest = max(errors, default=0)
    if coarsest < _SMALLEST_ROUNDING:
        return ()
    return (f"the smallest figures are rounded by up to {100 * coarsest:.0f} %: all have as many decimals",)
