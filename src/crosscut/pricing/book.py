"""A price book: what parts cost, in one currency, of one year, from one source.

Its format: docs/reference/price-book.md.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from crosscut.analysis.compare.spec import parse_rate
from crosscut.base import toml_fields
from crosscut.base.errors import UsageError
from crosscut.base.toml_fields import Table
from crosscut.pricing import words
from crosscut.pricing.amounts import Interval, parse_price

CATALOGUE_VARIABLE = "CROSSCUT_PRICES"
KINDS = ("switch", "module", "cable", "interface", "software", "optics", "port", "node")
PER = ("node", "adapter", "port", "cable", "host-cable", "trunk-cable")
# What a part is bought for where the book does not say.
_USUAL_PER = {
    "switch": "port", "module": "port", "cable": "cable", "interface": "adapter", "software": "node",
    "optics": "cable", "port": "port", "node": "node",
}  # fmt: skip
MOST_PORTS = 1 << 24
Value = TypeVar("Value")
_TOP = ("title", "currency", "year", "source", "note", "part")
_PART = ("name", "kind", "price", "steps", "per", "ports", "slots", "of", "fits", "note")
_FITS = ("networks", "kind", "protocol", "rate", "processors")
_STEP = ("from", "up_to", "price", "note")


@dataclass(frozen=True)
class Traits:
    """What of a network decides which parts fit it."""

    name: str
    kind: str
    protocol: str
    bits_per_second: float
    """Rate of a host's link; 0: unknown."""
    processors: int
    """Processors of a host."""


@dataclass(frozen=True)
class Fits:
    """Empty and zero: whatever the network has."""

    networks: tuple[str, ...] = ()
    kind: str = ""
    protocol: str = ""
    bits_per_second: float = 0.0
    processors: int = 0

    def network(self, traits: Traits) -> bool:
        same_rate = abs(traits.bits_per_second - self.bits_per_second) <= 1e-6 * self.bits_per_second
        return (
            (not self.networks or any(fnmatchcase(traits.name, form) for form in self.networks))
            and (not self.kind or self.kind == traits.kind)
            and (not self.protocol or fnmatchcase(traits.protocol, self.protocol))
            and (not self.bits_per_second or same_rate)
            and (not self.processors or self.processors == traits.processors)
        )


@dataclass(frozen=True)
class PriceStep:
    """A price that holds for networks of so many ports."""

    least: int
    most: int
    price: Interval
    note: str = ""


@dataclass(frozen=True)
class Part:
    name: str
    kind: str
    per: str
    """What it is bought for, one each; of a switch with `ports` or `slots` nothing: it is a box."""
    steps: tuple[PriceStep, ...]
    fits: Fits
    ports: int = 0
    """Ports of a box or a module."""
    slots: int = 0
    """Modules that a chassis takes."""
    of: str = ""
    """The chassis that a module belongs into."""
    note: str = ""
    line: int = 0

    @property
    def is_box(self) -> bool:
        return self.kind == "switch" and bool(self.ports or self.slots)

    def step(self, ports: int) -> PriceStep | None:
        return next((step for step in self.steps if step.least <= ports <= step.most), None)


@dataclass(frozen=True)
class Book:
    path: Path
    title: str
    currency: str
    year: int
    source: str
    parts: tuple[Part, ...]

    @property
    def name(self) -> str:
        return self.path.stem


def catalogue() -> Path | None:
    """The folder of books that comes with crosscut, or the one that CROSSCUT_PRICES names."""
    if named := os.environ.get(CATALOGUE_VARIABLE):
        return Path(named)
    package = Path(__file__).parents[1]
    for folder in (package / "prices", package.parents[1] / "prices"):
        if any(folder.glob("*.toml")):
            return folder
    return None


def names() -> list[str]:
    folder = catalogue()
    found = sorted(path.stem for path in folder.glob("*.toml")) if folder else []
    return [name for name in found if name != "template"]


def find(name: str) -> Path:
    """A file, or a name of the catalogue."""
    if "/" in name or name.endswith(".toml"):
        return Path(name)
    folder = catalogue()
    if folder is None or not (folder / f"{name}.toml").is_file():
        raise UsageError(
            f"there is no price book '{name}'; there is {', '.join(names()) or 'none'}, or a file"
        )
    return folder / f"{name}.toml"


def load(path: Path) -> Book:
    top = toml_fields.document(path)
    top.only(_TOP)
    currency = top.text("currency")
    if not (len(currency) == 3 and currency.isascii() and currency.isalpha() and currency.isupper()):
        top.fail("currency", f"'{currency[:20]}' is not three capitals, such as \"USD\" (ISO 4217)")
    year = top.whole("year", None, 1900, 2200)
    source = words.line(top, "source")
    top.text("note", "")
    entries = top.tables("part")
    if not entries:
        top.fail("", "it prices nothing; write a table [[part]] for each")
    parts = tuple(_part(entry, currency) for entry in entries)
    _check_together(parts, path)
    return Book(path, words.line(top, "title", path.stem), currency, year, source, parts)


