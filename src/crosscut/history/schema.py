"""The tables of a history, and the checks that a file is one (docs/reference/history.md)."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from crosscut.base.errors import UsageError

APPLICATION_ID = 0x63726F73  # "cros" in the file's header
VERSION = 1

# Rates are whole bytes per second, which SQLite stores in as few bytes as they need. The key (run, host) puts
# the rows of a night beside each other, so that adding a run writes few pages.
TABLES = (
    """CREATE TABLE series (
  id INTEGER PRIMARY KEY, cluster TEXT NOT NULL, place TEXT NOT NULL, pattern TEXT NOT NULL,
  parameters TEXT NOT NULL, backend TEXT NOT NULL, message_bytes INTEGER NOT NULL,
  UNIQUE (cluster, place, pattern, parameters, backend, message_bytes))""",
    """CREATE TABLE run (
  id INTEGER PRIMARY KEY, identity TEXT NOT NULL UNIQUE, content TEXT NOT NULL,
  series INTEGER NOT NULL REFERENCES series, start TEXT NOT NULL, path TEXT NOT NULL, state TEXT NOT NULL,
  crosscut TEXT NOT NULL, ranks INTEGER NOT NULL, hosts INTEGER NOT NULL, sent INTEGER, received INTEGER)""",
    "CREATE INDEX run_by_start ON run (series, start)",
    """CREATE TABLE host (
  id INTEGER PRIMARY KEY, cluster TEXT NOT NULL, name TEXT NOT NULL, rack TEXT NOT NULL DEFAULT '',
  port TEXT NOT NULL DEFAULT '', cable TEXT NOT NULL DEFAULT '', UNIQUE (cluster, name))""",
    "CREATE TABLE setup (id INTEGER PRIMARY KEY, words TEXT NOT NULL UNIQUE)",
    """CREATE TABLE host_rate (
  run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE, host INTEGER NOT NULL REFERENCES host,
  setup INTEGER REFERENCES setup, sent INTEGER, received INTEGER, PRIMARY KEY (run, host)) WITHOUT ROWID""",
    """CREATE TABLE part (
  id INTEGER PRIMARY KEY, cluster TEXT NOT NULL, name TEXT NOT NULL, UNIQUE (cluster, name))""",
    """CREATE TABLE pair_rate (
  run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE, source INTEGER NOT NULL REFERENCES part,
  destination INTEGER NOT NULL REFERENCES part, rate INTEGER NOT NULL,
  PRIMARY KEY (run, source, destination)) WITHOUT ROWID""",
    """CREATE TABLE finding (
  run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE, number INTEGER NOT NULL, kind TEXT NOT NULL,
  fault INTEGER NOT NULL, what TEXT NOT NULL, direction TEXT, share REAL, probability REAL,
  parts TEXT NOT NULL, PRIMARY KEY (run, number)) WITHOUT ROWID""",
    """CREATE TABLE finding_host (
  run INTEGER NOT NULL, number INTEGER NOT NULL, host INTEGER NOT NULL REFERENCES host,
  PRIMARY KEY (run, number, host),
  FOREIGN KEY (run, number) REFERENCES finding ON DELETE CASCADE) WITHOUT ROWID""",
    """CREATE TABLE verdict (
  run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE, promise TEXT NOT NULL, promised TEXT NOT NULL,
  verdict TEXT NOT NULL, bound REAL NOT NULL, worst REAL, doubt REAL NOT NULL,
  PRIMARY KEY (run, promise)) WITHOUT ROWID""",
    """CREATE TABLE note (
  id INTEGER PRIMARY KEY, day TEXT NOT NULL, words TEXT NOT NULL, UNIQUE (day, words))""",
)


def create(connection: sqlite3.Connection) -> None:
    """Makes the tables in an empty file, inside the caller's transaction."""
    for statement in TABLES:
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {VERSION}")


def is_empty(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT 1 FROM sqlite_master").fetchone() is None


def refuse_others(connection: sqlite3.Connection, name: str) -> None:
    """Raises UsageError if the file is no history, or one of another version."""
    identity = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if identity != APPLICATION_ID:
        raise UsageError(f"{name} is an SQLite database, but not a crosscut history; name another file")
    if version > VERSION:
        raise UsageError(
            f"{name} was written by a newer crosscut (version {version} of the history; this crosscut reads "
            f"{VERSION}): upgrade crosscut. Nothing was changed"
        )
    if version < VERSION:
        raise UsageError(
            f"{name} has version {version} of the history, which no released crosscut wrote; this one reads "
            f"{VERSION}. Make a new one from the runs: crosscut history add NEW.db RUN... Nothing was changed"
        )
    tables = connection.execute("SELECT sql FROM sqlite_master WHERE type = 'table'")
    found = {_spaced(text) for (text,) in tables}
    if not {_spaced(text) for text in TABLES if text.startswith("CREATE TABLE")} <= found:
        raise UsageError(
            f"{name}: its tables differ from those that crosscut makes: another program changed it. "
            "Restore a copy"
        )
    # A stranger's trigger would run with our statements.
    if connection.execute("SELECT 1 FROM sqlite_master WHERE type = 'trigger'").fetchone():
        raise UsageError(
            f"{name} holds a trigger, which crosscut never makes; remove it, or name another file"
        )


def refuse_cut_off(connection: sqlite3.Connection, path: Path) -> None:
    """Raises UsageError if the file ends within a page, which SQLite notices only when it reads that page."""
    pages, page_bytes = (
        connection.execute(f"PRAGMA page_{what}").fetchone()[0] for what in ("count", "size")
    )
    size = path.stat().st_size
    if size < pages * page_bytes:
        raise UsageError(
            f"{path} is cut off: it has {size:,} of {pages * page_bytes:,} bytes. Restore a copy, or make a "
            "new one from the runs: crosscut history add NEW.db RUN... Nothing was changed"
        )


def _spaced(statement: str) -> str:
    return " ".join(statement.split())
