"""Price books: the prices of parts, in one currency, of one year, from one source.

The format is described in docs/reference/price-book.md.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated

from crosscut.analysis.compare.spec import parse_rate
from crosscut.base import toml_fields
from crosscut.base.errors import UsageError
from crosscut.base.toml_fields import NO_TABLE, Between, Filled, FilledLine, Key, Line, OneOf, Table, Writing
from crosscut.pricing.amounts import NOTHING, Interval, parse_price

CATALOGUE_VARIABLE = "CROSSCUT_PRICES"
KINDS = ("switch", "module", "cable", "interface", "software", "optics", "port", "node")
PER = ("node", "adapter", "port", "cable", "host-cable", "trunk-cable")
# The unit by which a part is bought by default.
_USUAL_PER = {
    "switch": "port", "module": "port", "cable": "cable", "interface": "adapter", "software": "node",
    "optics": "cable", "port": "port", "node": "node",
}  # fmt: skip
MOST_PORTS = 1 << 24
Price = Annotated[tuple[Annotated[tuple[Interval, str], parse_price], ...], Writing.ONE_OR_MORE]
"""`"818 USD"`, or `["200 USD", "300 USD"]` for a range; each with its currency."""


def _bit_rate(text: str) -> float:
    return 8 * parse_rate(text)


def _currency(text: str) -> str:
    if not (len(text) == 3 and text.isascii() and text.isalpha() and text.isupper()):
        raise UsageError(f"'{text[:20]}' is not three capitals, such as \"USD\" (ISO 4217)")
    return text


@dataclass(frozen=True)
class Traits:
    """The properties of a network that decide which parts fit it."""

    name: str
    kind: str
    protocol: str
    bits_per_second: float
    """Rate of a host's link; 0 if unknown."""
    processors: int
    """Processors in each host."""


@dataclass(frozen=True)
class Fits:
    """Conditions on a network; empty and zero members fit any."""

    networks: tuple[Filled, ...] = ()
    kind: str = ""
    protocol: str = ""
    bits_per_second: Annotated[float, Key("rate"), _bit_rate] = 0.0
    processors: Annotated[int, Between(1, 1 << 20)] = 0

    def network(self, traits: Traits) -> bool:
        same_rate = abs(traits.bits_per_second - self.bits_per_second) <= 1e-6 * self.bits_per_second
        return (
            (not self.networks or any(fnmatchcase(traits.name, form) for form in self.networks))
            and (not self.kind or self.kind == traits.kind)
            and (not self.protocol or fnmatchcase(traits.protocol, self.protocol))
            and (not self.bits_per_second or same_rate)
            and (not self.processors or self.processors == traits.processors)
        )


@dataclass(frozen=True, kw_only=True)
class PriceStep:
    """A price for networks with `least` to `most` ports."""

    least: Annotated[int, Key("from"), Between(1, MOST_PORTS)] = 0
    most: Annotated[int, Key("up_to"), Between(1, MOST_PORTS)]
    prices: Annotated[Price, Key("price")] = ()
    price: Annotated[Interval, toml_fields.DERIVED] = NOTHING
    note: Line = ""
    at: Table = NO_TABLE


@dataclass(frozen=True, kw_only=True)
class Part:
    name: FilledLine
    kind: Annotated[str, OneOf(KINDS)]
    per: Annotated[str, OneOf(PER)] = ""
    """One is bought for each of these. Ignored for modules and boxes (switches with `ports` or `slots`)."""
    prices: Annotated[Price, Key("price")] = ()
    steps: tuple[PriceStep, ...] = ()
    """A file's single `price` becomes one step for all sizes."""
    fits: Fits = Fits()
    ports: Annotated[int, Between(1, MOST_PORTS)] = 0
    """Number of ports of a box or module."""
    slots: Annotated[int, Between(1, MOST_PORTS)] = 0
    """Number of modules that a chassis takes."""
    of: str = ""
    """The chassis that a module fits."""
    note: Line = ""
    at: Table = NO_TABLE

    @property
    def is_box(self) -> bool:
        return self.kind == "switch" and bool(self.ports or self.slots)

    def step(self, ports: int) -> PriceStep | None:
        return next((step for step in self.steps if step.least <= ports <= step.most), None)