def _part(entry: Table, currency: str) -> Part:
    entry.only(_PART)
    kind = entry.text("kind", None, KINDS)
    ports = entry.whole("ports", 0, 1, MOST_PORTS) if "ports" in entry else 0
    slots = entry.whole("slots", 0, 1, MOST_PORTS) if "slots" in entry else 0
    of = entry.text("of", "")
    if kind not in ("switch", "module") and ports:
        entry.fail("ports", f"a {kind} has none; only a switch and a module have")
    if kind != "switch" and slots:
        entry.fail("slots", f"a {kind} takes no modules; only a switch does")
    if kind == "module" and not (ports and of):
        entry.fail(
            "ports" if of else "of",
            'a module says how many ports it has, and with of = "NAME" in which switch',
        )
    if kind != "module" and of:
        entry.fail("of", f"only a module belongs to a switch, not a {kind}")
    if ports and slots:
        entry.fail(
            "slots", "a switch has ports of its own, or slots for modules; the modules say their ports"
        )
    if "per" in entry and (ports or slots):
        entry.fail("per", f"a {kind} with ports or slots is bought whole, as many as are needed")
    return Part(
        name=words.line(entry, "name"),
        kind=kind,
        per=entry.text("per", _USUAL_PER[kind], PER),
        steps=_steps(entry, currency),
        fits=_fits(entry),
        ports=ports,
        slots=slots,
        of=of,
        note=words.line(entry, "note", ""),
        line=entry.line(),
    )


def _steps(entry: Table, currency: str) -> tuple[PriceStep, ...]:
    if ("price" in entry) == ("steps" in entry):
        entry.fail("price" if "price" in entry else "", "write either price or steps")
    if "price" in entry:
        return (PriceStep(0, MOST_PORTS, _price(entry, entry.values["price"], "price", currency)),)
    found: list[PriceStep] = []
    for at, step in enumerate(entry.tables("steps"), 1):
        step.only(_STEP)
        before = found[-1].most if found else 0
        most = step.whole("up_to", None, 1, MOST_PORTS)
        least = step.whole("from", before + 1, 1, MOST_PORTS)
        if least <= before or most < least:
            entry.fail("steps", f"step {at}: from {least} up to {most} after one up to {before}: write them "
                                "in order, none over another")  # fmt: skip
        if "price" not in step:
            entry.fail("steps", f"step {at}: price: is missing")
        price = _price(entry, step.values["price"], "steps", currency)
        found.append(PriceStep(least, most, price, words.line(step, "note", "")))
    if not found:
        entry.fail("steps", 'has no entry; write { up_to = 128, price = "850 USD" }')
    return tuple(found)


def _price(entry: Table, value: Any, key: str, currency: str) -> Interval:
    """`"818 USD"`, or `["200 USD", "300 USD"]`: between both."""
    ends = value if isinstance(value, list) else [value, value]
    if len(ends) != 2 or not all(isinstance(end, str) for end in ends):
        entry.fail(key, f'{str(value)[:60]!r}: write "818 USD", or from and to: ["200 USD", "300 USD"]')
    found = [_asking(entry, key, partial(parse_price, end)) for end in ends]
    for _, its in found:
        if its != currency:
            entry.fail(key, f"a price in {its}, and the book's currency is {currency}: a book has one")
    low, high = found[0][0].low, found[1][0].high
    if low > high:
        entry.fail(key, f"from {low:g} to {high:g}: the lower price comes first")
    return Interval(low, high)


def _asking(table: Table, key: str, answer: Callable[[], Value]) -> Value:
    """`answer`'s complaint gets file, line and key."""
    try:
        return answer()
    except UsageError as error:
        table.fail(key, str(error))


def _fits(entry: Table) -> Fits:
    table = entry.table("fits")
    table.only(_FITS)
    networks = table.values.get("networks", [])
    if not isinstance(networks, list) or not all(isinstance(one, str) and one for one in networks):
        table.fail("networks", 'write a list of names or patterns of names, such as ["leaf-spine-*"]')
    rate = 8 * _asking(table, "rate", lambda: parse_rate(table.text("rate"))) if "rate" in table else 0.0
    return Fits(
        networks=tuple(networks),
        kind=table.text("kind", ""),
        protocol=table.text("protocol", ""),
        bits_per_second=rate,
        processors=table.whole("processors", 0, 1, 1 << 20) if "processors" in table else 0,
    )


def _check_together(parts: tuple[Part, ...], path: Path) -> None:
    by_name: dict[str, Part] = {}
    for part in parts:
        if part.name in by_name:
            raise UsageError(
                f"{path}:{part.line}: name: '{part.name}' is there already, in line "
                f"{by_name[part.name].line}; name each apart"
            )
        by_name[part.name] = part
    for part in parts:
        if part.kind == "module" and not _is_chassis(by_name, part.of):
            raise UsageError(f"{path}:{part.line}: of: no switch with slots is called '{part.of}'")
        if part.slots and not any(other.of == part.name for other in parts):
            raise UsageError(
                f"{path}:{part.line}: slots: no module is of '{part.name}'; write one with "
                f'of = "{part.name}"'
            )


def _is_chassis(parts: Mapping[str, Part], name: str) -> bool:
    return name in parts and parts[name].slots > 0
