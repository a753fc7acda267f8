"""Host files: one `name [slots=N]` per line, comments with `#`, ranges as `n[001-004,7]`."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from crosscut.base import bounded_file
from crosscut.base.errors import PlaceError, UsageError

LARGEST_FILE_BYTES = 16 << 20
MOST_HOSTS = 100_000
MOST_SLOTS = 4096
_MOST_ENTRIES = 1 << 20
# As in core/src/session/session_config.cpp: a host becomes a word of ssh's command line.
_HOST_NAME = re.compile(r"(?!-)[A-Za-z0-9._@:%-]{1,255}")
_IPV4_ADDRESS = re.compile(r"[0-9]{1,3}(?:\.[0-9]{1,3}){3}")
_BRACKET = re.compile(r"\[([^\[\]]*)\]")
_SLOTS = re.compile(r"0*([1-9][0-9]{0,8})")
_RANGE = re.compile(r"([0-9]+)(?:-([0-9]+))?")


def short(name: str) -> str:
    """Returns the first part of a host's name; of an IPv4 address, all of it."""
    return name if _IPV4_ADDRESS.fullmatch(name) else name.partition(".")[0]


@dataclass(frozen=True)
class HostEntry:
    name: str
    slots: int = 1
    """The most ranks that may run there."""


@dataclass(frozen=True)
class Share:
    """The ranks of one host, numbered consecutively."""

    host: str
    first_rank: int
    count: int


def read_host_file(path: Path) -> list[HostEntry]:
    """Returns the hosts in the file's order. If a host is named twice, its slots are added. Raises UsageError
    with file and line."""
    slots: dict[str, int] = {}
    for host in _entries(path):
        slots[host.name] = slots.get(host.name, 0) + host.slots
    return [HostEntry(name, count) for name, count in slots.items()]


def read_ranks(path: Path) -> list[str]:
    """Returns the host of each rank: line by line, `slots=N` for N ranks in a row. Raises UsageError with
    file and line."""
    found = _entries(path)
    if (total := sum(host.slots for host in found)) > _MOST_ENTRIES:
        raise UsageError(f"host file {path}: has {total:,} slots, of at most {_MOST_ENTRIES:,}")
    return [host.name for host in found for _ in range(host.slots)]


def _entries(path: Path) -> list[HostEntry]:
    content = bounded_file.read(path, LARGEST_FILE_BYTES, "a host file")
    found: list[HostEntry] = []
    names: set[str] = set()
    for number, line in enumerate(content.decode("utf-8", "replace").splitlines(), 1):
        try:
            for host in _parse_line(line):
                found.append(host)
                names.add(host.name)
                if len(names) > MOST_HOSTS or len(found) > _MOST_ENTRIES:
                    raise ValueError(f"more than {MOST_HOSTS} hosts")
        except ValueError as error:
            raise UsageError(f"host file {path}, line {number}: {error}") from error
    if not found:
        raise UsageError(f"host file {path} names no host; write one per line, such as `n001 slots=4`")
    return found


def _parse_line(line: str) -> Iterator[HostEntry]:
    words = line.partition("#")[0].split()
    if not words:
        return
    slots = 1
    for word in words[1:]:
        key, separator, value = word.partition("=")
        if key != "slots" or not separator:
            raise ValueError(f"'{word}' after the host's name: only slots=N is allowed there")
        found = _SLOTS.fullmatch(value)
        if found is None or int(found[1]) > MOST_SLOTS:
            raise ValueError(f"slots={value}: it must be from 1 to {MOST_SLOTS}")
        slots = int(found[1])
    for name in expand(words[0]):
        if not _HOST_NAME.fullmatch(name):
            raise ValueError(f"'{name}' is not a host name")
        yield HostEntry(name, slots)


def expand(pattern: str) -> Iterator[str]:
    """Expands `n[001-003]` to n001, n002, n003, with zeros as written; several brackets are combined."""
    match = _BRACKET.search(pattern)
    if match is None:
        yield pattern
        return
    for number in _numbers(match.group(1)):
        for rest in expand(pattern[match.end() :]):
            yield pattern[: match.start()] + number + rest


def _numbers(text: str) -> Iterator[str]:
    for part in text.split(","):
        found = _RANGE.fullmatch(part)
        if found is None or len(part) > 32:
            raise ValueError(f"'[{text}]' is not a range; write n[001-004,7]")
        first, last = found.group(1), found.group(2) or found.group(1)
        if not 0 <= int(last) - int(first) < MOST_HOSTS:
            raise ValueError(f"'[{text}]': {last} is below {first}, or the range has over {MOST_HOSTS} hosts")
        for number in range(int(first), int(last) + 1):
            yield str(number).zfill(len(first))


def share_out(ranks: int, hosts: Sequence[HostEntry]) -> list[Share]:
    """Spreads ranks evenly over the hosts, within their slots, because the network between hosts is measured.
    The ranks of one host are consecutive. Raises PlaceError if there are too few slots."""
    total = sum(host.slots for host in hosts)
    if ranks > total:
        raise PlaceError(
            f"{ranks} ranks do not fit into the {total} slots of {len(hosts)} hosts; "
            "give the hosts more slots (`n001 slots=4`), or ask for fewer ranks (-n)"
        )
    slots = [host.slots for host in hosts]
    # Every host gets `level` ranks, or as many as it has slots; the first hosts with free slots get one more.
    levels = range(max(slots, default=0) + 1)
    level = bisect_right(levels, ranks, key=lambda each: sum(min(n, each) for n in slots)) - 1
    left = ranks - sum(min(n, level) for n in slots)
    shares, first = [], 0
    for host in hosts:
        more = left > 0 and host.slots > level
        left -= more
        if (count := min(host.slots, level) + more) > 0:
            shares.append(Share(host.name, first, count))
            first += count
    return shares
