"""Reads TOML files into dataclasses, strictly: errors name file, line, table and key.

A dataclass declares a table. A field with a default may be missing; its type says what the file holds:

- `str`, `int`, `float`, an `Enum` of texts; `Path`: relative to the file's folder
- another dataclass: a table; `tuple[X, ...]`: a list, or an array of tables; `tuple[X, X]`: a list of two
- `Mapping[str, X]`: a table with any keys; `Table`: not a key, but the table itself, for later error messages

`Annotated` adds `Key` or `DERIVED`, `Between`, `OneOf`, `Raw`, `Writing`, and functions that parse a text or
raise UsageError.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from enum import Enum
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, NoReturn, TypeVar, Union, get_args, get_origin, get_type_hints

from crosscut.base import bounded_file, toml_lines
from crosscut.base.errors import UsageError, plainly

LARGEST_FILE_BYTES = 1 << 20
LONGEST_LIST = 4096
LONGEST_TEXT = 100_000
LONGEST_LINE = 400
Record = TypeVar("Record")
Marks = tuple[Any, ...]
"""What `Annotated` adds to a type."""


@dataclass(frozen=True)
class Key:
    """The key's name in the file, if it is not the field's."""

    name: str


DERIVED = Key("")
"""Marks a field that has no key in the file: the code that reads the table fills it in."""


@dataclass(frozen=True)
class Between:
    least: float
    most: float


@dataclass(frozen=True)
class OneOf:
    choices: tuple[str, ...]


@dataclass(frozen=True)
class Raw:
    """A function that reads a value of any TOML type, or raises UsageError."""

    read: Callable[[Any], Any]

    def __call__(self, value: Any) -> Any:
        return self.read(value)


class Writing(Enum):
    SAME_TABLE = "the keys of this dataclass are in the enclosing table; None if none of them is"
    ONE_OR_MORE = "a single value counts as a list of one"


def filled(text: str) -> str:
    if not text.strip():
        raise UsageError("is empty")
    return text


def printable(text: str) -> str:
    """Returns the text. Raises UsageError if it is long or has control characters, which terminals obey."""
    if not text.isprintable() or len(text) > LONGEST_LINE:
        raise UsageError(f"write one line of at most {LONGEST_LINE} printable characters")
    return text


def scalar(value: Any) -> str:
    """Returns a text, whole number or boolean in the form that the core takes."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if not (_is_whole(value) or (isinstance(value, str) and len(value) <= LONGEST_TEXT)):
        raise UsageError(f"{_shown(value)} is not a text, a whole number, true or false")
    return str(value)


Filled = Annotated[str, filled]
Line = Annotated[str, printable]
FilledLine = Annotated[str, printable, filled]
Scalars = Mapping[str, Annotated[str, Raw(scalar)]]


def document(path: Path, expected: str) -> Table:
    """Returns the file's top table. `expected`: what the file should be, as in `an experiment`."""
    content = bounded_file.read(path, LARGEST_FILE_BYTES, expected)
    try:
        return parse(content.decode("utf-8"), path)
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: {plainly(error)}") from error


