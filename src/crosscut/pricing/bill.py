"""Bills: the parts of price books that a network needs, their numbers and costs.

Of parts that serve the same purpose, the cheapest is taken. All functions are pure except for the wiring,
which is computed only if the number of some part depends on it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from crosscut.base.errors import UsageError
from crosscut.pricing.amounts import Interval, total
from crosscut.pricing.book import Book, Part, Traits
from crosscut.pricing.plant import Plant

# The heading of each kind of part in a table of shares.
HEADINGS = {
    "switch": "switches", "module": "switches", "cable": "cables", "optics": "cables",
    "interface": "interfaces", "software": "software", "port": "undivided",
}  # fmt: skip


class NoPrice(UsageError):
    """The books do not price this network at this number of nodes; the message says what is missing."""


@dataclass(frozen=True)
class BillLine:
    part: str
    kind: str
    count: float
    each: Interval
    book: str
    note: str = ""

    @property
    def cost(self) -> Interval:
        return self.each.times(self.count)


Fitting = Sequence[tuple[Part, Book]]


@dataclass(frozen=True)
class Bill:
    network: str
    nodes: int
    currency: str
    lines: tuple[BillLine, ...]
    """Lines for the network, without the nodes."""
    node: Interval | None
    """Price of one node; None if unknown."""
    processors: int

    @property
    def cost(self) -> Interval:
        return total(line.cost for line in self.lines)

    @property
    def per_node(self) -> Interval:
        return self.cost.times(1 / self.nodes)

    @property
    def nodes_share(self) -> Interval | None:
        """The nodes' share of the cost of the whole cluster (nodes and network)."""
        return None if self.node is None else self.node.times(self.nodes).share_of_sum(self.cost)

    @property
    def whole(self) -> Interval | None:
        """Cost of network and nodes; None if the price of a node is unknown."""
        return None if self.node is None else self.cost + self.node.times(self.nodes)

    def shares(self) -> dict[str, Interval]:
        """Share of each heading in the network's cost, in the order of the headings."""
        found = {}
        for heading in dict.fromkeys(HEADINGS.values()):
            own = [line.cost for line in self.lines if HEADINGS.get(line.kind) == heading]
            rest = [line.cost for line in self.lines if HEADINGS.get(line.kind) != heading]
            if own:
                found[heading] = total(own).share_of_sum(total(rest))
        return found


def bill(plant: Plant, books: Sequence[Book], node_price: Interval | None = None) -> Bill:
    """Bills a network. Raises NoPrice if no switch in the books is large enough, or no part fits."""
    currency = _one_currency(books)
    fitting = [(part, book) for book in books for part in book.parts if part.fits.network(plant.traits)]
    lines = [*_switches(plant, fitting), *_others(plant, fitting)]
    if not lines:
        raise NoPrice(f"nothing in {_named(books)} fits {plant.traits.name}")
    if plant.has_switches and not any(line.kind in ("switch", "module", "port") for line in lines):
        raise NoPrice(f"{_named(books)}: no switch fits {plant.traits.name}, which has switches")
    cheapest = _cheapest(_by_unit(plant, [(part, book) for part, book in fitting if part.kind == "node"]))
    price = node_price or (cheapest.each if cheapest else None)
    return Bill(plant.traits.name, plant.nodes, currency, tuple(lines), price, plant.traits.processors)


def _one_currency(books: Sequence[Book]) -> str:
    for book in books[1:]:
        if book.currency != books[0].currency:
            raise UsageError(
                f"{book.path} is in {book.currency}, {books[0].path} in {books[0].currency}: crosscut "
                "knows no exchange rates; convert one of the books"
            )
    return books[0].currency


def _named(books: Sequence[Book]) -> str:
    return ", ".join(book.name for book in books)


