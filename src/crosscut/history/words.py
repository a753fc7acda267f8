"""Sentences about changes, trends and runs."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from crosscut.analysis.stats.doubt import SMALLEST_CLAIMED
from crosscut.base import units
from crosscut.base.node_sets import LIST_WIDTH, folded
from crosscut.history.changes import FEWEST_NIGHTS, ChangesFound, CommonChange, Drift
from crosscut.history.early_steps import EarlyStep
from crosscut.history.nights import HostFlow, Nights

P_MEANS = (
    "p: probability of any such change in all of the series together if nothing had changed (an upper bound)."
)
NOT_FAULTS = (
    "A change in the history is a reason to look, not a fault: measure these hosts again, with crosscut "
    "locate or crosscut check."
)


def day(text: str, *, year: bool = True) -> str:
    """`12 March 2026` from `2026-03-12`; other texts unchanged."""
    try:
        value = date.fromisoformat(text)
    except ValueError:
        return text
    return f"{value.day} {value:%B}" + (f" {value.year}" if year else "")


def between(nights: Nights, earliest: int, latest: int) -> str:
    """`between 11 and 12 March 2026`: the nights that bound a change."""
    first, last = nights.days[max(earliest - 1, 0)], nights.days[min(latest, len(nights.days) - 1)]
    same_year, same_month = first[:4] == last[:4], first[:7] == last[:7]
    began = str(int(first[8:10])) if same_month else day(first, year=not same_year)
    return f"between {began} and {day(last)}"


def hosts(nights: Nights, which: tuple[int, ...]) -> str:
    return folded([nights.hosts[at].name for at in which], LIST_WIDTH)


def does(one: CommonChange | EarlyStep) -> str:
    """`sends and receives`, in the plural for several hosts."""
    return " and ".join(_verb(way, one.hosts) for way in one.ways)


def _verb(way: HostFlow, which: tuple[int, ...]) -> str:
    return way.value.removesuffix("s") if len(which) > 1 else way.value


def change(nights: Nights, one: CommonChange) -> str:
    """`14 of the 16 hosts of rack r2 send 8 % less since 12 March 2026 (…)`."""
    names = hosts(nights, one.hosts)
    who = f"{one.place} ({names})" if one.place and len(one.hosts) < len(nights.hosts) else one.place or names
    low, high = (100 * abs(ratio - 1) for ratio in _ends(one))
    size = f"{100 * abs(one.ratio - 1):.0f} %"
    if f"{low:.0f}" != f"{high:.0f}":
        size += f" ({min(low, high):.0f} to {max(low, high):.0f} %)"
    more = "less" if one.worse else "more"
    return f"{who} {does(one)} {size} {more}; changed {between(nights, one.earliest, one.latest)}"


def _ends(one: CommonChange) -> tuple[float, float]:
    ratios = [change.ratio for change in one.changes]
    return min(ratios), max(ratios)


def drift(nights: Nights, one: Drift) -> str:
    size = f"{100 * abs(one.ratio - 1):.0f} % {'less' if one.ratio < 1 else 'more'}"
    who = f"{hosts(nights, one.hosts)} {_verb(one.way, one.hosts)}"
    return f"{who} {size} than at the beginning; it came little by little, so there is no date"


def early(nights: Nights, one: EarlyStep) -> str:
    """As `fall`, with the nights that it takes to be significant."""
    if one.more is None:
        return fall(nights, one)
    more = "one more such night is" if one.more == 1 else f"{one.more} more such nights are"
    return f"{fall(nights, one)}: at least {more} needed"


def fall(nights: Nights, one: EarlyStep) -> str:
    """`r11 sends 59 % less in the 6 nights since 11 March 2026; not yet significant`."""
    every = f"all {len(nights.hosts):,} hosts" if len(one.hosts) == len(nights.hosts) > 1 else ""
    return (
        f"{every or hosts(nights, one.hosts)} {does(one)} {100 * (1 - one.ratio):.0f} % less in the "
        f"{len(nights.days) - one.at} nights since {day(nights.days[one.at])}; not yet significant"
    )


def none(one: ChangesFound) -> str:
    """What is said of a series without a change: how soon one would show."""
    if len(one.nights.days) < FEWEST_NIGHTS:
        return f"too few nights to tell a change from noise: at least {FEWEST_NIGHTS} are needed"
    said = "no change is significant" if one.early else "no host has changed"
    if one.fewest_after is None:
        return f"{said}; with so few nights, a step that begins now would not show within a year"
    return f"{said}; a step that begins now would show after {one.fewest_after} nights at the earliest"


def chance(doubt: float) -> str:
    """`p < 1 %`: no smaller probability than was calibrated is claimed."""
    if doubt <= SMALLEST_CLAIMED:
        return f"p < {100 * SMALLEST_CLAIMED:g} %"
    return f"p < {units.percent(doubt)}"


def worse(found: Sequence[ChangesFound]) -> list[tuple[Nights, CommonChange]]:
    """Returns the changes for the worse of all series."""
    return [(one.nights, change_) for one in found for change_ in one.common if change_.worse]


def headline(found: Sequence[ChangesFound]) -> str:
    """The most important sentence about all series: the change for the worse of most hosts."""
    if those := worse(found):
        nights, most = max(those, key=lambda pair: (len(pair[1].hosts), -pair[1].ratio))
        return change(nights, most)
    if not any(one.nights.hosts for one in found):
        return "No rates between different hosts were measured"
    if steps := [(one.nights, step) for one in found for step in one.early]:
        nights, deepest = min(steps, key=lambda pair: pair[1].ratio)
        return fall(nights, deepest)
    if all(len(one.nights.days) < FEWEST_NIGHTS for one in found):
        return f"Too few nights to tell whether a host changed: it takes {FEWEST_NIGHTS}"
    others = {
        "Some hosts became faster; none became slower": any(one.common for one in found),
        "Some hosts changed little by little; none changed from one night to the next": any(
            one.drifts for one in found
        ),
    }
    return next((said for said, true in others.items() if true), "No host has changed")


def way(which: HostFlow) -> str:
    return {HostFlow.SENT: "sent", HostFlow.RECEIVED: "received"}[which]
