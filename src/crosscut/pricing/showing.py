"""Writes pictures to files: a chart alone, or a page with a chart and a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from crosscut.base import whole_file
from crosscut.base.errors import UsageError
from crosscut.pricing import pareto
from crosscut.pricing.amounts import amount
from crosscut.pricing.asking import Priced
from crosscut.pricing.judging import JudgedCandidate, MixJudgement
from crosscut.pricing.report_mix import (
    conditions,
    on_the_front,
    ratio,
    sentence,
    time_of,
    what_would_decide,
)
from crosscut.reports import charts
from crosscut.reports.html.markup import Markup, element, join

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class PricingPicture:
    title: str
    chart: Figure
    said: tuple[str, ...]
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def check(path: Path, *, overwrite: bool) -> None:
    """Raises UsageError for an unusable output file, before minutes of simulation."""
    charts.check(path, (*charts.FORMS, ".html"))
    if path.exists() and not overwrite and not whole_file.is_special(path):
        raise UsageError(f"-o {path}: it exists; --force replaces it")


def write(path: Path, picture: PricingPicture) -> None:
    page = path.suffix == ".html"
    whole_file.write_output(path, _page(picture) if page else charts.drawn(picture.chart, path.suffix))


def front(found: MixJudgement) -> PricingPicture:
    works = [work.name for work in found.mix.works]
    return PricingPicture(
        title=found.mix.title,
        chart=pareto.chart(found),
        said=(sentence(found), *filter(None, [what_would_decide(found)]), *conditions(found)),
        head=(
            "network",
            "nodes",
            f"{found.prices_are_of}, {found.currency}",
            "times the best",
            "front",
            *works,
        ),
        rows=tuple(_row(one) for one in sorted(found.judged, key=lambda one: one.candidate.price.middle)),
    )


def _row(one: JudgedCandidate) -> tuple[str, ...]:
    price, score = amount(one.candidate.price), ratio(one.candidate.score)
    times = map(time_of, one.times)
    return one.candidate.name, f"{one.priced.nodes:,}", price, score, on_the_front(one), *times


MOST_DOTS = 12


def curves(priced: Sequence[Priced]) -> PricingPicture:
    """Draws each network's price per node over the number of nodes."""
    every = [one.bill for one in priced if one.bill is not None]
    if not every:
        raise UsageError("-o: none of these has a price, so there is nothing to draw")
    currencies = sorted({bill.currency for bill in every})
    if len(currencies) > 1:
        raise UsageError(f"-o: prices in {' and in '.join(currencies)} have no common axis")
    said = tuple(dict.fromkeys(book.origin for one in priced if one.bill for book in one.books))
    title = "Price of the network for each node"
    figure, axes = charts.new(title, "\n".join(line[:150] for line in said))
    names = dict.fromkeys(bill.network for bill in every)
    for colour, name in enumerate(names):
        bills = [bill for bill in every if bill.network == name]
        x = [bill.nodes for bill in bills]
        low, high = [bill.per_node.low for bill in bills], [bill.per_node.high for bill in bills]
        charts.plot(axes, colour, "joined" if len(x) <= MOST_DOTS else "line", x, low)
        if low != high:
            charts.plot(axes, colour, "dashed", x, high)
    prices = [bill.per_node for bill in every]
    if max(one.high for one in prices) > 10 * min(one.low for one in prices) > 0:
        charts.by_powers(axes, "y")
    else:
        axes.set_ylim(bottom=0)
    sizes = {bill.nodes for bill in every}
    if max(sizes) > 32 * min(sizes):
        charts.by_powers(axes, "x", own=sizes if len(sizes) <= MOST_DOTS else ())
    axes.set(xlabel="nodes", ylabel=f"price, {currencies[0]} a node")
    entries = [(name, colour, "line") for colour, name in enumerate(names)]
    if not all(one.exact for one in prices):
        entries.append(("highest price; solid: lowest", -1, "dashed"))
    charts.legend(axes, entries)
    return PricingPicture(
        title=title,
        chart=figure,
        said=said,
        head=("network", "nodes", f"in all, {currencies[0]}", "a node"),
        rows=tuple(
            (one.network, f"{one.nodes:,}", amount(one.bill.cost), amount(one.bill.per_node))
            if one.bill
            else (one.network, f"{one.nodes:,}", "–", "–")
            for one in priced
        ),
    )  # fmt: skip


_STYLE = """
body { font: 16px/1.5 system-ui, "DejaVu Sans", sans-serif; color: #1f2933; background: #fff; }
body { max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
svg { width: 100%; min-width: 46rem; height: auto; margin: 1rem 0; }
h1 { font-size: 1.4rem; }
.said { font-weight: 600; }
.rest { margin: .3rem 0; color: #6b7785; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .8rem; text-align: right; border-bottom: 1px solid #dcdfda; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
"""


def _page(picture: PricingPicture) -> bytes:
    svg = charts.drawn(picture.chart, ".svg").decode()
    head = join(
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", f"{picture.title} · crosscut"),
        element("style", Markup(_STYLE)),
    )
    rows = [element("tr", [element("td", cell) for cell in row]) for row in picture.rows]
    table = element("table", element("tr", [element("th", cell) for cell in picture.head]), rows)
    body = element(
        "body",
        element("h1", picture.title),
        element("p", picture.said[0] if picture.said else "", class_="said"),
        element("div", Markup(svg[svg.index("<svg") :]), class_="wide"),
        element("div", table, class_="wide"),
        [element("p", line, class_="rest") for line in picture.said[1:]],
    )
    return f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head>{body}</html>\n'.encode("utf-8", "replace")
