"""Typed reading of a TOML document that anybody may have written: errors name file, line, table and key."""

from __future__ import annotations

import difflib
import math
import tomllib
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from crosscut.base import toml_lines, units
from crosscut.base.errors import UsageError, plainly

LARGEST_FILE_BYTES = 1 << 20
LONGEST_LIST = 4096
LONGEST_TEXT = 100_000


def document(path: Path) -> Table:
    """The file's top table."""
    try:
        if path.stat().st_size > LARGEST_FILE_BYTES:
            raise UsageError(f"{path}: larger than {units.size(LARGEST_FILE_BYTES)}: not an experiment")
        text = path.read_bytes().decode("utf-8")
        return Table(str(path), "", tomllib.loads(text), (), toml_lines.lines(text))
    except tomllib.TOMLDecodeError as error:
        line, what = toml_lines.mistake(error, text)
        raise UsageError(f"{path}:{line}: not TOML: {what}") from error
    except (OSError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"{path}: {plainly(error)}") from error


@dataclass(frozen=True)
class Table:
    """One table of the file. Keys are asked for by type; what nobody may ask for is refused by `only`."""

    file: str
    where: str
    """`[lab]`, `[[series]] 3`; empty at the top."""
    values: dict[str, Any]
    path: toml_lines.Where
    lines: toml_lines.Lines

    def fail(self, key: str, what: str) -> NoReturn:
        place = ", ".join(part for part in (self.where, f"key '{key}'" if key else "") if part)
        raise UsageError(f"{self.file}:{self.line(key)}: {place}: {what}")

    def line(self, key: str = "") -> int:
        """The line of a key; if the key is missing, of the table."""
        return self.lines.of((*self.path, key) if key else self.path)

    def only(self, known: Collection[str]) -> None:
        for key in self.values:
            if key not in known:
                near = difflib.get_close_matches(key, known, n=1)
                hint = f"did you mean '{near[0]}'?" if near else f"there is {', '.join(sorted(known))}"
                self.fail(key, f"there is no such key; {hint}")

    def __contains__(self, key: str) -> bool:
        return key in self.values

    def text(self, key: str, default: str | None = None, choices: Collection[str] = ()) -> str:
        value = self._get(key, default)
        if not isinstance(value, str) or len(value) > LONGEST_TEXT:
            self.fail(key, f"{_shown(value)} is not a text in quotation marks")
        if choices and value not in choices:
            near = difflib.get_close_matches(value, choices, n=1)
            hint = f"did you mean '{near[0]}'?" if near else f"there is {', '.join(sorted(choices))}"
            self.fail(key, f"'{value}' is unknown; {hint}")
        return value

    def whole(self, key: str, default: int | None, least: int, most: int) -> int:
        return self._whole(key, self._get(key, default), least, most)

    def wholes(self, key: str, least: int, most: int) -> tuple[int, ...]:
        return tuple(self._whole(key, value, least, most) for value in self._list(key))

    def ranges(self, key: str, least: int, most: int) -> tuple[tuple[int, int], ...]:
        """`[[16, 47], [48, 79]]`: first and last of each."""
        found = []
        for value in self._list(key):
            if not isinstance(value, list) or len(value) != 2:
                self.fail(key, f"{_shown(value)} is not a pair of numbers in square brackets: first, last")
            first, last = (self._whole(key, one, least, most) for one in value)
            if last < first:
                self.fail(key, f"{last:,} is below {first:,}")
            found.append((first, last))
        return tuple(found)

    def number(self, key: str, default: float | None, least: float, most: float) -> float:
        return self._number(key, self._get(key, default), least, most)

    def numbers(self, key: str, least: float, most: float) -> tuple[float, ...]:
        return tuple(self._number(key, value, least, most) for value in self._list(key))

    def quantity(self, key: str, parse: Callable[[str], int], default: str | None = None) -> int:
        """A text with its unit."""
        text = self.text(key, default)
        try:
            return parse(text)
        except UsageError as error:
            self.fail(key, str(error))

    def quantities(self, key: str, parse: Callable[[str], int]) -> tuple[int, ...]:
        found = []
        for value in self._list(key):
            if not isinstance(value, str):
                self.fail(key, f"{_shown(value)} is not a text in quotation marks")
            try:
                found.append(parse(value))
            except UsageError as error:
                self.fail(key, str(error))
        return tuple(found)

    def table(self, key: str) -> Table:
        value = self.values.get(key, {})
        if not isinstance(value, dict):
            self.fail(key, "is not a table")
        return Table(self.file, f"{self.where} [{key}]".strip(), value, (*self.path, key), self.lines)

    def tables(self, key: str) -> tuple[Table, ...]:
        value = self.values.get(key, [])
        if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
            self.fail(key, f"is not a list of tables; write [[{key}]]")
        if len(value) > LONGEST_LIST:
            self.fail(key, f"has {len(value)} entries; at most {LONGEST_LIST}")
        return tuple(
            Table(self.file, f"[[{key}]] {at}", entry, (*self.path, key, at - 1), self.lines)
            for at, entry in enumerate(value, 1)
        )

    def texts(self) -> dict[str, str]:
        """All of a table of texts, numbers and switches, as the core takes them."""
        found = {}
        for key, value in self.values.items():
            if isinstance(value, bool):
                found[key] = "true" if value else "false"
            elif isinstance(value, int | str) and len(str(value)) <= LONGEST_TEXT:
                found[key] = str(value)
            else:
                self.fail(key, f"{_shown(value)} is not a text, a whole number, true or false")
        return found

    def _get(self, key: str, default: object) -> Any:
        value = self.values.get(key, default)
        if value is None:
            self.fail(key, "is missing")
        return value

    def _list(self, key: str) -> list[Any]:
        value = self.values.get(key, [])
        if not isinstance(value, list):
            self.fail(key, f"{_shown(value)} is not a list in square brackets")
        if len(value) > LONGEST_LIST:
            self.fail(key, f"has {len(value)} entries; at most {LONGEST_LIST}")
        return value

    def _whole(self, key: str, value: object, least: int, most: int) -> int:
        if type(value) is not int or not least <= value <= most:
            self.fail(key, f"{_shown(value)} is not a whole number from {least:,} to {most:,}")
        return value

    def _number(self, key: str, value: object, least: float, most: float) -> float:
        if type(value) not in (int, float) or not isinstance(value, int | float):
            self.fail(key, f"{_shown(value)} is not a number")
        if not math.isfinite(value) or not least <= value <= most:
            self.fail(key, f"{_shown(value)} is out of range; from {least:g} to {most:g}")
        return float(value)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"
