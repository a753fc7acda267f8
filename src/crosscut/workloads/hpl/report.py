"""HPL on a terminal, and as JSON."""

from __future__ import annotations

from typing import Any

from crosscut.base import units
from crosscut.reports.terminal.screen import Rows, Screen
from crosscut.workloads.hpl import figures
from crosscut.workloads.hpl.figures import HplRow
from crosscut.workloads.hpl.input import BROADCAST_NAMES, THRESHOLD
from crosscut.workloads.hpl.output import Rings, Solution, Spread
from crosscut.workloads.hpl.run import HplRun

SCHEMA = {"name": "crosscut-hpl", "version": 1}


def flops(rate: float) -> str:
    """`12.3 GFlop/s`; HPL's papers and lists count in powers of ten."""
    for factor, name in ((1e12, "TFlop/s"), (1e9, "GFlop/s"), (1e6, "MFlop/s"), (1e3, "kFlop/s")):
        if rate >= factor:
            return f"{rate / factor:.3g} {name}" if rate < 1000 * factor else f"{rate / factor:,.0f} {name}"
    return f"{rate:.3g} Flop/s"


def render(screen: Screen, ran: HplRun) -> None:
    found = figures.rows(ran.output.solutions)
    first = found[0].first
    screen.title(
        f"HPL: {first.order:,} equations, {units.about_size(8.0 * first.order**2)}, "
        f"on {first.rows} x {first.columns} ranks"
    )
    _table(screen, found)
    best = figures.best(found)
    ranks = best.first.rows * best.first.columns
    screen.field(
        "best",
        f"{flops(best.flops_per_second)} with {best.first.broadcast} and blocks of {best.first.block}",
    )
    screen.field("a rank", f"{flops(best.flops_per_second / ranks)} of it")
    screen.field("alone", f"{flops(ran.output.product_flops_per_second)} a rank, multiplying matrices")
    if ran.output.rings is not None:
        _rings(screen, ran.output.rings)
    if not ran.output.verified:
        screen.line(f"a residual is {THRESHOLD:g} or more, or no number: its rate counts for nothing", "red")


def _table(screen: Screen, found: list[HplRow]) -> None:
    repeated = any(len(row.solutions) > 1 for row in found)
    headings = ["<broadcast", "block", "time", *(["deviation"] if repeated else []), "GFlop/s", "residual"]
    table = Rows(*headings, "<verified")
    for row in found:
        cells = [row.first.broadcast, str(row.first.block)]
        cells.append(units.seconds(row.seconds))
        if repeated:
            deviation = row.deviation_seconds
            known = deviation is not None and row.seconds > 0
            cells.append(units.percent((deviation or 0) / row.seconds) if known else "")
        cells += [f"{row.flops_per_second / 1e9:.4g}", f"{row.residual:.2g}", "yes" if row.passed else "NO"]
        table.add(*cells, style="" if row.passed else "red")
    screen.table(table)
    ways = dict.fromkeys(row.first.broadcast for row in found)
    screen.line("; ".join(f"{way}: {BROADCAST_NAMES[way]}" for way in ways), "dim")


def _rings(screen: Screen, rings: Rings) -> None:
    screen.title("b_eff: latency of 8 B, rate of 2 MB")
    table = Rows("<", "latency", "rate of a process")
    pings, rates = rings.ping_pong_seconds, rings.ping_pong_rate
    for name, seconds, rate in (
        ("ping-pong, best pair", pings.least, rates.most),
        ("ping-pong, mean", pings.mean, rates.mean),
        ("ping-pong, worst pair", pings.most, rates.least),
        ("all at once, ring in order of rank", rings.natural_seconds, rings.natural_rate),
        ("all at once, rings in random order", rings.random_seconds, rings.random_rate),
    ):
        table.add(name, units.seconds(seconds), units.rate(rate))
    screen.table(table)


def as_json(ran: HplRun) -> dict[str, Any]:
    best = figures.best(figures.rows(ran.output.solutions))
    return {
        "schema": SCHEMA,
        "name": "hpl",
        "on": ran.on,
        "ranks": ran.output.ranks,
        "hosts": ran.hosts or None,
        "order": best.first.order,
        "grid": [best.first.rows, best.first.columns],
        "block": best.first.block,
        "broadcast": best.first.broadcast,
        "seconds": best.seconds,
        "flops_per_second": {"minimum": best.least, "median": best.flops_per_second, "maximum": best.most},
        "verified": ran.output.verified,
        "product_flops_per_second": ran.output.product_flops_per_second,
        "solutions": [_solution(one) for one in ran.output.solutions],
        "rings": None if ran.output.rings is None else _rings_as_json(ran.output.rings),
    }


def _rings_as_json(rings: Rings) -> dict[str, Any]:
    return {
        "ping_pong_seconds": _spread(rings.ping_pong_seconds),
        "ping_pong_bytes_per_second": _spread(rings.ping_pong_rate),
        "natural": {"seconds": rings.natural_seconds, "bytes_per_second": rings.natural_rate},
        "random": {"seconds": rings.random_seconds, "bytes_per_second": rings.random_rate},
    }


def _solution(one: Solution) -> dict[str, Any]:
    return {
        "order": one.order,
        "block": one.block,
        "grid": [one.rows, one.columns],
        "broadcast": one.broadcast,
        "seconds": one.seconds,
        "flops_per_second": one.flops_per_second,
        "residual": one.residual if one.residual < float("inf") else None,
        "verified": one.passed,
    }


def _spread(spread: Spread) -> dict[str, float]:
    return {"minimum": spread.least, "mean": spread.mean, "maximum": spread.most}
