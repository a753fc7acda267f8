"""Drawing of a network as SVG, or as PNG if resvg-py is installed."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from itertools import groupby
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from crosscut.base import units, whole_file
from crosscut.base.errors import UsageError
from crosscut.network.description import Graph, Network
from crosscut.reports.svg.layout import Layout, lay_out, switch_of

WIDTH, MARGIN, HEAD, LEGEND = 1280, 40, 92, 64
# An outline that keeps text readable over lines.
_HALO = 'paint-order="stroke" stroke="#ffffff" stroke-width="3" stroke-linejoin="round"'
_ROUND_HEIGHT = 860.0
_LABELLED = 40  # vertices; larger rows or circles are drawn without names
# Okabe and Ito's colour-blind-safe palette, from slow to fast.
_COLOURS = ("#56b4e9", "#0072b2", "#e69f00", "#d55e00", "#cc79a7", "#009e73")
_INK, _FAINT, _HOST, _SWITCH = "#1f2933", "#6b7785", "#f2f5f8", "#274c6b"


@dataclass(frozen=True)
class _Style:
    """Appearance of one kind of link. The label states the rate of all its cables together."""

    label: str
    colour: str
    width: float


def svg(network: Network) -> str:
    """Returns the whole drawing. The network must be loaded with its graph."""
    assert network.graph is not None
    graph = network.graph
    layout = lay_out(graph)
    height = 165.0 * layout.rows - 30 if layout.kind == "rows" else _ROUND_HEIGHT
    # Other layouts are square, in the middle, so that circles stay round.
    across = WIDTH - 2 * MARGIN if layout.kind == "rows" else height
    points = layout.at * (across, height) + ((WIDTH - across) / 2, HEAD)
    styles = _styles(graph)
    total = HEAD + height + LEGEND
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{total:.0f}" '
        f'viewBox="0 0 {WIDTH} {total:.0f}" font-family="DejaVu Sans, Helvetica, Arial, sans-serif">',
        f'<rect width="{WIDTH}" height="{total:.0f}" fill="#ffffff"/>',
        *_head(network),
        *_links(graph, layout, points, styles),
        *_bundles(layout, points, height),
        *_vertices(graph, layout, points),
        *_host_ranges(graph, layout, points),
        *_legend(graph, styles, HEAD + height + 30),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


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
            _COLOURS[min(index, len(_COLOURS) - 1)],
            min(width, 6 * crowd),
        )
    return styles


def _head(network: Network) -> Iterator[str]:
    figures = network.figures
    counts, far, cut = figures["counts"], figures["distances"], figures["bisection"]
    words = [
        f"{counts['hosts']:,} hosts",
        f"{counts['switches']:,} switches",
        f"{counts['cables']:,} cables",
        f"diameter {far['diameter_hops']} hops",
    ]
    if cut:
        at_most = "" if cut["kind"] == "closed form" else "at most "
        words.append(f"bisection {at_most}{units.bit_rate(cut['bits_per_second'])}")
    if figures["price"]:
        words.append(f"{figures['price']['network']:,.0f} {figures['price']['currency']} for the network")
    title = network.name + (f" · {figures['title']}" if figures["title"] else "")
    yield f'<text x="{MARGIN}" y="40" font-size="21" font-weight="600" fill="{_INK}">{escape(title)}</text>'
    yield f'<text x="{MARGIN}" y="66" font-size="14" fill="{_FAINT}">{escape(" · ".join(words))}</text>'


def _links(
    graph: Graph, layout: Layout, points: NDArray[np.float64], styles: dict[tuple[float, int, bool], _Style]
) -> Iterator[str]:
    bundled = {host for bundle in layout.bundles for host in bundle.hosts}
    parallel = Counter((min(edge.a, edge.b), max(edge.a, edge.b)) for edge in graph.edges)
    seen: Counter[tuple[int, int]] = Counter()
    opacity = 0.85 if len(graph.edges) < 300 else 0.45 if len(graph.edges) < 3000 else 0.2
    for edge in graph.edges:
        if edge.a in bundled or edge.b in bundled:
            continue
        pair = (min(edge.a, edge.b), max(edge.a, edge.b))
        style = styles[(edge.bits_per_second, edge.cables, edge.half_duplex)]
        (x1, y1), (x2, y2) = points[edge.a], points[edge.b]
        number, seen[pair] = seen[pair], seen[pair] + 1
        bow = (number - (parallel[pair] - 1) / 2) * 9 if parallel[pair] > 1 else 0.0
        if layout.kind == "rows" and abs(y1 - y2) < 1:  # within one row: bow around the vertices in between
            bow = min(0.22 * abs(x2 - x1) + 14, 1.8 * (y1 - HEAD))
        yield _line(x1, y1, x2, y2, bow, style, opacity)


def _line(x1: float, y1: float, x2: float, y2: float, bow: float, style: _Style, opacity: float) -> str:
    stroke = (
        f'fill="none" stroke="{style.colour}" stroke-width="{style.width:.2f}" stroke-opacity="{opacity}"'
    )
    if bow == 0:
        return f'<path d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}" {stroke}/>'
    length = math.hypot(x2 - x1, y2 - y1) or 1.0
    middle_x = (x1 + x2) / 2 - (y2 - y1) / length * bow
    middle_y = (y1 + y2) / 2 - abs(x2 - x1) / length * bow
    return f'<path d="M{x1:.1f} {y1:.1f}Q{middle_x:.1f} {middle_y:.1f} {x2:.1f} {y2:.1f}" {stroke}/>'


def _bundles(layout: Layout, points: NDArray[np.float64], height: float) -> Iterator[str]:
    """Draws the hosts of each switch as one box, labelled with their number."""
    if layout.bundle_at is None:
        return
    width = min(56.0, (WIDTH - 2 * MARGIN) / max(len(layout.bundles), 1) * 0.8)
    labelled = width >= 20
    for bundle, place in zip(layout.bundles, layout.bundle_at, strict=True):
        x, y = place * (WIDTH - 2 * MARGIN, height) + (MARGIN, HEAD)
        top = points[bundle.switch]
        yield (
            f'<path d="M{top[0]:.1f} {top[1]:.1f}L{x:.1f} {y:.1f}" stroke="{_FAINT}" '
            f'stroke-width="{min(width / 2, 8):.1f}" stroke-opacity="0.3"/>'
        )
        yield (
            f'<rect x="{x - width / 2:.1f}" y="{y - 14:.1f}" width="{width:.1f}" height="28" rx="3" '
            f'fill="{_HOST}" stroke="{_FAINT}" stroke-width="0.8"/>'
        )
        if labelled:
            yield _text(x, y + 4.5, f"{len(bundle.hosts)}", 12)
    if not labelled and layout.bundles:
        sizes = sorted({len(bundle.hosts) for bundle in layout.bundles})
        words = f"{sizes[0]}" if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
        yield _text(WIDTH / 2, HEAD + height - 8, f"each box: {words} hosts", 12, _FAINT)


def _vertices(graph: Graph, layout: Layout, points: NDArray[np.float64]) -> Iterator[str]:
    drawn = [index for index in range(len(graph.vertices)) if np.isfinite(points[index]).all()]
    rows = Counter((graph.vertices[index].is_host, round(points[index][1])) for index in drawn)
    crowd = len(drawn) if layout.kind != "rows" else 0
    for index in drawn:
        vertex, (x, y) = graph.vertices[index], points[index]
        beside = crowd or rows[(vertex.is_host, round(y))]
        room = (WIDTH - 2 * MARGIN) / beside if layout.kind == "rows" else 2600 / math.sqrt(beside) / 6
        size = max(2.2, min(9.0, 0.36 * room))
        if vertex.is_host:
            yield (
                f'<rect x="{x - size:.1f}" y="{y - size:.1f}" width="{2 * size:.1f}" height="{2 * size:.1f}" '
                f'rx="{size / 3:.1f}" fill="{_HOST}" stroke="{_INK}" stroke-width="0.8">'
                f"<title>{escape(vertex.name)}</title></rect>"
            )
        else:
            yield (
                f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{1.25 * size:.1f}" fill="{_SWITCH}">'
                f"<title>{escape(vertex.name)}</title></circle>"
            )
        if beside <= _LABELLED:
            own = vertex.capacity_bits_per_second
            if own > 0 and beside <= 16:
                yield _text(x, y + size + 20, units.bit_rate(own), 11, _INK)
            yield from _name(vertex.name, layout, x, y, size, above=not vertex.is_host, room=room)


def _host_ranges(graph: Graph, layout: Layout, points: NDArray[np.float64]) -> Iterator[str]:
    """Names the first and last host of each switch, below a row with too many hosts to name them all."""
    if layout.kind != "rows" or layout.bundles or graph.hosts <= _LABELLED:
        return
    runs = [list(hosts) for _, hosts in groupby(range(graph.hosts), switch_of(graph).get)]
    room = (WIDTH - 2 * MARGIN) / max(len(runs), 1)
    for run in runs:
        names = [graph.vertices[run[0]].name, graph.vertices[run[-1]].name]
        words = names[0] if len(run) == 1 else " – ".join(names)
        if room >= 6.2 * len(words):
            yield _text(float(points[run][:, 0].mean()), float(points[run[0]][1]) + 24, words, 11, _FAINT)


def _name(
    name: str, layout: Layout, x: float, y: float, size: float, *, above: bool, room: float
) -> Iterator[str]:
    if layout.kind != "rows":  # place the name outwards
        angle = math.atan2(y - HEAD - _ROUND_HEIGHT / 2, x - WIDTH / 2)
        dx, dy = math.cos(angle) * (size + 14), math.sin(angle) * (size + 14)
        anchor = "middle" if abs(math.cos(angle)) < 0.4 else "start" if dx > 0 else "end"
        yield _text(x + dx, y + dy + 4, name, 10.5, _FAINT, anchor)
    elif room >= 6.4 * len(name):
        yield _text(x, y - size - 8 if above else y + size + 16, name, 11, _FAINT)
    else:  # rotate by 90 degrees
        place = f"{x + 4:.1f} {y + size + 10:.1f}" if not above else f"{x + 4:.1f} {y - size - 8:.1f}"
        anchor = "start" if above else "end"
        yield (
            f'<text transform="translate({place}) rotate(-90)" font-size="10" text-anchor="{anchor}" '
            f'fill="{_FAINT}" {_HALO}>{escape(name)}</text>'
        )


def _text(x: float, y: float, words: str, size: float, colour: str = _INK, anchor: str = "middle") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" fill="{colour}" {_HALO}>'
        f"{escape(words)}</text>"
    )


def _legend(graph: Graph, styles: dict[tuple[float, int, bool], _Style], y: float) -> Iterator[str]:
    used = Counter((edge.bits_per_second, edge.cables, edge.half_duplex) for edge in graph.edges)
    x = float(MARGIN)
    for kind, style in styles.items():
        words = f"{style.label} × {used[kind]:,}"
        yield (
            f'<path d="M{x:.0f} {y:.0f}h28" stroke="{style.colour}" '
            f'stroke-width="{max(style.width, 2):.1f}"/>'
        )
        yield _text(x + 36, y + 4.5, words, 13, _INK, "start")
        x += 64 + 7.6 * len(words)
