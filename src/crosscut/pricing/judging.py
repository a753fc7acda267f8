"""Judges candidates by a mix of work: their prices and times, and which is worth its price."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from crosscut.base import units
from crosscut.base.errors import UsageError
from crosscut.pricing import asking, choosing, performing
from crosscut.pricing.amounts import Interval
from crosscut.pricing.asking import Priced
from crosscut.pricing.bill import Bill
from crosscut.pricing.book import Book
from crosscut.pricing.choosing import Candidate, NetworkChoice, Standing
from crosscut.pricing.mix import Mix
from crosscut.pricing.performing import Told
from crosscut.session.client import Listener


@dataclass(frozen=True)
class JudgedCandidate:
    candidate: Candidate
    priced: Priced
    times: tuple[Interval, ...]
    """Seconds for each work, in the mix's order."""
    standing: Standing


@dataclass(frozen=True)
class MixJudgement:
    mix: Mix
    ranks: int
    currency: str
    prices_are_of: str
    """`network and nodes` or `network`."""
    judged: tuple[JudgedCandidate, ...]
    choice: NetworkChoice

    def of(self, name: str) -> JudgedCandidate:
        return next(one for one in self.judged if one.candidate.name == name)


def judge(
    files: Sequence[str],
    mix: Mix,
    books: Sequence[Book],
    node_price: tuple[Interval, str] | None,
    listener: Listener,
    told: Told,
) -> MixJudgement:
    """Judges networks by a mix of work.

    Raises UsageError if one has no price or no such size: an incomplete front would mislead.
    """
    with tempfile.TemporaryDirectory(prefix="crosscut-price-") as folder:
        sites = performing.sites(files, mix, Path(folder))
        if len(sites) < 2:
            raise UsageError("a mix, or a trace, compares networks: name at least two")
        # All prices come before any simulation, so that errors show up early.
        priced = [asking.price(site.plant.file, site.plant.nodes, books, node_price) for site in sites]
        bills = [_bill(one) for one in priced]
        if len(currencies := {bill.currency for bill in bills}) > 1:
            raise UsageError(f"prices are in {' and in '.join(sorted(currencies))}: convert one of the books")
        prices = _prices(bills)
        times = []
        sources: dict[str, performing.TimeSource] = {
            "runs": performing.measured,
            "hpl": performing.computed,
            "workload": performing.worked(),
            "trace": performing.replaying(mix.simulation_error),
            "seconds": performing.said,
        }
        for site in sites:
            with performing.simulating(site, mix, listener) as simulated:
                told(f"{site.name}: {units.count(len(mix.works), 'work')}, {site.ranks} ranks")
                times.append(performing.times(mix, site, sources | {"pattern": simulated}))
    weights = [work.weight for work in mix.works]
    scores = choosing.relative([choosing.score(own, weights) for own in times])
    candidates = [
        Candidate(bill.network, price, score)
        for bill, price, score in zip(bills, prices, scores, strict=True)
    ]
    judged = tuple(
        JudgedCandidate(one, entry, tuple(own), choosing.standing(one, candidates))
        for one, entry, own in zip(candidates, priced, times, strict=True)
    )
    choice = choosing.choose(candidates, mix.within)
    of = "network and nodes" if all(bill.node is not None for bill in bills) else "network"
    return MixJudgement(mix, sites[0].ranks, bills[0].currency, of, judged, choice)


def _prices(bills: Sequence[Bill]) -> list[Interval]:
    """Prices of network and nodes, or of the networks alone unless all bills have nodes.

    If the nodes cost the same for all candidates, the middle of their price range is used, so that the range
    does not blur the differences between networks.
    """
    nodes = [bill.node.times(bill.nodes) for bill in bills if bill.node is not None]
    if len(nodes) < len(bills):
        return [bill.cost for bill in bills]
    if len(set(nodes)) == 1:
        nodes = [Interval(nodes[0].middle, nodes[0].middle)] * len(bills)
    return [bill.cost + own for bill, own in zip(bills, nodes, strict=True)]


def _bill(priced: Priced) -> Bill:
    if priced.bill is None:
        raise UsageError(f"{priced.network}: {priced.reason}")
    return priced.bill
