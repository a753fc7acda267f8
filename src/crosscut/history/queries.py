"""Questions to a history: pure reading, with what SQLite returns as records."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from typing import NamedTuple

from crosscut.base import units
from crosscut.base.errors import UsageError
from crosscut.base.spelling import hint
from crosscut.history.database import fetched, file_of


class SeriesRow(NamedTuple):
    id: int
    cluster: str
    place: str
    pattern: str
    parameters: str
    backend: str
    message_bytes: int
    runs: int
    first: str
    last: str

    @property
    def name(self) -> str:
        pattern = f"{self.pattern} ({self.parameters})" if self.parameters else self.pattern
        return f"{self.cluster}: {pattern} over {self.backend}, {units.size(self.message_bytes)}"


class RunRow(NamedTuple):
    id: int
    series: int
    start: str
    path: str
    state: str
    ranks: int
    hosts: int
    sent: int | None
    received: int | None
    faults: int
    findings: int

    @property
    def day(self) -> str:
        return self.start[:10]


class FindingRow(NamedTuple):
    run: int
    start: str
    kind: str
    fault: int
    what: str
    direction: str | None
    share: float | None
    probability: float | None
    parts: str

    @property
    def groups(self) -> tuple[str, ...]:
        try:
            found = json.loads(self.parts)
        except ValueError:
            return ()
        return tuple(map(str, found)) if isinstance(found, list) else ()


class HostRow(NamedTuple):
    id: int
    cluster: str
    name: str
    rack: str
    port: str
    cable: str


class VerdictRow(NamedTuple):
    run: int
    promise: str
    promised: str
    verdict: str
    bound: float
    worst: float | None
    doubt: float


class NoteRow(NamedTuple):
    day: str
    words: str


class PointRow(NamedTuple):
    """A rate in one run, with the run's median host beside it."""

    start: str
    sent: int | None
    received: int | None
    median_sent: int | None
    median_received: int | None


class PairRow(NamedTuple):
    start: str
    rate: int


class Wanted(NamedTuple):
    """Which series a person asks for; empty and 0: any."""

    cluster: str = ""
    pattern: str = ""
    message_bytes: int = 0


ANY = Wanted()


def all_series(connection: sqlite3.Connection, wanted: Wanted = ANY) -> list[SeriesRow]:
    """Returns the series, that of the latest run first. Raises UsageError if none is as wanted."""
    found = fetched(
        connection, SeriesRow,
        "SELECT s.id, cluster, place, pattern, parameters, backend, message_bytes, count(*), min(start), "
        "max(start) FROM series s JOIN run r ON r.series = s.id GROUP BY s.id ORDER BY max(start) DESC, s.id",
    )  # fmt: skip
    if not found:
        file = file_of(connection)
        raise UsageError(f"{file} holds no run; crosscut history add {file} RUN... adds some")
    fits = [
        one for one in found
        if wanted.cluster in ("", one.cluster) and wanted.pattern in ("", one.pattern)
        and wanted.message_bytes in (0, one.message_bytes)
    ]  # fmt: skip
    if not fits:
        asked = " ".join(
            f"--{name} {value}"
            for name, value in (
                ("cluster", wanted.cluster), ("pattern", wanted.pattern),
                ("size", units.size(wanted.message_bytes) if wanted.message_bytes else ""),
            )
            if value
        )  # fmt: skip
        there = "\n  ".join(one.name for one in found[:10])
        raise UsageError(f"{asked}: the history holds no such series; it holds:\n  {there}")
    return fits


def runs(connection: sqlite3.Connection, series: int, last: int = 1 << 31) -> list[RunRow]:
    """Returns the latest runs of a series, in the order of their starts."""
    found = fetched(
        connection, RunRow,
        "SELECT id, series, start, path, state, ranks, hosts, sent, received, "
        "(SELECT count(*) FROM finding f WHERE f.run = r.id AND fault), "
        "(SELECT count(*) FROM finding f WHERE f.run = r.id) "
        "FROM run r WHERE series = ? ORDER BY start DESC, id DESC LIMIT ?", (series, last),
    )  # fmt: skip
    return found[::-1]


def hosts(connection: sqlite3.Connection, cluster: str) -> list[HostRow]:
    return fetched(
        connection, HostRow,
        "SELECT id, cluster, name, rack, port, cable FROM host WHERE cluster = ? ORDER BY name", (cluster,),
    )  # fmt: skip


