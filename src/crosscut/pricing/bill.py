"""A bill: the parts of the books that fit a network, how many of each, what they cost.

Pure but for the wiring, which is asked for only where a part is bought by it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from crosscut.base.errors import UsageError
from crosscut.pricing import buying
from crosscut.pricing.amounts import Interval, total
from crosscut.pricing.book import Book, Traits
from crosscut.pricing.buying import BillLine, NoPrice
from crosscut.pricing.plant import Plant

# Under which heading of a table of shares a kind of part is counted.
HEADINGS = {
    "switch": "switches", "module": "switches", "cable": "cables", "optics": "cables",
    "interface": "interfaces", "software": "software", "port": "undivided",
}  # fmt: skip


@dataclass(frozen=True)
class Bill:
    network: str
    nodes: int
    currency: str
    lines: tuple[BillLine, ...]
    """The network's lines."""
    node: Interval | None
    """Price of one; None: nobody says."""
    processors: int

    @property
    def cost(self) -> Interval:
        return total(line.cost for line in self.lines)

    @property
    def per_node(self) -> Interval:
        return self.cost.times(1 / self.nodes)

    @property
    def nodes_share(self) -> Interval | None:
        """The nodes' share of the cluster's cost (nodes and network)."""
        return None if self.node is None else self.node.times(self.nodes).share_of_sum(self.cost)

    @property
    def whole(self) -> Interval | None:
        """Network and nodes."""
        return None if self.node is None else self.cost + self.node.times(self.nodes)

    def shares(self) -> dict[str, Interval]:
        """Shares of the network's cost, by heading, in the order of the headings."""
        found = {}
        for heading in dict.fromkeys(HEADINGS.values()):
            own = [line.cost for line in self.lines if HEADINGS.get(line.kind) == heading]
            rest = [line.cost for line in self.lines if HEADINGS.get(line.kind) != heading]
            if own:
                found[heading] = total(own).share_of_sum(total(rest))
        return found


def bill(plant: Plant, books: Sequence[Book], node_price: Interval | None = None) -> Bill:
    """NoPrice where a book has no switch that is large enough, or nothing that fits."""
    currency = _one_currency(books)
    fitting = [(part, book) for book in books for part in book.parts if part.fits.network(plant.traits)]
    lines = [*buying.switches(plant, fitting), *buying.others(plant, fitting)]
    if not lines:
        raise NoPrice(f"nothing in {_named(books)} fits {plant.traits.name}")
    if plant.has_switches and not any(line.kind in ("switch", "module", "port") for line in lines):
        raise NoPrice(f"{_named(books)}: no switch fits {plant.traits.name}, which has switches")
    cheapest = buying.cheapest(
        buying.by_unit(plant, [(part, book) for part, book in fitting if part.kind == "node"])
    )
    price = node_price or (cheapest.each if cheapest else None)
    return Bill(plant.traits.name, plant.nodes, currency, tuple(lines), price, plant.traits.processors)


def _one_currency(books: Sequence[Book]) -> str:
    for book in books[1:]:
        if book.currency != books[0].currency:
            raise UsageError(
                f"{book.path} is in {book.currency}, {books[0].path} in {books[0].currency}: crosscut knows "
                "no rate of exchange; convert one of the books"
            )
    return books[0].currency


def _named(books: Sequence[Book]) -> str:
    return ", ".join(book.name for book in books)


def own_prices(plant: Plant, node_price: Interval | None = None) -> Bill | None:
    """By the prices of the network's own file; None where it has none."""
    price = plant.figures.get("price")
    if not isinstance(price, dict):
        return None
    if plant.nodes != plant.own_nodes:
        raise NoPrice(
            f"{plant.traits.name}: the prices of its own file are of {plant.own_nodes:,} nodes; for "
            f"{plant.nodes:,} give a price book"
        )
    parts = (("switches", "switch"), ("ports", "switch"), ("cables", "cable"), ("adapters", "interface"))
    lines = [
        BillLine(name, kind, 1, Interval(float(price[name]), float(price[name])), "its own file")
        for name, kind in parts
        if float(price[name]) > 0
    ]
    host = float(price["hosts"]) / plant.own_nodes
    node = node_price or (Interval(host, host) if host > 0 else None)
    return Bill(
        plant.traits.name, plant.nodes, str(price["currency"]), tuple(lines), node, plant.traits.processors
    )


def offering(books: Sequence[Book], traits: Traits) -> list[Book]:
    """Books that name this very network for a part of it: what is taken where none was asked for."""
    return [
        book
        for book in books
        if any(
            part.kind != "node" and part.fits.networks and part.fits.network(traits) for part in book.parts
        )
    ]
