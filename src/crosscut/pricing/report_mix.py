"""Reports a judgement of candidates in words, as a table and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from crosscut.base import units
from crosscut.network.description import without_latency
from crosscut.pricing.amounts import Interval, amount
from crosscut.pricing.choosing import Standing, centre
from crosscut.pricing.judging import JudgedCandidate, MixJudgement
from crosscut.pricing.report import interval
from crosscut.pricing.routing import HASHES, Routing
from crosscut.reports.terminal.screen import Rows, Screen


def sentence(found: MixJudgement) -> str:
    """The conclusion: `For this mix xibalba-e7-config1 is the cheapest within 10 % of the best: …`."""
    good = f"the cheapest within {100 * found.mix.within:g} % of the best"
    first = found.of(found.choice.contenders[0])
    paid = f"{amount(first.candidate.price)} {found.currency} for {units.count(found.ranks, 'rank')}"
    facts = f"{paid}, {_how_fast(first, found)}"
    if found.choice.decided:
        however = ", however traffic is spread over equal paths" if len(found.by_routing) > 1 else ""
        return f"For this mix {first.candidate.name} is {good}{however}: {facts}."
    if differs(found):
        each = "; ".join(
            f"{routing.words}, it is {_either(choice.contenders)}"
            for routing, choice in found.by_routing.items()
        )
        depends = "depends on how traffic is spread over equal paths"
        return f"For this mix, which network is {good} {depends}: {each}."
    if alike := _if_alike(found):
        return f"For this mix, if all networks spread traffic over equal paths alike, {alike}"
    names = list(found.choice.contenders)
    return (
        f"For this mix it is undecided whether {good} is {_either(names)}. Judged by the middle of each "
        f"interval it is {names[0]}: {facts}."
    )


def _if_alike(found: MixJudgement) -> str:
    """Returns the end of a sentence if one network is chosen under each routing, but another under another
    routing than its own may be; else nothing."""
    chosen = {choice.contenders for choice in found.by_routing.values()}
    if len(chosen) != 1 or len(names := chosen.pop()) != 1:
        return ""
    first = found.of(names[0])
    slowest = max(first.under, key=lambda routing: first.under[routing].high)
    others = []
    for other in map(found.of, found.choice.contenders):
        if other is not first and other.under:
            fastest = min(other.under, key=lambda routing: other.under[routing].low)
            others.append(f"{_under(other, fastest)} may be as good as {_under(first, slowest)}")
    facts = f"{amount(first.candidate.price)} {found.currency} for {units.count(found.ranks, 'rank')}"
    return (
        f"{names[0]} is the cheapest within {100 * found.mix.within:g} % of the best: {facts}. But "
        f"{'; and '.join(others)}."
    )


def _under(one: JudgedCandidate, routing: Routing | None) -> str:
    how = f" {routing.words}" if routing else ""
    return f"{one.candidate.name}{how} ({ratio(one.under[routing])} times the best)"


def differs(found: MixJudgement) -> bool:
    """True if networks contend for the choice under one routing that do not under another."""
    return len({frozenset(choice.contenders) for choice in found.by_routing.values()}) > 1


def _either(names: Sequence[str]) -> str:
    return " or ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _how_fast(one: JudgedCandidate, found: MixJudgement) -> str:
    others = [other.candidate.score for other in found.judged if other is not one]
    if all(one.candidate.score.high <= score.low for score in others):
        return "and none is faster"
    if all(centre(one.candidate.score) <= centre(score) for score in others):
        return "and none is faster by the middle of its interval"
    return f"{ratio(one.candidate.score)} times the best's time"


def what_would_decide(found: MixJudgement) -> str:
    """Says what would settle an open choice; empty if it is settled."""
    if found.choice.decided:
        return ""
    if differs(found) or _if_alike(found):
        return (
            'Ask which of these the switches do, and say so: routing = "…" in the mix, or spread = "…" in a '
            "network's file."
        )
    open_ = [found.of(name) for name in found.choice.contenders if name in found.choice.perhaps]
    if not open_:
        return "All of these are good enough; their prices overlap. Closer quotes would decide."
    named = ", ".join(f"{one.candidate.name} ({ratio(one.candidate.score)})" for one in open_)
    return (
        f"It is undecided whether these are within {100 * found.mix.within:g} %: {named}. More precise "
        "times would decide: measured ones, or a smaller simulation_error if you can justify it."
    )


def ratio(score: Interval) -> str:
    """Formats a score: `1.24` or `1.18–1.31`."""
    low, high = f"{score.low:.3g}", f"{score.high:.3g}"
    return low if low == high else f"{low}–{high}"


# Ends of a time that are further apart than this ratio are both printed.
_WIDE = 1.25


def time_of(time: Interval) -> str:
    """Formats the middle of a time, with one more digit if it is exact; both ends if they are far apart."""
    if time.high > _WIDE * time.low:
        return f"{units.seconds(time.low)} – {units.seconds(time.high)}"
    return units.seconds(centre(time), 4 if time.exact else 3)


def on_the_front(one: JudgedCandidate) -> str:
    """Entry of the column `front`: yes, perhaps or no."""
    return "yes" if one.standing is Standing.ON else one.standing.value


def render(screen: Screen, found: MixJudgement) -> None:
    screen.line(f"{found.mix.title}: {units.count(found.ranks, 'rank')}", "bold")
    works = [f"?{work.name}" for work in found.mix.works]
    table = Rows("<network", f"{found.prices_are_of}, {found.currency}", "times the best", "<front", *works)
    for one in sorted(found.judged, key=lambda one: one.candidate.price.middle):
        chosen = found.choice.decided and one.candidate.name == found.choice.contenders[0]
        table.add(
            one.candidate.name,
            amount(one.candidate.price),
            ratio(one.candidate.score),
            on_the_front(one),
            *map(time_of, one.times),
            style="bold" if chosen else "dim" if one.standing is Standing.OFF else "",
        )
    screen.table(table)
    if len(found.by_routing) > 1:
        screen.table(_routings(found))
    screen.line(sentence(found), "bold")
    for line in (what_would_decide(found), *conditions(found)):
        if line:
            screen.line(line, "dim")


def _routings(found: MixJudgement) -> Rows:
    """Returns times the best by routing, a row for each network."""
    table = Rows("<times the best", *(routing.value for routing in found.by_routing))
    for one in sorted(found.judged, key=lambda one: one.candidate.price.middle):
        same = ratio(one.candidate.score) if not one.under or None in one.under else "–"
        table.add(
            one.candidate.name,
            *(ratio(one.under[routing]) if routing in one.under else same for routing in found.by_routing),
        )
    return table


def conditions(found: MixJudgement) -> list[str]:
    """Lists the sources and assumptions of the figures."""
    kinds = {
        f"simulated, ratios of times off by up to {100 * found.mix.simulation_error:g} %": [
            work.name for work in found.mix.works if work.pattern or work.trace
        ],
        "measured": [work.name for work in found.mix.works if work.runs or work.hpl or work.workload],
        "as given in the mix": [work.name for work in found.mix.works if work.seconds],
    }
    lines = [f"{how}: {', '.join(names)}" for how, names in kinds.items() if names]
    if found.without_latency:
        lines.append(without_latency(found.without_latency))
    if Routing.HASHED in found.by_routing:
        lines.append(f"with flows hashed: from the best to the worst of {HASHES} hashes")
    if Routing.PACKETS in found.by_routing:
        lines.append("packets spread evenly are the best that adaptive routing can reach")
    books = dict.fromkeys(book for one in found.judged for book in one.priced.books)
    lines += dict.fromkeys(book.origin for book in books)
    ranges = {(one.priced.bill.node, one.priced.bill.nodes) for one in found.judged
              if one.priced.bill and one.priced.bill.node}  # fmt: skip
    if "nodes" in found.prices_are_of and len(ranges) == 1 and not (its := ranges.pop()[0]).exact:
        each = f"{amount(its)} {found.currency}"
        lines.append(f"a node costs {each} on every network; the middle of this range is used")
    if len({book.year for book in books}) > 1:
        lines.append("prices of different years are compared without adjustment")
    notes = dict.fromkeys(
        f"{line.part}: {line.note}"
        for one in found.judged
        for line in (one.priced.bill.lines if one.priced.bill else ())
        if line.note
    )
    return [*lines, *notes]


def as_json(found: MixJudgement) -> dict[str, Any]:
    return {
        "schema": {"name": "crosscut-price-mix", "version": 1},
        "title": found.mix.title,
        "ranks": found.ranks,
        "currency": found.currency,
        "prices_are_of": found.prices_are_of,
        "within": found.mix.within,
        "sentence": sentence(found),
        "decided": found.choice.decided,
        "contenders": list(found.choice.contenders),
        "contenders_by_routing": {
            routing.value: list(choice.contenders) for routing, choice in found.by_routing.items()
        },
        "surely_within": list(found.choice.surely),
        "perhaps_within": list(found.choice.perhaps),
        "candidates": [_one(one, found) for one in found.judged],
        "conditions": conditions(found),
    }


def _one(one: JudgedCandidate, found: MixJudgement) -> dict[str, Any]:
    return {
        "network": one.candidate.name,
        "nodes": one.priced.nodes,
        "price": interval(one.candidate.price),
        "times_the_best": interval(one.candidate.score),
        "times_the_best_by_routing": {
            routing.value: interval(score) for routing, score in one.under.items() if routing
        },
        "on_the_front": one.standing.value,
        "seconds": {
            work.name: [time.low, time.high] for work, time in zip(found.mix.works, one.times, strict=True)
        },
    }