@dataclass(frozen=True, kw_only=True)
class Book:
    path: Annotated[Path, toml_fields.DERIVED] = Path()
    title: Line = ""
    currency: Annotated[str, _currency]
    year: Annotated[int, Between(1900, 2200)]
    source: FilledLine
    note: str = ""
    parts: Annotated[tuple[Part, ...], Key("part")] = ()

    @property
    def name(self) -> str:
        return self.path.stem

    @property
    def origin(self) -> str:
        """`kurmann-2003: USD of 2003; SOURCE`"""
        return f"{self.name}: {self.currency} of {self.year}; {self.source}"


def catalogue() -> Path | None:
    """The folder of price books: named by CROSSCUT_PRICES, or the one that comes with crosscut."""
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
    """Finds a book: a file, or a name in the catalogue."""
    if "/" in name or name.endswith(".toml"):
        return Path(name)
    folder = catalogue()
    if folder is None or not (folder / f"{name}.toml").is_file():
        raise UsageError(
            f"there is no price book '{name}'; there is {', '.join(names()) or 'none'}, or a file"
        )
    return folder / f"{name}.toml"


def load(path: Path) -> Book:
    top = toml_fields.document(path, "a price book")
    book = top.read(Book)
    if not book.parts:
        top.fail("", "it has no parts; write a table [[part]] for each")
    parts = tuple(_part(part, book.currency) for part in book.parts)
    _check_together(parts)
    return replace(book, path=path, title=book.title or path.stem, parts=parts)


def _part(part: Part, currency: str) -> Part:
    kind, fail = part.kind, part.at.fail
    if kind not in ("switch", "module") and part.ports:
        fail("ports", f"a {kind} has none; only switches and modules do")
    if kind != "switch" and part.slots:
        fail("slots", f"a {kind} takes no modules; only switches do")
    if kind == "module" and not (part.ports and part.of):
        fail(
            "ports" if part.of else "of",
            'a module needs its number of ports, and its switch: of = "NAME"',
        )
    if kind != "module" and part.of:
        fail("of", f"only modules belong to a switch, not a {kind}")
    if part.ports and part.slots:
        fail("slots", "a switch has either ports or slots, whose modules have ports")
    if part.per and (part.ports or part.slots):
        fail("per", f"a {kind} with ports or slots is bought whole, not by a unit")
    return replace(part, per=part.per or _USUAL_PER[kind], steps=_steps(part, currency))


def _steps(part: Part, currency: str) -> tuple[PriceStep, ...]:
    if ("price" in part.at) == ("steps" in part.at):
        part.at.fail("price" if "price" in part.at else "", "write either price or steps")
    if "price" in part.at:
        return (PriceStep(most=MOST_PORTS, price=_price(part, currency)),)
    found: list[PriceStep] = []
    for step in part.steps:
        before = found[-1].most if found else 0
        least = step.least or before + 1
        if least <= before or step.most < least:
            step.at.fail("up_to", f"from {least} up to {step.most} after one up to {before}: steps must be "
                                  "in order and must not overlap")  # fmt: skip
        found.append(replace(step, least=least, price=_price(step, currency)))
    if not found:
        part.at.fail("steps", 'is empty; write { up_to = 128, price = "850 USD" }')
    return tuple(found)


def _price(of: Part | PriceStep, currency: str) -> Interval:
    if not 1 <= len(of.prices) <= 2:
        of.at.fail("price", 'write "818 USD", or a range: ["200 USD", "300 USD"]')
    for _, its in of.prices:
        if its != currency:
            of.at.fail("price", f"a price in {its}, but the book's currency is {currency}")
    low, high = of.prices[0][0].low, of.prices[-1][0].high
    if low > high:
        of.at.fail("price", f"from {low:g} to {high:g}: the lower price comes first")
    return Interval(low, high)


def _check_together(parts: tuple[Part, ...]) -> None:
    toml_fields.check_apart(parts)
    chassis = {part.name for part in parts if part.slots}
    for part in parts:
        if part.kind == "module" and part.of not in chassis:
            part.at.fail("of", f"no switch with slots is called '{part.of}'")
        if part.slots and not any(other.of == part.name for other in parts):
            part.at.fail("slots", f"no module fits '{part.name}'; write one with of = \"{part.name}\"")
