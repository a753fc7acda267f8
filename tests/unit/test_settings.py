"""Settings that differ between hosts are reported first, and with these hosts' findings."""

from __future__ import annotations

import math

import pytest

from crosscut.analysis.findings import settings
from crosscut.analysis.findings.kinds import FindingKind
from crosscut.analysis.findings.model import Finding

NODES = ("n0", "n1", "n2", "n3", "n4")
ADAPTER = {"name": "eth0", "mtu": 1500, "speed_mbit_s": 10000, "duplex": "full", "driver": "mlx5_core"}


def attributes(**odd: dict[str, object]) -> dict[str, object]:
    """Equal nodes but for the given settings of their adapters; `control`: a node's congestion control."""
    nodes = []
    for node in NODES:
        own = odd.get(node, {})
        control = own.get("control", "cubic")
        offloads = {"tso": own.get("tso", True), "gro": True}
        adapter = {**ADAPTER, "offloads": offloads, **{name: own[name] for name in own if name in ADAPTER}}
        nodes.append({"name": node, "congestion_control": control, "adapters": [adapter]})
    return {"nodes": nodes}


def told(*found: Finding, **odd: dict[str, object]) -> list[Finding]:
    return settings.tied(found, settings.of_nodes(attributes(**odd)), NODES)


def test_equal_hosts_add_nothing() -> None:
    slow = Finding(FindingKind.SLOW_HOST, "n1 sends at half.", ranks=(1,), hosts=("n1",))
    assert told(slow) == [slow]


@pytest.mark.parametrize(
    ("odd", "said"),
    [
        ({"mtu": 576}, "MTU differs between hosts: 576 at n2, 1500 at the other 4 hosts"),
        ({"speed_mbit_s": 1000}, "speed in Mbit/s differs between hosts: 1000 at n2, 10000 at the"),
        ({"duplex": "half"}, "duplex differs between hosts: half at n2, full at the other 4 hosts"),
        ({"driver": "e1000"}, "driver differs between hosts: e1000 at n2, mlx5_core at the other"),
        ({"tso": False}, "tso differs between hosts: off at n2, on at the other 4 hosts"),
        ({"control": "bbr"}, "TCP congestion control differs between hosts: bbr at n2, cubic at the other"),
    ],
)
def test_one_host_that_differs_is_named(odd: dict[str, object], said: str) -> None:
    (found,) = told(n2=odd)
    assert found.what.startswith(said)
    assert (found.kind, found.ranks, found.hosts) == (FindingKind.SETTINGS, (2,), ("n2",))


def test_a_slow_host_with_different_settings_names_them_instead_of_its_cable() -> None:
    slow = Finding(FindingKind.SLOW_HOST, "n1 sends at half.", ranks=(1,), hosts=("n1",), advice="swap it")
    sound = Finding(FindingKind.SLOW_HOST, "n3 sends at half", ranks=(3,), hosts=("n3",), advice="swap it")
    first, tied, other = told(slow, sound, n1={"mtu": 576})
    assert first.kind is FindingKind.SETTINGS
    assert tied.what == "n1 sends at half; n1 has MTU 576 in place of 1500"
    assert "settings" in tied.advice
    assert other == sound


def test_two_kinds_of_hosts_are_reported_without_calling_either_odd() -> None:
    slow = Finding(FindingKind.SLOW_HOST, "n0 sends at half", ranks=(0,), hosts=("n0",))
    found = told(slow, n0={"mtu": 9000}, n1={"mtu": 9000}, n2={"mtu": 4000})
    assert found[0].what == "MTU differs between hosts: 9000 at n0, n1, 4000 at n2, 1500 at n3, n4"
    assert (found[0].hosts, found[0].ranks) == ((), ())
    assert found[1] == slow


@pytest.mark.parametrize(
    "nodes", [None, 3, "n0", [1, None], [{"name": "n0", "adapters": {}}, {"adapters": [7, {"offloads": 3}]}]]
)
def test_damaged_attributes_are_ignored(nodes: object) -> None:
    assert settings.tied([], settings.of_nodes({"nodes": nodes}), NODES) == []


def test_adapters_of_a_node_count_together() -> None:
    nodes = [
        {"name": node, "adapters": [{"mtu": 9000}, {"mtu": second}]}
        for node, second in zip(NODES, (9000, 9000, 1500, 9000, 9000), strict=True)
    ]
    (found,) = settings.tied([], settings.of_nodes({"nodes": nodes}), NODES)
    assert found.what == "MTU differs between hosts: 1500 and 9000 at n2, 9000 at the other 4 hosts"
    assert math.isnan(found.false_alarm)
