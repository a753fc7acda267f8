"""Reports bills and the price of performance, on a terminal and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from crosscut.base import units
from crosscut.pricing.amounts import Interval, amount, per_cent
from crosscut.pricing.asking import Priced
from crosscut.pricing.bill import HEADINGS, Bill
from crosscut.pricing.performance import Worth
from crosscut.reports.terminal.screen import Rows, Screen
from crosscut.workloads.hpl.report import flops


def render(screen: Screen, priced: Sequence[Priced], worth: Sequence[Worth]) -> None:
    """Shows one bill line by line, or several as a table; then the price of performance."""
    if len(priced) == 1 and priced[0].bill is not None:
        _bill(screen, priced[0], priced[0].bill)
    elif any(one.bill for one in priced):
        _table(screen, priced)
    # One reason for each network is enough: that at its smallest size without a price.
    for name, reason in {one.network: one.reason for one in reversed(priced) if one.reason}.items():
        screen.line(reason if name in reason else f"{name}: {reason}", "yellow")
    lines = (line for one in priced if one.bill for line in one.bill.lines if line.note)
    for note in dict.fromkeys(f"{line.part}: {line.note}" for line in lines):
        screen.line(note, "dim")
    for origin in dict.fromkeys(book.origin for one in priced for book in one.books):
        screen.line(origin, "dim")
    if any(one.bill is not None and not one.books for one in priced):
        screen.line("prices are those of the network's own file", "dim")
    if worth:
        _worth(screen, worth)


def _bill(screen: Screen, priced: Priced, bill: Bill) -> None:
    screen.line(f"{bill.network}: {units.count(bill.nodes, 'node')}, {bill.currency}", "bold")
    table = Rows("<part", "count", "each", "in all", "share")
    for line in bill.lines:
        rest = Interval(bill.cost.low - line.cost.low, bill.cost.high - line.cost.high)
        share = f"{per_cent(line.cost.share_of_sum(rest))} %"
        counted = f"{line.count:,.0f}" if priced.books else ""
        table.add(line.part, counted, amount(line.each) if priced.books else "", amount(line.cost), share)
    table.add("network", "", "", amount(bill.cost), "", style="bold")
    if bill.node is not None and bill.whole is not None:
        nodes = bill.node.times(bill.nodes)
        table.add("nodes", f"{bill.nodes:,}", amount(bill.node), amount(nodes), "")
        table.add("network and nodes", "", "", amount(bill.whole), "")
    screen.table(table)
    screen.field("per node", f"{amount(bill.per_node)} {bill.currency}")
    if (ratio := _ratio(bill)) != "–":
        screen.field("nodes : network", ratio)
    shares = bill.shares()
    if len(shares) > 1:
        screen.field(" : ".join(shares), " : ".join(per_cent(share) for share in shares.values()))


def _ratio(bill: Bill) -> str:
    share = bill.nodes_share
    if share is None:
        return "–"
    return f"{per_cent(share)} : {per_cent(Interval(1 - share.high, 1 - share.low))}"


def _table(screen: Screen, priced: Sequence[Priced]) -> None:
    currencies = sorted({one.bill.currency for one in priced if one.bill})
    named = f" {currencies[0]}" if len(currencies) == 1 else ""
    headings = [
        heading
        for heading in dict.fromkeys(HEADINGS.values())
        if any(one.bill and heading in one.bill.shares() for one in priced)
    ]
    parts = (f"?{' : '.join(headings)}, %",) if len(headings) > 1 else ()
    with_nodes = any(one.bill and one.bill.node for one in priced)
    more = ("nodes : network",) if with_nodes else ()
    table = Rows("<network", "nodes", f"in all{named}", "a node", *more, *parts, dash="no price is known")
    before = ""
    for one in priced:
        name = one.network if one.network != before else ""
        before = one.network
        bill = one.bill
        if bill is None:
            blank = ["–"] * (2 + len(more) + len(parts))
            table.add(name, f"{one.nodes:,}", *blank, style="dim")
            continue
        suffix = "" if named else f" {bill.currency}"
        shares = bill.shares()
        table.add(
            name,
            f"{one.nodes:,}",
            amount(bill.cost) + suffix,
            amount(bill.per_node),
            *((_ratio(bill),) if more else ()),
            *((" : ".join(per_cent(shares[h]) if h in shares else "0" for h in headings),) if parts else ()),
        )
    screen.table(table)


def as_json(priced: Sequence[Priced], worth: Sequence[Worth]) -> dict[str, Any]:
    every = dict.fromkeys(book for one in priced for book in one.books)
    added = {"performance": [_worth_as_json(one) for one in worth]} if worth else {}
    return {
        "schema": {"name": "crosscut-price", "version": 1},
        "books": [
            {"name": book.name, "file": str(book.path), "currency": book.currency, "year": book.year,
             "source": book.source}
            for book in every
        ],
        "bills": [_one(one) for one in priced],
    } | added  # fmt: skip


def _one(priced: Priced) -> dict[str, Any]:
    bill = priced.bill
    head = {"network": priced.network, "nodes": priced.nodes, "books": [book.name for book in priced.books]}
    if bill is None:
        return head | {"reason": priced.reason}
    return head | {
        "currency": bill.currency,
        "network_cost": interval(bill.cost),
        "network_cost_per_node": interval(bill.per_node),
        "node_price": None if bill.node is None else interval(bill.node),
        "cost": None if bill.whole is None else interval(bill.whole),
        "nodes_share": None if bill.nodes_share is None else interval(bill.nodes_share),
        "shares": {name: interval(share) for name, share in bill.shares().items()},
        "lines": [
            {"part": line.part, "kind": line.kind, "count": line.count, "each": interval(line.each),
             "cost": interval(line.cost), "book": line.book, "note": line.note}
            for line in bill.lines
        ],
    }  # fmt: skip


def interval(value: Interval) -> list[float]:
    """The ends as a pair, rounded to 1e-6: smaller digits are rounding errors of sums."""
    return [round(value.low, 6), round(value.high, 6)]


def _worth(screen: Screen, worth: Sequence[Worth]) -> None:
    """Shows the price of performance."""
    screen.title("Price per MFlop/s, by HPL")
    currencies = sorted({one.priced.bill.currency for one in worth if one.priced.bill})
    named = currencies[0] if len(currencies) == 1 else "price"
    table = Rows("<network", "nodes", "ranks", "HPL", f"network, {named}", "with nodes")
    for one in worth:
        bill, measured = one.priced.bill, one.performance
        suffix = "" if len(currencies) < 2 or bill is None else f" {bill.currency}"
        table.add(
            one.priced.network,
            f"{one.priced.nodes:,}",
            f"{measured.ranks:,}",
            flops(measured.median),
            _cell(one.network, suffix),
            _cell(one.whole, suffix),
        )
    screen.table(table)
    if any(not one.performance.between.exact for one in worth):
        screen.line("ranges: from the fastest to the slowest repetition with the best parameters", "dim")


def _cell(value: Interval | None, suffix: str) -> str:
    """Formats with three digits, as a measured rate does not support more."""
    if value is None:
        return "–"
    low, high = (units.number(end, (1.0, "")) for end in (value.low, value.high))
    return (low if low == high else f"{low}–{high}") + suffix


def _worth_as_json(one: Worth) -> dict[str, Any]:
    return {
        "network": one.priced.network,
        "file": str(one.performance.file),
        "nodes": one.priced.nodes,
        "ranks": one.performance.ranks,
        "order": one.performance.order,
        "flops_per_second": one.performance.median,
        "network_cost_per_mflops": None if one.network is None else interval(one.network),
        "cost_per_mflops": None if one.whole is None else interval(one.whole),
    }
