"""Counts routes by Salmon's published rule on the network that lab and simulator use."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

from crosscut.network import description
from crosscut.reproduce import experiment, running

PUBLISHED = Path(__file__).parent / "published" / "salmon1998.toml"


def by_the_rule() -> dict[int, int]:
    """Returns pairs by the number of nodes that forward; each wire between two groups has its own nodes."""
    testbed = tomllib.loads(PUBLISHED.read_text(encoding="utf-8"))["testbed"]
    groups, nodes = testbed["switch_groups"], testbed["nodes_per_group"]
    pairs_of_groups = groups * (groups - 1)
    wires = 2 * testbed["p2p_links"] // pairs_of_groups
    others = nodes - wires
    return {
        0: groups * nodes * (nodes - 1) + pairs_of_groups * wires,
        1: pairs_of_groups * (wires * (nodes - 1) + others * wires),
        2: pairs_of_groups * others * others,
    }


def test_the_computed_routes_follow_the_published_rule() -> None:
    found = running.counted("beowulf-routed-4x9")
    assert dict(found) == by_the_rule()
    assert max(found) == tomllib.loads(PUBLISHED.read_text(encoding="utf-8"))["testbed"]["max_gateways"]


def test_the_experiment_s_published_routes_are_the_printed_hops_and_follow_the_same_rule() -> None:
    """The paper prints 9, 14 and 12 of a node's 35 partners, at one, two and three hops."""
    (series,) = experiment.read(experiment.find("salmon-routes")).series
    printed = tomllib.loads(PUBLISHED.read_text(encoding="utf-8"))["testbed"]["hops"]
    assert list(series.published) == [36 * hosts for hosts in printed]
    assert dict(zip(series.x, series.published, strict=True)) == by_the_rule()


def test_the_network_s_hops_are_the_printed_ones() -> None:
    printed = tomllib.loads(PUBLISHED.read_text(encoding="utf-8"))["testbed"]["hops"]
    shown = json.loads(description.ask("show", "beowulf-routed-4x9", "--json").stdout)
    at_hops = shown["distances"]["hosts_at_hops"]
    assert [at_hops[hops] for hops in ("1", "2", "3")] == printed
    assert len(at_hops) == 3
