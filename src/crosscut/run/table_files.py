"""Writes tables to files, piece by piece: CSV (RFC 4180), JSON (one array of objects), Parquet."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from crosscut.base import whole_file
from crosscut.base.errors import CrosscutError, UsageError

if TYPE_CHECKING:
    from crosscut.run.tables import Table


_FORMULAS = ("=", "+", "-", "@", "\t", "\r")


def write_csv(pieces: Iterable[Table], file: IO[bytes]) -> None:
    """Writes CSV; a missing value is empty, and a float has the digits that read back as the same number. A
    name that a spreadsheet would take for a formula gets a `'` before it: names come from other machines."""
    text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
    writer = csv.writer(text, lineterminator="\n")
    try:
        for number, piece in enumerate(pieces):
            if number == 0:
                writer.writerow(piece)
            for row in _rows(piece):
                writer.writerow(map(_word, row))
    finally:
        text.detach()  # or the wrapper closes the caller's file


def _rows(piece: Table) -> Iterator[tuple[Any, ...]]:
    return zip(*(column.tolist() for column in piece.values()), strict=True)


def _word(value: object) -> object:
    if isinstance(value, float) and math.isnan(value):
        return ""
    if isinstance(value, str) and value.startswith(_FORMULAS):
        return "'" + value
    return str(value).lower() if isinstance(value, bool) else value


def write_json(pieces: Iterable[Table], file: IO[bytes]) -> None:
    """Writes JSON; a missing value is null."""
    separator = b"["
    for piece in pieces:
        for row in _rows(piece):
            values = (
                None if isinstance(value, float) and not math.isfinite(value) else value for value in row
            )
            file.write(separator + b"\n" + json.dumps(dict(zip(piece, values, strict=True))).encode())
            separator = b","
    file.write((separator if separator == b"[" else b"\n") + b"]\n")


def write_parquet(pieces: Iterable[Table], file: IO[bytes]) -> None:
    """Writes Parquet, one row group per piece; a missing value is null."""
    import numpy as np

    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise CrosscutError(
            "Parquet needs pyarrow, which is not installed: pip install 'crosscut[parquet]', or use CSV"
        ) from error
    writer = None
    for piece in pieces:
        columns = {
            name: pa.array(column, mask=np.isnan(column) if column.dtype.kind == "f" else None)
            for name, column in piece.items()
        }
        table = pa.table(columns)
        if writer is None:
            writer = pq.ParquetWriter(file, table.schema)
        writer.write_table(table)
    if writer is not None:
        writer.close()


FORMATS: Mapping[str, Callable[[Iterable[Table], IO[bytes]], None]] = {
    "csv": write_csv,
    "parquet": write_parquet,
    "json": write_json,
}


def format_of(path: Path) -> str:
    """Returns the format that a file's name implies. Raises UsageError if it implies none."""
    suffix = path.suffix.lower().removeprefix(".")
    if suffix in FORMATS:
        return suffix
    known = ", ".join(f".{one}" for one in FORMATS)
    raise UsageError(f"{path}: its name does not tell the format; end it in {known}, or give --format")


def write_file(pieces: Iterable[Table], path: Path, name: str, *, overwrite: bool) -> None:
    """Writes the whole file or none: it gets its name when it is complete."""
    if path.exists() and not overwrite and not whole_file.is_special(path):
        raise UsageError(f"{path} exists; name another file, or replace it with --force")
    with whole_file.output(path) as file:
        FORMATS[name](pieces, file)