def own_prices(plant: Plant, node_price: Interval | None = None) -> Bill | None:
    """Bills a network by the prices in its file; None if it has none. Raises NoPrice for another size."""
    price = plant.figures.get("price")
    if not isinstance(price, dict):
        return None
    if plant.nodes != plant.own_nodes:
        raise NoPrice(
            f"{plant.traits.name}: its own file has prices for {plant.own_nodes:,} nodes only; for "
            f"{plant.nodes:,} give a price book (--book)"
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
    """The default: books with a part for this very network."""
    return [
        book
        for book in books
        if any(
            part.kind != "node" and part.fits.networks and part.fits.network(traits) for part in book.parts
        )
    ]


def _others(plant: Plant, fitting: Fitting) -> Iterator[BillLine]:
    """Lines for other parts: the cheapest of those with the same purpose, and all software."""
    same: dict[tuple[str, str], list[tuple[Part, Book]]] = {}
    for part, book in fitting:
        if part.kind not in ("node", "module", "switch"):
            what = part.name if part.kind == "software" else part.per
            same.setdefault((part.kind, what), []).append((part, book))
    for parts in same.values():
        if (line := _cheapest(_by_unit(plant, parts))) and line.count:
            yield line


def _by_unit(plant: Plant, parts: Fitting) -> list[BillLine]:
    """Lines for parts bought for each node, adapter or cable. Raises NoPrice if none has a price here."""
    found = []
    for part, book in parts:
        if step := part.step(plant.ports):
            note = step.note or part.note
            found.append(BillLine(part.name, part.kind, _count(plant, part.per), step.price, book.name, note))
    if parts and not found:
        part, book = parts[0]
        there = ", ".join(f"{step.least:,} to {step.most:,}" for step in part.steps)
        raise NoPrice(
            f"{book.name}, line {part.at.line()}: '{part.name}' has no price for {plant.ports:,} ports; "
            f"it has prices for {there}"
        )
    return found


def _count(plant: Plant, per: str) -> int:
    if per == "node":
        return plant.nodes
    if per in ("adapter", "port", "host-cable"):
        return plant.adapters
    return plant.wiring.trunk_cables + (plant.adapters if per == "cable" else 0)


def _cheapest(lines: Iterable[BillLine]) -> BillLine | None:
    return min(lines, key=lambda line: line.cost.middle, default=None)


def _switches(plant: Plant, fitting: Fitting) -> list[BillLine]:
    """Lines for switches, bought by the port or as boxes, whichever is cheaper."""
    if not plant.has_switches:
        return []
    by_port = [(part, book) for part, book in fitting if part.kind == "switch" and not part.is_box]
    boxes = [(part, book) for part, book in fitting if part.is_box]
    modules = [(part, book) for part, book in fitting if part.kind == "module"]
    offers: list[list[BillLine]] = []
    reasons: list[NoPrice] = []
    try:
        offers += [[line] for line in _by_unit(plant, by_port)]
    except NoPrice as reason:
        reasons.append(reason)
    try:
        offers += [_boxes(plant, boxes, modules)] if boxes else []
    except NoPrice as reason:
        reasons.append(reason)
    if reasons and not offers:
        raise reasons[0]
    return min(offers, key=_middle_cost, default=[])


def _middle_cost(lines: Iterable[BillLine]) -> float:
    return total(line.cost for line in lines).middle


def _boxes(plant: Plant, boxes: Fitting, modules: Fitting) -> list[BillLine]:
    bought: dict[tuple[str, str], BillLine] = {}
    for ports, switches in sorted(plant.wiring.switch_ports.items()):
        for line in _box(plant, ports, boxes, modules) if ports else ():
            key = (line.book, line.part)
            before = bought[key].count if key in bought else 0.0
            bought[key] = replace(line, count=before + line.count * switches)
    return [*bought.values()]


def _box(plant: Plant, ports: int, boxes: Fitting, modules: Fitting) -> list[BillLine]:
    offers: list[list[BillLine]] = []
    most = 0
    for part, book in boxes:
        step = part.step(plant.ports)
        if step is None:
            continue
        own = BillLine(part.name, part.kind, 1, step.price, book.name, step.note or part.note)
        if not part.slots:
            most = max(most, part.ports)
            offers += [[own]] if part.ports >= ports else []
            continue
        for module, its_book in modules:
            its_step = module.step(plant.ports)
            if module.of != part.name or its_book != book or its_step is None:
                continue
            most = max(most, part.slots * module.ports)
            needed = math.ceil(ports / module.ports)
            if needed <= part.slots:
                note = its_step.note or module.note
                cards = BillLine(module.name, module.kind, needed, its_step.price, its_book.name, note)
                offers.append([own, cards])
    if not offers:
        raise NoPrice(
            f"a switch of {ports:,} ports is needed, but the largest that fits {plant.traits.name} "
            f"has {most:,}"
        )
    return min(offers, key=_middle_cost)
