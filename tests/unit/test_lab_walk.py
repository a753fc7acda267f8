"""Routes by a lab's tables, real probes over this machine's loopback, and sentences about routes."""

from __future__ import annotations

import time

import pytest
from test_lab_plan import network

from crosscut.cli.lab import walk as lab_walk
from crosscut.lab.walk import probe as probing
from crosscut.lab.walk import walk as walking
from crosscut.lab.walk.probe import Probe, Way
from crosscut.lab.walk.walk import Walked, WalkedPath
from crosscut.network import paths
from crosscut.network.paths import Ways


def routed() -> Ways:
    """Tables for a line of three routers, n0 - n1 - n2, and a fourth host, n3, beside n2."""
    document = network(host={"forwards": "ip"})
    after = {0: [(1, 1), (2, 2), (3, 2)], 1: [(0, 0), (2, 2), (3, 2)], 2: [(0, 1), (1, 1), (3, 3)],
             3: [(0, 2), (1, 2), (2, 2)]}  # fmt: skip
    document["routes"] = [
        {
            "host": to,
            "adapter": -1,
            "at": [[at, 2 * at, 1 if (at, to) == (0, 2) else via, 0] for at, hops in after.items()
                   for target, via in hops if target == to],
        }
        for to in range(4)
    ]  # fmt: skip
    return paths.parse(document)


def test_a_route_follows_the_tables_from_node_to_node() -> None:
    found = walking.computed(routed())
    assert len(found) == 12
    assert found[Probe(0, "10.0.0.2")] == ("10.0.0.2",)
    assert found[Probe(0, "10.0.0.3")] == ("10.0.0.2", "10.0.0.3")
    assert found[Probe(3, "10.0.0.1")] == ("10.0.0.3", "10.0.0.2", "10.0.0.1")


def test_a_route_through_tables_with_a_loop_ends() -> None:
    document = network(host={"forwards": "ip"})
    document["routes"] = [{"host": 3, "adapter": -1, "at": [[0, 0, 1, 0], [1, 2, 0, 0]]}]
    assert len(walking.computed(paths.parse(document))[Probe(0, "10.0.0.4")]) <= 5


def test_every_adapter_of_a_host_that_does_not_forward_has_a_name() -> None:
    document = network()
    document["hosts"][1]["adapters"] = [1, 4]
    names = walking.names_of(paths.parse(document))
    assert (names["10.0.0.2"], names["10.1.0.2"]) == ("n1", "n1/eth1")
    assert "10.1.0.3" not in names


def test_a_probe_of_this_machine_finds_it_at_the_first_hop() -> None:
    with probing.opened() as udp:
        wanted = [Probe(0, f"127.0.0.{number}") for number in range(1, 60)]
        found = probing.walk({0: udp}, wanted, time.monotonic() + 30)
    assert all(way == Way([probe.to], probing.THERE) for probe, way in found.items())
    assert len(found) == 59


def test_routes_not_traced_in_time_are_reported() -> None:
    with probing.opened() as udp:
        wanted = [Probe(0, "127.0.0.1")]
        (way,) = probing.walk({0: udp}, wanted, time.monotonic() - 1).values()
    assert way == Way([], probing.NOT_WALKED)


def test_the_reason_why_a_packet_could_not_be_sent_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probing, "WAITS_SECONDS", (0.01,))
    broadcast = probing.Probe(0, "255.255.255.255")  # needs SO_BROADCAST: socket(7)
    with probing.opened() as udp:
        (way,) = probing.walk({0: udp}, [broadcast], time.monotonic() + 30).values()
    assert (way.end, way.not_sent) == (probing.SILENT, "Permission denied")
    told = walking.sentence(WalkedPath("n0", "n1", ("n1",), (), way.end, way.not_sent))
    assert "then no node answered (the last packet could not be sent: Permission denied)" in told


ONE = WalkedPath("n0", "n2", ("n1", "n2"), ("n1", "n2"), probing.THERE)


def changed(found: tuple[str, ...], end: str) -> WalkedPath:
    return WalkedPath(ONE.source, ONE.to, ONE.computed, found, end)


