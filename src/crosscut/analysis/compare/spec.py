"""The file of what was promised: TOML, every mistake told with file, line and key."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, TypeVar

from crosscut.analysis.figures.route_class import CLASSES
from crosscut.base import toml_lines, units
from crosscut.base.errors import UsageError, plainly

LARGEST_FILE_BYTES = 1 << 20
Value = TypeVar("Value")


class PromiseKind(Enum):
    """What a promise is about: one quantity for each thing of its kind."""

    BISECTION = "bisection"
    PHASE = "phase"
    ROUTE = "route"
    NODE = "node"
    LATENCY = "latency"
    SPREAD = "spread"


PATTERNS = {PromiseKind.BISECTION: "bisection", PromiseKind.LATENCY: "pingpong"}
DEFAULT_PATTERN = "aapc"
_AT_LEAST = (PromiseKind.BISECTION, PromiseKind.PHASE, PromiseKind.ROUTE, PromiseKind.NODE)
_TOP = {"title", "link_rate", "error_rate", "promise"}
_PROMISE = {
    "name",
    "kind",
    "pattern",
    "parameters",
    "size",
    "at_least",
    "at_most",
    "routes",
    "nodes",
    "of_the_time",
}


@dataclass(frozen=True)
class Promise:
    name: str
    kind: PromiseKind
    pattern: str
    size_bytes: int
    bound: float
    """Bytes per second at least; seconds, or a share, at most."""
    said: str
    """The bound as the file has it."""
    parameters: Mapping[str, str] = field(default_factory=dict)
    routes: str = ""
    """A class of routes; empty: all."""
    nodes: tuple[str, ...] = ()
    """Patterns of names (`n00*`); empty: all."""
    of_the_time: float = 0.5
    """Share of the repetitions that must meet the bound: half is the median."""
    line: int = 0

    @property
    def at_least(self) -> bool:
        return self.kind in _AT_LEAST


@dataclass(frozen=True)
class Spec:
    path: Path
    title: str
    error_rate: float
    promises: tuple[Promise, ...]
    text: str

    @property
    def sizes_bytes(self) -> frozenset[int]:
        return frozenset(promise.size_bytes for promise in self.promises)


def read(path: Path) -> Spec:
    try:
        if path.stat().st_size > LARGEST_FILE_BYTES:
            raise UsageError(f"{path}: more than 1 MiB is no spec")
        text = path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: {plainly(error)}") from error
    return parse(text, path)


def parse(text: str, path: Path) -> Spec:
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line, what = toml_lines.mistake(error, text)
        raise UsageError(f"{path}:{line}: not TOML: {what}") from error
    except RecursionError as error:
        raise UsageError(f"{path}: {plainly(error)}") from error
    lines = toml_lines.lines(text)
    top = _SpecTable(document, path, lines, "", 0)
    top.only(_TOP)
    link_rate = top.parsed("link_rate", parse_rate, 0.0)
    error_rate = top.parsed("error_rate", units.parse_fraction, 0.01)
    if not 0 < error_rate < 0.5:
        raise top.wrong("error_rate", 'a rate between 0 and 50 %, without them, such as "1%"')
    entries = document.get("promise", [])
    if not isinstance(entries, list) or not entries or not all(isinstance(entry, dict) for entry in entries):
        raise UsageError(f"{path}: it promises nothing; write a table [[promise]] for each")
    found = tuple(
        _promise(_SpecTable(e, path, lines, "promise", at), link_rate) for at, e in enumerate(entries)
    )
    names = [promise.name for promise in found]
    for promise in found:
        if names.count(promise.name) > 1:
            raise UsageError(
                f"{path}:{promise.line}: several promises are called '{promise.name}'; name each apart"
            )
    return Spec(path, top.parsed("title", str, path.stem), error_rate, found, text)


@dataclass(frozen=True)
class _SpecTable:
    values: Mapping[str, Any]
    path: Path
    lines: toml_lines.Lines
    name: str
    index: int

    def line(self, key: str) -> int:
        """The line of a key; if the key is missing, of the table."""
        return self.lines.of((*((self.name, self.index) if self.name else ()), key))

    def wrong(self, key: str, what: str) -> UsageError:
        shown = repr(self.values[key])[:80] if key in self.values else "missing"
        return UsageError(f"{self.path}:{self.line(key)}: {key}: {shown}: {what}")

    def only(self, known: set[str]) -> None:
        if unknown := sorted(set(self.values) - known):
            key = unknown[0]
            raise UsageError(
                f"{self.path}:{self.line(key)}: {key}: there is no such key; there is "
                f"{', '.join(sorted(known))}"
            )

    def parsed(self, key: str, parse: Callable[[str], Value], default: Value) -> Value:
        if key not in self.values:
            return default
        value = self.values[key]
        if not isinstance(value, str) or not value:
            raise self.wrong(key, "write it as text in quotes, with its unit")
        try:
            return parse(value)
        except UsageError as error:
            raise UsageError(f"{self.path}:{self.line(key)}: {key}: {error}") from error


def _promise(table: _SpecTable, link_rate: float) -> Promise:
    table.only(_PROMISE)
    kinds = ", ".join(f'"{kind.value}"' for kind in PromiseKind)
    if table.values.get("kind") not in [kind.value for kind in PromiseKind]:
        raise table.wrong("kind", f"write one of {kinds}")
    kind = PromiseKind(table.values["kind"])
    bound_key, other = ("at_least", "at_most") if kind in _AT_LEAST else ("at_most", "at_least")
    if other in table.values:
        raise table.wrong(other, f"of a {kind.value} one promises {bound_key}")
    if bound_key not in table.values:
        raise table.wrong(bound_key, f"of a {kind.value} one promises {bound_key}")
    parse_bound = {
        PromiseKind.LATENCY: units.parse_seconds, PromiseKind.SPREAD: units.parse_fraction
    }.get(kind, lambda text: _rate_or_share(text, link_rate))  # fmt: skip
    bound = table.parsed(bound_key, parse_bound, 0.0)
    if bound <= 0:
        raise table.wrong(bound_key, "more than nothing")
    of_the_time = table.parsed("of_the_time", units.parse_fraction, 0.5)
    if not 0 < of_the_time < 1:
        raise table.wrong("of_the_time", 'between 0 and 100 %, without them: "50%" is the median')
    routes = table.parsed("routes", str, "")
    if routes and routes not in CLASSES:
        raise table.wrong("routes", f"write one of {', '.join(CLASSES)}")
    if routes and kind in (PromiseKind.BISECTION, PromiseKind.PHASE):
        raise table.wrong("routes", f'a {kind.value} is all of its routes; promise it of kind "route"')
    size = table.parsed("size", units.parse_bytes, 1 if kind is PromiseKind.LATENCY else 1_000_000)
    return Promise(
        name=table.parsed("name", str, f"{kind.value} {table.index + 1}"),
        kind=kind,
        pattern=table.parsed("pattern", str, PATTERNS.get(kind, DEFAULT_PATTERN)),
        size_bytes=max(size, 1),
        bound=bound,
        said=_said(bound_key, str(table.values[bound_key]), kind, bound),
        parameters=_parameters(table),
        routes=routes,
        nodes=_names(table),
        of_the_time=of_the_time,
        line=table.line("kind"),
    )


def _said(key: str, written: str, kind: PromiseKind, bound: float) -> str:
    """`at least 80% of link_rate = 10.0 MB/s`"""
    share = kind in _AT_LEAST and "%" in written
    what = f"{written.partition('of')[0].strip()} of link_rate = {units.rate(bound)}" if share else written
    return f"{key.replace('_', ' ')} {what}"


def _parameters(table: _SpecTable) -> dict[str, str]:
    value = table.values.get("parameters", {})
    if not isinstance(value, dict) or not all(isinstance(v, str | int) for v in value.values()):
        raise table.wrong("parameters", 'a table of the pattern\'s own, such as { pairs = "all" }')
    return {
        str(key): ("true" if v else "false") if isinstance(v, bool) else str(v) for key, v in value.items()
    }


def _names(table: _SpecTable) -> tuple[str, ...]:
    value = table.values.get("nodes", [])
    if not isinstance(value, list) or not all(isinstance(name, str) and name for name in value):
        raise table.wrong("nodes", 'a list of names, such as ["n00*", "login"]')
    return tuple(value)


_RATE = re.compile(r"\s*([0-9.]+(?:[eE][+-]?[0-9]+)?)\s*([kMGT]?)(bit/s|B/s)\s*")
_FACTORS = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}


def parse_rate(text: str) -> float:
    """Bytes per second of `100 Mbit/s` or `11.5 MB/s`."""
    found = _RATE.fullmatch(text.replace("KB/s", "kB/s"))
    try:
        if found is None:
            raise ValueError
        return float(found[1]) * _FACTORS[found[2]] / (8 if found[3] == "bit/s" else 1)
    except ValueError as error:
        raise UsageError(
            f'\'{text}\' is not a rate; write for example "100 Mbit/s" or "11.5 MB/s"'
        ) from error


def _rate_or_share(text: str, link_rate: float) -> float:
    share = re.fullmatch(r"\s*([0-9.]+\s*%)\s*(?:of\s+link_rate)?\s*", text)
    if share is None:
        return parse_rate(text)
    if not link_rate:
        raise UsageError(
            f"'{text}' is a share of link_rate, which the file does not give; write link_rate = \"10 "
            'Gbit/s" at its top'
        )
    return units.parse_fraction(share[1]) * link_rate
