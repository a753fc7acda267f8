"""Drawing of the inferred structure: groups of ranks, the capacities that they share, and what is faulty."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from crosscut.analysis.findings.model import Direction, Finding
from crosscut.analysis.structure.model import UNKNOWN_GROUP, Group, Limit, Reach, Structure
from crosscut.base import units
from crosscut.base.node_sets import LIST_WIDTH, folded
from crosscut.base.spelling import capital, sentence
from crosscut.reports.html.markup import Markup, element, join, scrolling
from crosscut.reports.html.meaning import Meaning
from crosscut.reports.html.pictures.picture import Picture


@dataclass(frozen=True)
class _ScreenWidth:
    """A drawing for screens of one width. `class_`: page.css shows the one that fits."""

    class_: str
    width: int
    most_beside: int


WIDE, NARROW = _ScreenWidth("wide", 960, 6), _ScreenWidth("narrow", 340, 2)
MARGIN, GAP, ROW_GAP, WIDEST_BOX = 2, 18, 22, 300
MOST_GROUPS = 16  # drawn one by one; of more, those with faults, a few others, and all others as one box
_FEW_GROUPS = WIDE.most_beside - 1  # drawn one by one beside all others, if fewer have faults
MOST_FAULTS = 4  # named in one group; the rest is only counted
CORE_HEIGHT, TRUNK, LINE, HOST_LINE = 40, 72, 17, 22
CHARACTER_WIDTH = 7
_DASHES = "6 4"
_OUT, _IN = (Reach.LEAVING, Reach.SENT), (Reach.ENTERING, Reach.RECEIVED)


def picture(structure: Structure | None, found: Sequence[Finding], name: str) -> Picture | None:
    """Returns None if there are fewer than two groups and no faults, which are marked."""
    if structure is None:
        return None
    faults = [finding for finding in found if finding.kind.fault]
    structure = replace(structure, groups=structure.placed)
    if len(structure.groups) < 2:
        if not faults:
            return None
        structure = replace(structure, groups=structure.groups or (_everybody(structure),))
    return Picture(
        kind="drawing",
        name=name,
        title="The network as inferred from the measurements",
        caption="\n".join([_caption(structure), *map(sentence, structure.notes)]),
        columns=_columns(structure),
        body=scrolling(
            join(*(_svg(structure, faults, sheet) for sheet in (WIDE, NARROW))),
            "drawing of the inferred groups", "drawing scroll",
        ),
    )  # fmt: skip


def _everybody(structure: Structure) -> Group:
    return Group("all hosts", tuple(range(structure.ranks)))


def _columns(structure: Structure) -> dict[str, list[float | int | str | None]]:
    """Returns all groups with their hosts, then all shared capacities, including those not drawn."""
    rows: list[tuple[float | int | str | None, ...]] = []
    for group in structure.groups:
        for one in (group, *group.parts):
            hosts = [structure.hosts[rank] for rank in one.ranks if rank < len(structure.hosts)]
            rows.append(("group", one.name, len(one.ranks), folded(hosts), None, None, None))
    if structure.unplaced:
        hosts = [structure.hosts[rank] for rank in structure.unplaced if rank < len(structure.hosts)]
        rows.append(("group", UNKNOWN_GROUP, len(structure.unplaced), folded(hosts), None, None, None))
    for limit in structure.limits:
        of = " → ".join(limit.groups) or "all groups"
        rows.append((limit.reach.value, of, None, None, limit.bytes_per_second, limit.low, limit.high))
    keys = ("what", "of", "ranks", "hosts", "bytes_per_second", "low", "high")
    return {key: [row[at] for row in rows] for at, key in enumerate(keys)}


def _sizes(groups: Sequence[Group], noun: str) -> str:
    """`32 hosts each`, `30 to 32 hosts each`; without `each` for one group"""
    sizes = sorted({len(group.ranks) for group in groups})
    between = "and" if len(groups) == 2 else "to"
    many = f"{sizes[0]:,} {between} {sizes[-1]:,} {noun}s" if sizes[1:] else units.count(sizes[0], noun)
    return f"{many} each" if len(groups) > 1 else many


def _caption(structure: Structure) -> str:
    sizes = _sizes(structure.groups, structure.noun).removesuffix(" each")
    words = [f"{units.count(len(structure.groups), 'group')} of {sizes}."]
    if len(structure.groups) == 1:
        words = [f"{sizes}."]
    if structure.unplaced:
        words.append(
            f"Drawn apart: {units.count(len(structure.unplaced), structure.noun)} whose group is unknown."
        )
    words += [
        f"{capital(limit.reach.value)}: {_rate(limit)}." for limit in structure.limits if not limit.groups
    ]
    return " ".join(words)


def _rate(limit: Limit) -> str:
    rate = units.rate(limit.bytes_per_second)
    return f"{rate} by about {limit.cables} cables" if limit.cables > 1 else rate


def _rates(limits: Sequence[Limit]) -> list[str]:
    """Returns a rate for each limit; of several groups with one each, the range."""
    if len({limit.groups for limit in limits}) < 2:
        return [_rate(limit) for limit in limits]
    least, most = (pick(limits, key=lambda one: one.bytes_per_second) for pick in (min, max))
    return [_rate(least) if _rate(least) == _rate(most) else f"{_rate(least)} to {_rate(most)}"]


def _svg(structure: Structure, faults: Sequence[Finding], sheet: _ScreenWidth) -> Markup:
    shown, merged = _chosen(structure, faults)
    if merged:
        everyone = tuple(rank for group in merged for rank in group.ranks)
        shown = (*shown, Group(f"{len(merged):,} more groups", everyone))
    if structure.unplaced:
        shown = (*shown, Group(UNKNOWN_GROUP, structure.unplaced))
    rows = -(-len(shown) // sheet.most_beside)
    beside = -(-len(shown) // rows)
    width = min((sheet.width - 2 * MARGIN - GAP * (beside - 1)) / beside, WIDEST_BOX)
    across = beside * width + (beside - 1) * GAP
    left, top = float(MARGIN), 2.0
    parts: list[Markup] = []
    drawn = _Drawn(structure, faults, set(), merged)
    for first in range(0, len(shown), beside):
        boxes = [
            _Box(group, left + index * (width + GAP), top, width, drawn)
            for index, group in enumerate(shown[first : first + beside])
        ]
        if len(structure.groups) > 1:
            parts += _core(structure, left, top, across)
            parts += [part for box in boxes for part in box.trunk()]
        parts += [part for box in boxes for part in box.group()]
        top = max(box.bottom for box in boxes) + ROW_GAP
    legend, top = _legend(drawn.meanings, left, top, sheet.width)
    parts += legend
    return element(
        "svg", *parts, viewBox=f"0 0 {sheet.width} {top + 18:.0f}", role="img", class_=sheet.class_,
        aria_label=_caption(structure), font_family="inherit",
    )  # fmt: skip


def _chosen(structure: Structure, faults: Sequence[Finding]) -> tuple[tuple[Group, ...], tuple[Group, ...]]:
    """Returns the groups to draw one by one, and those to draw as one box."""
    if len(structure.groups) <= MOST_GROUPS:
        return structure.groups, ()
    bad = {
        group.name
        for group in structure.groups
        if _faulty(group, structure, faults) or any(_slow_ways(group, faults))
    }
    # Faulty groups first, but in the order of all: sorting is stable.
    by_need = sorted(structure.groups, key=lambda group: group.name not in bad)
    kept = {group.name for group in by_need[: min(max(len(bad), _FEW_GROUPS), MOST_GROUPS - 1)]}
    shown, rest = (
        tuple(group for group in structure.groups if (group.name in kept) is one_by_one)
        for one_by_one in (True, False)
    )
    return shown, rest


def _core(structure: Structure, left: float, top: float, width: float) -> Iterator[Markup]:
    crossing = [limit for limit in structure.limits if limit.reach is Reach.CROSSING]
    words = "between groups" + "".join(f": {_rate(limit)} in all" for limit in crossing)
    yield _rectangle(left, top, width, CORE_HEIGHT, fill="var(--raised)")
    yield _text(left + width / 2, top + CORE_HEIGHT / 2 + 5, words, anchor="middle")


def _legend(meanings: set[Meaning], left: float, y: float, width: float) -> tuple[list[Markup], float]:
    """Returns words on the lines that are drawn, if there are several kinds, and the top of the last row."""
    parts, x = [], left
    for meaning in Meaning:
        if meaning in meanings and len(meanings) > 1:
            wide = 36 + CHARACTER_WIDTH * len(meaning.words)
            if x + wide > width:
                x, y = left, y + HOST_LINE
            parts += [_line(f"M{x:.1f} {y + 6:.1f}h28", meaning)]
            parts += [_text(x + 36, y + 11, meaning.words, faint=True)]
            x += wide + 20
    return parts, y


@dataclass(frozen=True)
class _Drawn:
    structure: Structure
    faults: Sequence[Finding]
    meanings: set[Meaning]
    """Of the lines drawn so far."""
    merged: tuple[Group, ...] = ()
    """Drawn as one box."""

    def line(self, path: str, meaning: Meaning) -> Markup:
        self.meanings.add(meaning)
        return _line(path, meaning)


@dataclass(frozen=True)
class _Box:
    """A group: its trunk above it, a box with its names, and the links of its hosts below that."""

    of: Group
    left: float
    top: float
    width: float
    drawn: _Drawn

    @property
    def box_top(self) -> float:
        return self.top + (CORE_HEIGHT + TRUNK if len(self.drawn.structure.groups) > 1 else 0)

    @property
    def known(self) -> bool:
        return self.of.name != UNKNOWN_GROUP

    @property
    def parts(self) -> tuple[Group, ...]:
        """The groups that this box stands for."""
        one = self.of in self.drawn.structure.groups or not self.known
        return (self.of,) if one else self.drawn.merged

    @property
    def room(self) -> int:
        return int((self.width - 16) / CHARACTER_WIDTH)

    @cached_property
    def lines(self) -> list[str]:
        """The group's members, and what is within it."""
        if len(self.parts) > 1:
            names = folded([group.name for group in self.parts], LIST_WIDTH)
            return [_sizes(self.parts, self.drawn.structure.noun), _cut(names, self.room)]
        members = _members(self.of, self.drawn.structure, LIST_WIDTH)
        if len(members) > self.room:
            count, _, names = members.partition(": ")
            members_lines = [count, _cut(names, self.room)] if names else [count]
        else:
            members_lines = [members]
        return [*members_lines, *_inside(self.of, self.drawn.structure)]

    @cached_property
    def bad(self) -> list[str]:
        return _faulty(self.of, self.drawn.structure, self.drawn.faults)

    @property
    def box_bottom(self) -> float:
        return self.box_top + 34 + LINE * len(self.lines)

    @property
    def bottom(self) -> float:
        return self.box_bottom + HOST_LINE * (1 + len(self.bad)) + 4

    def trunk(self) -> Iterator[Markup]:
        """Draws the group's trunk, with its limits in both directions."""
        middle = self.left + self.width / 2
        names = {group.name for group in self.parts}
        trunk = [
            one for one in self.drawn.structure.limits if len(one.groups) == 1 and one.groups[0] in names
        ]
        bad = dict(way for group in self.parts for way in _slow_ways(group, self.drawn.faults))
        meaning = Meaning.FAULT if bad else Meaning.LIMIT if trunk else Meaning.SOUND
        if not self.known:
            meaning = Meaning.UNKNOWN
        start = self.top + CORE_HEIGHT
        yield self.drawn.line(f"M{middle:.1f} {start:.1f}V{self.box_top:.1f}", meaning)
        # Labels are beside the trunk of a wide box, but stacked above a narrow one.
        beside = self.width >= 180
        ways = ((_OUT, Direction.OUT, "↑", -1), (_IN, Direction.IN, "↓", 1))
        for reaches, direction, arrow, side in ways:
            marked = direction in bad
            words = [f"{arrow} {rate}" for rate in _rates([one for one in trunk if one.reach in reaches])]
            for row, text in enumerate(words or ([f"{arrow} {bad[direction]}"] if marked else [])):
                x = middle + side * 10 if beside else middle
                y = start + (TRUNK / 2 + 5 + 18 * row if beside else 26 + 18 * row + (22 if side > 0 else 0))
                anchor = ("end" if side < 0 else "start") if beside else "middle"
                yield _text(x, y, f"⚠ {text}" if marked else text, anchor=anchor, halo=not beside, bad=marked)

    def group(self) -> Iterator[Markup]:
        """Draws the group, and the links of its hosts: one line for all that are not faulty, one for each
        that is."""
        height = self.box_bottom - self.box_top
        yield _rectangle(
            self.left, self.box_top, self.width, height, fill="var(--card)",
            stroke="var(--switch)" if self.known else Meaning.UNKNOWN.colour, dashed=not self.known,
        )  # fmt: skip
        yield _text(self.left + 10, self.box_top + 20, _cut(self.of.name, self.room), bold=True)
        for row, words in enumerate(self.lines):
            y = self.box_top + 38 + LINE * row
            yield _text(self.left + 10, y, _cut(words, self.room), faint=True)
        slow = {rank for one in self.drawn.faults if not one.groups and not one.routes for rank in one.ranks}
        sound = len(set(self.of.ranks) - slow)
        other = "other " if sound < len(self.of.ranks) else ""
        rest = units.count(sound, f"{other}{self.drawn.structure.noun}")
        plain = Meaning.SOUND if self.known else Meaning.UNKNOWN
        rows = [(words, Meaning.FAULT) for words in self.bad] + ([(rest, plain)] if sound else [])
        x, y = self.left + 16, self.box_bottom
        for row, (words, meaning) in enumerate(rows):
            at = y + HOST_LINE * (row + 0.7)
            # Sideways by a little, so that lines down to different hosts stay apart.
            yield self.drawn.line(f"M{x + 6 * row:.1f} {y:.1f}V{at:.1f}H{x + 6 * len(rows) + 8:.1f}", meaning)
            label = _cut(words, self.room - len(rows) - 3)
            bad = meaning is Meaning.FAULT
            yield _text(x + 6 * len(rows) + 14, at + 4, label, faint=not bad, bad=bad)


