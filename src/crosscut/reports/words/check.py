"""Verdicts in words."""

from __future__ import annotations

import math
from collections.abc import Sequence

from crosscut.analysis.compare.promises import PromiseVerdict, Verdict
from crosscut.analysis.compare.spec import Promise, PromiseKind
from crosscut.base import units

BROKEN_NAMED = 8
WORST_FIRST = [Verdict.FAIL, Verdict.UNDECIDED, Verdict.PASS]
VERDICTS = {Verdict.FAIL: "broken", Verdict.UNDECIDED: "undecided", Verdict.PASS: "kept"}
SIGNS = {
    verdict: f"{sign} {VERDICTS[verdict]}"
    for verdict, sign in ((Verdict.FAIL, "✗"), (Verdict.UNDECIDED, "?"), (Verdict.PASS, "✓"))
}
# What a promise bounds one by one.
_QUANTITIES = {
    PromiseKind.BISECTION: "phases", PromiseKind.PHASE: "phases", PromiseKind.ROUTE: "routes",
    PromiseKind.NODE: "node rates", PromiseKind.LATENCY: "routes", PromiseKind.SPREAD: "spreads",
}  # fmt: skip
_RESULT = {Verdict.FAIL: "Not accepted", Verdict.UNDECIDED: "Undecided", Verdict.PASS: "Accepted"}


def label(promise: Promise, of: Sequence[int], names: Sequence[str]) -> str:
    if not of:
        return "all routes"
    if promise.kind in (PromiseKind.BISECTION, PromiseKind.PHASE):
        return f"phase {-of[0]}"
    if promise.kind is PromiseKind.NODE:
        return f"{names[of[0]].partition(':')[0]} {'in' if of[-1] < 0 else 'out'}"
    return f"{names[of[0]]} → {names[of[1]]}"


def only(promise: Promise) -> str:
    """` (only routes within a group, of n00, n01)`; empty if the promise is about everything."""
    words = [
        f"routes {promise.routes}" if promise.routes else "",
        f"of {', '.join(promise.nodes)}" if promise.nodes else "",
    ]
    told = ", ".join(filter(None, words))
    return f" (only {told})" if told else ""


def figure(promise: Promise, value: float) -> str:
    if promise.kind is PromiseKind.SPREAD:
        return units.percent(value) if math.isfinite(value) else "–"
    return units.seconds(value) if promise.kind is PromiseKind.LATENCY else units.rate(value)


def what(promise: Promise) -> str:
    """`every route between groups; aapc, 1 MB`"""
    noun = {
        PromiseKind.BISECTION: "rate of each rank, in every cut into halves",
        PromiseKind.PHASE: "rate of each rank, in every phase",
        PromiseKind.ROUTE: "every route",
        PromiseKind.NODE: "every node, out and in",
        PromiseKind.LATENCY: "latency of every pair",
        PromiseKind.SPREAD: "spread of routes (5th to 95th percentile over median)",
    }[promise.kind]
    words = [noun, promise.routes, f"of {', '.join(promise.nodes)}" if promise.nodes else ""]
    often = "" if promise.of_the_time == 0.5 else f", {units.percent(promise.of_the_time)} of the time"
    return f"{' '.join(filter(None, words))}; {promise.pattern}, {units.size(promise.size_bytes)}{often}"


def measured(one: PromiseVerdict, names: Sequence[str]) -> str:
    """`worst 9.87 MB/s (n003 → n007), median 11.8 MB/s over 56 routes`"""
    if one.reason:
        return one.reason
    worst = figure(one.promise, one.worst)
    if one.quantities == 1:
        return worst
    where = label(one.promise, one.worst_label, names)
    median = figure(one.promise, one.middle)
    return f"worst {worst} ({where}), median {median} over {one.quantities:,} {_QUANTITIES[one.promise.kind]}"


def broken(one: PromiseVerdict, names: Sequence[str]) -> str:
    if not one.broken:
        return ""
    named = ", ".join(label(one.promise, of, names) for of in one.broken[:BROKEN_NAMED])
    more = len(one.broken) - BROKEN_NAMED
    return f"shown to miss the bound: {named}" + (f" and {more:,} more" if more > 0 else "")


def sentence(judged: Sequence[PromiseVerdict]) -> str:
    broken, undecided = (sum(one.verdict is which for one in judged) for which in WORST_FIRST[:2])
    of = units.count(len(judged), "promise")
    if broken:
        return f"{broken} of {of} broken" + (f", {undecided} undecided" if undecided else "")
    if undecided:
        return f"{undecided} of {of} undecided, none broken"
    return "All promises are kept" if len(judged) > 1 else "The promise is kept"


def worst(judged: Sequence[PromiseVerdict]) -> Verdict:
    return min((one.verdict for one in judged), key=WORST_FIRST.index)


def headline(judged: Sequence[PromiseVerdict]) -> str:
    """`Not accepted: 1 of 4 promises broken.`"""
    return f"{_RESULT[worst(judged)]}: {sentence(judged)}."


def chance(one: PromiseVerdict) -> str:
    if one.verdict is Verdict.UNDECIDED:
        return ""
    if one.exact:
        return "computed"
    return f"{one.doubt:.1g}" if one.doubt >= 1e-12 else "< 1e-12"


def at_most(one: PromiseVerdict) -> str:
    """`≤ 0.003`, or empty if the promise is undecided."""
    said = chance(one)
    return f"≤ {said}" if said[:1].isdigit() else said


def left_out(one: PromiseVerdict) -> str:
    """Returns what was left out, unless the verdict's reason already says so."""
    return f"left out: {one.left_out}" if one.left_out and not one.reason else ""


def notes(one: PromiseVerdict, names: Sequence[str]) -> list[str]:
    """Returns the notes to print below a verdict."""
    return [said for said in (broken(one, names), left_out(one), undecided(one)) if said]


def undecided(one: PromiseVerdict) -> str:
    """Returns why a promise is undecided and, if known, about how many repetitions would decide it."""
    if one.verdict is not Verdict.UNDECIDED or one.reason:
        return ""
    repeated = ("launch", "launches") if one.of_launches else ("repetition", "repetitions")
    said = f"{units.count(one.repetitions, *repeated)} cannot decide"
    if one.repetitions_needed is None:
        return f"{said}: they fall on both sides of the bound, so more of them may not help"
    return f"{said}; about {one.repetitions_needed:,} would"
