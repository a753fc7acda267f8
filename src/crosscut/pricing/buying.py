"""Which parts are bought for a plant, and how many of each. The cheapest of those that do the same."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from crosscut.base.errors import UsageError
from crosscut.pricing.amounts import Interval, total
from crosscut.pricing.book import Book, Part
from crosscut.pricing.plant import Plant


class NoPrice(UsageError):
    """The books do not price this network with this many nodes; the text says what is missing."""


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


def others(plant: Plant, fitting: Fitting) -> Iterator[BillLine]:
    """Lines for other parts: the cheapest of those that do the same; all software."""
    same: dict[tuple[str, str], list[tuple[Part, Book]]] = {}
    for part, book in fitting:
        if part.kind not in ("node", "module", "switch"):
            what = part.name if part.kind == "software" else part.per
            same.setdefault((part.kind, what), []).append((part, book))
    for parts in same.values():
        if (line := cheapest(by_unit(plant, parts))) and line.count:
            yield line


def by_unit(plant: Plant, parts: Fitting) -> list[BillLine]:
    """Parts that are bought once for each node, adapter, cable…; NoPrice: none has a price at this size."""
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
            f"it has for {there}"
        )
    return found


def _count(plant: Plant, per: str) -> int:
    if per == "node":
        return plant.nodes
    if per in ("adapter", "port", "host-cable"):
        return plant.adapters
    return plant.wiring.trunk_cables + (plant.adapters if per == "cable" else 0)


def cheapest(lines: Iterable[BillLine]) -> BillLine | None:
    return min(lines, key=lambda line: line.cost.middle, default=None)


def switches(plant: Plant, fitting: Fitting) -> list[BillLine]:
    """Bought by the port, or as boxes: for every switch of the design the cheapest that has its ports."""
    if not plant.has_switches:
        return []
    by_port = [(part, book) for part, book in fitting if part.kind == "switch" and not part.is_box]
    boxes = [(part, book) for part, book in fitting if part.is_box]
    modules = [(part, book) for part, book in fitting if part.kind == "module"]
    offers: list[list[BillLine]] = []
    reasons: list[NoPrice] = []
    try:
        offers += [[line] for line in by_unit(plant, by_port)]
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
                cards = BillLine(module.name, module.kind, needed, its_step.price, its_book.name, module.note)
                offers.append([own, cards])
    if not offers:
        raise NoPrice(
            f"a switch of {ports:,} ports is needed, and the largest that fits {plant.traits.name} "
            f"has {most:,}"
        )
    return min(offers, key=_middle_cost)