def _slow_ways(group: Group, faults: Sequence[Finding]) -> Iterator[tuple[Direction, str]]:
    """Yields the directions in which the group's trunk is slow, each with words."""
    for fault in faults:
        if fault.groups == (group.name,):
            both = fault.direction in (Direction.BOTH, None)
            yield from ((way, "slow") for way in Direction if both or way is fault.direction)
        elif len(fault.groups) == 2 and group.name in fault.groups:
            source, destination = fault.groups
            is_source = group.name == source
            yield (
                (Direction.OUT, f"slow to {destination}")
                if is_source
                else (Direction.IN, f"slow from {source}")
            )


def _faulty(group: Group, structure: Structure, faults: Sequence[Finding]) -> list[str]:
    """Returns one line per faulty host or inner trunk of the group, and per slow route that begins there."""
    names, mine = structure.hosts, {rank for rank in group.ranks if rank < len(structure.hosts)}
    parts = {inner.name for inner in group.walk()} - {group.name}
    of_trunks, others = ([one for one in faults if bool(one.groups) is has] for has in (True, False))
    trunks = [name for fault in of_trunks for name in fault.groups if name in parts]
    hosts = [rank for fault in others if not fault.routes for rank in fault.ranks if rank in mine]
    routes = [route for fault in others for route in fault.routes if route[0] in mine]
    lines = [f"⚠ trunk of {name}" for name in dict.fromkeys(trunks)]
    lines += [f"⚠ {names[rank]}" for rank in dict.fromkeys(hosts)]
    lines += [f"⚠ {names[a]} → {names[b]}" for a, b in dict.fromkeys(routes) if b < len(names)]
    more = len(lines) - MOST_FAULTS
    return [*lines[:MOST_FAULTS], *([f"⚠ {more:,} more"] if more > 0 else [])]


