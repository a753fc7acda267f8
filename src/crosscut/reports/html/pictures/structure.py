"""Drawing of the inferred structure: groups of ranks and the capacities that they share."""

from __future__ import annotations

from collections.abc import Iterator

from crosscut.analysis.structure.model import Group, Limit, Reach, Structure
from crosscut.base import units
from crosscut.base.node_sets import folded
from crosscut.base.spelling import capital
from crosscut.reports.html.markup import Markup, element, join, scrolling
from crosscut.reports.html.pictures.picture import Picture

WIDTH, MARGIN, GAP = 960, 12, 18
MOST_GROUPS = 16  # drawn side by side; the rest is only counted
CORE_TOP, CORE_HEIGHT, BOX_TOP, LINE = 14, 44, 170, 17
_OUT, _IN = (Reach.LEAVING, Reach.SENT), (Reach.ENTERING, Reach.RECEIVED)


def picture(structure: Structure | None, name: str) -> Picture | None:
    """Returns None if there are fewer than two groups."""
    if structure is None or len(structure.groups) < 2:
        return None
    return Picture(
        kind="drawing",
        name=name,
        title="The network as inferred from the measurements",
        caption="\n".join([_caption(structure), *structure.notes]),
        columns=_columns(structure),
        body=scrolling(_svg(structure), "drawing of the inferred groups", "drawing scroll"),
    )


def _columns(structure: Structure) -> dict[str, list[float | int | str | None]]:
    """Returns all groups with their hosts, then all shared capacities, including those not drawn."""
    rows: list[tuple[float | int | str | None, ...]] = []
    for group in structure.groups:
        for one in (group, *group.parts):
            hosts = [structure.hosts[rank] for rank in one.ranks if rank < len(structure.hosts)]
            rows.append(("group", one.name, len(one.ranks), folded(hosts), None, None, None))
    for limit in structure.limits:
        of = " → ".join(limit.groups) or "all groups"
        rows.append((limit.reach.value, of, None, None, limit.bytes_per_second, limit.low, limit.high))
    keys = ("what", "of", "ranks", "hosts", "bytes_per_second", "low", "high")
    return {key: [row[at] for row in rows] for at, key in enumerate(keys)}


def _caption(structure: Structure) -> str:
    sizes = sorted({len(group.ranks) for group in structure.groups})
    each = f"{sizes[0]}" if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
    ranks = "1 rank" if sizes == [1] else f"{each} ranks"
    words = [f"{units.count(len(structure.groups), 'group')} of {ranks}."]
    words += [
        f"{capital(limit.reach.value)}: {_rate(limit)}." for limit in structure.limits if not limit.groups
    ]
    return " ".join(words)


def _rate(limit: Limit) -> str:
    rate = units.rate(limit.bytes_per_second)
    return f"{rate} by about {limit.cables} cables" if limit.cables > 1 else rate


def _svg(structure: Structure) -> Markup:
    shown = structure.groups[:MOST_GROUPS]
    left_out = len(structure.groups) - len(shown)
    width = (WIDTH - 2 * MARGIN - GAP * (len(shown) - 1)) / len(shown)
    deepest = max(len(_inside(group, structure)) for group in shown)
    height = BOX_TOP + 64 + LINE * deepest + 26
    parts = [_core(structure, left_out)]
    for index, group in enumerate(shown):
        parts += _box(group, structure, MARGIN + index * (width + GAP), width, 54 + LINE * deepest)
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


def _box(group: Group, structure: Structure, left: float, width: float, height: float) -> Iterator[Markup]:
    middle = left + width / 2
    trunk = [limit for limit in structure.limits if limit.groups == (group.name,)]
    outward = [limit for limit in trunk if limit.reach in _OUT]
    inward = [limit for limit in trunk if limit.reach in _IN]
    yield element(
        "path", d=f"M{middle:.1f} {CORE_TOP + CORE_HEIGHT}V{BOX_TOP}", fill="none",
        stroke="var(--s2)" if trunk else "var(--line)", stroke_width="5" if trunk else "2",
    )  # fmt: skip
    # Labels are beside the trunk of a wide box, but stacked above a narrow one.
    beside = width >= 150
    for limits, arrow, side in ((outward, "↑", -1), (inward, "↓", 1)):
        for row, limit in enumerate(limits):
            x = middle + side * 10 if beside else middle
            y = 96 + 20 * row if beside else 92 + 20 * row + (24 if side > 0 else 0)
            anchor = ("end" if side < 0 else "start") if beside else "middle"
            yield _text(x, y, f"{arrow} {_rate(limit)}", anchor=anchor, halo=not beside)
    yield _rectangle(left, BOX_TOP, width, height, fill="var(--card)", stroke="var(--switch)")
    room = int((width - 16) / 7)
    yield _text(left + 10, BOX_TOP + 22, _cut(group.name, room), bold=True)
    yield _text(left + 10, BOX_TOP + 42, _cut(_members(group, structure), room), faint=True)
    for row, words in enumerate(_inside(group, structure)):
        yield _text(left + 10, BOX_TOP + 62 + LINE * row, _cut(words, room), faint=True)


def _inside(group: Group, structure: Structure) -> list[str]:
    """Returns one line per part of the group, with the capacities that its ranks share."""
    lines = []
    for part in group.parts:
        limits = [_rate(limit) for limit in structure.limits if limit.groups == (part.name,)]
        lines.append(
            f"{part.name}: {_members(part, structure)}"
            + (f", {', '.join(dict.fromkeys(limits))}" if limits else "")
        )
    return lines


def _members(group: Group, structure: Structure) -> str:
    """`32 ranks: n0000 … n0031`"""
    names = [structure.hosts[rank] for rank in group.ranks if rank < len(structure.hosts)]
    ends = f": {names[0]} … {names[-1]}" if len(names) > 1 else f": {names[0]}" if names else ""
    return f"{units.count(len(group.ranks), 'rank')}{ends}"


def _cut(words: str, room: int) -> str:
    return words if len(words) <= room else f"{words[: max(room - 1, 1)]}…"


def _rectangle(
    x: float, y: float, width: float, height: float, fill: str, stroke: str = "var(--line)"
) -> Markup:
    return element(
        "rect", x=f"{x:.1f}", y=f"{y:.1f}", width=f"{width:.1f}", height=f"{height:.1f}", rx="8", fill=fill,
        stroke=stroke,
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
) -> Markup:
    return element(
        "text", words, x=f"{x:.1f}", y=f"{y:.1f}", text_anchor=anchor, font_size="13",
        font_weight="600" if bold else None, fill="var(--faint)" if faint else "var(--ink)",
        stroke="var(--card)" if halo else None, stroke_width="5" if halo else None,
        paint_order="stroke" if halo else None,
    )  # fmt: skip
