"""Drawings of networks: everything on the canvas, nothing overlapping, text escaped."""

from __future__ import annotations

import itertools
import math
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crosscut.base.errors import UsageError
from crosscut.network.description import DescribedLink, Graph, Network, Vertex
from crosscut.reports.svg import network as network_drawing
from crosscut.reports.svg.layout import lay_out

FIGURES: dict[str, Any] = {
    "name": "a<b>&c",
    "title": "",
    "counts": {"hosts": 4, "switches": 1, "cables": 4},
    "distances": {"diameter_hops": 1},
    "bisection": None,
    "price": None,
}


def edge(a: int, b: int, rate: float = 1e9) -> DescribedLink:
    return DescribedLink(a, b, 1, False, rate, rate)


def tree(leaves: int, hosts_each: int) -> Graph:
    hosts = leaves * hosts_each
    vertices = [Vertex(f"n{i}", "host", i // hosts_each) for i in range(hosts)]
    vertices += [Vertex(f"leaf{i}", "switch", i) for i in range(leaves)]
    vertices.append(Vertex("root", "switch", None, 1, 1.6e9))
    edges = [edge(i, hosts + i // hosts_each) for i in range(hosts)]
    edges += [edge(hosts + i, hosts + leaves, math.inf) for i in range(leaves)]
    return Graph(hosts, tuple(vertices), tuple(edges), "leaf")


def torus(*sides: int) -> Graph:
    count = math.prod(sides)
    edges = []
    for v in range(count):
        step = 1
        for side in sides:
            if side > 1:
                place = v // step % side
                edges.append(edge(v, v - place * step + (place + 1) % side * step))
            step *= side
    return Graph(count, tuple(Vertex(f"n{i}", "host") for i in range(count)), tuple(edges), "")


def groups(count: int, hosts_each: int) -> Graph:
    hosts = count * hosts_each
    vertices = [Vertex(f"n{i}", "host", i // hosts_each) for i in range(hosts)]
    vertices += [Vertex(f"s{i}", "switch", i) for i in range(count)]
    edges = [edge(i, hosts + i // hosts_each) for i in range(hosts)]
    edges += [edge(hosts + i, hosts + j) for i in range(count) for j in range(i)]
    return Graph(hosts, tuple(vertices), tuple(edges), "group")


@settings(deadline=None, max_examples=30)
@given(
    st.one_of(
        st.builds(tree, st.integers(1, 12), st.integers(1, 20)),
        st.builds(torus, st.integers(2, 6), st.integers(1, 5), st.integers(1, 4)),
        st.builds(groups, st.integers(3, 9), st.integers(1, 6)),
    )
)
def test_everything_is_drawn_within_the_canvas(graph: Graph) -> None:
    text = network_drawing.svg(Network(FIGURES, graph))
    assert "nan" not in text
    root = ET.fromstring(text)
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    marks = [e for e in root if e.tag.endswith(("circle", "rect")) and list(e)]
    bundled = sum(len(bundle.hosts) for bundle in lay_out(graph).bundles)
    assert len(marks) == len(graph.vertices) - bundled
    for mark in marks:
        x = float(mark.attrib.get("cx") or mark.attrib["x"])
        y = float(mark.attrib.get("cy") or mark.attrib["y"])
        assert 0 <= x <= width
        assert 0 <= y <= height


@pytest.mark.parametrize("width", [network_drawing.WIDTH, network_drawing.NARROW])
@pytest.mark.parametrize("graph", [tree(3, 4), tree(4, 16), tree(32, 32), groups(4, 4)])
def test_a_faulty_host_is_named_and_its_link_stands_out(graph: Graph, width: int) -> None:
    plain, marked = (
        ET.fromstring(network_drawing.svg(Network(FIGURES, graph), width=width, faulty=names))
        for names in ((), (graph.vertices[1].name,))
    )
    faulty = [e for e in marked.iter() if e.attrib.get("stroke") == network_drawing.FAULT]
    assert [e for e in plain.iter() if e.attrib.get("stroke") == network_drawing.FAULT] == []
    assert all(e.attrib.get("stroke-dasharray") for e in faulty if e.tag.endswith("path"))
    # Its link, its box, and the legend.
    assert sorted(e.tag.partition("}")[2] for e in faulty) == ["path", "path", "rect"]
    said = "".join(marked.itertext())
    assert "⚠ fault found" in said
    assert graph.vertices[1].name in said


@pytest.mark.parametrize("graph", [tree(3, 4), tree(32, 32)])
def test_a_slow_trunk_of_all_hosts_of_one_switch_stands_out(graph: Graph) -> None:
    leaf = [vertex.name for vertex in graph.vertices[: graph.hosts] if vertex.group == 1]
    drawn = [
        ET.fromstring(network_drawing.svg(Network(FIGURES, graph), behind_slow_trunks=[names]))
        for names in (leaf, leaf[1:])
    ]
    faulty = [[e for e in one.iter() if e.attrib.get("stroke") == network_drawing.FAULT] for one in drawn]
    # Its link and the legend; nothing for hosts that share no switch of their own.
    assert [e.tag.partition("}")[2] for e in faulty[0]] == ["path", "path"]
    assert faulty[1] == []
    assert "⚠ fault found" in "".join(drawn[0].itertext())


@pytest.mark.parametrize("graph", [tree(3, 4), tree(32, 32)])
def test_the_trunk_that_limits_a_leaf_stands_out_though_the_group_of_one_host_is_unknown(
    graph: Graph,
) -> None:
    names = [vertex.name for vertex in graph.vertices[: graph.hosts]]
    leaf = [vertex.name for vertex in graph.vertices[: graph.hosts] if vertex.group == 1]
    known = [name for name in names if name != leaf[0]]
    marked = [
        [e.tag.partition("}")[2] for e in drawn.iter() if e.attrib.get("stroke") == network_drawing.LIMIT]
        for drawn in (
            ET.fromstring(
                network_drawing.svg(Network(FIGURES, graph), behind_limits=[leaf[1:]], known=known_hosts)
            )
            for known_hosts in (known, None)
        )
    ]
    assert marked == [["path", "path"], []]  # the link and the legend


def test_a_slow_trunk_is_marked_whichever_group_the_unknown_host_was_put_into() -> None:
    graph = tree(3, 4)
    leaf = [vertex.name for vertex in graph.vertices[: graph.hosts] if vertex.group == 1]
    stranger = graph.vertices[0].name
    known = [vertex.name for vertex in graph.vertices[1 : graph.hosts]]
    text = network_drawing.svg(Network(FIGURES, graph), behind_slow_trunks=[[*leaf, stranger]], known=known)
    assert "⚠ fault found" in text


@pytest.mark.parametrize("hosts_each", [4, 8, 16])
@pytest.mark.parametrize("width", [network_drawing.WIDTH, network_drawing.NARROW])
def test_no_name_of_a_host_covers_another(hosts_each: int, width: int) -> None:
    graph = tree(2, hosts_each)
    drawn = ET.fromstring(network_drawing.svg(Network(FIGURES, graph), width=width, faulty=["n3"]))
    names = {f"n{number}" for number in range(graph.hosts)}
    boxes: list[tuple[float, float, float]] = []
    for e in drawn.iter():
        words = e.text or ""
        if e.tag.endswith("text") and words.removeprefix("⚠ ") in names and "transform" not in e.attrib:
            half = 0.31 * float(e.attrib["font-size"]) * len(words)
            x, y = float(e.attrib["x"]), float(e.attrib["y"])
            boxes.append((y, x - half, x + half))
    assert boxes
    for (y, left, right), (other_y, other_left, other_right) in itertools.combinations(boxes, 2):
        assert abs(y - other_y) > 10 or right + 2 < other_left or other_right + 2 < left


@pytest.mark.parametrize("graph", [torus(4, 4, 4), torus(8, 8), torus(16), torus(5, 5, 5), groups(6, 8)])
def test_no_vertex_hides_another(graph: Graph) -> None:
    at = lay_out(graph).at
    distances = np.linalg.norm(at[:, None] - at[None], axis=2) + np.eye(len(at))
    assert distances.min() > 0.005


def test_many_hosts_become_boxes_with_their_number() -> None:
    layout = lay_out(tree(32, 32))
    assert [len(bundle.hosts) for bundle in layout.bundles] == [32] * 32
    text = network_drawing.svg(Network(FIGURES, tree(32, 32)))
    assert text.count(">32</text>") == 32
    assert len(text) < 100_000


def test_names_are_text_and_not_markup() -> None:
    text = network_drawing.svg(Network(FIGURES, tree(2, 2)))
    assert "a&lt;b&gt;&amp;c" in text
    assert "no limit of its own" in text


def test_the_format_of_a_picture_follows_from_its_suffix(tmp_path: Path) -> None:
    network = Network(FIGURES, tree(2, 2))
    network_drawing.write(network, tmp_path / "a.svg")
    ET.parse(tmp_path / "a.svg")
    pytest.importorskip("resvg_py")
    network_drawing.write(network, tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(UsageError, match=r"\.svg or a \.png"):
        network_drawing.write(network, tmp_path / "a.pdf")
