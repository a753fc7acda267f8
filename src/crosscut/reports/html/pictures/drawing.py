"""Drawing of the network description that a run carries, with its capacities."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from crosscut.base.errors import CrosscutError
from crosscut.network import description as network
from crosscut.reports.html.markup import Markup, scrolling
from crosscut.reports.html.markup import text as escaped
from crosscut.reports.html.pictures.picture import Picture
from crosscut.reports.svg import network as network_drawing
from crosscut.reports.view import View, number, text

LARGEST_BYTES = 600_000
MOST_LINKS = 5_000
MOST_HOSTS = 20_000  # with more, the drawing is only a grey band
# Maps the drawing's colours to the page's. Replaced only as whole attribute values, never inside names.
_COLOURS = {
    "#ffffff": "var(--card)", "#1f2933": "var(--ink)", "#6b7785": "var(--faint)", "#f2f5f8": "var(--raised)",
    "#274c6b": "var(--switch)",
}  # fmt: skip


def picture(view: View, name: str) -> Picture | None:
    """Returns None if the run has no network description, or one that is unreadable or too large to draw."""
    description = text(view.attributes, "network", "description")
    if not description or not number(view.attributes, "network", "hosts") <= MOST_HOSTS:
        return None
    try:
        found = _loaded(description, text(view.attributes, "network", "name"))
    except CrosscutError:  # another version's description: the report goes on without its picture
        return None
    svg = network_drawing.svg(found)
    if len(svg) > LARGEST_BYTES:
        return None
    title = text(view.attributes, "network", "title") or text(view.attributes, "network", "name")
    counts = found.figures["counts"]
    said = f"{title}: {counts['hosts']:,} hosts, {counts['switches']:,} switches. "
    said += "Links are coloured and sized by rate"
    if found.graph is not None and any(one.capacity_bits_per_second for one in found.graph.vertices):
        said += "; figures beside switches are the switches' own capacities"
    return Picture(
        kind="drawing",
        name=name,
        title="The network",
        caption=f"{said}.",
        columns=_links(found.graph),
        body=scrolling(_themed(svg, title), f"drawing of the network {title}", "drawing scroll"),
    )


def _links(graph: network.Graph | None) -> dict[str, list[float | int | str | None]]:
    """Returns both ends of each link; empty beyond `MOST_LINKS` links, which the run's description lists."""
    if graph is None or not 0 < len(graph.edges) <= MOST_LINKS:
        return {}
    edges = graph.edges
    return {
        "from": [graph.vertices[edge.a].name for edge in edges],
        "to": [graph.vertices[edge.b].name for edge in edges],
        "cables": [edge.cables for edge in edges],
        "bits_per_second": [edge.bits_per_second for edge in edges],
    }


def _loaded(description: str, name: str) -> network.Network:
    """Loads a description through a temporary file, since the core reads files and names a network after its
    file. Characters that a file name may not contain are replaced."""
    with tempfile.TemporaryDirectory(prefix="crosscut-report-") as folder:
        file = Path(folder) / f"{re.sub(r'[^A-Za-z0-9_-]', '-', name)[:80] or 'network'}.toml"
        file.write_text(description, encoding="utf-8", errors="replace")
        return network.load(str(file), graph=True)


def _themed(svg: str, title: str) -> Markup:
    pattern = re.compile("|".join(f'="{colour}"' for colour in _COLOURS))
    themed = pattern.sub(lambda match: f'="{_COLOURS[match[0][2:-1]]}"', svg)
    # Names inside are escaped by network_drawing.
    return Markup(themed.replace("<svg ", f'<svg role="img" aria-label="{escaped(title)}" ', 1))
