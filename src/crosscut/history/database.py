"""Opens a history, and says what to do where SQLite fails.

The journal is SQLite's default, a rollback journal. A write-ahead log would need memory that all its users
share, which does not exist between nodes (https://sqlite.org/wal.html), and histories lie on file servers.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from crosscut.base.errors import CrosscutError, UsageError
from crosscut.base.spelling import missing
from crosscut.history import schema

PATIENCE_SECONDS = 10.0
Row = TypeVar("Row")


class HistoryBusy(CrosscutError):
    """Another process holds the lock of a history."""


@contextlib.contextmanager
def reading(path: Path, patience_seconds: float | None = None) -> Iterator[sqlite3.Connection]:
    """Yields a connection that cannot change the history. Raises UsageError, HistoryBusy or CrosscutError."""
    if not path.exists():
        raise UsageError(f"{path}: {missing(path)}; crosscut history add {path} RUN... makes one")
    with _opened(path, "rw", patience_seconds) as connection:
        if schema.is_empty(connection):
            raise UsageError(f"{path} is empty; crosscut history add {path} RUN... fills it")
        schema.refuse_others(connection, str(path))
        schema.refuse_cut_off(connection, path)
        connection.execute("PRAGMA query_only = ON")
        connection.execute("BEGIN")  # all queries see one state
        yield connection


@contextlib.contextmanager
def writing(path: Path) -> Iterator[sqlite3.Connection]:
    """Yields a connection to a history, which is made if the file does not exist.

    Changes belong inside `transaction`. Raises UsageError, HistoryBusy or CrosscutError.
    """
    if not path.absolute().parent.is_dir():
        raise UsageError(f"{path}: the folder {path.absolute().parent} does not exist")
    with _opened(path, "rwc") as connection:
        with transaction(connection):
            if schema.is_empty(connection):
                schema.create(connection)
        schema.refuse_others(connection, str(path))
        schema.refuse_cut_off(connection, path)
        connection.execute("PRAGMA foreign_keys = ON")
        yield connection


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Commits what happens inside, or nothing of it. Takes the lock at once, so that two writers queue."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        connection.rollback()
        raise
    connection.commit()


def file_of(connection: sqlite3.Connection) -> str:
    return str(connection.execute("PRAGMA database_list").fetchone()[2])


def fetched(
    connection: sqlite3.Connection, kind: type[Row], query: str, parameters: Sequence[object] = ()
) -> list[Row]:
    """Returns the rows of a query as NamedTuples of `kind`. Raises UsageError if a value has another type,
    which only a damaged or forged file has."""
    import msgspec

    try:
        return msgspec.convert(connection.execute(query, parameters).fetchall(), list[kind])  # type: ignore[valid-type]
    except msgspec.ValidationError as error:
        raise wrong_type(error) from error


def wrong_type(error: Exception) -> UsageError:
    return UsageError(f"the history holds a value of the wrong type ({error}): another program changed it")


@contextlib.contextmanager
def _opened(path: Path, mode: str, patience_seconds: float | None = None) -> Iterator[sqlite3.Connection]:
    if path.is_dir():
        if path.suffix == ".zarr":
            raise UsageError(f"{path} is a run, not a history; crosscut history add DB {path} adds it to one")
        raise UsageError(f"{path} is a directory; a history is one file, such as {path / 'history.db'}")
    patience = PATIENCE_SECONDS if patience_seconds is None else patience_seconds
    with _explained(path, patience):
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode={mode}",
            uri=True,
            timeout=patience,
            isolation_level=None,
        )
        try:
            connection.text_factory = lambda text: text.decode("utf-8", "replace")
            connection.execute("PRAGMA trusted_schema = OFF")  # the file may be a stranger's
            yield connection
        finally:
            connection.close()


_NOTHING = "Nothing that it holds was lost"


@contextlib.contextmanager
def _explained(path: Path, patience: float) -> Iterator[None]:
    """Raises the errors of SQLite as errors for people."""
    try:
        yield
    except sqlite3.Error as error:
        name = getattr(error, "sqlite_errorname", "")
        if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
            raise HistoryBusy(
                f"{path} is locked: another process has been using it for {patience:g} s. Try again "
                f"later; `fuser {path}` names processes of this machine that use it. {_NOTHING}"
            ) from error
        if name.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT")) or isinstance(error, sqlite3.DataError):
            made = "is not a crosscut history, or it is damaged"
            raise UsageError(
                f"{path} {made} ({error}). Restore a copy, or make a new one from the runs: crosscut history "
                "add NEW.db RUN..."
            ) from error
        if name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")):
            raise UsageError(
                f"{path} cannot be written: {error}. SQLite also writes a journal beside it, so the folder "
                f"must be writable, too. {_NOTHING}"
            ) from error
        raise CrosscutError(f"{path}: {error}. {_NOTHING}") from error
