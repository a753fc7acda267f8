"""Counters of switch ports before and after a measurement, for trouble that the hosts could not see.

Reads two lists as CSV, with columns `switch,port,counter,value`, made from the output of the switch's tools
(`show interfaces counters errors`, ethtool -S on an open switch, SNMP's ifInErrors, perfquery). Names are as
in the cabling. Only counters of errors, loss, pauses or lost links matter, and only if they grew.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from crosscut.base import bounded_file
from crosscut.base.errors import UsageError
from crosscut.cabling.inventory import csv_rows
from crosscut.cabling.model import MOST_PORTS

COLUMNS = ("switch", "port", "counter", "value")
LARGEST_FILE_BYTES = 64 << 20
Ports = Mapping[tuple[str, str], Mapping[str, int]]
"""By switch and port: counters and their growth."""

# Counters of trouble, not of traffic, by their Ethernet and InfiniBand names (RFC 2863, RFC 3635,
# IBTA vol. 1, 16.1.3).
_TELLING = re.compile(
    r"err|crc|fcs|align|symbol|jabber|runt|fragment|collision|carrier|discard|drop|lost|miss|fifo|pause|xmit_?wait|"
    r"down|flap",
    re.IGNORECASE,
)
# Counters that also grow on a sound link under load, so they are only added to findings about its ends.
_LOAD = re.compile(r"discard|drop|lost|miss|fifo|pause|xmit_?wait", re.IGNORECASE)


def read(before: Path, after: Path) -> Ports:
    """Returns the counters that grew. Raises UsageError with file and line."""
    first, second = _of_file(before), _of_file(after)
    found: dict[tuple[str, str], dict[str, int]] = {}
    for (switch, port, counter), now in second.items():
        # A counter missing from the first list was zero, as switches omit zeros; one that fell was reset.
        if now > (was := first.get((switch, port, counter), 0)):
            found.setdefault((switch, port), {})[counter] = now - was
    if first and second and not {key[0] for key in first} & {key[0] for key in second}:
        raise UsageError(
            f"{before} and {after} name no switch in common; were both taken from the same switches?"
        )
    return _uncommon(found, {(switch, port) for switch, port, _ in second})


def of_wire(grown: Mapping[str, int]) -> dict[str, int]:
    """Returns the counters that never grow on a sound link."""
    return {name: count for name, count in grown.items() if not _LOAD.search(name)}


def words(grown: Mapping[str, int]) -> str:
    return ", ".join(f"{name} +{count}" for name, count in sorted(grown.items()))


def _uncommon(found: Mapping[tuple[str, str], Mapping[str, int]], ports: set[tuple[str, str]]) -> Ports:
    """Drops counters that grew at more than half of the ports: the cause is the site, not a cable."""
    often = Counter(name for grown in found.values() for name in grown)
    kept = {
        port: {name: count for name, count in grown.items() if 2 * often[name] <= max(len(ports), 2)}
        for port, grown in found.items()
    }
    return {port: grown for port, grown in kept.items() if grown}


def _of_file(path: Path) -> dict[tuple[str, str, str], int]:
    content = bounded_file.read(path, LARGEST_FILE_BYTES, "a list of counters")
    return parse(content.decode("utf-8-sig", "replace"), str(path))


def parse(text: str, name: str) -> dict[tuple[str, str, str], int]:
    """Returns the values of counters of trouble, by switch, port and counter."""
    rows = csv_rows(text, name)
    number, head = next(rows, (1, []))
    if sorted(cell.lower() for cell in head) != sorted(COLUMNS):
        raise UsageError(f"{name}:{number}: the first line must name the columns {','.join(COLUMNS)}")
    places = [[cell.lower() for cell in head].index(column) for column in COLUMNS]
    found: dict[tuple[str, str, str], int] = {}
    for number, row in rows:
        switch, port, counter, value = (row[place] for place in places)
        if not re.fullmatch(r"[0-9]{1,20}", value):
            raise UsageError(f"{name}:{number}: '{value[:40]}' is not a count")
        if _TELLING.search(counter):
            found[switch, port, counter] = int(value)
        if len(found) > MOST_PORTS:
            raise UsageError(f"{name}:{number}: more than {MOST_PORTS} counters")
    return found
