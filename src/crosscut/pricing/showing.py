"""Pictures into files: SVG, PNG, or a page with the table beside it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from crosscut.base.errors import CrosscutError, UsageError, plainly
from crosscut.pricing import pareto
from crosscut.pricing.amounts import amount
from crosscut.pricing.asking import Priced
from crosscut.pricing.judging import JudgedCandidate, MixJudgement
from crosscut.pricing.report_mix import conditions, ratio, sentence, time_of, what_would_decide
from crosscut.reports.html.markup import Markup, element, join
from crosscut.reports.svg.chart import ChartAxis, Mark
from crosscut.reports.svg.chart import svg as chart

FORMS = (".svg", ".png", ".html")


@dataclass(frozen=True)
class PricingPicture:
    title: str
    svg: str
    said: tuple[str, ...]
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def check(path: Path, *, overwrite: bool) -> None:
    """Before minutes of simulation, not after."""
    if path.suffix not in FORMS:
        raise UsageError(f"-o {path}: write a file that ends in {', '.join(FORMS)}")
    if path.exists() and not overwrite:
        raise UsageError(f"-o {path}: it exists; --force replaces it")
    if not path.absolute().parent.is_dir():
        raise UsageError(f"-o {path}: the folder {path.absolute().parent} does not exist")
    if path.suffix == ".png":
        _png("<svg xmlns='http://www.w3.org/2000/svg' width='1' height='1'/>")


def write(path: Path, picture: PricingPicture) -> None:
    """A file appears whole or not at all."""
    if path.suffix == ".png":
        content = _png(picture.svg)
    else:
        content = (picture.svg if path.suffix == ".svg" else _page(picture)).encode("utf-8", "replace")
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        unfinished.write_bytes(content)
        unfinished.replace(path)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        raise CrosscutError(f"{path}: cannot be written: {plainly(error)}") from error


def _png(svg: str) -> bytes:
    try:
        import resvg_py
    except ImportError as error:
        raise UsageError(
            "a .png needs resvg-py (pip install 'crosscut[png]'); .svg and .html do not"
        ) from error
    return bytes(resvg_py.svg_to_bytes(svg_string=svg, zoom=1.5))


def front(found: MixJudgement) -> PricingPicture:
    what = "network and nodes" if found.with_nodes else "network"
    works = [work.name for work in found.mix.works]
    return PricingPicture(
        title=found.mix.title,
        svg=pareto.svg(found),
        said=(sentence(found), *filter(None, [what_would_decide(found)]), *conditions(found)),
        head=("network", "nodes", f"{what}, {found.currency}", "times the best", "front", *works),
        rows=tuple(_row(one) for one in sorted(found.judged, key=lambda one: one.candidate.price.middle)),
    )


def _row(one: JudgedCandidate) -> tuple[str, ...]:
    price, score = amount(one.candidate.price), ratio(one.candidate.score)
    times = map(time_of, one.times)
    return one.candidate.name, f"{one.priced.nodes:,}", price, score, one.standing.value, *times


MOST_DOTS = 12


def curves(priced: Sequence[Priced]) -> PricingPicture:
    """Price of a node over the number of nodes; between two of them it is not known."""
    there = [one for one in priced if one.bill is not None]
    if not there:
        raise UsageError("-o: none of these has a price, so there is nothing to draw")
    currencies = sorted({one.bill.currency for one in there if one.bill})
    if len(currencies) > 1:
        raise UsageError(f"-o: prices in {' and in '.join(currencies)} have no common axis")
    marks = []
    for colour, name in enumerate(dict.fromkeys(one.network for one in there)):
        bills = [one.bill for one in there if one.network == name and one.bill]
        x = tuple(float(bill.nodes) for bill in bills)
        low = tuple(bill.per_node.low for bill in bills)
        high = tuple(bill.per_node.high for bill in bills)
        marks.append(Mark(name, x, low, colour, "line"))
        if len(x) <= MOST_DOTS:
            marks.append(Mark("", x, low, colour, "dots"))
        if low != high:
            marks.append(Mark("", x, high, colour, "dashed"))
    prices = [one.bill.per_node for one in there if one.bill]
    steep = max(one.high for one in prices) > 10 * min(one.low for one in prices)
    many = max(one.nodes for one in there) > 32 * min(one.nodes for one in there)
    books = dict.fromkeys(book for one in there for book in one.books)
    said = tuple(f"{book.name}: {book.currency} of {book.year}; {book.source}" for book in books)
    title = "Price of the network for each node"
    y = ChartAxis(f"{currencies[0]} a node", steep, least=None if steep else 0.0)
    return PricingPicture(
        title=title,
        svg=chart(title, [line[:150] for line in said], marks, ChartAxis("nodes", many), y),
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


def _page(picture: PricingPicture) -> str:
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
        element("div", Markup(picture.svg), class_="wide"),
        element("div", table, class_="wide"),
        [element("p", line, class_="rest") for line in picture.said[1:]],
    )
    return f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head>{body}</html>\n'
