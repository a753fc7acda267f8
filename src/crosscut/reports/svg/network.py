"""Drawing of a network as SVG, or as PNG if resvg-py is installed."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from crosscut.base import units, whole_file
from crosscut.base.errors import UsageError
from crosscut.network.description import DescribedLink, Graph, Network
from crosscut.reports.svg.layout import Layout, lay_out, switch_of

WIDTH, NARROW = 1280, 360
MARGIN, HEAD = 40, 92
# An outline that keeps text readable over lines.
_HALO = 'paint-order="stroke" stroke="#ffffff" stroke-width="3" stroke-linejoin="round"'
_ROUND_HEIGHT = 860.0
_LABELLED = 40  # vertices; larger rows or circles are drawn without names
# From slow to fast. One hue, since other colours mean that something is wrong.
RATES = ("#8fb8d6", "#5b97c2", "#2f77ab", "#0f5a8c", "#0a3f66", "#062a46")
FAULT, LIMIT, _DASHES = "#b3420a", "#7a3fa0", "7 4"
_LINE = 22  # height of a line of the legend
_MOST_NAMED = 8  # faulty hosts; more are only coloured
_LETTER = 6.6  # width of a letter of a name
_INK, _FAINT, _HOST, _SWITCH = "#1f2933", "#6b7785", "#f2f5f8", "#274c6b"


@dataclass(frozen=True)
class _Style:
    """Appearance of one kind of link. The label states the rate of all its cables together."""

    label: str
    colour: str
    width: float


@dataclass(frozen=True)
class _NetworkDrawing:
    """What the parts of a drawing share."""

    graph: Graph
    layout: Layout
    styles: dict[tuple[float, int, bool], _Style]
    width: int
    height: float
    """Of the part between heading and legend."""
    head: float
    faulty: frozenset[int]
    """Hosts."""
    trunks: frozenset[tuple[int, int]]
    """Both ends (the smaller first) of each slow link between switches."""
    limits: frozenset[tuple[int, int]]
    """The same of links that carry less than their hosts could send."""

    @property
    def margin(self) -> float:
        return MARGIN if self.width > NARROW else 10

    @property
    def across(self) -> float:
        """Width of the layout. Layouts without rows are square, in the middle, so that circles stay round."""
        return self.width - 2 * self.margin if self.layout.kind == "rows" else self.height

    def placed(self, at: NDArray[np.float64]) -> NDArray[np.float64]:
        return at * (self.across, self.height) + ((self.width - self.across) / 2, self.head)


def svg(
    network: Network, *, width: int = WIDTH, faulty: Iterable[str] = (),
    behind_slow_trunks: Iterable[Collection[str]] = (), behind_limits: Iterable[Collection[str]] = (),
    known: Collection[str] | None = None,
) -> str:  # fmt: skip
    """Returns the whole drawing, without a heading if narrow. The network must be loaded with its graph.

    `faulty`: names of hosts to mark with their links. `behind_slow_trunks`: names of hosts whose trunk is
    slow; it is marked if they are all the hosts of one switch. `behind_limits`: the same of trunks that limit
    their hosts. `known`: hosts whose group is known; None: all.
    """
    assert network.graph is not None
    graph, named = network.graph, frozenset(faulty)
    layout = lay_out(graph)
    wide = width > NARROW
    row = 165.0 if wide else 110.0
    height = row * layout.rows - 30 if layout.kind == "rows" else min(_ROUND_HEIGHT, 0.94 * width)
    marked = frozenset(host for host in range(graph.hosts) if graph.vertices[host].name in named)
    trunks, limits = (
        _trunks(graph, [frozenset(names) for names in behind], known)
        for behind in (behind_slow_trunks, behind_limits)
    )
    sheet = _NetworkDrawing(
        graph, layout, _styles(graph), width, height, HEAD if wide else 10, marked, trunks, limits - trunks
    )
    points = sheet.placed(layout.at)
    legend = list(_legend(sheet, sheet.head + height + 30))
    total = sheet.head + height + 42 + _LINE * legend.count(_NEXT_LINE)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{total:.0f}" '
        f'viewBox="0 0 {width} {total:.0f}" font-family="DejaVu Sans, Helvetica, Arial, sans-serif">',
        f'<rect width="{width}" height="{total:.0f}" fill="#ffffff"/>',
        *(_head(network) if wide else ()),
        *_links(sheet, points),
        *_bundles(sheet, points),
        *_vertices(sheet, points),
        *_host_ranges(sheet, points),
        *_faults(sheet, points),
        *(part for part in legend if part != _NEXT_LINE),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _trunks(
    graph: Graph, behind: Sequence[frozenset[str]], known: Collection[str] | None
) -> frozenset[tuple[int, int]]:
    """Returns the links between each switch whose `known` hosts are those of one of `behind`, and other
    switches."""
    hosts: dict[int, set[str]] = {}
    for host, switch in switch_of(graph).items():
        hosts.setdefault(switch, set()).add(graph.vertices[host].name)
    if known is not None:
        hosts = {switch: names.intersection(known) for switch, names in hosts.items()}
        behind = [names.intersection(known) for names in behind]
    slow = {switch for switch, names in hosts.items() if names and names in behind}
    return frozenset(
        pair for pair in map(_ends, graph.edges) if pair[0] >= graph.hosts and not slow.isdisjoint(pair)
    )


def _ends(edge: DescribedLink) -> tuple[int, int]:
    return min(edge.a, edge.b), max(edge.a, edge.b)


def write(network: Network, path: Path) -> None:
    """Writes .svg or .png by suffix. Raises UsageError for another suffix, or for PNG without resvg-py."""
    text = svg(network)
    if path.suffix == ".svg":
        whole_file.write_output(path, text.encode())
        return
    if path.suffix != ".png":
        raise UsageError(f"{path}: a drawing is an .svg or a .png file")
    try:
        import resvg_py
    except ImportError as error:
        raise UsageError(
            f"{path}: PNG needs resvg-py: pip install 'crosscut[png]'; .svg needs nothing"
        ) from error
    whole_file.write_output(path, bytes(resvg_py.svg_to_bytes(svg_string=text, zoom=1.5)))


def _styles(graph: Graph) -> dict[tuple[float, int, bool], _Style]:
    """Returns the styles by (bits per second in one direction, cables, half duplex)."""
    kinds = sorted({(edge.bits_per_second, edge.cables, edge.half_duplex) for edge in graph.edges})
    slowest = min((kind[0] for kind in kinds), default=1.0)
    crowd = 1.0 if len(graph.edges) < 300 else 0.6 if len(graph.edges) < 3000 else 0.35
    styles = {}
    for index, kind in enumerate(kinds):
        rate, cables, half = kind
        words = units.bit_rate(rate) if math.isfinite(rate) else "no limit of its own"
        words += f" over {cables} cables" if cables > 1 else ""
        width = crowd * (1.2 + 0.9 * math.log2(max(rate / slowest, 1))) if math.isfinite(rate) else 6 * crowd
        styles[kind] = _Style(
            words + (", half duplex" if half else ""),
            RATES[min(index, len(RATES) - 1)],
            min(width, 6 * crowd),
        )
    return styles


def _head(network: Network) -> Iterator[str]:
    figures = network.figures
    counts, far, cut = figures["counts"], figures["distances"], figures["bisection"]
    words = [
        units.count(counts["hosts"], "host"),
        units.count(counts["switches"], "switch", "switches"),
        units.count(counts["cables"], "cable"),
        f"diameter {units.count(far['diameter_hops'], 'hop')}",
    ]
    if cut:
        at_most = "" if cut["kind"] == "closed form" else "at most "
        words.append(f"bisection {at_most}{units.bit_rate(cut['bits_per_second'])}")
    if figures["price"]:
        words.append(f"{figures['price']['network']:,.0f} {figures['price']['currency']} for the network")
    title = network.name + (f" · {figures['title']}" if figures["title"] else "")
    yield f'<text x="{MARGIN}" y="40" font-size="21" font-weight="600" fill="{_INK}">{escape(title)}</text>'
    yield f'<text x="{MARGIN}" y="66" font-size="14" fill="{_FAINT}">{escape(" · ".join(words))}</text>'


def _links(sheet: _NetworkDrawing, points: NDArray[np.float64]) -> Iterator[str]:
    graph, layout = sheet.graph, sheet.layout
    bundled = {host for bundle in layout.bundles for host in bundle.hosts}
    parallel = Counter(map(_ends, graph.edges))
    seen: Counter[tuple[int, int]] = Counter()
    opacity = 0.85 if len(graph.edges) < 300 else 0.45 if len(graph.edges) < 3000 else 0.2
    late: list[str] = []  # over the others
    for edge in graph.edges:
        if edge.a in bundled or edge.b in bundled:
            continue
        pair = _ends(edge)
        style = sheet.styles[(edge.bits_per_second, edge.cables, edge.half_duplex)]
        (x1, y1), (x2, y2) = points[edge.a], points[edge.b]
        number, seen[pair] = seen[pair], seen[pair] + 1
        bow = (number - (parallel[pair] - 1) / 2) * 9 if parallel[pair] > 1 else 0.0
        if layout.kind == "rows" and abs(y1 - y2) < 1:  # within one row: bow around the vertices in between
            bow = min(0.22 * abs(x2 - x1) + 14, 1.8 * (y1 - sheet.head))
        if pair in sheet.limits:  # under the link, whose rate stays visible
            late += [_line(x1, y1, x2, y2, bow, _LIMITED, 1), _line(x1, y1, x2, y2, bow, style, 1)]
        elif sheet.faulty.isdisjoint(pair) and pair not in sheet.trunks:
            yield _line(x1, y1, x2, y2, bow, style, opacity)
        else:
            late.append(_line(x1, y1, x2, y2, bow, _FAULTY, 1, f' stroke-dasharray="{_DASHES}"'))
    yield from late


def _line(
    x1: float, y1: float, x2: float, y2: float, bow: float, style: _Style, opacity: float, more: str = ""
) -> str:
    stroke = (
        f'fill="none" stroke="{style.colour}" stroke-width="{style.width:.2f}" stroke-opacity="{opacity}"'
    )
    stroke += more
    if bow == 0:
        return f'<path d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}" {stroke}/>'
    length = math.hypot(x2 - x1, y2 - y1) or 1.0
    middle_x = (x1 + x2) / 2 - (y2 - y1) / length * bow
    middle_y = (y1 + y2) / 2 - abs(x2 - x1) / length * bow
    return f'<path d="M{x1:.1f} {y1:.1f}Q{middle_x:.1f} {middle_y:.1f} {x2:.1f} {y2:.1f}" {stroke}/>'


def _bundles(sheet: _NetworkDrawing, points: NDArray[np.float64]) -> Iterator[str]:
    """Draws the hosts of each switch as one box, labelled with their number."""
    layout = sheet.layout
    if layout.bundle_at is None:
        return
    width = min(56.0, sheet.across / max(len(layout.bundles), 1) * 0.8)
    labelled = width >= 20
    for bundle, (x, y) in zip(layout.bundles, sheet.placed(layout.bundle_at), strict=True):
        top = points[bundle.switch]
        yield (
            f'<path d="M{top[0]:.1f} {top[1]:.1f}L{x:.1f} {y:.1f}" stroke="{_FAINT}" '
            f'stroke-width="{min(width / 2, 8):.1f}" stroke-opacity="0.3"/>'
        )
        bad = not sheet.faulty.isdisjoint(bundle.hosts)
        if bad:
            yield _line(top[0], top[1], x, y, 0, _FAULTY, 1, f' stroke-dasharray="{_DASHES}"')
        yield (
            f'<rect x="{x - width / 2:.1f}" y="{y - 14:.1f}" width="{width:.1f}" height="28" rx="3" '
            f'fill="{_HOST}" stroke="{FAULT if bad else _FAINT}" stroke-width="{2 if bad else 0.8}"/>'
        )
        if labelled:
            yield _text(x, y + 4.5, f"{len(bundle.hosts)}", 12)
    if layout.bundles:
        sizes = sorted({len(bundle.hosts) for bundle in layout.bundles})
        words = f"{sizes[0]}" if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
        yield _text(sheet.width / 2, sheet.head + sheet.height + 4, f"each box: {words} hosts", 12, _FAINT)


def _vertices(sheet: _NetworkDrawing, points: NDArray[np.float64]) -> Iterator[str]:
    graph, layout = sheet.graph, sheet.layout
    drawn = [index for index in range(len(graph.vertices)) if np.isfinite(points[index]).all()]
    rows = Counter((graph.vertices[index].is_host, round(points[index][1])) for index in drawn)
    crowd = len(drawn) if layout.kind != "rows" else 0
    for index in drawn:
        vertex, (x, y) = graph.vertices[index], points[index]
        beside = crowd or rows[(vertex.is_host, round(y))]
        room = sheet.across / beside if layout.kind == "rows" else 3 * sheet.across / math.sqrt(beside) / 6
        size = max(1.6 if sheet.width <= NARROW else 2.2, min(9.0, 0.36 * room))
        bad = index in sheet.faulty
        if vertex.is_host:
            yield (
                f'<rect x="{x - size:.1f}" y="{y - size:.1f}" width="{2 * size:.1f}" height="{2 * size:.1f}" '
                f'rx="{size / 3:.1f}" fill="{_HOST}" stroke="{FAULT if bad else _INK}" '
                f'stroke-width="{2 if bad else 0.8}"><title>{escape(vertex.name)}</title></rect>'
            )
        else:
            yield (
                f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{1.25 * size:.1f}" fill="{_SWITCH}">'
                f"<title>{escape(vertex.name)}</title></circle>"
            )
        if beside <= _LABELLED and (sheet.width > NARROW or room >= 9):
            own = vertex.capacity_bits_per_second
            if own > 0 and beside <= 16 and room >= 60:
                yield _text(x, y + size + 20, units.bit_rate(own), 11, _INK)
            if not (bad and layout.kind == "rows"):  # `_faults` names it
                yield from _name(vertex.name, sheet, x, y, size, above=not vertex.is_host, room=room)


def _host_ranges(sheet: _NetworkDrawing, points: NDArray[np.float64]) -> Iterator[str]:
    """Names the first and last host of each switch, below a row with too many hosts to name them all."""
    graph, layout = sheet.graph, sheet.layout
    all_named = graph.hosts <= _LABELLED and (sheet.width > NARROW or sheet.across / graph.hosts >= 9)
    if layout.kind != "rows" or layout.bundles or all_named:
        return
    runs = [list(hosts) for _, hosts in groupby(range(graph.hosts), switch_of(graph).get)]
    room = sheet.across / max(len(runs), 1)
    for run in runs:
        names = [graph.vertices[run[0]].name, graph.vertices[run[-1]].name]
        words = names[0] if len(run) == 1 else " – ".join(names)
        if room >= 6.2 * len(words):
            yield _text(float(points[run][:, 0].mean()), float(points[run[0]][1]) + 24, words, 11, _FAINT)


def _faults(sheet: _NetworkDrawing, points: NDArray[np.float64]) -> Iterator[str]:
    """Names the faulty hosts below a row of hosts or of boxes, each on a line of its own if too near."""
    if sheet.layout.kind != "rows" or not 0 < len(sheet.faulty) <= _MOST_NAMED:
        return
    places = {host: points[host] for host in sheet.faulty}
    if sheet.layout.bundle_at is not None:
        at = sheet.placed(sheet.layout.bundle_at)
        places = {
            host: at[number]
            for number, bundle in enumerate(sheet.layout.bundles)
            for host in sheet.faulty.intersection(bundle.hosts)
        }
    below = 28.0 if sheet.layout.bundles else _below_names(sheet, [*places])
    ends: list[float] = []
    for host, (x, y) in sorted(places.items(), key=lambda one: float(one[1][0])):
        words = f"⚠ {sheet.graph.vertices[host].name}"
        half = 4 * len(words)
        middle = min(max(x, half + 2), sheet.width - half - 2)
        line = next((row for row, end in enumerate(ends) if end < middle - half), len(ends))
        ends[line : line + 1] = [middle + half + 6]
        yield _text(middle, y + below + 15 * line, words, 12.5, FAULT, bold=True)


def _below_names(sheet: _NetworkDrawing, marked: Sequence[int]) -> float:
    """Returns how far below a row of hosts there is room for the names of those that are `marked`."""
    names = [vertex.name for vertex in sheet.graph.vertices[: sheet.graph.hosts]]
    longest, room = max(map(len, names)), sheet.across / len(names)
    if len(names) > _LABELLED:
        return 40  # below ranges of names
    if room >= 8 * max(len(names[host]) + 2 for host in marked):
        return 28  # between the names of other hosts
    return 44 if room >= _LETTER * longest + 4 else 32 + _LETTER * longest


def _name(
    name: str, sheet: _NetworkDrawing, x: float, y: float, size: float, *, above: bool, room: float
) -> Iterator[str]:
    if sheet.layout.kind != "rows":  # place the name outwards
        angle = math.atan2(y - sheet.head - sheet.height / 2, x - sheet.width / 2)
        dx, dy = math.cos(angle) * (size + 14), math.sin(angle) * (size + 14)
        anchor = "middle" if abs(math.cos(angle)) < 0.4 else "start" if dx > 0 else "end"
        yield _text(x + dx, y + dy + 4, name, 10.5, _FAINT, anchor)
    elif above and room >= 7 * len(name) + 4 * size + 8:  # beside the switch, where no link is
        yield _text(x + 1.25 * size + 5, y + 4, name, 11, _FAINT, "start")
    elif room >= _LETTER * len(name) + 4:
        yield _text(x, y - size - 8 if above else y + size + 16, name, 11, _FAINT)
    else:  # rotate by 90 degrees
        place = f"{x + 4:.1f} {y + size + 10:.1f}" if not above else f"{x + 4:.1f} {y - size - 8:.1f}"
        anchor = "start" if above else "end"
        yield (
            f'<text transform="translate({place}) rotate(-90)" font-size="10" text-anchor="{anchor}" '
            f'fill="{_FAINT}" {_HALO}>{escape(name)}</text>'
        )


def _text(
    x: float,
    y: float,
    words: str,
    size: float,
    colour: str = _INK,
    anchor: str = "middle",
    *,
    bold: bool = False,
) -> str:
    weight = ' font-weight="600"' if bold else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" fill="{colour}"{weight} '
        f"{_HALO}>{escape(words)}</text>"
    )


_FAULTY = _Style("⚠ fault found", FAULT, 3.0)
_LIMITED = _Style("shared limit found", LIMIT, 13.0)
_NEXT_LINE = ""


def _legend(sheet: _NetworkDrawing, y: float) -> Iterator[str]:
    """Yields the legend, with `_NEXT_LINE` wherever a line begins."""
    used = Counter((edge.bits_per_second, edge.cables, edge.half_duplex) for edge in sheet.graph.edges)
    entries = [(f"{style.label} × {used[kind]:,}", style, "") for kind, style in sheet.styles.items()]
    if sheet.limits:
        entries.append((_LIMITED.label, _LIMITED, ""))
    if sheet.faulty or sheet.trunks:
        entries.append((_FAULTY.label, _FAULTY, f' stroke-dasharray="{_DASHES}"'))
    x, y = math.inf, y - _LINE
    for words, style, dashes in entries:
        if x + 36 + 7.6 * len(words) > sheet.width:
            x, y = sheet.margin, y + _LINE
            yield _NEXT_LINE
        yield (
            f'<path d="M{x:.0f} {y:.0f}h28" stroke="{style.colour}" '
            f'stroke-width="{min(max(style.width, 2), 6):.1f}"{dashes}/>'
        )
        yield _text(x + 36, y + 4.5, words, 13, _INK, "start")
        x += 64 + 7.6 * len(words)
