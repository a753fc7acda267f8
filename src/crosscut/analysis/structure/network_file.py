"""Writes an inferred structure as a network file, which the simulator, the lab and the price model read.

docs/reference/network-format.md describes the format.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from crosscut.analysis.structure.model import Group, Reach, Structure
from crosscut.base import units


def text(structure: Structure, source: str) -> str:
    """Returns the network file as TOML. `source`: how the structure was measured, for people."""
    writer = _NetworkWriter(structure)
    lines = [
        f"title = {_quoted('Inferred: ' + writer.summary())}",
        f"source = {_quoted(f'{source}, {datetime.now(UTC):%Y-%m-%d}')}",
        'group_word = "group"',
        "",
        *(f"# {line}" for note in structure.notes for line in _wrapped(note)),
        "",
        *writer.hosts(),
        *writer.switches(),
        *writer.links(),
    ]
    return "\n".join(lines).rstrip() + "\n"


_GATED = (Reach.LEAVING, Reach.ENTERING)


class _NetworkWriter:
    """Writes each innermost group as a switch with its hosts, and groups of groups as switches above."""

    def __init__(self, structure: Structure) -> None:
        self._structure = structure
        self._limits = {(limit.reach, limit.groups): limit for limit in structure.limits}
        everybody = tuple(range(structure.ranks))
        self._groups = structure.groups or (Group("switch", everybody),)
        self._mesh = any(limit.reach is Reach.BETWEEN for limit in structure.limits)
        self._cables = max((limit.cables for limit in structure.limits), default=1)
        self._names = _host_names(
            structure.hosts or tuple(f"rank{rank}" for rank in everybody), self._switch_names()
        )

    def _switch_names(self) -> set[str]:
        groups = [one for group in self._groups for one in group.walk()]
        names = {name for group in groups for name in (group.name, _gate(group))}
        return names | {"core", *(f"core{spine}" for spine in range(self._cables))}

    def summary(self) -> str:
        hosts = units.count(self._structure.ranks, "host")
        groups = len(self._structure.groups)
        return f"{hosts} in {groups} groups" if groups > 1 else hosts

    def hosts(self) -> Iterator[str]:
        for number, group in enumerate(self._groups):
            yield from _table("hosts", names=_list([self._names[rank] for rank in group.ranks]), group=number)

    def switches(self) -> Iterator[str]:
        for number, group in enumerate(self._groups):
            yield from self._switches(group, number)
            if self._is_gated(group):
                yield from _table(
                    "switches", names=_quoted(_gate(group)), group=number, level=1 + _height(group)
                )
        if len(self._groups) > 1 and not self._mesh:
            crossing = self._limits.get((Reach.CROSSING, ()))
            bound = {"capacity": _rate(crossing.bytes_per_second), "bounds": '"through"'} if crossing else {}
            level = 1 + max(1, *(_height(group) for group in self._groups))
            yield from _table("switches", names=self._top(), level=level, **bound)

    def _top(self) -> str:
        """Returns the names of the top switches: one spine per cable that a hash may choose."""
        return '"core"' if self._cables == 1 else f'"core[0-{self._cables - 1}]"'

    def _switches(self, group: Group, number: int) -> Iterator[str]:
        for inner in group.parts:
            yield from self._switches(inner, number)
        yield from self._switch(group, number, _height(group))

    def _switch(self, group: Group, number: int, level: int) -> Iterator[str]:
        own = [self._limits.get((reach, (group.name,))) for reach in (Reach.SENT, Reach.RECEIVED)]
        known = [limit.bytes_per_second for limit in own if limit is not None]
        capacity = {"capacity": _rate(sum(known) / len(known))} if known else {}
        yield from _table("switches", names=_quoted(group.name), group=number, level=level, **capacity)

    def links(self) -> Iterator[str]:
        for group in self._groups:
            yield from self._links_within(group)
        if self._mesh:
            for group in filter(self._is_gated, self._groups):
                yield from self._uplink(group, _quoted(_gate(group)), self._unlimited(group))
            yield from self._mesh_links()
        elif len(self._groups) > 1:
            for group in self._groups:
                yield from self._uplink(group, self._top(), self._unlimited(group), self._cables)

    def _links_within(self, group: Group) -> Iterator[str]:
        for part in group.parts:
            yield from self._links_within(part)
            yield from self._uplink(part, _quoted(group.name), self._unlimited(group))
        if not group.parts:
            yield from self._host_links(group)

    def _uplink(self, group: Group, above: str, free: tuple[float, float], cables: int = 1) -> Iterator[str]:
        """`free`: bytes per second where no limit is known."""
        ways = list(zip((Reach.LEAVING, Reach.ENTERING), free, strict=True))
        if open_ := [reach.value for reach, _ in ways if (reach, (group.name,)) not in self._limits]:
            yield f"# No limit was found on {' or '.join(open_)}: this is the sum of its hosts' rates."
        rates = [self._rate_of(reach, (group.name,), most) / cables for reach, most in ways]
        yield from _link(_quoted(group.name), above, *map(_rate, rates))

    def _host_links(self, group: Group) -> Iterator[str]:
        """Yields one entry for each set of hosts with equal links."""
        alike: dict[tuple[str, str], list[int]] = {}
        for rank in group.ranks:
            out = self._structure.host_out_bytes_per_second[rank]
            back = self._structure.host_in_bytes_per_second[rank]
            alike.setdefault((_rate(out), _rate(back)), []).append(rank)
        for rates, ranks in alike.items():
            yield from _link(_list([self._names[rank] for rank in ranks]), _quoted(group.name), *rates)

    def _mesh_links(self) -> Iterator[str]:
        for at, a in enumerate(self._groups):
            for b in self._groups[at + 1 :]:
                rates = [
                    _rate(self._rate_of(Reach.BETWEEN, (x.name, y.name), self._unlimited(x)[0]))
                    for x, y in ((a, b), (b, a))
                ]
                ends = (_quoted(_gate(group) if self._is_gated(group) else group.name) for group in (a, b))
                yield from _link(*ends, *rates)

    def _is_gated(self, group: Group) -> bool:
        """True if all traffic between the group and a mesh shares a limit."""
        return self._mesh and any((reach, (group.name,)) in self._limits for reach in _GATED)

    def _rate_of(self, reach: Reach, groups: tuple[str, ...], free: float) -> float:
        """`free`: bytes per second where no limit is known."""
        limit = self._limits.get((reach, groups))
        return limit.bytes_per_second if limit is not None else free

    def _unlimited(self, group: Group) -> tuple[float, float]:
        """Returns bytes per second that all its hosts send, and receive: rates of links without a limit."""
        out = sum(self._structure.host_out_bytes_per_second[rank] for rank in group.ranks)
        back = sum(self._structure.host_in_bytes_per_second[rank] for rank in group.ranks)
        return out, back


def _gate(group: Group) -> str:
    """Returns the name of the switch that all messages between the group and a mesh pass."""
    return f"{group.name}-gate"


def _height(group: Group) -> int:
    """Returns the number of levels of groups within it."""
    return 1 + max(_height(part) for part in group.parts) if group.parts else 0


def _link(a: str, b: str, rate: str, back_rate: str) -> Iterator[str]:
    back = {"back_rate": back_rate} if back_rate != rate else {}
    yield from _table("links", between=f"[{a}, {b}]", rate=rate, **back)


def _table(name: str, **members: object) -> Iterator[str]:
    """Yields the lines of a table; `members` are TOML values."""
    yield f"[[{name}]]"
    yield from (f"{key} = {value}" for key, value in members.items())
    yield ""


def _rate(bytes_per_second: float) -> str:
    """Formats a rate with three digits: no measurement is more precise."""
    bits = 8 * bytes_per_second
    digits = 2 - math.floor(math.log10(bits))
    return f'"{round(bits, digits) / 1e6:.12g} Mbit/s"'


def _host_names(names: Sequence[str], of_switches: set[str]) -> list[str]:
    """Returns different names that the format allows: letters, digits, `.`, `-` and `_`."""
    found, taken = [], set(of_switches)
    for rank, name in enumerate(names):
        plain = (
            "".join(c if c.isascii() and (c.isalnum() or c in ".-_") else "-" for c in name) or f"rank{rank}"
        )
        while plain in taken:
            plain += f"-{rank}"
        taken.add(plain)
        found.append(plain)
    return found


def _quoted(value: str) -> str:
    # TOML's basic strings accept all of JSON's escapes (TOML 1.0, section String); JSON does not escape DEL.
    return json.dumps(value).replace("\x7f", "\\u007f")


def _list(names: Sequence[str]) -> str:
    return "[" + ", ".join(map(_quoted, names)) + "]"


def _wrapped(note: str) -> Iterator[str]:
    line = ""
    for word in note.split():
        if line and len(line) + len(word) > 100:
            yield line
            line = ""
        line = f"{line} {word}".strip()
    yield line
