"""Reads a list of cables as CSV, with any of these columns.

host,adapter,rack,switch,port,cable                    the cable of an adapter: `host` is required
switch,port,to_switch,to_port,cable                    a cable between switches: `host` is absent or empty
"""

from __future__ import annotations

import csv
from collections.abc import Iterator

from crosscut.base.errors import UsageError
from crosscut.cabling.model import Cabling, Port, Trunk

COLUMNS = ("host", "adapter", "rack", "switch", "port", "cable", "to_switch", "to_port")


def parse(text: str, name: str) -> Cabling:
    """Parses the list. Raises UsageError with file and line."""
    rows = csv_rows(text, name)
    first, cells = next(rows, (1, []))
    head = [cell.lower() for cell in cells]
    if unknown := [cell for cell in head if cell not in COLUMNS]:
        raise UsageError(
            f"{name}:{first}: unknown column '{unknown[0]}'; known: {', '.join(COLUMNS)}. Other formats: "
            "output of lldpctl or ibnetdiscover, Slurm's topology.conf"
        )
    if len(set(head)) != len(head):
        raise UsageError(f"{name}:{first}: a column is named twice")
    if "host" not in head and "to_switch" not in head:
        raise UsageError(f"{name}:{first}: there is no column 'host' or 'to_switch'")
    ports: list[Port] = []
    trunks: list[Trunk] = []
    for number, cells in rows:
        row = dict(zip(head, cells, strict=True))
        if row.get("host"):
            if row.get("to_switch"):
                raise UsageError(
                    f"{name}:{number}: names host {row['host']} and also 'to_switch'; a host's cable goes to "
                    "'switch', so leave 'to_switch' empty"
                )
            ports.append(Port(**{cell: row[cell] for cell in COLUMNS[:6] if cell in row}))
        elif row.get("switch") and row.get("to_switch"):
            trunks.append(Trunk(row["switch"], row.get("port", ""), row["to_switch"], row.get("to_port", ""),
                                row.get("cable", "")))  # fmt: skip
        else:
            raise UsageError(f"{name}:{number}: names neither a host nor two switches")
    return Cabling(tuple(ports), tuple(trunks))


def csv_rows(text: str, name: str) -> Iterator[tuple[int, list[str]]]:
    """Yields (number, cells) of each line, except empty lines and comments. Raises UsageError if a line has
    more or fewer cells than the first."""
    columns = 0
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        try:
            cells = [cell.strip() for cell in next(csv.reader([line], strict=True))]
        except csv.Error as error:
            raise UsageError(f"{name}:{number}: {error}") from error
        columns = columns or len(cells)
        if len(cells) != columns:
            raise UsageError(f"{name}:{number}: {len(cells)} cells, but the header has {columns}")
        yield number, cells
