"""The ways that a lab's tables make, real probes over this machine's loopback, sentences about routes."""

from __future__ import annotations

import time

import pytest
from test_lab_plan import network

from crosscut.lab import probing, walking, ways
from crosscut.lab.probing import Probe, Way
from crosscut.lab.walking import Route, Walked
from crosscut.lab.ways import Ways


def routed() -> Ways:
    """A line of three routers: n0 - n1 - n2, in the tables of four hosts of which n3 is beside n2."""
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
    return ways.parse(document)


def test_a_way_follows_the_tables_from_node_to_node() -> None:
    found = walking.computed(routed())
    assert len(found) == 12
    assert found[Probe(0, "10.0.0.2")] == ("10.0.0.2",)
    assert found[Probe(0, "10.0.0.3")] == ("10.0.0.2", "10.0.0.3")
    assert found[Probe(3, "10.0.0.1")] == ("10.0.0.3", "10.0.0.2", "10.0.0.1")


def test_tables_that_go_in_a_circle_make_a_way_that_ends() -> None:
    document = network(host={"forwards": "ip"})
    document["routes"] = [{"host": 3, "adapter": -1, "at": [[0, 0, 1, 0], [1, 2, 0, 0]]}]
    assert len(walking.computed(ways.parse(document))[Probe(0, "10.0.0.4")]) <= 5


def test_every_adapter_of_a_host_that_does_not_forward_has_a_name() -> None:
    document = network()
    document["hosts"][1]["adapters"] = [1, 4]
    names = walking.names_of(ways.parse(document))
    assert (names["10.0.0.2"], names["10.1.0.2"]) == ("n1", "n1/eth1")
    assert "10.1.0.3" not in names


def test_a_probe_of_this_machine_finds_it_at_the_first_hop() -> None:
    with probing.opened() as udp:
        wanted = [Probe("here", f"127.0.0.{number}") for number in range(1, 60)]
        found = probing.walk({"here": udp}, wanted, time.monotonic() + 30)
    assert all(way == Way([probe.to], probing.THERE) for probe, way in found.items())
    assert len(found) == 59


def test_what_is_not_walked_in_time_says_so() -> None:
    with probing.opened() as udp:
        wanted = [Probe("here", "127.0.0.1")]
        (way,) = probing.walk({"here": udp}, wanted, time.monotonic() - 1).values()
    assert way == Way([], probing.NOT_WALKED)


ONE = Route("n0", "n2", ("n1", "n2"), ("n1", "n2"), probing.THERE)


def changed(found: tuple[str, ...], end: str) -> Route:
    return Route(ONE.source, ONE.to, ONE.computed, found, end)


def test_only_the_computed_way_to_its_end_is_as_computed() -> None:
    elsewhere = changed(("n3", "n2"), probing.THERE)
    silent = changed(("n1",), probing.SILENT)
    late = changed((), probing.NOT_WALKED)
    walked = Walked((ONE, elsewhere, silent, late), 1.0)
    assert walked.unlike == [elsewhere, silent]
    assert walked.not_walked == 1
    assert walked.by_gateways() == {1: 2}


def test_a_node_of_which_no_route_is_sound_is_named() -> None:
    from_it = Route("n1", "n2", ("n2",), (), probing.SILENT)
    to_it = Route("n0", "n1/eth1", ("n1/eth1",), (), probing.SILENT)
    beside = Route("n0", "n2", ("n2",), ("n2",), probing.THERE)
    assert Walked((changed(("n3",), probing.SILENT), from_it, to_it, beside), 1.0).spoilt() == ["n1"]
    assert Walked((ONE, from_it, to_it), 1.0).spoilt() == []


@pytest.mark.parametrize(
    ("route", "said"),
    [
        (ONE, "n0 → n1 → n2"),
        (changed(("n3", "n2"), probing.THERE), "n0 → n3 → n2; computed: n0 → n1 → n2"),
        (changed(("n1",), probing.SILENT),
         "n0 to n2: n0 → n1, then nobody answered; computed: n0 → n1 → n2"),
        (changed((), probing.NO_ROUTE), "n0 to n2: n0, which has no route to it; computed: n0 → n1 → n2"),
        (changed(("n1", "n3", "n1"), probing.CIRCLE),
         "n0 to n2: n0 → n1 → n3 → n1, in a circle; computed: n0 → n1 → n2"),
    ],
)  # fmt: skip
def test_a_route_is_told_as_it_went_and_as_it_should_have(route: Route, said: str) -> None:
    assert walking.sentence(route) == said
