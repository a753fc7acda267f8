"""Every kind of network is built so that all pairs of nodes communicate, along the file's routes."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path

import pytest
from in_process import crosscut
from labs import FAST_ETHERNET, lab, median_rates, needs_lab, ways_from, without_rates
from tiers import long

from crosscut.base.errors import UsageError
from crosscut.lab import lifecycle, state
from crosscut.lab.plan import addresses
from crosscut.lab.plan.plan import plan
from crosscut.lab.plan.shaping import MOST_BITS_PER_SECOND
from crosscut.lab.walk import walk
from crosscut.network import description, paths

pytestmark = needs_lab

RATE = "rate = '100 Mbit/s'"
# 1,448 of 1,538 bytes on the wire (TCP time stamps) at 100 Mbit/s.
PAYLOAD_BYTES_PER_SECOND = 100e6 / 8 * 1448 / 1538
# Building one of these takes five seconds or more; smaller ones of each kind are tested, too.
LARGE = (
    "fat-tree-1024", "fatoohi-tc2k", "rail-optimised-gpu", "xibalba-e7-config1", "xibalba-e7-config2",
    "xibalba-er16", "xibalba-maintenance", "xibalba-myrinet", "xibalba-two-ethernets",
)  # fmt: skip
KINDS = {
    "stacked-tree": f"leaves = 3\nhosts_per_leaf = 3\n{RATE}",
    "module-chassis": (
        f"modules = 2\nasics_per_module = 2\nhosts_per_asic = 2\n{RATE}\n"
        "asic_capacity = '150 Mbit/s'\nmodule_rate = '80 Mbit/s'"
    ),
    "fat-tree": f"radix = 4\nlevels = 3\n{RATE}",
    "clos": f"leaves = 3\nspines = 2\nhosts_per_leaf = 2\n{RATE}",
    "ring": f"length = 5\n{RATE}",
    "torus": f"dimensions = '3x3'\nhosts_per_switch = 1\n{RATE}",
    "torus-of-rings": f"dimensions = '3x3'\none_way = true\n{RATE}",
    "hypercube": f"dimensions = 3\n{RATE}",
    "hyperx": f"dimensions = '2x3'\nhosts_per_switch = 2\n{RATE}",
    "bus": f"hosts = 4\n{RATE}",
    "two-node": RATE,
    "dragonfly": f"p = 1\na = 2\nh = 1\n{RATE}",
    "rail-optimised": f"rails = 2\nhosts_per_pod = 3\npods = 2\n{RATE}",
    "meta-node": f"meta_nodes = 3\nports = 4\n{RATE}\n[routing]\nkind = 'hosts'",
}


@pytest.fixture(autouse=True)
def own_labs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv(state.VARIABLE, str(tmp_path / "labs"))
    yield
    for name in state.names():
        lifecycle.down(name)


def generated(folder: Path, kind: str, parameters: str) -> Path:
    file = folder / f"{kind}.toml"
    file.write_text(f'[generator]\nkind = "{kind.removesuffix("-of-rings")}"\n{parameters}\n{FAST_ETHERNET}')
    return file


def expected_ways(name: str) -> dict[tuple[int, int], list[str]]:
    """Returns the addresses on the route between two hosts, by the tables that the core wrote."""
    document = state.read_network(name)
    after = {
        (hop[0], route["host"]): hop[2]
        for route in document["routes"]
        if route["adapter"] <= 0
        for hop in route["at"]
    }
    found = {}
    for source, to in after:
        at, way = source, []
        while at != to:
            at = after[at, to]
            way.append(addresses.ip(at, 0))
        found[source, to] = way
    return found


def check_all_ways(record: state.Record) -> None:
    expected = expected_ways(record.name)
    hosts = [host["name"] for host in state.read_network(record.name)["hosts"]]
    assert len(expected) == len(hosts) * (len(hosts) - 1)
    for source, node in enumerate(hosts):
        others = [addresses.ip(to, 0) for to in range(len(hosts)) if to != source]
        found = ways_from(record, node, others)
        for to in range(len(hosts)):
            if to != source:
                assert found[addresses.ip(to, 0)] == expected[source, to], f"{node} to {hosts[to]}"


@pytest.mark.parametrize("kind", KINDS)
def test_every_pair_communicates_along_the_file_s_route(kind: str, tmp_path: Path) -> None:
    with lab(generated(tmp_path, kind, KINDS[kind])) as record:
        check_all_ways(record)
        walked = walk.walk(record, "", "", 60)  # also to adapters beyond the first
        assert [walk.sentence(one) for one in walked.unlike] == []
        assert walked.not_walked == 0


@without_rates
@pytest.mark.parametrize(
    "name", [long(name) if name in LARGE else name for name in description.catalogue_names()]
)
def test_a_network_of_the_catalogue_is_built_or_refused_with_the_reason(name: str) -> None:
    """Dilation helps networks that are too fast for token buckets, but not those that are too large."""
    hosts = json.loads(description.ask("show", name, "--json").stdout)["counts"]["hosts"]
    if hosts > addresses.MOST_HOSTS:
        with pytest.raises(
            UsageError, match=f"the paths of {hosts} hosts are too many to write; at most 1024"
        ):
            paths.load(name)
        return
    described = paths.load(name)
    rates = [rate for edge in described.edges for rate in (edge.bits_per_second, edge.back_bits_per_second)]
    rates += [switch.capacity_bits_per_second for switch in described.switches]
    fastest = max((rate for rate in rates if not math.isinf(rate)), default=0)
    dilation = 1.0
    if fastest > MOST_BITS_PER_SECOND:
        with pytest.raises(UsageError, match=r"cannot be shaped here.*--dilate"):
            plan(described)
        dilation = 100.0
    made = plan(described, dilation)
    if len(made.hosts) > 128:  # time grows with the square
        return
    with lab(name, dilation=dilation) as record:
        walked = walk.walk(record, made.hosts[0], "", 60)
        assert [walk.sentence(one) for one in walked.unlike] == []
        assert {route.to.partition("/")[0] for route in walked.routes} == set(made.hosts[1:])


def test_routed_nodes_forward_according_to_their_tables(tmp_path: Path) -> None:
    tables = json.loads(description.ask("tables", "beowulf-routed-4x9", "--json").stdout)
    with lab("beowulf-routed-4x9") as record:
        check_all_ways(record)
        via = {route["to"]: route["via"] for route in tables["tables"][0]["routes"]}
        hosts = [table["host"] for table in tables["tables"]]
        first = ways_from(record, hosts[0], [addresses.ip(number, 0) for number in range(1, len(hosts))])
        for number in range(1, len(hosts)):
            gateway = addresses.ip(hosts.index(via[hosts[number]]), 0)
            assert first[addresses.ip(number, 0)][0] == gateway


def test_adapters_of_a_node_are_separate_networks(tmp_path: Path) -> None:
    file = tmp_path / "rails.toml"
    file.write_text(
        '[link]\nrate = "100 Mbit/s"\n[[hosts]]\nnames = "n[0-3]"\nadapters = 2\n'
        '[[switches]]\nnames = "s[0-1]"\n'
        '[[links]]\nbetween = ["n[0-3]", "s0"]\n[[links]]\nbetween = ["n[0-3]", "s1"]\n' + FAST_ETHERNET
    )
    with lab(file) as record:
        assert ways_from(record, "n0", ["10.0.0.4", "10.1.0.4"]) == {
            "10.0.0.4": ["10.0.0.4"],
            "10.1.0.4": ["10.1.0.4"],
        }
        counted = "cat /sys/class/net/eth1/statistics/rx_packets"
        before = crosscut("lab", "exec", "test", "n3", "--", "sh", "-c", counted, folder=tmp_path).stdout
        ways_from(record, "n0", ["10.1.0.4"])
        after = crosscut("lab", "exec", "test", "n3", "--", "sh", "-c", counted, folder=tmp_path).stdout
        assert int(after) > int(before)


def test_a_switch_s_capacity_limits_the_sum_of_its_hosts_rates(tmp_path: Path) -> None:
    """Four hosts of 100 Mbit/s on a chip of 200: each gets half of its link's rate, to any destination."""
    chip = f"modules = 1\nasics_per_module = 2\nhosts_per_asic = 4\n{RATE}\nasic_capacity = '200 Mbit/s'"
    with lab(generated(tmp_path, "module-chassis", chip)):
        rates = median_rates(tmp_path, "aapc", "--on", "lab:test", "--size", "500KB", "--repetitions", "5")
    assert len(rates) == 8 * 7
    assert sum(rates.values()) / len(rates) == pytest.approx(PAYLOAD_BYTES_PER_SECOND / 2, rel=0.15)


def test_all_hosts_share_the_rate_of_a_shared_medium(tmp_path: Path) -> None:
    with lab(generated(tmp_path, "bus", "hosts = 4\nrate = '40 Mbit/s'")):
        rates = median_rates(tmp_path, "aapc", "--on", "lab:test", "--size", "200KB", "--repetitions", "5")
    assert sum(rates.values()) / len(rates) == pytest.approx(PAYLOAD_BYTES_PER_SECOND * 0.4 / 4, rel=0.2)
