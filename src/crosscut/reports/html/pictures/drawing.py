"""Drawing of the network description that a run carries, with its capacities."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from crosscut.analysis.findings.kinds import OF_ONE_HOST, FindingKind
from crosscut.analysis.findings.model import Finding
from crosscut.analysis.structure.model import Structure
from crosscut.analysis.structure.totals import LINKS
from crosscut.base import units
from crosscut.base.errors import CrosscutError
from crosscut.network import description as network
from crosscut.reports.html.markup import Markup, join, scrolling
from crosscut.reports.html.markup import text as escaped
from crosscut.reports.html.meaning import Meaning
from crosscut.reports.html.pictures.picture import Picture
from crosscut.reports.svg import network as network_drawing
from crosscut.reports.view import View, number, text

LARGEST_BYTES = 600_000
LARGEST_TWICE = 100_000  # larger drawings have no second one for narrow screens
MOST_LINKS = 5_000
MOST_HOSTS = 20_000  # with more, the drawing is only a grey band
# Maps the drawing's colours to the page's. Replaced only as whole attribute values, never inside names.
COLOURS = {
    "#ffffff": "var(--card)", "#1f2933": "var(--ink)", "#6b7785": "var(--faint)", "#f2f5f8": "var(--raised)",
    "#274c6b": "var(--switch)", network_drawing.FAULT: Meaning.FAULT.colour,
    network_drawing.LIMIT: Meaning.LIMIT.colour,
    **{colour: f"var(--rate{at})" for at, colour in enumerate(network_drawing.RATES, 1)},
}  # fmt: skip


def picture(
    view: View, name: str, faults: Sequence[Finding] = (), known: Structure | None = None
) -> Picture | None:
    """Returns None if the run has no network description, or one that is unreadable or too large to draw.

    Hosts that `faults` call faulty as a whole are marked, and trunks of all hosts of one switch that are slow
    or, by the structure that is `known`, limit their hosts.
    """
    description = text(view.attributes, "network", "description")
    if not description or not number(view.attributes, "network", "hosts") <= MOST_HOSTS:
        return None
    try:
        found = _loaded(description, text(view.attributes, "network", "name"))
    except CrosscutError:  # another version's description: the report goes on without its picture
        return None
    faulty = {host.partition(":")[0] for one in faults if one.kind in OF_ONE_HOST for host in one.hosts}
    trunks = [
        _nodes(view, one.ranks)
        for one in faults if one.kind is FindingKind.SLOW_TRUNK and len(one.groups) == 1
    ]  # fmt: skip
    placed = [group for top in (known.placed if known else ()) for group in top.walk()]
    limited = {one.groups for one in (known.limits if known else ()) if one.reach in LINKS}
    limits = [_nodes(view, group.ranks) for group in placed if (group.name,) in limited]
    draw = partial(
        network_drawing.svg, found, faulty=faulty, behind_slow_trunks=trunks, behind_limits=limits,
        known=_nodes(view, [rank for group in placed for rank in group.ranks]) if placed else None,
    )  # fmt: skip
    svg = draw()
    if len(svg) > LARGEST_BYTES:
        return None
    drawn = _themed(svg, "wide", title_of(view))
    if len(svg) <= LARGEST_TWICE:
        narrow = draw(width=network_drawing.NARROW)
        drawn = join(drawn, _themed(narrow, "narrow", title_of(view)))
    counts = found.figures["counts"]
    hosts, switches = (
        units.count(counts["hosts"], "host"),
        units.count(counts["switches"], "switch", "switches"),
    )
    said = (
        f"{hosts}, {switches}, drawn from the network's file. Faster links are wider and stronger in colour"
    )
    if len(limits) == len(placed) == 2:
        said += "; the limit may be that of either marked trunk"
    if found.graph is not None and any(one.capacity_bits_per_second for one in found.graph.vertices):
        said += "; figures beside switches are the switches' own capacities"
    return Picture(
        kind="drawing",
        name=name,
        title="The network",
        caption=f"{said}.",
        columns=_links(found.graph),
        body=scrolling(drawn, f"drawing of the network {title_of(view)}", "drawing scroll"),
    )


def _nodes(view: View, ranks: Sequence[int]) -> set[str]:
    return {view.nodes[view.rank_nodes[rank]] for rank in ranks if rank < view.ranks}


def title_of(view: View) -> str:
    return text(view.attributes, "network", "title") or text(view.attributes, "network", "name")


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


def _themed(svg: str, class_: str, title: str) -> Markup:
    pattern = re.compile("|".join(f'="{colour}"' for colour in COLOURS))
    themed = pattern.sub(lambda match: f'="{COLOURS[match[0][2:-1]]}"', svg)
    # Names inside are escaped by network_drawing.
    return Markup(
        themed.replace("<svg ", f'<svg role="img" class="{class_}" aria-label="{escaped(title)}" ', 1)
    )
