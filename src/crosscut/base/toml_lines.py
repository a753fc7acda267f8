"""Finds the line at which each table and key of a TOML text begins. tomllib must have accepted the text."""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass

Where = tuple[str | int, ...]
"""Path of a key from the top: keys, and the indexes of entries in arrays of tables."""

_QUIET = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}(?!")'
    r"|'''.*?'{3,5}(?!')"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'[^'\n]*'"
    r"|#[^\n]*",
    re.DOTALL,
)
_HEAD = re.compile(r"\s*(\[\[?)([^\]]*)\]")
_KEY = re.compile(r"\s*([^=\s][^=]*)=")
_PART = re.compile(r"\"((?:[^\"\\]|\\.)*)\"|'([^']*)'|([A-Za-z0-9_-]+)")
_PLACE = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")


@dataclass(frozen=True)
class Lines:
    found: Mapping[Where, int]

    def of(self, where: Where) -> int:
        """Returns a key's line; for one that is missing or inside a value, that of the enclosing entry."""
        while where and where not in self.found:
            where = where[:-1]
        return self.found.get(where, 1)


def lines(text: str) -> Lines:
    # Mask strings and comments, which may look like structure. Offsets stay the same.
    masked = _QUIET.sub(lambda match: re.sub(r"[^\r]", "_", match.group()), text)
    ends = [match.start() for match in re.finditer(r"\n", text)]
    found: dict[Where, int] = {}
    entries: dict[Where, int] = {}
    table: Where = ()
    depth = 0
    for line in re.finditer(r"[^\n]+", masked):
        if depth == 0:
            number = bisect_right(ends, line.start()) + 1
            if head := _HEAD.match(masked, *line.span()):
                table = _opened(_parts(text[head.start(2) : head.end(2)]), head[1] == "[[", entries)
                found.setdefault(table, number)
            elif key := _KEY.match(masked, *line.span()):
                parts = _parts(text[key.start(1) : key.end(1)])
                for length in range(1, len(parts) + 1):
                    found.setdefault(table + parts[:length], number)
        depth += sum((c in "[{") - (c in "]}") for c in line.group())
    return Lines(found)


def mistake(error: tomllib.TOMLDecodeError, text: str) -> tuple[int, str]:
    """Returns the line of a mistake, and its description."""
    said = str(error)
    place = _PLACE.search(said)
    if place is None:
        return 1, said
    return int(place[1] or text.rstrip().count("\n") + 1), said[: place.start()]


def _parts(dotted: str) -> tuple[str, ...]:
    return tuple(basic or literal or bare for basic, literal, bare in _PART.findall(dotted))


def _opened(parts: tuple[str, ...], is_entry: bool, entries: dict[Where, int]) -> Where:
    """Returns the table that a header opens; in an array of tables, the latest entry."""
    table: Where = ()
    for at, part in enumerate(parts):
        table += (part,)
        if is_entry and at == len(parts) - 1:
            entries[table] = entries.get(table, -1) + 1
        if table in entries:
            table += (entries[table],)
    return table
