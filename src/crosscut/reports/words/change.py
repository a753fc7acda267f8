"""Subjects and changes of a comparison in words."""

from __future__ import annotations

import math
from collections.abc import Sequence

from crosscut.analysis.compare.causes import Cause
from crosscut.analysis.compare.comparing import Difference
from crosscut.analysis.figures.series import Family, Subject
from crosscut.base import units
from crosscut.base.node_sets import LIST_WIDTH, folded
from crosscut.base.spelling import capital, spans

CHANGE = (
    "change: the median of the differences between each repetition before and each one after (Hodges and "
    "Lehmann 1963); where times fall into two clusters, the two medians may differ by more or by less."
)


def differs_from_medians(change: Difference) -> bool:
    """True if the ratio of the two medians lies outside the interval of the change."""
    of_medians = math.log(change.second / change.first) if change.first > 0 < change.second else 0.0
    return not change.shift.low - 0.005 <= of_medians <= change.shift.high + 0.005


def subject(of: Subject, names: Sequence[str]) -> str:
    """`n003 out`, `median route between groups`, `route n001 → n002`."""
    if of.family is Family.CLASS:
        return f"median route {of.name}"
    if of.family is Family.PHASE:
        return f"phase {of.phase}"
    if of.family is Family.ROUTE:
        source, destination = of.ranks
        return f"route {names[source]} → {names[destination]}"
    return f"{node(of, names)} {'out' if of.family is Family.OUT else 'in'}"


def subjects(of: Sequence[Subject], names: Sequence[str]) -> str:
    """Returns one subject, or several nodes in one direction: `n[003-010] out (8 hosts)`."""
    if len(of) == 1:
        return subject(of[0], names)
    way = "out" if of[0].family is Family.OUT else "in"
    return f"{folded([node(one, names) for one in of], LIST_WIDTH)} {way} ({len(of)} hosts)"


def at_start(of: Subject, names: Sequence[str]) -> str:
    """Returns the subject as a sentence begins with it: host names keep their spelling."""
    words = subject(of, names)
    return words if of.family in (Family.OUT, Family.IN) else capital(words)


def node(of: Subject, names: Sequence[str]) -> str:
    """Returns the node's name, without the rank of `n003:12` if the subject is the whole node."""
    name = names[of.ranks[0]]
    return name if len(of.ranks) == 1 else name.rpartition(":")[0] or name


def fault(of: Cause) -> str:
    """`Only in the later run: n003 sends at 50 % of the rate of the other hosts`"""
    return f"Only in the {'later' if of.worse else 'earlier'} run: {of.what}"


def percent(shift: float) -> str:
    """Formats the natural logarithm of a ratio as a relative change: `−48 %`."""
    return signed(math.expm1(shift))


def signed(share: float) -> str:
    value = 100 * share
    if not math.isfinite(value):
        return "–"
    digits = 1 if abs(value) < 9.95 else 0
    return f"{'+' if value > 0 else '−' if value < 0 else ''}{abs(value):.{digits}f} %"


def interval(changes: Sequence[Difference]) -> str:
    """Returns the interval of a change, or the widest bounds of several."""
    low, high = min(one.shift.low for one in changes), max(one.shift.high for one in changes)
    return f"[{percent(low)} … {percent(high)}]" if math.isfinite(low + high) else ""


def from_to(change: Difference) -> str:
    unit = units.rate_unit(max(change.first, change.second))
    return f"{units.number(change.first, unit)} → {units.number(change.second, unit)} {unit[1]}"


def ranges(numbers: Sequence[int]) -> str:
    """`1 to 5, 9`"""
    parts = spans(numbers)
    words = [f"{a}" if a == b else f"{a} to {b}" for a, b in parts[:6]]
    return ", ".join(words) + (" …" if len(parts) > 6 else "")
