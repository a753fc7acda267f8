"""Reports HPL's results on a terminal and as JSON."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from crosscut.base import units
from crosscut.base.records import finite
from crosscut.reports.terminal.screen import Rows, Screen
from crosscut.workloads.applications import Repeated
from crosscut.workloads.hpl.input import BROADCAST_NAMES, THRESHOLD
from crosscut.workloads.hpl.output import Rings, Solution
from crosscut.workloads.hpl.run import HplRun

SCHEMA = {"name": "crosscut-hpl", "version": 1}


class HplRow(Repeated[Solution]):
    """Repetitions of one system with the same parameters."""

    @property
    def flops_per_second(self) -> float:
        return statistics.median(one.flops_per_second for one in self.results)

    @property
    def least(self) -> float:
        return min(one.flops_per_second for one in self.results)

    @property
    def most(self) -> float:
        return max(one.flops_per_second for one in self.results)

    @property
    def residual(self) -> float:
        return max(one.residual for one in self.results)


def rows(solutions: Sequence[Solution]) -> list[HplRow]:
    """Groups solutions by order, grid, block and broadcast, in order of first appearance."""
    found: dict[object, list[Solution]] = {}
    for one in solutions:
        found.setdefault((one.order, one.grid, one.block, one.broadcast), []).append(one)
    return [HplRow(tuple(own)) for own in found.values()]


def best_of(found: Sequence[HplRow]) -> HplRow:
    """The row with the highest median; the best single repetition may be luck."""
    return max(found, key=lambda row: row.flops_per_second)


def flops(rate: float) -> str:
    """Formats a rate like `12.3 GFlop/s`, with decimal prefixes as in HPL's papers and lists."""
    for factor, name in ((1e12, "TFlop/s"), (1e9, "GFlop/s"), (1e6, "MFlop/s"), (1e3, "kFlop/s")):
        if rate >= factor:
            return f"{rate / factor:.3g} {name}" if rate < 1000 * factor else f"{rate / factor:,.0f} {name}"
    return f"{rate:.3g} Flop/s"


def render(screen: Screen, ran: HplRun) -> None:
    found = rows(ran.output.solutions)
    first = found[0].first
    grid = " x ".join(map(str, first.grid))
    equations = f"{first.order:,} equations, {units.about_size(8.0 * first.order**2)}"
    screen.title(f"HPL: {equations}, on {grid} ranks")
    _table(screen, found)
    best = best_of(found)
    ranks = math.prod(best.first.grid)
    how = f"{best.first.broadcast} and blocks of {best.first.block}"
    screen.field("best", f"{flops(best.flops_per_second)} with {how}")
    screen.field("a rank", f"{flops(best.flops_per_second / ranks)} of it")
    local = flops(ran.output.product_flops_per_second)
    screen.field("local", f"{local} per rank, multiplying matrices without communication")
    if ran.output.rings is not None:
        _rings(screen, ran.output.rings)
    if not ran.output.verified:
        screen.line(
            f"a residual is {THRESHOLD:g} or more, or not a number: that solution is wrong, and its rate "
            "does not count",
            "red",
        )


def _table(screen: Screen, found: list[HplRow]) -> None:
    repeated = any(len(row.results) > 1 for row in found)
    headings = ["<broadcast", "block", "time", *(["deviation"] if repeated else []), "GFlop/s", "residual"]
    table = Rows(*headings, "<verified")
    for row in found:
        cells = [row.first.broadcast, str(row.first.block)]
        cells.append(units.seconds(row.seconds))
        if repeated:
            share = row.deviation_share
            cells.append("" if share is None else units.percent(share))
        cells += [f"{row.flops_per_second / 1e9:.4g}", f"{row.residual:.2g}", "yes" if row.verified else "NO"]
        table.add(*cells, style="" if row.verified else "red")
    screen.table(table)
    ways = dict.fromkeys(row.first.broadcast for row in found)
    screen.line("; ".join(f"{way}: {BROADCAST_NAMES[way]}" for way in ways), "dim")


def _rings(screen: Screen, rings: Rings) -> None:
    screen.title("b_eff: latency of 8 B, rate of 2 MB")
    table = Rows("<", "latency", "rate of a process")
    pings, rates = rings.ping_pong_seconds, rings.ping_pong_bytes_per_second
    for name, seconds, rate in (
        ("ping-pong, best pair", pings.minimum, rates.maximum),
        ("ping-pong, mean", pings.mean, rates.mean),
        ("ping-pong, worst pair", pings.maximum, rates.minimum),
        ("all at once, ring in order of rank", rings.natural.seconds, rings.natural.bytes_per_second),
        ("all at once, rings in random order", rings.random.seconds, rings.random.bytes_per_second),
    ):
        table.add(name, units.seconds(seconds), units.rate(rate))
    screen.table(table)


def as_json(ran: HplRun) -> dict[str, Any]:
    best = best_of(rows(ran.output.solutions))
    return {
        "schema": SCHEMA,
        "name": "hpl",
        "on": ran.on,
        "ranks": ran.output.ranks,
        "hosts": ran.hosts or None,
        "order": best.first.order,
        "grid": best.first.grid,
        "block": best.first.block,
        "broadcast": best.first.broadcast,
        "seconds": best.seconds,
        "flops_per_second": {"minimum": best.least, "median": best.flops_per_second, "maximum": best.most},
        "verified": ran.output.verified,
        "product_flops_per_second": ran.output.product_flops_per_second,
        "solutions": [asdict(one) | {"residual": finite(one.residual)} for one in ran.output.solutions],
        "rings": None if ran.output.rings is None else asdict(ran.output.rings),
    }
