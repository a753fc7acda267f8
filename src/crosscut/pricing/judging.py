"""Judges candidates by a mix of work: their prices and times, and which is worth its price."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from crosscut.base import units
from crosscut.base.errors import UsageError
from crosscut.network.description import gives_latency
from crosscut.pricing import asking, choosing, performing
from crosscut.pricing.amounts import Interval
from crosscut.pricing.asking import Priced
from crosscut.pricing.bill import Bill
from crosscut.pricing.book import Book
from crosscut.pricing.choosing import Candidate, NetworkChoice, Standing
from crosscut.pricing.mix import Mix
from crosscut.pricing.performing import Told
from crosscut.pricing.routing import Routing
from crosscut.session.client import Listener


@dataclass(frozen=True)
class JudgedCandidate:
    candidate: Candidate
    priced: Priced
    times: tuple[Interval, ...]
    """Seconds for each work, in the mix's order, under any routing."""
    standing: Standing
    under: Mapping[Routing | None, Interval] = field(default_factory=dict)
    """Times the best's, as in `candidate.score`, by routing; None: only one is known."""


@dataclass(frozen=True)
class MixJudgement:
    mix: Mix
    ranks: int
    currency: str
    prices_are_of: str
    """`network and nodes` or `network`."""
    judged: tuple[JudgedCandidate, ...]
    choice: NetworkChoice
    without_latency: tuple[str, ...] = ()
    """Networks whose files give no latency, if works were simulated."""
    by_routing: Mapping[Routing, NetworkChoice] = field(default_factory=dict)
    """The choice if all networks that leave it open spread traffic this way; empty if none does."""

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
            told(f"{site.name}: {units.count(len(mix.works), 'work')}, {site.ranks} ranks")
            times.append(performing.times(mix, site, sources, listener))
    weights = [work.weight for work in mix.works]
    whole = [[performing.hull(own) for own in zip(*under.values(), strict=True)] for under in times]
    absolute = [choosing.score(own, weights) for own in whole]
    scores = choosing.relative(absolute)
    scale = scores[0].high / absolute[0].high
    under = [
        {routing: choosing.score(own, weights).times(scale) for routing, own in some.items()}
        for some in times
    ]
    candidates = [
        Candidate(bill.network, price, score)
        for bill, price, score in zip(bills, prices, scores, strict=True)
    ]
    judged = tuple(
        JudgedCandidate(one, entry, tuple(own), choosing.standing(one, candidates), its)
        for one, entry, own, its in zip(candidates, priced, whole, under, strict=True)
    )
    choice = choosing.choose(candidates, mix.within)
    of = "network and nodes" if all(bill.node is not None for bill in bills) else "network"
    by_routing = _by_routing(judged, mix)
    timeless = [site.name for site in sites if mix.is_simulated and not gives_latency(site.plant.figures)]
    return MixJudgement(
        mix, sites[0].ranks, bills[0].currency, of, judged, choice, tuple(timeless), by_routing
    )


def _by_routing(judged: Sequence[JudgedCandidate], mix: Mix) -> dict[Routing, NetworkChoice]:
    """A network that cannot have a routing keeps its whole interval."""
    there = [routing for routing in mix.routing if any(routing in one.under for one in judged)]
    return {
        routing: choosing.choose(
            [replace(one.candidate, score=one.under.get(routing, one.candidate.score)) for one in judged],
            mix.within,
        )
        for routing in there
    }


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
