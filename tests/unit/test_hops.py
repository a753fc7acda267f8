"""Latency by route length: what a switch and a forwarding host add, with intervals."""

import numpy as np
import pytest

from crosscut.analysis.figures.hops import NO_WAY, Lengths, by_hops
from crosscut.analysis.figures.path_lengths import lengths, of_run
from crosscut.analysis.figures.summary import Routes
from crosscut.analysis.stats.intervals import Medians
from crosscut.network import paths
from crosscut.reports.html.pictures import conditions
from crosscut.reports.words import costs

NODES = 12


def tree(*, forwards=False):
    """Nodes 0 to 5 on one switch, 6 to 11 on another, and a third switch, or hosts, between them."""
    group = np.arange(NODES) // 6
    other = group[:, None] != group[None, :]
    switches = np.where(other, 2 if forwards else 3, 1)
    hosts = np.where(other & forwards, 1 + (np.arange(NODES)[:, None] % 2), 0)
    np.fill_diagonal(switches, 0)
    return Lengths(switches, hosts)


def routes_of(found, a_switch=20e-6, a_host=75e-6, ends=50e-6, noise=0.0):
    source, destination = np.nonzero(~np.eye(NODES, dtype=bool))
    times = ends + a_switch * found.switches[source, destination] + a_host * found.hosts[source, destination]
    times = times * np.random.default_rng(3).normal(1, noise, len(times))
    none = np.full(len(times), np.nan)
    rates = Medians(times, none, none, np.ones(len(times), np.int64))
    return Routes(source.astype(np.int32), destination.astype(np.int32), rates, source < 0, timed=True)


def test_the_latency_that_a_switch_adds_is_recovered():
    found = by_hops(routes_of(tree()), np.arange(NODES), tree(), 1)
    assert found is not None
    assert found.a_switch is not None
    assert found.a_switch.seconds == pytest.approx(20e-6)
    assert found.ends.seconds == pytest.approx(50e-6)
    assert found.a_host is None
    assert [(one.switches, one.routes) for one in found.classes] == [(1, 60), (3, 72)]


def test_switches_and_forwarding_hosts_are_told_apart():
    way = tree(forwards=True)
    found = by_hops(routes_of(way), np.arange(NODES), way, 1)
    assert found is not None
    assert found.a_switch is not None
    assert found.a_host is not None
    assert found.a_switch.seconds == pytest.approx(20e-6)
    assert found.a_host.seconds == pytest.approx(75e-6)
    assert "each forwarding host adds 75.0 µs" in costs.hops_sentence(found)


def test_the_interval_holds_the_truth_and_grows_with_the_noise():
    widths = []
    for noise in (0.02, 0.1):
        found = by_hops(routes_of(tree(), noise=noise), np.arange(NODES), tree(), 1)
        assert found is not None
        assert found.a_switch is not None
        assert found.a_switch.low < 20e-6 < found.a_switch.high
        widths.append(found.a_switch.high - found.a_switch.low)
    assert widths[0] < widths[1] / 2


def test_a_late_route_does_not_change_the_fit():
    routes = routes_of(tree())
    routes.rates.median[5] *= 50
    found = by_hops(routes, np.arange(NODES), tree(), 1)
    assert found is not None
    assert found.a_switch is not None
    assert found.a_switch.seconds == pytest.approx(20e-6)


def test_no_figure_is_claimed_if_nothing_is_added():
    found = by_hops(routes_of(tree(), a_switch=0.0), np.arange(NODES), tree(), 1)
    assert found is not None
    assert "no measurable latency per switch" in costs.hops_sentence(found)


def test_equal_or_unknown_routes_give_no_figures():
    alike = Lengths(np.ones((NODES, NODES), np.int64), np.zeros((NODES, NODES), np.int64))
    unknown = Lengths(np.full((NODES, NODES), NO_WAY), np.full((NODES, NODES), NO_WAY))
    for found in (alike, unknown):
        assert by_hops(routes_of(tree()), np.arange(NODES), found, 1) is None


def test_routes_within_a_node_are_left_out():
    found = by_hops(routes_of(tree()), np.arange(NODES) // 2 * 2, tree(), 1)
    assert found is not None
    assert sum(one.routes for one in found.classes) == NODES * (NODES - 1) - NODES


def line_of_hosts() -> paths.Ways:
    """host 0 - switch - host 1 - cable - host 2: host 1 forwards between its two adapters."""
    host = lambda name, *adapters: paths.Host(name, adapters, 1, "ip", 0, 0)  # noqa: E731
    edge = lambda a, b: paths.Edge(a, b, False, 1, 0, 1e9, 1e9)  # noqa: E731
    return paths.Ways(
        "line", "", "", "", 1, 1500, 0, False,
        (host("a", 0), host("b", 1, 2), host("c", 2)), (paths.Switch("s", "through", 0),),
        (edge(0, 3), edge(1, 3), edge(1, 2)),
        (
            paths.NextHops(0, 0, (paths.Hop(1, 1, 0, 0), paths.Hop(2, 2, 1, 1))),
            paths.NextHops(1, 0, (paths.Hop(0, 0, 1, 0), paths.Hop(2, 2, 1, 1))),
            paths.NextHops(2, 0, (paths.Hop(0, 0, 1, 0), paths.Hop(1, 2, 2, 0))),
        ),
        (paths.Segment(0, 0, ((3, 0),)), paths.Segment(1, 0, ((3, 1),)), paths.Segment(1, 1, ()),
         paths.Segment(2, 0, ())),
    )  # fmt: skip


def test_routes_follow_the_network_s_own_tables():
    found = lengths(line_of_hosts())
    assert found.switches.tolist() == [[0, 1, 1], [1, 0, 0], [1, 0, 0]]
    assert found.hosts.tolist() == [[0, 0, 1], [0, 0, 0], [1, 0, 0]]


def test_tables_with_a_loop_end():
    line = line_of_hosts()
    circle = paths.NextHops(2, 0, (paths.Hop(0, 0, 1, 0), paths.Hop(1, 1, 0, 0)))
    broken = paths.Ways(**{**line.__dict__, "routes": (*line.routes[:2], circle)})
    assert lengths(broken).switches[:2, 2].tolist() == [NO_WAY, NO_WAY]


@pytest.mark.parametrize(
    "network", [None, 3, {}, {"description": 3}, {"description": "x", "hosts": "many"}, {"hosts": 9}]
)
def test_a_run_without_a_description_has_no_lengths(network):
    assert of_run({"network": network}, ("n0",)) is None


def test_the_picture_has_a_bar_for_each_route_length_and_the_latency_of_a_switch():
    way = tree(forwards=True)
    found = by_hops(routes_of(way), np.arange(NODES), way, 1)
    assert found is not None
    picture = conditions.of_hops(found, "half a round trip", "run1-hops")
    assert picture.columns["label"] == [
        "1 switch (60)", "2 switches, 1 forwarding host (36)", "2 switches, 2 forwarding hosts (36)",
    ]  # fmt: skip
    assert picture.columns["value"] == pytest.approx([70e-6, 165e-6, 240e-6])
    assert picture.caption.startswith("Each switch adds 20.0 µs")
