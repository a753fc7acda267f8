"""`crosscut-core network ways`: the forwarding tables of labs agree with `network routes`."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from crosscut.base.errors import UsageError
from crosscut.network import description

NETWORKS = (
    "xibalba-e7-config1", "xibalba-maintenance", "beowulf-routed-4x9", "fatoohi-tc2k", "bode-sci-64",
    "two-switches-trunked-gigabit", "fatoohi-frost", "rail-optimised-gpu",
)  # fmt: skip


def walked(document: Mapping[str, Any], source: int, to: int) -> list[int]:
    """Returns the edges from host to host by the tables; fails if they form a loop."""
    adapter = -1 if document["hosts"][to]["forwards"] != "no" else 0
    route = next(one for one in document["routes"] if (one["host"], one["adapter"]) == (to, adapter))
    hops = {hop[0]: hop[1:] for hop in route["at"]}
    segments = {(one["host"], one["adapter"]): dict(one["at"]) for one in document["segments"]}
    edges, at = [], source
    while at != to:
        lane, after, entering = hops[at]
        while True:
            edges.append(lane // 2)
            edge = document["edges"][lane // 2]
            at = edge["b"] if lane % 2 == 0 else edge["a"]
            if at == after:
                break
            lane = segments[after, entering][at]
        assert len(edges) <= len(document["edges"])
    return edges


@pytest.mark.parametrize("name", NETWORKS)
def test_tables_lead_from_every_host_to_every_other(name: str) -> None:
    document = json.loads(description.ask("ways", name, "--json").stdout)
    names = [host["name"] for host in document["hosts"]]
    pairs = [(a, b) for a in range(len(names)) for b in range(len(names)) if a != b]
    for source, to in random.Random(1).sample(pairs, min(len(pairs), 500)):
        edges = walked(document, source, to)
        ends = {end for number in edges for end in (document["edges"][number][key] for key in "ab")}
        assert {source, to} <= ends


@pytest.mark.parametrize("name", ["xibalba-e7-config1", "beowulf-routed-4x9", "two-switches-trunked-gigabit"])
def test_the_only_way_is_the_route(name: str) -> None:
    document = json.loads(description.ask("ways", name, "--json").stdout)
    assert not document["equal_ways"]
    names = [vertex["name"] for vertex in document["hosts"] + document["switches"]]
    hosts = len(document["hosts"])
    for source, to in random.Random(2).sample(
        [(a, b) for a in range(hosts) for b in range(hosts) if a != b], 20
    ):
        route = json.loads(description.ask("routes", name, names[source], names[to], "--json").stdout)
        at, passed = source, [names[source]]
        for number in walked(document, source, to):
            edge = document["edges"][number]
            at = edge["b"] if edge["a"] == at else edge["a"]
            passed.append(names[at])
        assert passed == route["vertices"]


def test_equal_ways_are_chosen_by_destination(tmp_path: Path) -> None:
    """Six hosts are on other leaves; each of the two spines leads to exactly three of them."""
    file = tmp_path / "clos.toml"
    file.write_text(
        '[generator]\nkind = "clos"\nleaves = 4\nspines = 2\nhosts_per_leaf = 2\nrate = "1 Gbit/s"\n'
    )
    document = json.loads(description.ask("ways", str(file), "--json").stdout)
    assert document["equal_ways"]
    up = [dict(one["at"])[8] // 2 for one in document["segments"] if one["host"] >= 2]
    assert sorted(map(up.count, set(up))) == [3, 3]


def test_too_many_hosts_are_refused() -> None:
    with pytest.raises(UsageError, match="at most 1024"):
        description.ask("ways", "fat-tree-65536", "--json")
