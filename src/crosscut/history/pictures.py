"""Pictures of a history: the map of all hosts and nights, and rates by night as lines."""

from __future__ import annotations

import base64
import itertools
from collections.abc import Sequence
from datetime import date, timedelta

import numpy as np

from crosscut.analysis.stats.intervals import Floats
from crosscut.analysis.stats.rows import median as row_medians
from crosscut.base import units
from crosscut.base.spelling import sentence
from crosscut.history import words
from crosscut.history.changes import CommonChange
from crosscut.history.nights import HostFlow, Nights
from crosscut.reports.html.pictures.picture import Column, Picture, rate_axis

# A deviation from usual that has the strongest colour.
_MOST = 0.2
# Hosts of a change that are drawn as lines; marks above a picture, which must not overlap.
_LINES, _MARKS = 12, 9
# With larger gaps between runs, the map has a column for each night instead of for each day.
_MOST_DAYS = 2000
_NOT_MEASURED, _USUAL = 0, 128


def of_hosts(nights: Nights, common: Sequence[CommonChange], name: str) -> Picture:
    """The map: a row for each host by rack, a column for each night; the slower way of the two."""
    order = sorted(range(len(nights.hosts)), key=lambda at: (nights.hosts[at].rack, nights.hosts[at].name))
    days, shares = _every_day(nights.days, _of_usual(nights)[:, order])
    levels = np.full(shares.shape, _NOT_MEASURED, np.uint8)
    known = np.isfinite(shares)
    apart = ((shares[known] - 1) / _MOST).clip(-1, 1)
    levels[known] = np.rint(_USUAL + 127 * apart).astype(np.uint8)
    groups = []
    rows = [(nights.hosts[at].rack, row) for row, at in enumerate(order)]
    for rack, part in itertools.groupby(rows, key=lambda pair: pair[0]):
        numbers = [row for _, row in part]
        groups.append({"name": rack, "from": numbers[0], "to": numbers[-1] + 1})
    return Picture(
        kind="hosts",
        name=name,
        title="Every host, every night",
        caption=f"{units.count(len(nights.hosts), 'host')}, a row each{_by_rack(groups)}; "
        f"{units.count(len(nights.days), 'night')}, a column each. Orange: slower than the usual rate, blue: "
        f"faster; the strongest colour is {100 * _MOST:.0f} % or more. Usual is the median host over all "
        "nights, and the slower of sending and receiving counts. Grey: not measured. Dashed: changes.",
        more={
            "days": days, "hosts": [nights.hosts[at].name for at in order], "groups": groups, "most": _MOST,
            "cells": base64.b64encode(np.ascontiguousarray(levels.T).tobytes()).decode("ascii"),
            "marks": marks(nights, common),
        },
    )  # fmt: skip


def _every_day(days: Sequence[str], shares: Floats) -> tuple[list[str], Floats]:
    """Adds a row of NaN for each day without a run, because the axis shows every day."""
    first, last = date.fromisoformat(days[0]), date.fromisoformat(days[-1])
    count = (last - first).days + 1
    if count > _MOST_DAYS:
        return list(days), shares
    every = [(first + timedelta(at)).isoformat() for at in range(count)]
    found = np.full((count, shares.shape[1]), np.nan)
    found[[every.index(day) for day in days]] = shares
    return every, found


def _by_rack(groups: Sequence[object]) -> str:
    return f", by rack ({len(groups)})" if len(groups) > 1 else ""


def _of_usual(nights: Nights) -> Floats:
    """[night, host] the slower way's rate, as a share of the median host's over all nights."""
    shares = [rates / np.nanmedian(row_medians(rates)) for rates in nights.rates.values()]
    return np.asarray(np.fmin(*shares))


def marks(nights: Nights, common: Sequence[CommonChange]) -> list[dict[str, str]]:
    """Marks at the nights of the changes of most hosts, lettered as in the list."""
    every = [{"day": nights.days[one.at], "label": letter(at)} for at, one in enumerate(common)]
    return every[:_MARKS]


def letter(at: int) -> str:
    return "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[at] if at < 26 else str(at + 1)


def of_all(nights: Nights, common: Sequence[CommonChange], name: str) -> Picture | None:
    """The median host's rate by night, with a band of nine tenths of the hosts."""
    rates = nights.rates[HostFlow.SENT]
    known = [at for at in range(len(nights.days)) if np.isfinite(rates[at]).any()]
    if not known:
        return None
    low, middle, high = np.nanquantile(rates[known], [0.05, 0.5, 0.95], axis=1)
    days = [nights.days[at] for at in known]
    columns: dict[str, Column] = {
        "day": days + days, "name": ["median host"] * len(days) + ["5 % to 95 %"] * len(days),
        "style": ["all"] * len(days) + ["band"] * len(days), "rate": [*middle.tolist(), *[None] * len(days)],
        "low": [*[None] * len(days), *low.tolist()], "high": [*[None] * len(days), *high.tolist()],
    }  # fmt: skip
    return Picture(
        kind="nightly", name=name, title="The median host by night", columns=columns,
        caption=f"The rate at which the median host sends: {units.rate(float(middle[0]))} at the beginning, "
        f"{units.rate(float(middle[-1]))} in the last night. Shaded: nine tenths of the hosts. The axis of "
        "rates does not begin at 0.",
        y=rate_axis("rate", float(np.median(middle))), more={"marks": marks(nights, common)},
    )  # fmt: skip


def of_change(nights: Nights, one: CommonChange, at: int, name: str) -> Picture:
    """The hosts of one change beside the median host."""
    way = one.ways[0]
    rates = nights.rates[way]
    hosts = one.hosts
    drawn = (
        hosts
        if len(hosts) <= _LINES
        else [hosts[place] for place in np.linspace(0, len(hosts) - 1, _LINES).astype(int)]
    )
    lines = [
        (nights.hosts[host].name, "one" if len(hosts) > 1 else "median", rates[:, host]) for host in drawn
    ]
    if len(hosts) > 1:
        lines.append((f"median of the {len(hosts):,} hosts", "median", row_medians(rates[:, hosts])))
    lines.append(("median of all hosts", "all", row_medians(rates)))
    columns: dict[str, list[float | int | str | None]] = {"day": [], "name": [], "style": [], "rate": []}
    for line, style, values in lines:
        for day, value in zip(nights.days, values.tolist(), strict=True):
            if np.isfinite(value):
                for key, cell in zip(columns, (day, line, style, value), strict=True):
                    columns[key].append(cell)
    shown = f" ({_LINES} of them are drawn)" if len(hosts) > _LINES else ""
    rest = " Blue: the median of all hosts." if len(hosts) < len(nights.hosts) else ""
    change = sentence(words.change(nights, one))
    what = "Orange: the host." if len(hosts) == 1 else f"Orange: these hosts{shown}, thick their median."
    return Picture(
        kind="nightly", name=name, title=f"{letter(at)}  {words.between(nights, one.earliest, one.latest)}",
        columns=columns, caption=f"{change} Rates {words.way(way)}. {what}{rest}",
        y=rate_axis("rate", float(np.nanmedian(rates))),
        more={"marks": [{"day": nights.days[one.at], "label": letter(at)}]},
    )  # fmt: skip
