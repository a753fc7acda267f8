"""Counts routes by Salmon's published rule on the network that lab and simulator use."""

from __future__ import annotations

import tomllib
from pathlib import Path

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


def test_the_experiment_s_reckoned_routes_follow_the_same_rule() -> None:
    (series,) = experiment.read(experiment.find("salmon-routes")).series
    assert dict(zip(series.x, series.reckoned, strict=True)) == by_the_rule()
