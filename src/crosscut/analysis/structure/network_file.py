"""An inferred structure as a network file (docs/reference/network-format.md): what the simulator, the lab and
the price model read."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from crosscut.analysis.structure.model import Group, Limit, Reach, Structure


def text(structure: Structure, source: str) -> str:
    """TOML. `source`: what it was measured by, for people."""
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


class _NetworkWriter:
    """Each innermost group is a switch with its hosts; groups of groups and the whole are switches above."""

    def __init__(self, structure: Structure) -> None:
        self._structure = structure
        self._limits = {(limit.reach, limit.groups): limit for limit in structure.limits}
        everybody = tuple(range(structure.ranks))
        self._groups = structure.groups or (Group("switch", everybody),)
        self._names = _host_names(structure.hosts or tuple(f"rank{rank}" for rank in everybody))
        self._mesh = any(limit.reach is Reach.BETWEEN for limit in structure.limits)
        self._cables = max((limit.cables for limit in structure.limits), default=1)

    def summary(self) -> str:
        groups = self._structure.groups
        return (
            f"{self._structure.ranks} hosts in {len(groups)} groups"
            if groups
            else f"{self._structure.ranks} hosts"
        )

    def hosts(self) -> Iterator[str]:
        for number, group in enumerate(self._groups):
            yield "[[hosts]]"
            yield f"names = {_list([self._names[rank] for rank in group.ranks])}"
            yield f"group = {number}"
            yield ""

    def switches(self) -> Iterator[str]:
        for number, group in enumerate(self._groups):
            for inner in group.parts:
                yield from self._switch(inner, number, 0)
            yield from self._switch(group, number, 1 if group.parts else 0)
        if len(self._groups) > 1 and not self._mesh:
            yield "[[switches]]"
            yield f"names = {self._top()}"
            yield "level = 2"
            if (crossing := self._limits.get((Reach.CROSSING, ()))) is not None:
                yield f"capacity = {_rate(crossing.bytes_per_second)}"
                yield 'bounds = "through"'
            yield ""

    def _top(self) -> str:
        """A spine for each cable among which a hash chooses."""
        return '"core"' if self._cables == 1 else f'"core[0-{self._cables - 1}]"'

    def _switch(self, group: Group, number: int, level: int) -> Iterator[str]:
        own = [self._limits.get((reach, (group.name,))) for reach in (Reach.SENT, Reach.RECEIVED)]
        known = [limit.bytes_per_second for limit in own if limit is not None]
        yield "[[switches]]"
        yield f"names = {_quoted(group.name)}"
        yield f"group = {number}"
        yield f"level = {level}"
        if known:
            yield f"capacity = {_rate(sum(known) / len(known))}"
        yield ""

    def links(self) -> Iterator[str]:
        for group in self._groups:
            for part in group.parts:
                yield from self._host_links(part)
                yield from _link(_quoted(part.name), _quoted(group.name), *self._unlimited(group))
            if not group.parts:
                yield from self._host_links(group)
        if self._mesh:
            yield from self._mesh_links()
        elif len(self._groups) > 1:
            for group in self._groups:
                out, back = (
                    self._limits.get((reach, (group.name,))) for reach in (Reach.LEAVING, Reach.ENTERING)
                )
                free = self._unlimited(group)
                rates = (
                    _of(limit, most) / self._cables for limit, most in zip((out, back), free, strict=True)
                )
                yield from _link(_quoted(group.name), self._top(), *rates)

    def _host_links(self, group: Group) -> Iterator[str]:
        """Hosts of equal links in one entry."""
        alike: dict[tuple[str, str], list[int]] = {}
        for rank in group.ranks:
            out = self._structure.host_out_bytes_per_second[rank]
            back = self._structure.host_in_bytes_per_second[rank]
            alike.setdefault((_rate(out), _rate(back)), []).append(rank)
        for (out_text, back_text), ranks in alike.items():
            yield "[[links]]"
            yield f"between = [{_list([self._names[rank] for rank in ranks])}, {_quoted(group.name)}]"
            yield f"rate = {out_text}"
            if back_text != out_text:
                yield f"back_rate = {back_text}"
            yield ""

    def _mesh_links(self) -> Iterator[str]:
        for at, a in enumerate(self._groups):
            for b in self._groups[at + 1 :]:
                there, back = (
                    self._limits.get((Reach.BETWEEN, pair)) for pair in ((a.name, b.name), (b.name, a.name))
                )
                free = self._unlimited(a)[0]
                yield from _link(_quoted(a.name), _quoted(b.name), _of(there, free), _of(back, free))

    def _unlimited(self, group: Group) -> tuple[float, float]:
        """As much as all its hosts send and receive: no limit below demand was seen."""
        out = sum(self._structure.host_out_bytes_per_second[rank] for rank in group.ranks)
        back = sum(self._structure.host_in_bytes_per_second[rank] for rank in group.ranks)
        return out, back


def _of(limit: Limit | None, free: float) -> float:
    return limit.bytes_per_second if limit is not None else free


def _link(a: str, b: str, rate: float, back_rate: float) -> Iterator[str]:
    """`a`, `b`: as TOML."""
    yield "[[links]]"
    yield f"between = [{a}, {b}]"
    yield f"rate = {_rate(rate)}"
    if _rate(back_rate) != _rate(rate):
        yield f"back_rate = {_rate(back_rate)}"
    yield ""


def _rate(bytes_per_second: float) -> str:
    """To three digits: nothing measured is known better."""
    bits = 8 * bytes_per_second
    digits = 2 - math.floor(math.log10(bits))
    return f'"{round(bits, digits) / 1e6:.12g} Mbit/s"'


def _host_names(names: Sequence[str]) -> list[str]:
    """As the format allows them: letters, digits, `.`, `-` and `_`; each once."""
    found, taken = [], set()
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
    # TOML's basic strings know all of JSON's escapes (TOML 1.0, section String); JSON does not escape DEL.
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