def _inside(group: Group, structure: Structure) -> list[str]:
    """Returns one line per part of the group, with the capacities that its ranks share."""
    lines = []
    for part in group.parts:
        limits = [_rate(limit) for limit in structure.limits if limit.groups == (part.name,)]
        lines.append(
            f"{part.name}: {_members(part, structure, LIST_WIDTH)}"
            + (f", {', '.join(dict.fromkeys(limits))}" if limits else "")
        )
    return lines


def _members(group: Group, structure: Structure, room: int) -> str:
    """`32 hosts: n[0000-0031]`, in about `room` characters."""
    names = [structure.hosts[rank] for rank in group.ranks if rank < len(structure.hosts)]
    count = units.count(len(group.ranks), structure.noun)
    return f"{count}: {folded(names, max(room - len(count) - 2, 1))}" if names else count


def _cut(words: str, room: int) -> str:
    return words if len(words) <= room else f"{words[: max(room - 1, 1)]}…"


def _line(path: str, meaning: Meaning) -> Markup:
    return element(
        "path", d=path, fill="none", stroke=meaning.colour, stroke_dasharray=meaning.dashes,
        stroke_width="5" if meaning is Meaning.LIMIT else "3" if meaning is Meaning.FAULT else "2",
    )  # fmt: skip


def _rectangle(
    x: float, y: float, width: float, height: float, fill: str, stroke: str = "var(--line)",
    *, dashed: bool = False,
) -> Markup:  # fmt: skip
    return element(
        "rect", x=f"{x:.1f}", y=f"{y:.1f}", width=f"{width:.1f}", height=f"{height:.1f}", rx="8", fill=fill,
        stroke=stroke, stroke_dasharray=_DASHES if dashed else None,
    )  # fmt: skip


def _text(
    x: float,
    y: float,
    words: str,
    *,
    anchor: str = "start",
    bold: bool = False,
    faint: bool = False,
    halo: bool = False,
    bad: bool = False,
) -> Markup:
    ink = "fault" if bad else "faint" if faint else "ink"
    return element(
        "text", words, x=f"{x:.1f}", y=f"{y:.1f}", text_anchor=anchor, font_size="13",
        font_weight="600" if bold or bad else None, fill=f"var(--{ink})",
        stroke="var(--card)" if halo else None, stroke_width="5" if halo else None,
        paint_order="stroke" if halo else None,
    )  # fmt: skip
