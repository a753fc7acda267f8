"""Adds runs to a history, notes and verdicts beside them, and forgets old ones. One transaction each."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from dataclasses import astuple, replace
from enum import Enum
from typing import TYPE_CHECKING

from crosscut.base.records import finite
from crosscut.history.database import transaction

if TYPE_CHECKING:  # they import numpy and xarray, which most of this module's users do not need
    from crosscut.analysis.compare.promises import PromiseVerdict
    from crosscut.history.record import KeptFinding, KeptHost, RunRecord


class Added(Enum):
    NEW = "added"
    REPLACED = "replaced: it has changed since it was added"
    KNOWN = "already there"


def add(connection: sqlite3.Connection, run: RunRecord, *, named: bool = True, cabled: bool = True) -> Added:
    """Adds a run; one that is there with the same content changes nothing.

    Not `named`: nobody gave the cluster's name, so a run that is there keeps its cluster. Not `cabled`:
    nobody gave a list of cables, so a run that was added with one, and is as it was, stays so.
    """
    with transaction(connection):
        known = connection.execute(
            "SELECT r.id, content, cluster, (r.state, ranks, sent, received) = (?, ?, ?, ?) "
            "FROM run r JOIN series s ON s.id = r.series WHERE identity = ?",
            (run.state, run.ranks, run.sent, run.received, run.identity),
        ).fetchone()
        if known is not None and not named:
            run = replace(run, series=replace(run.series, cluster=known[2]))
        content = run.content()
        if known is not None:
            stays = not cabled and known[3] and _cabled(connection, known[0])
            if stays or known[1] == content:
                return Added.KNOWN
        judged = []
        if known is not None:
            judged = connection.execute("SELECT * FROM verdict WHERE run = ?", (known[0],)).fetchall()
            connection.execute("DELETE FROM run WHERE id = ?", (known[0],))
        at = _run(connection, run, content)
        _rates(connection, at, run)
        for number, finding in enumerate(run.findings):
            _finding(connection, at, number, finding, run.series.cluster)
        connection.executemany(_VERDICT, [(at, *rest) for _, *rest in judged])
    return Added.REPLACED if known is not None else Added.NEW


def _cabled(connection: sqlite3.Connection, run: int) -> bool:
    """True if a list of cables says where hosts of the run are plugged in."""
    return bool(
        connection.execute(
            "SELECT EXISTS(SELECT 1 FROM host_rate JOIN host o ON o.id = host "
            "WHERE run = ? AND (o.rack <> '' OR o.port <> '' OR o.cable <> ''))",
            (run,),
        ).fetchone()[0]
    )


def _run(connection: sqlite3.Connection, run: RunRecord, content: str) -> int:
    series = _number(connection, _SERIES, *astuple(run.series))
    written = connection.execute(
        "INSERT INTO run (identity, content, series, start, path, state, crosscut, ranks, hosts, sent, "
        "received) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (run.identity, content, series, run.start, run.path, run.state, run.crosscut,
         run.ranks, len(run.hosts), run.sent, run.received),
    )  # fmt: skip
    assert written.lastrowid is not None
    return written.lastrowid


_VERDICT = "INSERT OR REPLACE INTO verdict VALUES (?, ?, ?, ?, ?, ?, ?)"
_SERIES = (
    "SELECT id FROM series WHERE cluster = ? AND place = ? AND pattern = ? AND parameters = ? "
    "AND backend = ? AND message_bytes = ?",
    "INSERT INTO series (cluster, place, pattern, parameters, backend, message_bytes) "
    "VALUES (?, ?, ?, ?, ?, ?)",
)
_SETUP = "SELECT id FROM setup WHERE words = ?", "INSERT INTO setup (words) VALUES (?)"
_PART = (
    "SELECT id FROM part WHERE cluster = ? AND name = ?", "INSERT INTO part (cluster, name) VALUES (?, ?)",
)  # fmt: skip
_HOST = (
    "SELECT id FROM host WHERE cluster = ? AND name = ?", "INSERT INTO host (cluster, name) VALUES (?, ?)",
)  # fmt: skip


def _number(connection: sqlite3.Connection, statements: tuple[str, str], *values: object) -> int:
    """Returns the id of the row with these values, which is made if there is none."""
    find, make = statements
    found = connection.execute(find, values).fetchone()
    if found is not None:
        return int(found[0])
    made = connection.execute(make, values)
    assert made.lastrowid is not None
    return made.lastrowid


def _rates(connection: sqlite3.Connection, run: int, kept: RunRecord) -> None:
    cluster = kept.series.cluster
    setups = {words: _number(connection, _SETUP, words) for words in
              dict.fromkeys(host.setup for host in kept.hosts if host.setup)}  # fmt: skip
    rows = [
        (run, _host(connection, cluster, host), setups.get(host.setup), host.sent, host.received)
        for host in kept.hosts
    ]
    connection.executemany("INSERT INTO host_rate VALUES (?, ?, ?, ?, ?)", rows)
    names = dict.fromkeys(name for pair in kept.pairs for name in (pair.source, pair.destination))
    parts = {name: _number(connection, _PART, cluster, name) for name in names}
    pairs = ((run, parts[pair.source], parts[pair.destination], pair.rate) for pair in kept.pairs)
    connection.executemany("INSERT INTO pair_rate VALUES (?, ?, ?, ?)", pairs)


def _host(connection: sqlite3.Connection, cluster: str, host: KeptHost) -> int:
    """Returns the id of a host; the newest list of cables that names it says where it is plugged in."""
    at = _number(connection, _HOST, cluster, host.name)
    if host.rack or host.port or host.cable:
        connection.execute(
            "UPDATE host SET rack = ?, port = ?, cable = ? WHERE id = ?",
            (host.rack, host.port, host.cable, at),
        )
    return at


def _finding(
    connection: sqlite3.Connection, run: int, number: int, finding: KeptFinding, cluster: str
) -> None:
    connection.execute(
        "INSERT INTO finding VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (run, number, finding.kind, int(finding.fault), finding.what, finding.direction, finding.share,
         finding.probability, json.dumps(finding.parts)),
    )  # fmt: skip
    hosts = [_number(connection, _HOST, cluster, name) for name in finding.hosts]
    connection.executemany(
        "INSERT INTO finding_host VALUES (?, ?, ?)", [(run, number, host) for host in hosts]
    )


def judge(connection: sqlite3.Connection, identity: str, judged: Iterable[PromiseVerdict]) -> None:
    """Keeps the verdicts on a run; those on the same promises replace earlier ones."""
    (run,) = connection.execute("SELECT id FROM run WHERE identity = ?", (identity,)).fetchone()
    rows = [
        (
            run,
            one.promise.name,
            one.promise.said,
            one.verdict.value,
            one.promise.bound,
            finite(one.worst),
            one.doubt,
        )
        for one in judged
    ]
    with transaction(connection):
        connection.executemany(_VERDICT, rows)


def remove_note(connection: sqlite3.Connection, day: str, words: str) -> bool:
    """Removes a note; returns False if there is none like it."""
    with transaction(connection):
        done = connection.execute("DELETE FROM note WHERE day = ? AND words = ?", (day, words))
    return done.rowcount > 0


def note(connection: sqlite3.Connection, day: str, words: str) -> None:
    """Keeps what people know about a day, such as new firmware; the same note twice is one."""
    with transaction(connection):
        connection.execute("INSERT OR IGNORE INTO note (day, words) VALUES (?, ?)", (day, words))


def older(connection: sqlite3.Connection, day: str) -> int:
    """Returns how many runs began before this day (UTC)."""
    return int(connection.execute("SELECT count(*) FROM run WHERE start < ?", (day,)).fetchone()[0])


def forget(connection: sqlite3.Connection, day: str) -> None:
    """Removes the runs that began before this day (UTC), and what only they refer to; returns their space."""
    with transaction(connection):
        connection.execute("DELETE FROM run WHERE start < ?", (day,))
        connection.execute("DELETE FROM note WHERE day < ?", (day,))
        for statement in (
            "DELETE FROM series WHERE id NOT IN (SELECT series FROM run)",
            "DELETE FROM setup WHERE id NOT IN (SELECT setup FROM host_rate WHERE setup IS NOT NULL)",
            "DELETE FROM part WHERE id NOT IN (SELECT source FROM pair_rate UNION "
            "SELECT destination FROM pair_rate)",
            "DELETE FROM host WHERE id NOT IN (SELECT host FROM host_rate UNION "
            "SELECT host FROM finding_host)",
        ):
            connection.execute(statement)
    connection.execute("VACUUM")
