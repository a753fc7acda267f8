"""Turns books and numbers of nodes, as typed, into bills."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from crosscut.base.errors import UsageError
from crosscut.pricing import bill as bills
from crosscut.pricing import book as books
from crosscut.pricing.amounts import Interval, parse_price
from crosscut.pricing.bill import Bill, NoPrice
from crosscut.pricing.book import Book
from crosscut.pricing.plant import MOST_NODES, Plant, plant
from crosscut.pricing.resizing import NotResizable

MOST_SIZES = 512
_RANGE = re.compile(r"(\d{1,9})-(\d{1,9})(?::(\d{1,9}))?")


@dataclass(frozen=True)
class Priced:
    """A network with a number of nodes, and its bill or the reason why there is none."""

    network: str
    nodes: int
    bill: Bill | None
    books: tuple[Book, ...]
    """Empty: priced by the network's own file."""
    reason: str = ""


def parse_nodes(text: str) -> tuple[int, ...]:
    """Parses `16,32,128`, `16-1024` (doubling) or `16-1024:16` (in steps). Sorted; raises UsageError."""
    found: list[int] = []
    for word in text.split(","):
        match = _RANGE.fullmatch(word.strip())
        first, last = (int(match[1]), int(match[2])) if match else (_one(word, text), 0)
        step = int(match[3]) if match and match[3] else 0
        if match and (not 1 <= first <= last or (match[3] and step < 1)):
            raise UsageError(
                f"'{word}': the first number must be at least 1 and not above the last, and a step at least 1"
            )
        value = first
        while value <= max(first, last) and len(found) <= MOST_SIZES:
            found.append(value)
            value += step or value
    if len(found) > MOST_SIZES or max(found) > MOST_NODES:
        raise UsageError(f"'{text[:40]}': at most {MOST_SIZES} numbers, each at most {MOST_NODES:,}")
    return tuple(sorted(set(found)))


def _one(word: str, text: str) -> int:
    if not re.fullmatch(r"\s*[1-9]\d{0,8}\s*", word):
        raise UsageError(f"'{text[:40]}' names no numbers of nodes; write for example 16,32,128 or 16-1024")
    return int(word)


def parse_node_price(text: str) -> tuple[Interval, str]:
    """Parses `3300 USD` or `3271-3359 USD`. If no currency is named, returns "": the book's."""
    if re.search(r"[A-Za-z]", text):
        return parse_price(text)
    return parse_price(f"{text} USD")[0], ""


def named_books(names: Sequence[str]) -> list[Book]:
    return [books.load(books.find(name)) for name in dict.fromkeys(names)]


def price(
    file: str, nodes: int | None, asked: Sequence[Book], node_price: tuple[Interval, str] | None
) -> Priced:
    """Prices a network by the books asked for.

    Without any, uses the catalogue's books that name this network, and failing those the network's own file.
    """
    what = plant(file, nodes)
    chosen = list(asked)
    if not chosen:
        chosen = bills.offering(named_books(books.names()), what.traits)
    try:
        found = _by(what, chosen, node_price)
    except (NoPrice, NotResizable) as error:
        return Priced(what.traits.name, what.nodes, None, tuple(chosen), str(error))
    return Priced(what.traits.name, what.nodes, found, tuple(chosen))


def _by(what: Plant, chosen: Sequence[Book], node_price: tuple[Interval, str] | None) -> Bill:
    node = node_price[0] if node_price else None
    found = bills.bill(what, chosen, node) if chosen else bills.own_prices(what, node)
    if found is None:
        raise NoPrice(
            f"{what.traits.name}: no price is known, neither in its file nor in crosscut's price books; give "
            "--book FILE"
        )
    if node_price and node_price[1] not in ("", found.currency):
        raise UsageError(
            f"--node-price is in {node_price[1]}, but the network's prices are in {found.currency}"
        )
    return found