def parse(text: str, path: Path) -> Table:
    try:
        return Table(str(path), "", tomllib.loads(text), (), toml_lines.lines(text), text)
    except tomllib.TOMLDecodeError as error:
        line, what = toml_lines.mistake(error, text)
        raise UsageError(f"{path}:{line}: not TOML: {what}") from error
    except RecursionError as error:
        raise UsageError(f"{path}: {plainly(error)}") from error
    except ValueError as error:
        raise UsageError(f"{path}: a number in it has too many digits") from error


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """One table of a file."""

    file: str
    where: str
    """`[lab]`, `[[series]] 3`; empty for the top table."""
    values: Mapping[str, Any]
    path: toml_lines.Where
    lines: toml_lines.Lines
    source: str = ""
    """The file as text; only in its top table."""

    def __contains__(self, key: str) -> bool:
        return key in self.values

    def fail(self, key: str, what: str) -> NoReturn:
        place = ", ".join(part for part in (self.where, f"key '{key}'" if key else "") if part)
        raise UsageError(": ".join(filter(None, (f"{self.file}:{self.line(key)}", place, what))))

    def line(self, key: str = "") -> int:
        """Returns the line of a key, or of the table if the key is missing."""
        return self.lines.of((*self.path, key) if key else self.path)

    def only(self, known: Collection[str]) -> None:
        for key in self.values:
            if key not in known:
                self.fail(key, f"there is no such key; {_near(key, known)}")

    def choice(self, key: str, value: str, choices: Collection[str]) -> None:
        if value not in choices:
            self.fail(key, f"'{value}' is unknown; {_near(value, choices)}")

    def table(self, key: str) -> Table:
        value = self.values.get(key, {})
        if not isinstance(value, dict):
            self.fail(key, "is not a table")
        return self._inside(f"{self.where} [{key}]".strip(), value, key)

    def read(self, record: Callable[..., Record]) -> Record:
        """Reads the table into `record`, a dataclass. Raises UsageError for unknown or wrong keys."""
        self.only(keys(record))
        found: dict[str, Any] = {}
        for name, key, form, marks, required in _fields(record):
            if form is Table:
                found[name] = self
            elif Writing.SAME_TABLE in marks:
                if here := {inner: self.values[inner] for inner in keys(form) if inner in self}:
                    found[name] = replace(self, values=here).read(form)
            elif key in self:
                found[name] = self.value(key, self.values[key], form, marks)
            elif required:
                self.fail(key, "is missing")
        return record(**found)

    def value(self, key: str, value: Any, hint: Any, outer: Marks = ()) -> Any:
        form, marks = _form(hint, outer)
        kind, inner = get_origin(form) or form, get_args(form)
        readers = [mark for mark in marks if callable(mark)]
        if readers or issubclass(kind, str | Path | Enum):
            return self._text(key, value, kind, marks, readers)
        if kind is tuple:
            return self._list(key, value, inner, marks)
        if is_dataclass(kind):
            return self.table(key).read(form)
        if kind is Mapping:
            table = self.table(key)
            return {each: table.value(each, one, inner[1]) for each, one in table.values.items()}
        (bounds,) = (mark for mark in marks if isinstance(mark, Between))
        return self._number(key, value, kind, bounds)

    def _text(self, key: str, value: Any, kind: type, marks: Marks, readers: Sequence[Any]) -> Any:
        if not any(isinstance(reader, Raw) for reader in readers):
            if not isinstance(value, str) or len(value) > LONGEST_TEXT:
                self.fail(key, f"{_shown(value)} is not a text in quotation marks")
            for mark in marks:
                if isinstance(mark, OneOf):
                    self.choice(key, value, mark.choices)
        if issubclass(kind, Enum):
            self.choice(key, value, [one.value for one in kind])
            return kind(value)
        if issubclass(kind, Path):
            return self._beside(key, value)
        try:
            for reader in readers:
                value = reader(value)
        except UsageError as error:
            self.fail(key, str(error))
        return value

    def _beside(self, key: str, text: str) -> Path:
        if not text.isprintable():
            self.fail(key, "has a character that cannot be printed")
        try:
            return Path(self.file).parent / Path(text).expanduser()
        except RuntimeError:
            self.fail(key, f"'{text}': there is no such user here")

    def _list(self, key: str, value: Any, inner: tuple[Any, ...], marks: Marks) -> tuple[Any, ...]:
        if Writing.ONE_OR_MORE in marks and not isinstance(value, list):
            return (self.value(key, value, inner[0], marks),)
        record = _form(inner[0])[0]
        of_tables = is_dataclass(record) and not any(map(callable, _form(inner[0])[1]))
        if not isinstance(value, list) or (of_tables and not all(isinstance(one, dict) for one in value)):
            expected = f"tables; write [[{key}]]" if of_tables else "in square brackets"
            self.fail(key, f"{_shown(value)} is not a list {'of ' * of_tables}{expected}")
        if len(value) > LONGEST_LIST:
            self.fail(key, f"has {len(value)} entries; at most {LONGEST_LIST}")
        if of_tables:
            return tuple(
                self._inside(f"[[{key}]] {at + 1}", one, key, at).read(record) for at, one in enumerate(value)
            )
        if inner[-1] is not Ellipsis:
            if len(value) != len(inner):
                self.fail(key, f"{_shown(value)} is not a list of {len(inner)}")
            return tuple(self.value(key, one, its, marks) for one, its in zip(value, inner, strict=True))
        return tuple(self.value(key, one, inner[0], marks) for one in value)

    def _number(self, key: str, value: Any, kind: type, bounds: Between) -> float:
        least, most = bounds.least, bounds.most
        if kind is int:
            if not _is_whole(value) or not least <= value <= most:
                self.fail(key, f"{_shown(value)} is not a whole number from {least:,} to {most:,}")
            return int(value)
        if not (isinstance(value, float) or _is_whole(value)):
            self.fail(key, f"{_shown(value)} is not a number")
        if not least <= value <= most:  # refuses NaN, too
            self.fail(key, f"{_shown(value)} is out of range; it must be from {least:g} to {most:g}")
        return float(value)

    def _inside(self, where: str, values: Mapping[str, Any], *path: str | int) -> Table:
        return Table(self.file, where, values, (*self.path, *path), self.lines)


