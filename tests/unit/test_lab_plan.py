"""The plan of a lab follows from the network alone."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from crosscut.base.errors import UsageError
from crosscut.lab.faults import catalogue
from crosscut.lab.faults.fault import Fault, ends
from crosscut.lab.faults.kinds import dead, swap
from crosscut.lab.plan import addresses, unlike
from crosscut.lab.plan.plan import LabPlan, plan
from crosscut.lab.plan.shaping import bucket, frames, segments
from crosscut.network import paths

ETHERNET = frames(1500, 38, 1460 / 1538)


def network(**changes: Any) -> dict[str, Any]:
    """Two switches with two hosts each, joined by a cable of 1 Gbit/s: as the core writes it."""
    host = {"ranks": 1, "forwards": "no", "forward_latency_seconds": 0, "overhead_seconds": 0}
    hosts = [
        {"name": f"n{i}", "adapters": [i], "memory_bits_per_second": None, **host, **changes.get("host", {})}
        for i in range(4)
    ]
    switch = {"capacity_bits_per_second": None, "bounds": "host-facing", "latency_seconds": 0}
    switches = [{"name": f"s{i}", **switch, **changes.get("switch", {})} for i in range(2)]
    link = {"half_duplex": False, "cables": 1, "latency_seconds": 0}
    fast = {"bits_per_second": 1e8, "back_bits_per_second": 1e8, **link, **changes.get("link", {})}
    trunk = {"bits_per_second": 1e9, "back_bits_per_second": 1e9, **link, **changes.get("trunk", {})}
    edges = [{"a": i, "b": 4 + i // 2, **fast} for i in range(4)] + [{"a": 4, "b": 5, **trunk}]
    routes = [
        {"host": to, "adapter": 0, "at": [[at, 2 * at, to, 0] for at in range(4) if at != to]}
        for to in range(4)
    ]
    segments = [
        {
            "host": to,
            "adapter": 0,
            "at": [[4 + to // 2, 2 * to + 1], [5 - to // 2, 8 + to // 2]],
        }
        for to in range(4)
    ]
    return {
        "name": "four", "title": "", "kind": "explicit", "file": "four.toml", "equal_ways": False,
        "protocol": {"name": "TCP", "efficiency": 1460 / 1538, "mtu": 1500, "framing": 38},
        "hosts": hosts, "switches": switches, "edges": edges, "routes": routes, "segments": segments,
    }  # fmt: skip


def planned(dilation: float = 1, **changes: Any) -> LabPlan:
    return plan(paths.parse(network(**changes)), dilation)


def test_frames_for_a_node_leave_each_switch_towards_it() -> None:
    made = planned()
    assert {(entry.port, entry.mac) for entry in made.entries if entry.mac == addresses.mac(3, 0)} == {
        ("p3b", addresses.mac(3, 0)),
        ("p4a", addresses.mac(3, 0)),
    }


def test_rates_are_those_of_the_file_divided_by_the_dilation() -> None:
    rates = {end.name: end.bits_per_second for cable in planned(10).cables for end in cable.ends}
    assert rates == {"eth0": 1e7, "p0b": 1e7, "p1b": 1e7, "p2b": 1e7, "p3b": 1e7, "p4a": 1e8, "p4b": 1e8}


def test_switches_joined_without_a_bound_are_one_bridge() -> None:
    made = planned(trunk={"bits_per_second": None, "back_bits_per_second": None})
    assert made.bridges == ("s0+s1",)
    assert {entry.port for entry in made.entries} == {"p0b", "p1b", "p2b", "p3b"}


def test_a_backplane_is_never_merged_with_what_is_plugged_into_it() -> None:
    unbounded = {"bits_per_second": None, "back_bits_per_second": None}
    made = planned(trunk=unbounded, switch={"bounds": "through", "capacity_bits_per_second": 3e8})
    assert made.bridges == ("s0", "s1")
    assert [capacity.ports for capacity in made.capacities] == [("p0b", "p1b", "p4a"), ("p2b", "p3b", "p4b")]


def test_a_chip_limits_its_host_facing_ports() -> None:
    made = planned(switch={"capacity_bits_per_second": 1.5e8})
    assert [capacity.ports for capacity in made.capacities] == [("p0b", "p1b"), ("p2b", "p3b")]


def test_a_half_duplex_link_at_a_chip_with_a_capacity_is_refused() -> None:
    with pytest.raises(UsageError, match=r"four.toml: link n0 - s0: a half-duplex link"):
        planned(switch={"capacity_bits_per_second": 5e7}, link={"half_duplex": True})


def test_a_rate_beyond_token_buckets_is_refused_with_a_remedy() -> None:
    with pytest.raises(UsageError, match=r"400 Gbit/s cannot .* a larger --dilate"):
        planned(link={"bits_per_second": 4e11, "back_bits_per_second": 4e11})
    with pytest.raises(UsageError, match=r" 1 bit/s cannot .* a higher rate, or a smaller --dilate"):
        planned(link={"bits_per_second": 1, "back_bits_per_second": 1})
    with pytest.raises(UsageError, match=r"0.1 bit/s cannot .* a higher rate, or a smaller --dilate"):
        planned(1e9)


@pytest.mark.parametrize(
    ("name", "why"), [("fabric", "lab's switches"), ("localhost", "itself"), ("LocalHost", "itself")]
)
def test_names_that_mean_something_else_in_a_lab_are_refused(name: str, why: str) -> None:
    document = network()
    document["hosts"][2]["name"] = name
    with pytest.raises(UsageError, match=f"four.toml: a host of a lab cannot be called {name}: .*{why}"):
        plan(paths.parse(document))


@pytest.mark.parametrize(
    ("adapter", "found"),
    [(None, ["eth0", "p0b", "eth1", "p1b"]), (0, ["eth0", "p0b"]), (1, ["eth1", "p1b"])],
)
def test_a_dead_fault_is_of_a_whole_node_or_one_adapter(adapter: int | None, found: list[str]) -> None:
    """Host 0 has the cables of hosts 0 and 1."""
    document = network()
    document["hosts"][0]["adapters"], document["hosts"][1]["adapters"] = [0, 1], []
    document["edges"][1]["a"] = 0
    document["routes"], document["segments"] = [], []
    made = plan(paths.parse(document))
    fault = Fault("dead", ("n0",), adapter=adapter)
    assert [end.name for end in ends(made, "n0", dead.adapters(made, fault))] == found


@pytest.mark.parametrize(
    ("fault", "lines"),
    [
        (Fault("slow", ("n1",), share=0.2), [{"in": 0.2, "out": 0.2}]),
        (Fault("slow", ("n1",), share=0.2, direction="out"), [{"out": 0.2}]),
        (Fault("half-duplex", ("n1",)), [{"half_duplex": True}]),
        (
            Fault("loss", ("n1",), direction="in", seconds=0.1, every=2),
            [{"lose": "in", "carrier": False, "seconds": 0.1, "every": 2}],
        ),
        (
            Fault("flap", ("n1",), seconds=0.1, every=2),
            [{"lose": "both", "carrier": True, "seconds": 0.1, "every": 2}],
        ),
        (Fault("dead", ("n1",)), [{"lose": "both"}]),
        (Fault("miswire", ("n1", "n2")), [{"at": "n2"}]),
        (
            Fault("swap", ("n1", "n2")),
            [{"at": "n2", "known": True}, {"host": "n2", "at": "n1", "known": True}],
        ),
        (Fault("mtu", ("n1",)), []),
        (Fault("compute", ("n1",)), []),
    ],
    ids=lambda value: value.kind if isinstance(value, Fault) else "",
)
def test_the_user_switch_gets_a_line_for_each_bad_cable(fault: Fault, lines: list[dict[str, Any]]) -> None:
    told = [json.loads(line) for line in catalogue.for_switch([fault], planned()).splitlines()]
    assert told == [{"host": "n1", "adapter": 0, **line} for line in lines]


def test_all_hosts_are_neighbours_by_address() -> None:
    made = planned()
    assert len(made.neighbours) == 4 * 3
    assert made.routes == ()  # the prefix implies them
    assert all(one.mac == addresses.mac(int(one.ip.rsplit(".", 1)[1]) - 1, 0) for one in made.neighbours)


def test_hosts_that_forward_have_a_route_to_every_other() -> None:
    made = planned(host={"forwards": "ip"})
    assert len(made.routes) == 4 * 3
    assert made.forwarding == {0, 1, 2, 3}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"switch": {"latency_seconds": 1e-5}}, "a lab on the kernel does not delay frames"),
        ({"host": {"overhead_seconds": 1e-4}}, "overhead per message"),
        ({"host": {"memory_bits_per_second": 1e10}}, "memory"),
        ({"host": {"forwards": "hardware"}}, "IP routers"),
        ({"link": {"bits_per_second": 1e10, "back_bits_per_second": 1e10}}, "--dilate"),
    ],
)
def test_properties_that_the_lab_does_not_emulate_are_reported(changes: dict[str, Any], said: str) -> None:
    described = paths.parse(network(**changes))
    sentences = unlike.differences(described, plan(described), cores=2)
    assert any(said in sentence for sentence in sentences)


def test_a_network_keeps_its_own_name_beside_that_of_its_protocol() -> None:
    described = paths.parse(network())
    assert (described.name, described.mtu) == ("four", 1500)


def test_a_completely_emulated_network_has_no_notes() -> None:
    described = paths.parse(network())
    assert unlike.differences(described, plan(described), cores=2) == ()


def test_both_switches_leave_out_the_latency_of_routers() -> None:
    described = paths.parse(network(host={"forwards": "ip", "forward_latency_seconds": 75e-6}))
    by_program = unlike.differences(described, plan(described, shaped=False), cores=2, in_kernel=False)
    assert [sentence for sentence in by_program if "75 µs" in sentence and "IP router" in sentence]
    by_kernel = unlike.differences(described, plan(described), cores=2)
    assert [sentence for sentence in by_kernel if "75 µs" in sentence]


def test_exchanged_nodes_are_found_where_the_other_was() -> None:
    made = planned()
    macs = (addresses.mac(1, 0), addresses.mac(2, 0))
    entries = {(one.port, one.mac) for one in swap.exchanged_entries(made, ("p1b", "p2b"), macs)}
    # Node 1's port is now on the second switch: the first sends node 1's frames over the trunk.
    assert {port for port, mac in entries if mac == macs[0]} == {"p1b", "p4a"}
    assert {port for port, mac in entries if mac == macs[1]} == {"p2b", "p4b"}
    assert {one for one in entries if one[1] not in macs} == {
        (one.port, one.mac) for one in made.entries if one.mac not in macs
    }


def test_a_shaped_link_has_the_rate_of_fast_ethernet_on_the_wire() -> None:
    """1,460 bytes of payload take 1,538 bytes on the wire, which TBF counts as 1,514."""
    made = bucket(1e8, ETHERNET, 8, "link")
    assert made.bits_per_second == pytest.approx(98.44e6, rel=1e-4)
    assert made.bits_per_second / 8 * 1448 / 1514 == pytest.approx(11.77e6, rel=1e-3)


def test_a_sender_s_bundle_fits_into_the_bucket() -> None:
    for rate in (1e6, 1e7, 1e8, 1e9, 1e10):
        for everybody in (rate, 100 * rate):
            count = segments(rate, 1500, everybody)
            assert count * 1514 < bucket(rate, ETHERNET, count, "link").burst_bytes


@pytest.mark.parametrize(
    ("hosts", "dilation", "count"),
    [(16, 10, 1), (64, 20, 2), (64, 10, 4), (64, 5, 7), (4000, 10, 33), (4000, 2000, 1)],
)
def test_with_dilation_bundles_are_as_large_as_the_machine_needs(
    hosts: int, dilation: float, count: int
) -> None:
    """Fast Ethernet; never larger than without dilation."""
    rate = 1e8 / dilation
    assert segments(rate, 1500, hosts * rate, dilation) == count
    assert count <= segments(1e8, 1500, hosts * 1e8)


def test_an_efficiency_without_frames_is_kept() -> None:
    """In this file all of a rate is payload; TBF counts the frames that carry it."""
    size = frames(0, 0, 1.0)
    assert bucket(1e8, size, 8, "link").bits_per_second * 1448 / 1514 == pytest.approx(1e8)


def test_unbounded_links_need_no_bucket() -> None:
    unbounded = {"bits_per_second": None, "back_bits_per_second": None}
    assert all(
        math.isinf(end.bits_per_second)
        for cable in planned(link=unbounded, trunk=unbounded).cables
        for end in cable.ends
    )
