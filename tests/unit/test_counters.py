"""Counters of adapters and of TCP, before and after a run, as evidence."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crosscut.analysis.findings import counters
from crosscut.analysis.findings.kinds import FindingKind
from crosscut.analysis.findings.model import Finding

NODES = ("n0", "n1", "n2", "n3")


def attributes(**changed: dict[str, int]) -> dict[str, object]:
    """All nodes send 100,000 segments; `changed` adds to the counters."""
    names = ("rx_crc_errors", "rx_errors", "carrier_changes", "rx_dropped", "driver.rx_pause")
    before = {
        node: {"eth0": dict.fromkeys(names[:4], 3), "tcp": {"OutSegs": 10, "RetransSegs": 1}}
        for node in NODES
    }
    after: dict[str, object] = {}
    for node in NODES:
        more = changed.get(node, {})
        adapter = {name: 3 + more.get(name, 0) for name in names[:4]}
        if "pause" in more:
            adapter["driver.rx_pause"] = more["pause"]
        after[node] = {"eth0": adapter, "tcp": {"OutSegs": 100_010, "RetransSegs": 1 + more.get("again", 0)}}
    return {"counters_before": before, "counters_after": after}


def tied(found: list[Finding], **changed: dict[str, int]) -> list[Finding]:
    return counters.tied(found, counters.gained(attributes(**changed)), NODES)


def test_counters_of_a_slow_host_are_reported_with_it() -> None:
    slow = Finding(FindingKind.SLOW_HOST, "n1 sends at half.", ranks=(1,), hosts=("n1",))
    (told,) = tied([slow], n1={"rx_crc_errors": 12, "rx_errors": 12, "again": 900, "pause": 7})
    assert told.what == (
        "n1 sends at half; n1's counters: eth0 rx_crc_errors +12, eth0 rx_pause +7, "
        "900 of 100000 TCP segments retransmitted"
    )


def test_a_slow_route_has_the_counters_of_both_its_ends() -> None:
    slow = Finding(FindingKind.SLOW_ROUTE, "n0 to n2 is slow", routes=((0, 2),))
    (told,) = tied([slow], n2={"carrier_changes": 2})
    assert told.what == "n0 to n2 is slow; n2's counters: eth0's link changed state 2 times"


def test_errors_of_a_host_that_keeps_its_rate_are_a_finding() -> None:
    groups = Finding(FindingKind.GROUPS, "2 groups", ranks=(0, 1, 2, 3))
    told = tied([groups], n3={"rx_errors": 5})
    assert told[0] == groups
    assert (told[1].kind, told[1].hosts, told[1].ranks) == (FindingKind.COUNTED, ("n3",), (3,))
    assert "eth0 rx_errors +5" in told[1].what


@pytest.mark.parametrize("changed", [{"again": 15}, {"again": 90}, {"rx_dropped": 4}, {"pause": 9}])
def test_counts_of_a_sound_network_under_load_are_not_a_finding(changed: dict[str, int]) -> None:
    assert tied([], n3=changed) == []


def test_counts_that_all_hosts_have_are_not_a_finding() -> None:
    everybody = {node: {"rx_errors": 5, "again": 2000} for node in NODES}
    assert tied([], **everybody) == []


def test_a_host_with_far_more_retransmissions_stands_out() -> None:
    others = {node: {"again": 20} for node in NODES[:3]}
    (told,) = tied([], **others, n3={"again": 700})
    assert told.hosts == ("n3",)


def test_very_many_hosts_are_one_finding() -> None:
    nodes = [f"n{at}" for at in range(40)]
    bad = counters.Gained(100, 0, wire={"eth0 rx_errors": 1})
    by_node = {node: bad if at < 15 else counters.Gained() for at, node in enumerate(nodes)}
    (told,) = counters.tied([], by_node, nodes)
    assert len(told.hosts) == 15
    assert told.what.startswith("15 hosts counted")


values = st.recursive(
    st.none() | st.integers() | st.text(max_size=5) | st.floats(),
    lambda inner: st.dictionaries(
        st.sampled_from(["n0", "n1", "eth0", "tcp", "OutSegs", "rx_errors"]), inner, max_size=3
    ),
    max_leaves=12,
)


@given(values, values)
def test_damaged_counters_do_no_harm(before: object, after: object) -> None:
    found = counters.gained({"counters_before": before, "counters_after": after})
    assert isinstance(counters.tied([], found, NODES), list)


def test_counts_of_several_runs_of_a_session_add_up() -> None:
    one = counters.gained(attributes(n1={"rx_errors": 2, "again": 5}))
    other = counters.gained(attributes(n1={"rx_errors": 3}, n2={"pause": 4}))
    together = counters.added(one, other)
    assert together["n1"].wire == {"eth0 rx_errors": 5}
    assert (together["n1"].retransmitted, together["n1"].segments) == (5, 200_000)
    assert together["n2"].paused == {"eth0 rx_pause": 4}
