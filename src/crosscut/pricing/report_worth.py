"""The price of performance, on a terminal and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from crosscut.base import units
from crosscut.pricing.amounts import Interval
from crosscut.pricing.performance import Worth
from crosscut.pricing.report import interval
from crosscut.reports.terminal.screen import Rows, Screen
from crosscut.workloads.hpl.report import flops


def render(screen: Screen, worth: Sequence[Worth]) -> None:
    screen.title("What a million floating-point operations a second cost: HPL")
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
        screen.line("from the fastest to the slowest repetition of the best way to solve it", "dim")


def _cell(value: Interval | None, suffix: str) -> str:
    """Three digits: a rate is measured, and never known to the cent."""
    if value is None:
        return "–"
    low, high = (units.number(end, (1.0, "")) for end in (value.low, value.high))
    return (low if low == high else f"{low}–{high}") + suffix


def as_json(worth: Sequence[Worth]) -> list[dict[str, Any]]:
    return [
        {
            "network": one.priced.network,
            "file": str(one.performance.file),
            "nodes": one.priced.nodes,
            "ranks": one.performance.ranks,
            "order": one.performance.order,
            "flops_per_second": one.performance.median,
            "network_cost_per_mflops": None if one.network is None else interval(one.network),
            "cost_per_mflops": None if one.whole is None else interval(one.whole),
        }
        for one in worth
    ]
