"""The trend of one host, of a cable, or of the traffic between two racks."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from crosscut.base.errors import UsageError
from crosscut.base.spelling import hint
from crosscut.history import queries
from crosscut.history.queries import FindingRow, SeriesRow

Subject = TypeVar("Subject")


@dataclass(frozen=True)
class Curve:
    """Rates of a subject, by run."""

    name: str
    """`sent`, `received`, `r1 → r2`"""
    rates: tuple[int | None, ...]
    """[run] bytes per second."""
    medians: tuple[int | None, ...] = ()
    """[run] of the median host; empty if the subject is no host."""


@dataclass(frozen=True)
class SubjectTrend:
    series: SeriesRow
    subject: str
    """`n0007 (rack r1, switch port leaf1 7)`"""
    starts: tuple[str, ...]
    curves: tuple[Curve, ...]
    findings: tuple[FindingRow, ...]
    """Those that name the subject, of any run of the series."""


def each(
    connection: sqlite3.Connection, wanted: Sequence[SeriesRow],
    of: Callable[[sqlite3.Connection, SeriesRow, Subject], SubjectTrend], subject: Subject,
) -> list[SubjectTrend]:  # fmt: skip
    """Returns the trend in each series that has the subject. Raises the first UsageError if none has."""
    found, errors = [], []
    for series in wanted:
        try:
            found.append(of(connection, series, subject))
        except UsageError as error:  # another cluster, or runs without a list of cables
            errors.append(error)
    if not found:
        raise errors[0]
    return found


def of_host(connection: sqlite3.Connection, series: SeriesRow, name: str) -> SubjectTrend:
    return _of(connection, series, queries.named_host(connection, series.cluster, name))


def of_cable(connection: sqlite3.Connection, series: SeriesRow, cable: str) -> SubjectTrend:
    """The trend of the host at the end of the cable: all its traffic crosses it."""
    return _of(connection, series, queries.cabled_host(connection, series.cluster, cable))


def _of(connection: sqlite3.Connection, series: SeriesRow, host: queries.HostRow) -> SubjectTrend:
    points = queries.host_points(connection, series.id, host.id)
    place = ", ".join(
        f"{what} {value}"
        for what, value in (("rack", host.rack), ("port", host.port), ("cable", host.cable)) if value
    )  # fmt: skip
    return SubjectTrend(
        series,
        f"{host.name} ({place})" if place else host.name,
        tuple(point.start for point in points),
        (
            Curve("sent", tuple(p.sent for p in points), tuple(p.median_sent for p in points)),
            Curve("received", tuple(p.received for p in points), tuple(p.median_received for p in points)),
        ),
        tuple(queries.findings_on_host(connection, series.id, host.id)),
    )


def of_groups(connection: sqlite3.Connection, series: SeriesRow, groups: Sequence[str]) -> SubjectTrend:
    """The traffic between two racks, or between the switches of a list of cables without racks. Without such
    a list there are only findings that name both groups."""
    first, second = groups
    there = queries.part_names(connection, series.cluster)
    findings = tuple(queries.findings_on_groups(connection, series.id, groups))
    for name in groups:
        if name not in there and not findings:
            raise UsageError(
                f"--groups {first} {second}: no run of {series.cluster} names {name}{hint(name, there)}"
                + ("" if there else "; add the runs again with --cabling FILE, which names racks or switches")
            )
    ways = {
        (a, b): queries.pair_points(connection, series.id, a, b)
        for a, b in ((first, second), (second, first))
    }
    starts = tuple(sorted({point.start for points in ways.values() for point in points}))
    curves = []
    for (a, b), points in ways.items():
        known = {point.start: point.rate for point in points}
        curves.append(Curve(f"{a} → {b}", tuple(map(known.get, starts))))
    return SubjectTrend(series, f"{first} and {second}", starts, tuple(curves), findings)
