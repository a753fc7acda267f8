"""Drawing of the inferred structure: groups of ranks, the capacities that they share, and what is faulty."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from crosscut.analysis.findings.model import Direction, Finding
from crosscut.analysis.structure.model import UNKNOWN_GROUP, Group, Limit, Reach, Structure
from crosscut.base import units
from crosscut.base.node_sets import LIST_WIDTH, folded
from crosscut.base.spelling import capital, sentence
from crosscut.reports.html.markup import Markup, element, join, scrolling
from crosscut.reports.html.pictures.picture import Picture

WIDTH, MARGIN, GAP = 960, 12, 18
MOST_GROUPS = 16  # drawn side by side; the rest is only counted
MOST_FAULTS = 4  # named in one group; the rest is only counted
CORE_TOP, CORE_HEIGHT, BOX_TOP, LINE = 14, 44, 170, 17
CHARACTER_WIDTH = 7
_DASHES = "6 4"
_OUT, _IN = (Reach.LEAVING, Reach.SENT), (Reach.ENTERING, Reach.RECEIVED)


def picture(structure: Structure | None, found: Sequence[Finding], name: str) -> Picture | None:
    """Returns None if there are fewer than two groups. Faults among the findings are marked."""
    if structure is None or len(structure.groups) < 2:
        return None
    faults = [finding for finding in found if finding.kind.fault]
    structure = replace(structure, groups=structure.placed)
    return Picture(
        kind="drawing",
        name=name,
        title="The network as inferred from the measurements",
        caption="\n".join([_caption(structure), *map(sentence, structure.notes)]),
        columns=_columns(structure),
        body=scrolling(_svg(structure, faults), "drawing of the inferred groups", "drawing scroll"),
    )


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


def _caption(structure: Structure) -> str:
    sizes = sorted({len(group.ranks) for group in structure.groups})
    each = f"{sizes[0]}" if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
    ranks = f"1 {structure.noun}" if sizes == [1] else f"{each} {structure.noun}s"
    words = [f"{units.count(len(structure.groups), 'group')} of {ranks}."]
    if structure.unplaced:
        words.append(f"Drawn apart: {units.count(len(structure.unplaced), structure.noun)} of unknown group.")
    words += [
        f"{capital(limit.reach.value)}: {_rate(limit)}." for limit in structure.limits if not limit.groups
    ]
    return " ".join(words)


def _rate(limit: Limit) -> str:
    rate = units.rate(limit.bytes_per_second)
    return f"{rate} by about {limit.cables} cables" if limit.cables > 1 else rate


def _svg(structure: Structure, faults: Sequence[Finding]) -> Markup:
    shown = structure.groups[:MOST_GROUPS]
    left_out = len(structure.groups) - len(shown)
    if structure.unplaced:
        shown = (*shown, Group(UNKNOWN_GROUP, structure.unplaced))
    width = (WIDTH - 2 * MARGIN - GAP * (len(shown) - 1)) / len(shown)
    bad = [_faulty(group, structure, faults) for group in shown]
    inside = [_inside(group, structure) for group in shown]
    deepest = max(len(lines) + len(of) for lines, of in zip(inside, bad, strict=True))
    height = BOX_TOP + 64 + LINE * deepest + 26
    parts = [_core(structure, left_out)]
    for index, group in enumerate(shown):
        box = _Box(MARGIN + index * (width + GAP), width)
        parts += box.trunk(group, structure, faults)
        parts += box.group(group, structure, inside[index], bad[index], 54 + LINE * deepest)
    return element(
        "svg", *parts, viewBox=f"0 0 {WIDTH} {height}", role="img", aria_label=_caption(structure),
        font_family="inherit",
    )  # fmt: skip


def _core(structure: Structure, left_out: int) -> Markup:
    crossing = [limit for limit in structure.limits if limit.reach is Reach.CROSSING]
    words = "between groups" + "".join(f": {_rate(limit)} in all" for limit in crossing)
    words += f" ({left_out:,} more groups are not drawn)" if left_out else ""
    box = _rectangle(MARGIN, CORE_TOP, WIDTH - 2 * MARGIN, CORE_HEIGHT, fill="var(--raised)")
    return join(box, _text(WIDTH / 2, CORE_TOP + CORE_HEIGHT / 2 + 5, words, anchor="middle"))


@dataclass(frozen=True)
class _Box:
    left: float
    width: float

    def trunk(self, group: Group, structure: Structure, faults: Sequence[Finding]) -> Iterator[Markup]:
        """Draws the group's trunk, with its limits in both directions."""
        middle = self.left + self.width / 2
        trunk = [limit for limit in structure.limits if limit.groups == (group.name,)]
        bad = dict(_slow_ways(group, faults))
        colour = "var(--fault)" if bad else "var(--switch)" if trunk else "var(--line)"
        yield element(
            "path", d=f"M{middle:.1f} {CORE_TOP + CORE_HEIGHT}V{BOX_TOP}", fill="none",
            stroke=colour, stroke_width="5" if trunk or bad else "2",
            stroke_dasharray=_DASHES if group.name == UNKNOWN_GROUP else None,
        )  # fmt: skip
        # Labels are beside the trunk of a wide box, but stacked above a narrow one.
        beside = self.width >= 150
        ways = ((_OUT, Direction.OUT, "↑", -1), (_IN, Direction.IN, "↓", 1))
        for reaches, direction, arrow, side in ways:
            marked = direction in bad
            words = [f"{arrow} {_rate(limit)}" for limit in trunk if limit.reach in reaches]
            for row, text in enumerate(words or ([f"{arrow} {bad[direction]}"] if marked else [])):
                x = middle + side * 10 if beside else middle
                y = 96 + 20 * row if beside else 92 + 20 * row + (24 if side > 0 else 0)
                anchor = ("end" if side < 0 else "start") if beside else "middle"
                yield _text(x, y, f"⚠ {text}" if marked else text, anchor=anchor, halo=not beside, bad=marked)

    def group(
        self, group: Group, structure: Structure, inside: Sequence[str], bad: Sequence[str], height: float
    ) -> Iterator[Markup]:
        """Draws the group with its hosts, what is within it, and what is faulty there."""
        known = group.name != UNKNOWN_GROUP
        stroke = "var(--switch)" if known else "var(--faint)"
        yield _rectangle(
            self.left, BOX_TOP, self.width, height, fill="var(--card)", stroke=stroke, dashed=not known
        )
        x, room = self.left + 10, int((self.width - 16) / CHARACTER_WIDTH)
        yield _text(x, BOX_TOP + 22, _cut(group.name, room), bold=True)
        yield _text(x, BOX_TOP + 42, _cut(_members(group, structure, room), room), faint=True)
        for row, words in enumerate([*inside, *bad]):
            is_bad = row >= len(inside)
            yield _text(x, BOX_TOP + 62 + LINE * row, _cut(words, room), faint=not is_bad, bad=is_bad)


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
    return [*lines[:MOST_FAULTS], *([f"⚠ and {more:,} more"] if more > 0 else [])]


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