def named_host(connection: sqlite3.Connection, cluster: str, name: str) -> HostRow:
    every = hosts(connection, cluster)
    found = next((one for one in every if one.name == name), None)
    if found is None:
        raise UsageError(
            f"--host {name}: no run of {cluster} names this host{hint(name, [one.name for one in every])}"
        )
    return found


def cabled_host(connection: sqlite3.Connection, cluster: str, cable: str) -> HostRow:
    """Returns the host at the end of a cable, named by its label or by switch and port."""
    every = [one for one in hosts(connection, cluster) if one.cable or one.port]
    found = [one for one in every if cable in (one.cable, one.port)]
    if not every:
        raise UsageError(
            f"--cable {cable}: the history knows no cables; add the runs again with --cabling FILE"
        )
    if len(found) != 1:
        which = "several hosts have" if found else "no host has"
        names = [name for one in every for name in (one.cable, one.port) if name]
        raise UsageError(f"--cable {cable}: {which} this cable or port{hint(cable, names)}")
    return found[0]


def host_points(connection: sqlite3.Connection, series: int, host: int) -> list[PointRow]:
    return fetched(
        connection, PointRow,
        "SELECT r.start, h.sent, h.received, r.sent, r.received FROM run r "
        "JOIN host_rate h ON h.run = r.id AND h.host = ? WHERE r.series = ? ORDER BY r.start, r.id",
        (host, series),
    )  # fmt: skip


def pair_points(connection: sqlite3.Connection, series: int, source: str, destination: str) -> list[PairRow]:
    return fetched(
        connection, PairRow,
        "SELECT r.start, p.rate FROM run r JOIN pair_rate p ON p.run = r.id "
        "JOIN part a ON a.id = p.source JOIN part b ON b.id = p.destination "
        "WHERE r.series = ? AND a.name = ? AND b.name = ? ORDER BY r.start, r.id",
        (series, source, destination),
    )  # fmt: skip


def part_names(connection: sqlite3.Connection, cluster: str) -> list[str]:
    found = connection.execute("SELECT name FROM part WHERE cluster = ? ORDER BY name", (cluster,))
    return [str(name) for (name,) in found]


def findings(connection: sqlite3.Connection, run: int) -> list[FindingRow]:
    return fetched(
        connection, FindingRow,
        "SELECT f.run, r.start, kind, fault, what, direction, share, probability, parts "
        "FROM finding f JOIN run r ON r.id = f.run WHERE f.run = ? ORDER BY number", (run,),
    )  # fmt: skip


def findings_on_host(connection: sqlite3.Connection, series: int, host: int) -> list[FindingRow]:
    return fetched(
        connection, FindingRow,
        "SELECT f.run, r.start, kind, fault, what, direction, share, probability, parts "
        "FROM finding_host n JOIN finding f USING (run, number) JOIN run r ON r.id = f.run "
        "WHERE n.host = ? AND r.series = ? ORDER BY r.start, number", (host, series),
    )  # fmt: skip


def findings_on_groups(
    connection: sqlite3.Connection, series: int, groups: Sequence[str]
) -> list[FindingRow]:
    """Returns the findings that name all of these groups."""
    found = fetched(
        connection, FindingRow,
        "SELECT f.run, r.start, kind, fault, what, direction, share, probability, parts "
        "FROM run r JOIN finding f ON f.run = r.id WHERE r.series = ? AND f.parts <> '[]' "
        "ORDER BY r.start, number", (series,),
    )  # fmt: skip
    return [one for one in found if set(groups) <= set(one.groups)]


def finding_hosts(connection: sqlite3.Connection, run: int) -> list[str]:
    """Returns the hosts that a run's findings on faults name."""
    found = connection.execute(
        "SELECT DISTINCT name FROM finding_host n JOIN finding f USING (run, number) "
        "JOIN host h ON h.id = n.host WHERE n.run = ? AND f.fault ORDER BY name", (run,),
    )  # fmt: skip
    return [str(name) for (name,) in found]


def verdicts(connection: sqlite3.Connection, run: int) -> list[VerdictRow]:
    return fetched(
        connection, VerdictRow,
        "SELECT run, promise, promised, verdict, bound, worst, doubt FROM verdict WHERE run = ? "
        "ORDER BY promise", (run,),
    )  # fmt: skip


def notes(connection: sqlite3.Connection) -> list[NoteRow]:
    return fetched(connection, NoteRow, "SELECT day, words FROM note ORDER BY day, id")