NO_TABLE = Table("", "", {}, (), toml_lines.Lines({}))
"""Stands in for the table of a record that no file holds."""


def check_apart(records: Iterable[Any]) -> None:
    """Raises UsageError, at the second, for two records with the same `name`. Their tables are in `at`."""
    first: dict[str, Table] = {}
    for one in records:
        if (before := first.setdefault(one.name, one.at)) is not one.at:
            line = before.line("name")
            one.at.fail(
                "name", f"'{one.name}' is already the name in line {line}; give each a name of its own"
            )


@cache
def _fields(record: Any) -> tuple[tuple[str, str, Any, Marks, bool], ...]:
    """Returns (name, key, type, marks, whether it is required) for each field that a file may have."""
    hints = get_type_hints(record, include_extras=True)
    found = []
    for one in fields(record):
        form, marks = _form(hints[one.name])
        key = next((mark.name for mark in marks if isinstance(mark, Key)), one.name)
        if key:
            required = one.default is MISSING and one.default_factory is MISSING
            found.append((one.name, key, form, marks, required))
    return tuple(found)


@cache
def keys(record: Any) -> frozenset[str]:
    found: set[str] = set()
    for _, key, form, marks, _ in _fields(record):
        if form is not Table:
            found |= keys(form) if Writing.SAME_TABLE in marks else {key}
    return frozenset(found)


def _form(hint: Any, marks: Marks = ()) -> tuple[Any, Marks]:
    """Returns the type without `Annotated` and `| None`, and all marks, the innermost first."""
    if get_origin(hint) is Annotated:
        return _form(hint.__origin__, (*hint.__metadata__, *marks))
    if get_origin(hint) in (Union, UnionType):
        return _form(get_args(hint)[0], marks)
    return hint, marks


def _is_whole(value: object) -> bool:
    """True for TOML's integers. tomllib also reads larger ones, and Python's booleans are integers."""
    return type(value) is int and -(1 << 63) <= value < 1 << 63


def _near(wrong: str, there: Collection[str]) -> str:
    near = difflib.get_close_matches(wrong, there, n=1)
    return f"did you mean '{near[0]}'?" if near else f"known: {', '.join(sorted(there)) or 'none'}"


def _shown(value: object) -> str:
    try:
        text = repr(value)
    except ValueError:  # an integer of thousands of digits
        return "a number with too many digits"
    return text if len(text) <= 60 else text[:57] + "…"