def test_only_the_complete_computed_route_is_as_computed() -> None:
    elsewhere = changed(("n3", "n2"), probing.THERE)
    silent = changed(("n1",), probing.SILENT)
    late = changed((), probing.NOT_WALKED)
    walked = Walked((ONE, elsewhere, silent, late), 1.0)
    assert walked.unlike == [elsewhere, silent]
    assert walked.not_walked == 1
    assert walked.by_gateways() == {1: 2}


def test_a_node_without_any_sound_route_is_named() -> None:
    from_it = WalkedPath("n1", "n2", ("n2",), (), probing.SILENT)
    to_it = WalkedPath("n0", "n1/eth1", ("n1/eth1",), (), probing.SILENT)
    beside = WalkedPath("n0", "n2", ("n2",), ("n2",), probing.THERE)
    assert Walked((changed(("n3",), probing.SILENT), from_it, to_it, beside), 1.0).spoilt() == ["n1"]
    assert Walked((ONE, from_it, to_it), 1.0).spoilt() == []


def test_a_node_is_not_blamed_for_the_other_end_of_its_routes() -> None:
    def silent(source: str, *computed: str) -> WalkedPath:
        return WalkedPath(source, computed[-1], computed, (), probing.SILENT)

    one = Walked((silent("n0", "n3"),), 1.0)  # may be either node
    assert one.spoilt() == []
    to_one = Walked((silent("n0", "n1", "n3"), silent("n2", "n1", "n3/eth1"), silent("n1", "n3")), 1.0)
    assert to_one.spoilt() == ["n3"]  # an end of all of them; n1 only forwards


@pytest.mark.parametrize(
    ("name", "to", "meant"),
    [("n1", "", True), ("n1", "n1", True), ("n1/eth1", "n1", True), ("n1", "n1/eth0", True),
     ("n1/eth1", "n1/eth0", False), ("n1/eth1", "n1/eth1", True), ("n1", "n1/eth1", False),
     ("n10", "n1", False)],
)  # fmt: skip
def test_an_adapter_is_selected_by_its_name(name: str, to: str, meant: bool) -> None:
    assert walking.is_meant(name, to) is meant


@pytest.mark.parametrize(
    ("source", "to", "said"),
    [("n9", "", "has no node n9; known: n0 to n3"), ("", "n9/eth1", "has no node n9;"),
     ("n1/eth0", "", "has no node n1/eth0: --from takes a node, not an adapter: n1"),
     ("", "n1/eth7", "has no address of its own for n1/eth7; known: n1"),
     ("n1", "n1/eth0", "has no route from n1 to n1/eth0"),
     ("", "", "has 4 nodes and no route between any two: there is nothing to walk")],
)  # fmt: skip
def test_if_there_is_nothing_to_trace_the_reason_is_reported(source: str, to: str, said: str) -> None:
    assert walking.nothing_to_walk(routed(), source, to).startswith(said)


def test_conclusions_come_first_and_the_list_of_routes_is_limited(capsys: pytest.CaptureFixture[str]) -> None:
    dead = [WalkedPath(f"n{at}", "n0", ("n0",), (), probing.SILENT) for at in range(1, 51)]
    lab_walk.show("it", Walked((*dead,), 1.0), every=False)
    said = capsys.readouterr().out
    assert said.index("no route from, to or through n0 is as computed\n") < said.index(
        "50 routes not as computed:"
    )
    assert said.count(" to n0: ") == 20
    assert "and 30 more" in said


@pytest.mark.parametrize(
    ("route", "said"),
    [
        (ONE, "n0 → n1 → n2"),
        (changed(("n3", "n2"), probing.THERE), "n0 → n3 → n2; computed: n0 → n1 → n2"),
        (changed(("n1",), probing.SILENT),
         "n0 to n2: n0 → n1, then no node answered; computed: n0 → n1 → n2"),
        (changed((), probing.NO_ROUTE), "n0 to n2: n0, which has no route to it; computed: n0 → n1 → n2"),
        (changed(("n1", "n3", "n1"), probing.CIRCLE),
         "n0 to n2: n0 → n1 → n3 → n1, in a circle; computed: n0 → n1 → n2"),
    ],
)  # fmt: skip
def test_a_route_is_reported_as_found_and_as_computed(route: WalkedPath, said: str) -> None:
    assert walking.sentence(route) == said
